"""Columns that say too much: features that by themselves put rows in the order of the target."""

from typing import Final

import numpy as np

from peckorder._core.typing import Array, Floats
from peckorder.metrics import disagreement
from peckorder.tables.coders import ByTarget, Coder, Dates, OneHot
from peckorder.tables.columns import drawn
from peckorder.tables.features import Coding

# Rows that are looked at for leaks, and how many of them are needed.
_LEAK_ROWS: Final = 2000
_FEWEST_LEAK_ROWS: Final = 20
# A feature that has so many pairs wrong, or right the other way round, says too much.
_TOO_GOOD: Final = 0.005


def leak_notes(
    coding: Coding, X: Floats, y: Floats, target: str, qid: Array | None
) -> tuple[str, ...]:
    """Name the columns that by themselves put rows in the order of the target.

    Of text it is the order of mean targets, if it has five rows per value.
    """
    n_rows = len(y)
    if n_rows < _FEWEST_LEAK_ROWS or len(coding.coders) < 2:
        return ()
    rows = drawn(n_rows, qid, _LEAK_ROWS, seed=0)
    X, y, qid = X[rows], y[rows], None if qid is None else qid[rows]
    notes, first = [], 0
    for name, coder in coding.coders.items():
        width = len(coder.names(name))
        x = _one_column(coder, X[:, first : first + width], y)
        first += width
        is_known = ~np.isnan(x)
        if is_known.sum() < _FEWEST_LEAK_ROWS or not np.ptp(y[is_known]):
            continue
        of_known = None if qid is None else qid[is_known]
        wrong = float(disagreement(y[is_known], x[is_known], qid=of_known))
        if min(wrong, 1.0 - wrong) <= _TOO_GOOD:
            notes.append(
                f"{name}: alone it puts {max(wrong, 1.0 - wrong):.1%} of pairs in the order "
                f"of {target!r}. If it is not known before that is, --drop {name!r}."
            )
    return tuple(notes)


def _one_column(coder: Coder, X: Floats, y: Floats) -> Floats:
    """Return numbers by which a column could order rows; NaN if there are none."""
    if isinstance(coder, Dates):
        return np.full(len(y), np.nan)
    if not isinstance(coder, OneHot | ByTarget):
        return X[:, 0]
    level = X[:, 0] if isinstance(coder, ByTarget) else X @ np.arange(X.shape[1])
    number = np.where(np.isnan(level), len(coder.levels) + 1, level).astype(np.int64)
    count = np.bincount(number)
    if 5 * np.count_nonzero(count) > len(y):
        return np.full(len(y), np.nan)
    return np.asarray((np.bincount(number, y) / np.maximum(count, 1))[number])
