"""What data sets there are, and which of them are here."""

from dataclasses import dataclass
from pathlib import Path

from peckorder.datasets import _publishers
from peckorder.datasets._folders import roots
from peckorder.datasets._publishers import Published


@dataclass(frozen=True, slots=True)
class Entry:
    """A data set: who publishes it, what loads it, and where it was found, if so."""

    name: str
    loader: str
    published: Published
    found: Path | None


_LOADERS = (
    ("load_movielens_100k", _publishers.MOVIELENS_100K),
    ("load_movielens_1m", _publishers.MOVIELENS_1M),
    ("load_jester", _publishers.JESTER),
    ("load_book_crossing", _publishers.BOOK_CROSSING),
    ("load_netflix_matrix", _publishers.NETFLIX_MATRIX),
    ("load_cystic_fibrosis", _publishers.CYSTIC_FIBROSIS),
    ("load_ohsumed_fold", _publishers.OHSUMED),
    ("load_ohsumed_trec9", _publishers.OHSUMED_TREC9),
    ("load_mq2007_agg_fold", _publishers.MQ2007_AGG),
    ("load_lightgbm_lambdarank", _publishers.LIGHTGBM_LAMBDARANK),
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
