"""The Netflix Prize: ratings of movies, one file per movie or in a few large ones."""

from typing import cast

import numpy as np
from sklearn.utils import Bunch

from peckorder._core.errors import entry, refusal
from peckorder._core.text_files import read_text, shown
from peckorder.datasets.fetching.folders import (
    DataFile,
    Folder,
    find,
    find_all,
    read_lines,
    refuse_line,
    require,
)
from peckorder.datasets.fetching.publishers import PUBLISHED, check_facts, counts, ratings_facts
from peckorder.datasets.published.netflix_compiled import PrizeRows, read_ratings
from peckorder.feedback import Ids, RatingRows, Ratings

_PRIZE = PUBLISHED["netflix_prize"]
_RATINGS = ("combined_data_*.txt", "training_set/mv_*.txt", "mv_*.txt")
_TITLES = ("movie_titles.csv", "movie_titles.txt")


@entry
def load_netflix_prize(folder: Folder = None) -> Bunch:
    r"""Read the Netflix Prize: 100,480,507 ratings of 17,770 movies by 480,189 users.

    Parameters
    ----------
    folder : path, default=None
        Where ``netflix_prize`` is, or the files themselves: `combined_data_1.txt` and
        so on, or `mv_0000001.txt` and so on, also in a folder ``training_set``; all
        files of the first form that is found are read. Titles are in `movie_titles.csv`
        or `movie_titles.txt`. All also with ``.gz``. None: PECKORDER_DATA, then the
        cache.

    Returns
    -------
    bunch : Bunch
        `ratings`, a `Ratings`; its `scale`, 1 to 5; `titles` and `years`, dicts from
        movies to titles and, where they are known, years, empty without their file.

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

    Notes
    -----
    Ten million ratings take about 15 s and 1 GB of memory. A folder with some of the
    files is read alone.

    Examples
    --------
    >>> import tempfile, pathlib, warnings
    >>> from peckorder.datasets import load_netflix_prize
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # two ratings are not the whole set
    ...     path = pathlib.Path(folder)
    ...     _ = (path / "mv_0000008.txt").write_text("8:\n7,3,2005-09-06\n9,5,2005-05-13\n")
    ...     _ = (path / "movie_titles.csv").write_text("8,2004,What, and Why\n")
    ...     movies = load_netflix_prize(folder)
    >>> movies.ratings, movies.titles[8], movies.years[8]
    (Ratings(n_ratings=2, n_users=2, n_items=1), 'What, and Why', 2004)
    """
    files = find_all(_PRIZE, _RATINGS, folder)
    if not files:
        require(_PRIZE, ("combined_data_1.txt", "training_set/mv_0000001.txt"), folder)
    blocks = [rows for file in files for rows in _read(file)]
    if not any(len(rows.rating) for rows in blocks):
        raise refusal("the files of ratings", "hold at least one rating", "none")
    customer, movie, rating = map(np.concatenate, zip(*blocks, strict=True))
    user, users = Ids.from_column("user", customer)
    item, items = Ids.from_column("item", movie)
    ratings = Ratings.from_rows(RatingRows(user, users, item, items, rating.astype(np.float64)))
    facts = ratings_facts(ratings, "movies") | {
        "ratings of 1/2/3/4/5": counts(ratings.csr.data, range(1, 6))
    }
    check_facts(_PRIZE.title, _PRIZE.facts, facts)
    titles, years = _titles(find(_PRIZE, _TITLES, folder))
    return Bunch(ratings=ratings, scale=(1.0, 5.0), titles=titles, years=years)


def _read(file: DataFile) -> list[PrizeRows]:
    """Return the ratings of a file, in blocks."""
    blocks, movie, before = [], -1, 0
    with file.open() as stream:
        for block in read_text(stream):
            n_lines = block.count(b"\n")
            ids = np.empty((2, n_lines), np.int32)
            rows = PrizeRows(ids[0], ids[1], np.empty(n_lines, np.uint8))
            n, movie, bad = read_ratings(np.frombuffer(block, np.uint8), movie, rows)
            if bad >= 0:
                number = before + block.count(b"\n", 0, bad) + 1
                rule = "be 'MovieID:' or, after such a line, 'CustomerID,Rating,Date'"
                line = shown(block[bad:].partition(b"\n")[0])
                raise refusal(f"line {number} of {file.name}", rule, line)
            # Copied, so that no room is kept for lines that are no ratings.
            blocks.append(PrizeRows(ids[0, :n].copy(), ids[1, :n].copy(), rows.rating[:n].copy()))
            before += n_lines
    return blocks


def _titles(file: DataFile | None) -> tuple[dict[int, str], dict[int, int]]:
    titles: dict[int, str] = {}
    years: dict[int, int] = {}
    for number, line in () if file is None else read_lines(file, "latin-1"):
        if not line.strip():
            continue
        # Commas of titles stand between no quotation marks. Spreadsheets fill up with commas.
        movie, _, rest = line.partition(",")
        year, comma, title = rest.partition(",")
        if not (movie.isdecimal() and comma and (year.isdecimal() or year == "NULL")):
            refuse_line(cast(DataFile, file), number, "'MovieID,Year,Title'", line)
        titles[int(movie)] = title
        if year != "NULL":
            years[int(movie)] = int(year)
    return titles, years
