"""The work of `peckorder data`."""

from peckorder import datasets
from peckorder._core.validation import did_you_mean
from peckorder.cli.console import Speaker
from peckorder.datasets.fetching.folders import Entry, catalogue


def _how(entry: Entry) -> str:
    """Say how to get a data set that is not here."""
    can_fetch = entry.published.fetch is not None
    fetched = f", or: peckorder data fetch {entry.name}" if can_fetch else ""
    get, page = entry.published.get.rstrip(","), entry.published.page
    return f"    not here\n    get: {get}{fetched}\n    from: {page}\n"


def run_listing(*, json: bool, quiet: bool) -> None:
    """List data sets: where to get them, on which terms, which are here."""
    entries = catalogue()
    Speaker(json=json, quiet=quiet).say(
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


def run_fetch(name: str | None, *, url: str | None, json: bool, quiet: bool) -> None:
    """Download a data set from its publisher, unless it is here; check and read it."""
    known = {entry.name: entry for entry in catalogue()}
    can = [name for name, entry in known.items() if entry.published.fetch]
    if name is None:
        raise ValueError(f"data fetch: NAME must be one of {', '.join(can)}; got none.")
    if name not in known:
        raise ValueError(
            f"data: name must be one of {', '.join(can)}; got {name!r}."
            f"{did_you_mean(name, can, {})}"
        )
    published = known[name].published
    if published.fetch is None:
        raise ValueError(
            f"data: name must be one of {', '.join(can)}; got {name!r}. Get "
            f"{published.get.rstrip(',')} from {published.page}."
        )
    speaker = Speaker(json=json, quiet=quiet)
    options = {} if url is None else {"url": url}
    with speaker.bar(f"Fetching {name}"):
        bunch = getattr(datasets, published.fetch)(**options)
    found = next(entry.found for entry in catalogue() if entry.name == name)
    speaker.say(
        {"name": name, "found": found, "ratings": len(bunch.ratings)},
        f"{published.title}: {len(bunch.ratings)} ratings, in {found}",
        f"Terms: {published.terms}.",
    )
