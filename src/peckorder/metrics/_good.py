"""Which rows of a list are good."""

import warnings
from reprlib import repr as repr_
from typing import Any

import numpy as np

from peckorder._typing import Ints
from peckorder._validation import finite
from peckorder.exceptions import DataError
from peckorder.metrics._lists import RankedLists, check_lengths

GOOD = "a good row"


def good_rows(lists: RankedLists, good: Any) -> Ints:
    """Return 1 for the good rows of the lists, else 0.

    `good` is the grade from which on rows are good, "top" for those of the highest
    grade of each list, or a mask with a value a row. Lists of good rows only are told
    of, since every order of them is perfect.
    """
    starts = lists.queries.offsets[:-1]
    if isinstance(good, str):
        if good != "top":
            raise DataError(
                f"{lists.who}: good must be a grade, 'top' or a mask; got {good!r}."
            )
        highest = np.maximum.reduceat(lists.truth, starts)
        is_good = lists.truth == np.repeat(highest, lists.queries.sizes)
    elif finite.accepts(good):
        is_good = lists.truth >= float(good)
    else:
        mask = np.asarray(good)
        if mask.ndim != 1 or mask.dtype.kind not in "b":
            raise DataError(
                f"{lists.who}: good must be a grade, 'top' or a mask; got "
                f"{repr_(good)}."
            )
        check_lengths(lists.who, len(lists), good=len(mask))
        is_good = mask[lists.order]
    all_good = int(np.logical_and.reduceat(is_good, starts).sum())
    if all_good:
        warnings.warn(
            f"{lists.who}: in {all_good} of {len(lists.queries)} queries every row is "
            "good, so that every order is perfect. Is `good` what you mean?",
            UserWarning,
            stacklevel=3,
        )
    return np.asarray(is_good, dtype=np.int64)
