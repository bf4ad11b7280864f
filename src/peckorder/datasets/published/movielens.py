"""MovieLens: ratings of movies, as distributed by GroupLens or as plain CSV."""

from dataclasses import replace

from sklearn.utils import Bunch

from peckorder._core.errors import caller, entry, named
from peckorder.datasets.fetching.download import fetch
from peckorder.datasets.fetching.folders import (
    DataFile,
    Folder,
    find,
    read_lines,
    refuse_line,
    require,
)
from peckorder.datasets.fetching.publishers import (
    PUBLISHED,
    Published,
    check_facts,
    counts,
    ratings_facts,
)
from peckorder.feedback import CsvForm, Ratings, read_rows

_SCALE = (1.0, 5.0)
_CSV = CsvForm(scale=_SCALE)
_100K, _1M = PUBLISHED["ml-100k"], PUBLISHED["ml-1m"]
# Of each set the files of ratings and of movies, with their separators.
_FILES = {
    "ml-100k": (("u.data", "\t"), ("u.item", "|")),
    "ml-1m": (("ratings.dat", "::"), ("movies.dat", "::")),
}


@entry
def load_movielens_100k(folder: Folder = None) -> Bunch:
    r"""Read MovieLens 100K: 100,000 ratings of 1,682 movies by 943 users, 1 to 5.

    Parameters
    ----------
    folder : path, default=None
        Where ``ml-100k`` is, or the files themselves: `u.data` and `u.item`, the zip
        file as it was downloaded, or `ratings.csv` with columns user, movie and
        rating, all of them also with ``.gz``. None: PECKORDER_DATA, then the cache.

    Returns
    -------
    bunch : Bunch
        `ratings`, a `Ratings`; its `scale`, the lowest and the highest; `titles`, a
        dict from items to titles, empty without the file of movies.

    Raises
    ------
    MissingDataError
        If no file is found, with what to get and where to put it.
    DataError
        For the first malformed line, with its number.

    Warns
    -----
    UserWarning
        If the files are not the whole published set.

    Examples
    --------
    >>> import tempfile, pathlib, warnings
    >>> from peckorder.datasets import load_movielens_100k
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # three ratings are not the whole set
    ...     path = pathlib.Path(folder)
    ...     _ = (path / "u.data").write_text("1\t7\t5\t0\n1\t9\t3\t0\n2\t9\t1\t0\n")
    ...     _ = (path / "u.item").write_text("7|Seven (1995)\n9|Nine (2009)\n")
    ...     movies = load_movielens_100k(folder)
    >>> movies.ratings, movies.scale, movies.titles[7]
    (Ratings(n_ratings=3, n_users=2, n_items=2), (1.0, 5.0), 'Seven (1995)')
    """
    return _load(_100K, folder)


@entry
def load_movielens_1m(folder: Folder = None) -> Bunch:
    r"""Read MovieLens 1M: 1,000,209 ratings of 3,706 movies by 6,040 users, 1 to 5.

    Parameters
    ----------
    folder : path, default=None
        Where ``ml-1m`` is, or the files themselves: `ratings.dat` and `movies.dat`,
        the zip file as it was downloaded, or `ratings.csv`; as in
        `load_movielens_100k`.

    Returns
    -------
    bunch : Bunch
        `ratings`, `scale` and `titles`, as of `load_movielens_100k`; titles also of
        movies that nobody rated.

    Examples
    --------
    >>> import tempfile, pathlib, warnings
    >>> from peckorder.datasets import load_movielens_1m
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # two ratings are not the whole set
    ...     path = pathlib.Path(folder) / "ratings.dat"
    ...     _ = path.write_text("1::1193::5::978300760\n1::661::3::978302109\n")
    ...     load_movielens_1m(folder).ratings.items
    array([ 661, 1193])
    """
    return _load(_1M, folder)


@entry
def fetch_movielens_100k(
    folder: Folder = None, *, url: str | None = None, progress: bool | None = None
) -> Bunch:
    """Download MovieLens 100K unless it exists, and read it.

    For research; not to be redistributed or used commercially without permission.

    Parameters
    ----------
    folder : path, default=None
        Where to keep it. None: the cache, or PECKORDER_CACHE if set.
    url : str, default=None
        The address of another folder that has the publisher's file.
    progress : bool, default=None
        Show a progress bar. None: if standard error is a terminal.

    Returns
    -------
    bunch : Bunch
        As of `load_movielens_100k`.

    Raises
    ------
    DownloadError
        If the file cannot be downloaded, is incomplete, or has another checksum.

    Examples
    --------
    >>> from peckorder.datasets import fetch_movielens_100k
    >>> movies = fetch_movielens_100k()  # doctest: +SKIP
    """
    return _load(_100K, fetch(_100K, folder, url, progress))


@entry
def fetch_movielens_1m(
    folder: Folder = None, *, url: str | None = None, progress: bool | None = None
) -> Bunch:
    """Download MovieLens 1M unless it exists, and read it.

    For research; not to be redistributed or used commercially without permission.

    Parameters
    ----------
    folder, url, progress
        As in `fetch_movielens_100k`.

    Returns
    -------
    bunch : Bunch
        As of `load_movielens_1m`.

    Examples
    --------
    >>> from peckorder.datasets import fetch_movielens_1m
    >>> movies = fetch_movielens_1m()  # doctest: +SKIP
    """
    return _load(_1M, fetch(_1M, folder, url, progress))


def _load(data: Published, folder: Folder) -> Bunch:
    """Read a set from its files of ratings and of movies, or from plain CSV."""
    (name, sep), (movies_name, movies_sep) = _FILES[data.folder]
    file = require(data, (name, "ratings.csv"), folder)
    form = replace(_CSV, user=0, item=1, rating=2, header=False, sep=sep)
    if file.name.startswith("ratings.csv"):
        form = _CSV
    with file.open() as stream, named(f"{caller()}, {file.name}"):
        ratings = Ratings.from_rows(read_rows(stream, form))
    movies = find(data, (movies_name,), folder)
    facts = ratings_facts(ratings, "movies") | {
        "users with fewer than 20": int((ratings.per_user < 20).sum()),
        "ratings of 1/2/3/4/5": counts(ratings.csr.data, range(1, 6)),
    }
    titles = {} if movies is None else _titles(movies, movies_sep)
    check_facts(file.name, data.facts, facts)
    return Bunch(ratings=ratings, scale=_SCALE, titles=titles)


def _titles(movies: DataFile, sep: str) -> dict[int, str]:
    titles: dict[int, str] = {}
    for number, line in read_lines(movies, "latin-1"):
        if not line.strip():
            continue
        fields = line.split(sep)
        if len(fields) < 2 or not fields[0].isdecimal():
            refuse_line(movies, number, f"'movie{sep}title{sep}...'", line)
        titles[int(fields[0])] = fields[1]
    return titles
