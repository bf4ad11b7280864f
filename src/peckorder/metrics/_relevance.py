"""Which rows of a list are good."""

import warnings
from reprlib import repr as repr_
from typing import Any

import numpy as np

from peckorder._core.typing import Ints
from peckorder._core.validation import finite
from peckorder.exceptions import DataError
from peckorder.metrics._lists import RankedLists, check_lengths

GOOD = "a good row"


def good_rows(lists: RankedLists, good: Any) -> Ints:
    """Return 1 for the good rows of the lists, else 0.

    `good` is the grade from which on rows are good, "top" for those of the highest
    grade of each list, or a mask with a value a row. Lists of good rows only are told
    of, since every order of them is perfect.
    """
    if isinstance(good, str) and good == "top":
        is_good = _is_top(lists)
    elif finite.accepts(good):
        is_good = lists.truth >= float(good)
    else:
        is_good = _mask(lists.who, good, len(lists))[lists.order]
    _tell(lists, is_good, "every row is good", " Is `good` what you mean?")
    return np.asarray(is_good, dtype=np.int64)


def top_rows(lists: RankedLists) -> Ints:
    """Return 1 for the rows of the highest grade of each list, else 0.

    Lists of one grade are told of, since every order of them is perfect.
    """
    is_top = _is_top(lists)
    _tell(lists, is_top, "every row is good, being of the highest grade")
    return np.asarray(is_top, dtype=np.int64)


def _is_top(lists: RankedLists) -> Any:
    highest = np.maximum.reduceat(lists.truth, lists.queries.offsets[:-1])
    return lists.truth == np.repeat(highest, lists.queries.sizes)


def _mask(who: str, good: Any, n_rows: int) -> Any:
    try:
        mask = np.asarray(good)
    except ValueError:
        mask = np.array("of rows of different lengths")
    if mask.ndim != 1 or mask.dtype.kind != "b":
        raise DataError(
            f"{who}: good must be a grade, 'top' or a mask; got {repr_(good)}."
        )
    check_lengths(who, n_rows, good=len(mask))
    return mask


def _tell(lists: RankedLists, is_good: Any, what: str, question: str = "") -> None:
    """Warn, on behalf of the caller of a metric, of lists of good rows only."""
    starts = lists.queries.offsets[:-1]
    all_good = int(np.logical_and.reduceat(is_good, starts).sum())
    if all_good:
        warnings.warn(
            f"{lists.who}: in {all_good} of {len(lists.queries)} queries {what}, so "
            f"that every order is perfect.{question}",
            UserWarning,
            stacklevel=4,
        )
