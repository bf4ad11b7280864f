"""Where to cut a ranked list: at a large gap between neighbouring scores."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, Ints, VectorLike
from peckorder._core.validation import not_negative, numbers, optional, whole
from peckorder.feedback import Queries

__all__ = ["cut_at_gap", "gaps"]


@entry
def gaps(scores: ArrayLike, qid: VectorLike | None = None) -> Floats:
    """Return by how much each row's score exceeds that of the next row in its list.

    Where scores are on a scale, as those of `MPRank` are, a large gap is where a list
    may be cut.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Larger is ranked first.
    qid : array-like of shape (n_samples,), default=None
        The query of each row; None for one list of all rows.

    Returns
    -------
    gaps : ndarray of shape (n_samples,)
        Not negative and finite (other scores are refused); NaN for the last row of each
        list. O(n log n) time.

    Examples
    --------
    >>> from peckorder.gaps import gaps
    >>> gaps([5.0, 1.0, 4.5, 0.5]).tolist()
    [0.5, 0.5, 3.5, nan]
    """
    _, order, steps = _lists(scores, qid)
    if np.isinf(steps).any():
        position = int(np.argmax(np.isinf(steps)))
        raise refusal(
            "scores",
            "be near enough to the next ones for gaps to be finite",
            f"rows {int(order[position])} and {int(order[position + 1])}",
        )
    result = np.empty(len(steps))
    result[order] = steps
    return result


@entry
def cut_at_gap(
    scores: ArrayLike,
    qid: VectorLike | None = None,
    *,
    min_gap: float = 0.0,
    min_rows: int = 1,
    max_rows: int | None = None,
) -> NDArray[np.bool_]:
    """Return which rows are above the largest gap of their list.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Larger is ranked first.
    qid : array-like of shape (n_samples,), default=None
        The query of each row; None for one list of all rows.
    min_gap : float, default=0.0
        Lists without a larger gap are cut at `max_rows` only.
    min_rows : int, default=1
        How many rows of a list are kept at least, if it has them.
    max_rows : int or None, default=None
        How many are kept at most.

    Returns
    -------
    is_kept : ndarray of bool of shape (n_samples,)
        True above the gap; of equal gaps the first one counts. O(n log n) time.

    Examples
    --------
    >>> from peckorder.gaps import cut_at_gap
    >>> cut_at_gap([5.0, 1.0, 4.5, 0.5]).tolist()
    [True, False, True, False]
    """
    not_negative.check("min_gap", min_gap)
    whole(1).check("min_rows", min_rows)
    optional(whole(min_rows)).check("max_rows", max_rows)
    queries, order, steps = _lists(scores, qid)
    starts, sizes = queries.offsets[:-1], queries.sizes
    above = np.arange(len(order)) - np.repeat(starts, sizes)
    most = sizes if max_rows is None else np.minimum(sizes, max_rows)
    may_cut = (above + 1 >= min_rows) & (above + 1 <= np.repeat(most, sizes))
    widest = np.where(may_cut & (steps > min_gap), steps, 0.0)
    is_widest = widest == np.repeat(np.maximum.reduceat(widest, starts), sizes)
    is_widest &= widest > 0.0
    first = np.minimum.reduceat(np.where(is_widest, above + 1, len(order) + 1), starts)
    kept = np.minimum(first, most)
    result = np.empty(len(order), dtype=bool)
    result[order] = above < np.repeat(kept, sizes)
    return result


def _lists(scores: ArrayLike, qid: VectorLike | None) -> tuple[Queries, Ints, Floats]:
    """Return the queries, rows by query and falling score, and the gaps below them."""
    values = numbers("scores", scores, finite=True)
    queries = Queries.of(qid, len(values))
    order = np.lexsort((-values, queries.of_rows()))
    steps = np.full(len(values), np.nan)
    with np.errstate(over="ignore"):
        steps[:-1] = values[order[:-1]] - values[order[1:]]
    steps[queries.offsets[1:] - 1] = np.nan
    return queries, order, steps
