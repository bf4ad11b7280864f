"""What data sets there are, and which of them are here."""

from dataclasses import dataclass
from pathlib import Path

from peckorder.datasets.fetching import publishers
from peckorder.datasets.fetching.folders import roots
from peckorder.datasets.fetching.publishers import Published


@dataclass(frozen=True, slots=True)
class Entry:
    """A data set: who publishes it, what loads it, and where it was found, if so."""

    name: str
    loader: str
    published: Published
    found: Path | None


_LOADERS = (
    ("load_movielens_100k", publishers.MOVIELENS_100K),
    ("load_movielens_1m", publishers.MOVIELENS_1M),
    ("load_jester", publishers.JESTER),
    ("load_book_crossing", publishers.BOOK_CROSSING),
    ("load_netflix_matrix", publishers.NETFLIX_MATRIX),
    ("load_cystic_fibrosis", publishers.CYSTIC_FIBROSIS),
    ("load_ohsumed_fold", publishers.OHSUMED),
    ("load_ohsumed_trec9", publishers.OHSUMED_TREC9),
    ("load_mq2007_agg_fold", publishers.MQ2007_AGG),
    ("load_lightgbm_lambdarank", publishers.LIGHTGBM_LAMBDARANK),
)


def catalogue() -> tuple[Entry, ...]:
    """Return all data sets; looks at names of folders and archives, opens nothing."""
    return tuple(
        Entry(data.folder, loader, data, _place(data)) for loader, data in _LOADERS
    )


def _place(data: Published) -> Path | None:
    """Return the first folder that has something of a data set."""
    for root in roots("catalogue", data, None):
        folder = root / data.folder
        if folder.is_dir() and any(folder.iterdir()):
            return folder
        if any((root / archive).is_file() for archive in data.archives):
            return root
    return None
