"""`peckorder data`: data sets, where they come from and whether they are here."""

from typing import TYPE_CHECKING

from cyclopts import App

from peckorder._core.errors import entry_named, refusal
from peckorder.cli.options import PRINTED, OutputOptions

if TYPE_CHECKING:
    from peckorder.datasets.fetching.folders import Entry

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

    entries = catalogue()
    ResultPrinter(output).emit(
        {
            entry.name: {
                "title": entry.published.title,
                "loader": f"peckorder.datasets.{entry.loader}",
                "get": entry.published.get.rstrip(","),
                "page": entry.published.page,
                "terms": entry.published.terms,
                "can_be_fetched": entry.published.fetch is not None,
                "found": entry.found,
            }
            for entry in entries
        },
        *(
            f"{entry.name}: {entry.published.title}\n"
            + (f"    here: {entry.found}\n" if entry.found else _how(entry))
            + f"    terms: {entry.published.terms}"
            for entry in entries
        ),
        "Put each in a folder of its name, below one that PECKORDER_DATA names.",
    )


def _how(entry: "Entry") -> str:
    """Return how to get a data set that is not here."""
    can_fetch = entry.published.fetch is not None
    fetched = f", or: peckorder data fetch {entry.name}" if can_fetch else ""
    get, page = entry.published.get.rstrip(","), entry.published.page
    return f"    not here\n    get: {get}{fetched}\n    from: {page}\n"


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

    entries = {entry.name: entry for entry in catalogue()}
    can = [name for name, entry in entries.items() if entry.published.fetch]
    rule = f"be one of {', '.join(can)}"
    if name is None:
        raise refusal("name", rule, "none")
    if name not in entries:
        raise refusal("name", rule, repr(name), hint=did_you_mean(name, can, {}))
    published = entries[name].published
    if published.fetch is None:
        raise refusal(
            "name", rule, repr(name), hint=f"Get {published.get.rstrip(',')} from {published.page}."
        )
    printer = ResultPrinter(output)
    options = {} if url is None else {"url": url}
    with printer.progress(f"Fetching {name}"):
        bunch = getattr(datasets, published.fetch)(**options)
    folder = next(entry.found for entry in catalogue() if entry.name == name)
    printer.emit(
        {"name": name, "found": folder, "ratings": len(bunch.ratings)},
        f"{published.title}: {len(bunch.ratings)} ratings, in {folder}",
        f"Terms: {published.terms}.",
    )
