"""`peckorder data`: data sets, where they come from and whether they are here."""

from typing import TYPE_CHECKING

from cyclopts import App

from peckorder._core.errors import entry_named, refusal
from peckorder.cli.options import PRINTED, OutputOptions

if TYPE_CHECKING:
    from peckorder.datasets.fetching.publishers import Published

data = App(
    name="data",
    help="List the data sets that peckorder knows; download one.\n\n"
    "Example: PECKORDER_DATA=my-data peckorder data\n\n"
    "Example: peckorder data fetch ml-100k",
)


@data.default
def listing(*, output: OutputOptions = PRINTED) -> None:
    """List data sets: where to get them, on which terms, which are here.

    Example: PECKORDER_DATA=my-data peckorder data
    """
    from peckorder.cli.console import ResultPrinter
    from peckorder.datasets.fetching.folders import catalogue

    sets = catalogue()
    ResultPrinter(output).emit(
        {
            published.folder: {
                "title": published.title,
                "loader": f"peckorder.datasets.{published.loader}",
                "get": published.get.rstrip(","),
                "page": published.page,
                "terms": published.terms,
                "can_be_fetched": published.fetch is not None,
                "found": found,
            }
            for published, found in sets
        },
        *(
            f"{published.folder}: {published.title}\n"
            + (f"    here: {found}\n" if found else _how(published))
            + f"    terms: {published.terms}"
            for published, found in sets
        ),
        "Put each in a folder of its name, below one that PECKORDER_DATA names.",
    )


def _how(published: "Published") -> str:
    """Return how to get a data set that is not here."""
    get = published.get.rstrip(",")
    if published.fetch:
        get += f", or: peckorder data fetch {published.folder}"
    return f"    not here\n    get: {get}\n    from: {published.page}\n"


@data.command
@entry_named("data")
def fetch(
    name: str | None = None, /, *, url: str | None = None, output: OutputOptions = PRINTED
) -> None:
    """Download a data set from its publisher, unless it is here; check and read it.

    Example: peckorder data fetch ml-100k

    Parameters
    ----------
    name
        As `peckorder data` lists it.
    url
        The address of a mirror.
    """
    from peckorder import datasets
    from peckorder._core.validation import did_you_mean
    from peckorder.cli.console import ResultPrinter
    from peckorder.datasets.fetching.folders import catalogue

    sets = {published.folder: published for published, _ in catalogue()}
    can = [folder for folder, published in sets.items() if published.fetch]
    rule = f"be one of {', '.join(can)}"
    if name is None:
        raise refusal("name", rule, "none")
    if name not in sets:
        raise refusal("name", rule, repr(name), hint=did_you_mean(name, can, {}))
    published = sets[name]
    if published.fetch is None:
        raise refusal(
            "name", rule, repr(name), hint=f"Get {published.get.rstrip(',')} from {published.page}."
        )
    printer = ResultPrinter(output)
    options = {} if url is None else {"url": url}
    with printer.progress(f"Fetching {name}"):
        bunch = getattr(datasets, published.fetch)(**options)
    folder = next(found for published, found in catalogue() if published.folder == name)
    printer.emit(
        {"name": name, "found": folder, "ratings": len(bunch.ratings)},
        f"{published.title}: {len(bunch.ratings)} ratings, in {folder}",
        f"Terms: {published.terms}.",
    )
