"""`peckorder data`: data sets, where they come from and whether they are here."""

from cyclopts import App

from peckorder.cli.options import AsJson, Quiet

data = App(
    name="data",
    help="List the data sets that peckorder knows; download one.\n\n"
    "Example: PECKORDER_DATA=my-data peckorder data\n\n"
    "Example: peckorder data fetch ml-100k",
)


@data.default
def listing(*, json: AsJson = False, quiet: Quiet = False) -> None:
    """List data sets: where to get them, on which terms, which are here.

    Example: PECKORDER_DATA=my-data peckorder data

    Parameters
    ----------
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    """
    from peckorder.cli.data.work import run_listing

    run_listing(json=json, quiet=quiet)


@data.command
def fetch(
    name: str | None = None,
    /,
    *,
    url: str | None = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Download a data set from its publisher, unless it is here; check and read it.

    Example: peckorder data fetch ml-100k

    Parameters
    ----------
    name
        As `peckorder data` lists it.
    url
        The address of a mirror.
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    """
    from peckorder.cli.data.work import run_fetch

    run_fetch(name, url=url, json=json, quiet=quiet)
