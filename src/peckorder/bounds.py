"""What is guaranteed: bounds that hold for every run, computed from data."""

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from peckorder.feedback import Scale, read_labels

__all__ = ["MistakeBound", "prank_mistake_bound"]


class MistakeBound(NamedTuple):
    """Two bounds on the summed rank loss of PRank, the first the better one."""

    tight: float
    printed: float


def prank_mistake_bound(
    X: ArrayLike,
    y: ArrayLike,
    coef: ArrayLike,
    thresholds: ArrayLike,
    *,
    classes: ArrayLike | None = None,
) -> MistakeBound:
    """Bound the summed rank loss of PRank, over any number of passes.

    If some rule (w, b) with ``||(w, b)|| = 1`` puts every row on the right side of
    every threshold with a margin of at least gamma, the rank losses of PRank (last
    rule, from zero, in any order of rows) add up to at most
    ``((k-1) R**2 + 1) / gamma**2``, R being the largest norm of a row. The paper
    prints the looser ``(k-1) (R**2 + 1) / gamma**2``.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows, as PRank sees them.
    y : array-like of shape (n_samples,)
        Their labels.
    coef : array-like of shape (n_features,)
        Weights of any rule, not necessarily of norm 1.
    thresholds : array-like of shape (n_classes - 1,)
        Its thresholds, ascending.
    classes : array-like, default=None
        All classes, lowest first, if `y` does not show them all.

    Returns
    -------
    bound : MistakeBound
        The pair (tight, printed); both infinite if the rule does not separate.

    Examples
    --------
    >>> from peckorder.bounds import prank_mistake_bound
    >>> tight, printed = prank_mistake_bound([[-1.0], [1.0]], [1, 2], [1.0], [0.0])
    >>> tight, printed
    (2.0, 2.0)
    """
    who = "prank_mistake_bound"
    rows: Any = check_array(
        X,
        accept_sparse="csr",
        dtype=np.float64,
        estimator=who,
        input_name="X",
    )
    column = read_labels(who, y)
    column.check_length(who, rows.shape[0])
    scale = (
        Scale.inferred(who, column) if classes is None else Scale.given(who, classes)
    )
    w = _vector(who, "coef", coef, rows.shape[1], "weights, one a feature")
    rule = "thresholds, one less than classes"
    b = _vector(who, "thresholds", thresholds, len(scale) - 1, rule)
    if np.any(np.diff(b) < 0):
        raise ValueError(f"{who}: thresholds must be ascending; got {b.tolist()!r}.")
    level = scale.levels(who, column, slice(None))
    score = safe_sparse_dot(rows, w)
    # A margin is smallest at one of the two thresholds next to the true class.
    fences = np.concatenate(([-inf], b, [inf]))
    margin = np.minimum(score - fences[level], fences[level + 1] - score).min()
    gamma = float(margin) / float(np.sqrt(w @ w + b @ b) or 1.0)
    if gamma <= 0:
        return MistakeBound(inf, inf)
    square = float(row_norms(rows, squared=True).max())
    k = len(scale)
    tight = ((k - 1) * square + 1) / gamma**2
    return MistakeBound(tight, (k - 1) * (square + 1) / gamma**2)


def _vector(who: str, name: str, values: Any, size: int, rule: str) -> Any:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ValueError(f"{who}: {name} must be {size} finite {rule}; got {values!r}.")
    return vector
