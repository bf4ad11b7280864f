"""Ratings from any path: a file of a user's, or the files of a published set."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from sklearn.utils import Bunch

from peckorder._core.errors import entry, refusal
from peckorder._core.text_files import Source, check_source
from peckorder.datasets.fetching.publishers import PUBLISHED
from peckorder.datasets.published.book_crossing import load_book_crossing
from peckorder.datasets.published.eachmovie import load_eachmovie
from peckorder.datasets.published.jester import load_jester
from peckorder.datasets.published.movielens import load_movielens_1m, load_movielens_100k
from peckorder.datasets.published.netflix import load_netflix_prize
from peckorder.datasets.published.rating_tables import load_netflix_matrix
from peckorder.exceptions import MissingDataError
from peckorder.feedback import Ratings

# Of each set the names of files by which it is known.
_SETS: Final[dict[str, tuple[Callable[[Path], Bunch], tuple[str, ...]]]] = {
    "ml-1m": (load_movielens_1m, ("ratings.dat",)),
    "ml-100k": (load_movielens_100k, ("u.data",)),
    "netflix_prize": (load_netflix_prize, ("combined_data_1.txt",)),
    "eachmovie": (load_eachmovie, ("vote.txt", "Vote.txt")),
    "jester": (load_jester, ("jester-data-1.xls",)),
    "book_crossing": (load_book_crossing, ("BX-Book-Ratings.csv",)),
    "netflix_subset": (load_netflix_matrix, ("netflix_1200x1200.txt",)),
}
_TABLES = ("ratings.csv", "ratings.csv.gz", "ratings.parquet")


@entry
def load_ratings(path: Source, **options: Any) -> Ratings:
    r"""Read ratings from a Parquet or text file, or a published set from its folder.

    Parameters
    ----------
    path : path or file
        An open file of text, or a path. A file is Parquet by the end of its name, else
        text, which may be compressed with ``.gz``; the separator is a comma, or a tab
        if the name ends in ``.tsv`` or ``.tsv.gz``, unless `sep` is given. A folder has
        `ratings.csv`, `ratings.parquet` or the files of a set of which there is a
        loader; a file of such a set, such as `u.data` or `vote.txt`, stands for it.
    **options
        Those of `Ratings.read_parquet` or `Ratings.read_csv`; none for published sets.

    Returns
    -------
    ratings : Ratings
        One per row of the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from peckorder.datasets import load_ratings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "mine.csv"
    ...     _ = path.write_text("who,what,stars\nann,tea,5\nbob,tea,2\n")
    ...     load_ratings(path, user="who", item="what", rating="stars")
    Ratings(n_ratings=2, n_users=2, n_items=1)
    """
    return titled_ratings(path, **options)[1]


def titled_ratings(path: Source, **options: Any) -> tuple[str, Ratings]:
    """Return ratings as `load_ratings` does, and what they are called."""
    check_source(path)
    if not isinstance(path, str | os.PathLike):
        return "ratings", Ratings.read_csv(path, **options)
    place = Path(path).expanduser()
    if place.is_dir():
        file = next((place / name for name in _TABLES if (place / name).is_file()), None)
        if file is None:
            return _published(place, options)
        place = file
    for folder, (load, names) in _SETS.items():
        if place.name.removesuffix(".gz") in names and place.is_file() and not options:
            return PUBLISHED[folder].title, load(place.parent).ratings
    name = place.name.lower()
    if name.endswith((".parquet", ".pq")):
        return place.name, Ratings.read_parquet(place, **options)
    if name.removesuffix(".gz").endswith(".tsv"):
        options = {"sep": "\t"} | options
    return place.name, Ratings.read_csv(place, **options)


def _published(folder: Path, options: dict[str, Any]) -> tuple[str, Ratings]:
    """Return the first published set that is in a folder."""
    if options:
        raise refusal("options", "be none for a folder of a published set", ", ".join(options))
    for name, (load, _) in _SETS.items():
        with suppress(MissingDataError):
            return PUBLISHED[name].title, load(folder).ratings
    titles = ", ".join(PUBLISHED[name].title for name in _SETS)
    raise refusal(
        "path",
        f"be a folder with {', '.join(_TABLES)} or the files of {titles}",
        f"none of them in {str(folder)!r}",
        error=MissingDataError,
    )
