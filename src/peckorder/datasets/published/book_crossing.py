"""Book-Crossing: ratings of books, as published or as plain CSV."""

from dataclasses import replace

from sklearn.utils import Bunch

from peckorder._core.errors import caller, entry, named, refusal
from peckorder._core.validation import boolean
from peckorder.datasets.fetching.download import fetch
from peckorder.datasets.fetching.folders import Folder, require
from peckorder.datasets.fetching.publishers import PUBLISHED, Fact, check_facts, ratings_facts
from peckorder.feedback import CsvForm, Ratings, read_rows

_BOOKS_CSV = CsvForm(scale=(0.0, 10.0), item_dtype=str)
_BOOKS_PUBLISHED = replace(_BOOKS_CSV, sep=";", encoding="latin-1", escape="\\")
_BOOK_PART = "BX_Book_Ratings_explicit_171k.csv"
_BOOKS = PUBLISHED["book_crossing"]


@entry
def load_book_crossing(folder: Folder = None, *, implicit: bool = False) -> Bunch:
    r"""Read Book-Crossing: ratings of books, by ISBN, from 1 to 10.

    Parameters
    ----------
    folder : path, default=None
        Where ``book_crossing`` is, or its files: `BX-Book-Ratings.csv`, the zip file
        with it as it was downloaded, or a plain CSV with columns user, ISBN and rating:
        `BX_Book_Ratings_explicit_171k.csv` or `ratings.csv`; all also with ``.gz``.
        None: PECKORDER_DATA, then the cache.
    implicit : bool, default=False
        Keep ratings of 0, which mean that the book was read but not rated.

    Returns
    -------
    bunch : Bunch
        `ratings`, a `Ratings`; their `scale`, 1 to 10, or 0 to 10 with `implicit`.

    Examples
    --------
    >>> import tempfile, pathlib, warnings
    >>> from peckorder.datasets import load_book_crossing
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # one rating is not the whole set
    ...     path = pathlib.Path(folder) / "ratings.csv"
    ...     _ = path.write_text("User_ID,ISBN,Book_Rating\n276755,0451166892,5\n")
    ...     load_book_crossing(folder).ratings.items.tolist()
    ['0451166892']
    """
    return _load_books(folder, implicit)


@entry
def fetch_book_crossing(
    folder: Folder = None,
    *,
    implicit: bool = False,
    url: str | None = None,
    progress: bool | None = None,
) -> Bunch:
    """Download Book-Crossing unless it exists, and read it.

    Free for research that cites Ziegler, McNee, Konstan and Lausen, "Improving
    Recommendation Lists Through Topic Diversification", WWW 2005. The publisher's
    server is often unavailable; `url` may be that of a mirror.

    Parameters
    ----------
    folder, url, progress
        As in `fetch_movielens_100k`.
    implicit : bool, default=False
        As in `load_book_crossing`.

    Returns
    -------
    bunch : Bunch
        As of `load_book_crossing`.

    Examples
    --------
    >>> from peckorder.datasets import fetch_book_crossing
    >>> books = fetch_book_crossing()  # doctest: +SKIP
    """
    boolean.check("implicit", implicit)
    home = fetch(_BOOKS, folder, url, progress)
    return _load_books(home, implicit)


def _load_books(folder: Folder, implicit: bool) -> Bunch:
    boolean.check("implicit", implicit)
    names = ("BX-Book-Ratings.csv", _BOOK_PART, "ratings.csv")
    file = require(_BOOKS, names, folder)
    name = file.name.removesuffix(".gz")
    form = _BOOKS_PUBLISHED if name == names[0] else _BOOKS_CSV
    with file.open() as stream, named(f"{caller()}, {file.name}"):
        ratings = Ratings.from_rows(read_rows(stream, form))
        n_lines = len(ratings)
        if not implicit:
            user, item, value = ratings.triples()
            is_rating = value > 0
            if not is_rating.any():
                raise refusal("a line", "have a rating > 0", "none")
            ratings = Ratings(user[is_rating], item[is_rating], value[is_rating])
    facts: dict[str, Fact] = ratings_facts(ratings, "books")
    facts |= {"lines": n_lines, "explicit ratings": int((ratings.csr.data > 0).sum())}
    check_facts(file.name, _BOOKS.facts.get(name, {}), facts)
    return Bunch(ratings=ratings, scale=(0.0 if implicit else 1.0, 10.0))
