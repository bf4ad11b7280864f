"""The usual names of columns."""

import re
from collections.abc import Collection, Iterable
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Of names with two strengths the first beat the others.
_SURE_QUERY: Final = _words("qid query query_id queryid topic_id search_id srch_id session_id")
QUERY: Final = _SURE_QUERY | _words("q topic search session")
USER: Final = _words(
    "user user_id userid uid user_name username viewer viewer_id customer customer_id "
    "reviewer reviewer_id person person_id"
)
ITEM: Final = _words(
    "item item_id itemid iid movie movie_id movieid film film_id product product_id "
    "productid book book_id isbn joke joke_id song song_id track track_id business_id "
    "artist artist_id"
)
RATING: Final = _words("rating ratings stars user_rating book_rating movie_rating vote score")
# Of pairs, in the order of their rows: the two names of a kind stand together.
PAIR: Final = (
    ("better", "worse"),
    ("winner", "loser"),
    ("preferred", "other"),
    ("chosen", "rejected"),
)
WEIGHT: Final = _words("weight weights")
SIZE: Final = _words("size margin")
_SURE_TARGET: Final = _words(
    "target label relevance rel grade quality class out1 outcome response y_true"
)
TARGET: Final = _SURE_TARGET | _words("y rating out stars score")
SURE: Final = _SURE_QUERY | _SURE_TARGET
_NAMES: Final = _words(
    "id docid doc_id doc document document_id row row_id index key uuid guid url name "
    "title unnamed_0"
)
_TIMES: Final = _words("timestamp time date datetime created created_at updated_at")
_REMARKS: Final = _words("comment comments")
# Ids if there are many different values; few may be categories.
CODE: Final = _words(
    "sku ean upc gtin asin barcode account account_id account_number zip zip_code "
    "zipcode postcode postal_code phone phone_number email order order_id "
    "transaction_id serial serial_number"
)
# Columns that are kept, not learnt from.
ID: Final = _NAMES | _TIMES | _REMARKS


def plain(name: str) -> str:
    """Return a name in small letters, digits and single underscores."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def first_named(names: Iterable[str], words: frozenset[str]) -> str | None:
    """Return the first column whose name is one of some words."""
    return next((name for name in names if {plain(name), plain(name.lower())} & words), None)


def rating_column(names: Collection[str], role: str) -> str | None:
    """Return the column of a "user", "item" or "rating": named so, or as is usual."""
    usual = {"user": USER, "item": ITEM, "rating": RATING}[role]
    return role if role in names else first_named(names, usual)


def pair_columns(names: Collection[str]) -> dict[str, str]:
    """Return the columns of pairs by their roles: better, worse, weight, size; those there are.

    Examples
    --------
    >>> from peckorder._core.column_names import pair_columns
    >>> pair_columns(["date", "Winner_ID", "Loser_ID", "margin"])
    {'better': 'Winner_ID', 'worse': 'Loser_ID', 'size': 'margin'}
    """
    found: dict[str, str | None] = {}
    for words in PAIR:
        ends = [first_named(names, frozenset({word, f"{word}_id"})) for word in words]
        if None not in ends:
            found = dict(zip(("better", "worse"), ends, strict=True))
            break
    found |= {"weight": first_named(names, WEIGHT), "size": first_named(names, SIZE)}
    return {role: name for role, name in found.items() if name is not None}


def carried(name: str) -> str:
    """Return why a column is not learnt from, by its name; empty if it may be."""
    for kind, known in (("an id", _NAMES), ("a date or time", _TIMES), ("a remark", _REMARKS)):
        if first_named([name], known):
            return f"{kind}, by its name"
    return ""


def is_time(name: str) -> bool:
    """Return whether a column has the name of a date or time."""
    return first_named([name], _TIMES) is not None


def are_unnamed(names: Iterable[str]) -> bool:
    """Return whether names are numbers, as in a file without a header."""
    return all(re.fullmatch(r"(column|col|c|x)?_?\d+", plain(name)) for name in names)
