"""Guarantees: bounds that hold for every run, computed from data."""

from math import e, inf, isnan, log, log2, sqrt
from sys import float_info
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from peckorder._core.errors import caller, entry, refusal
from peckorder._core.typing import Floats, Matrix, MatrixLike, VectorLike
from peckorder._core.validation import (
    Rule,
    finite,
    not_negative,
    one_of,
    one_or_two,
    open_fraction,
    positive,
    rows_without_gaps,
    unmasked,
    whole,
)
from peckorder.feedback import Scale, read_labels

__all__ = [
    "MistakeBound",
    "prank_mistake_bound",
    "rankboost_vc_bound",
    "stability_bound",
    "stability_coefficient",
]

_DIMENSION = Rule("a finite number >= 2", lambda value: finite.accepts(value) and value >= 2)
_VARIANT = one_of("printed", "safe")


class MistakeBound(NamedTuple):
    """Two bounds on the summed rank loss of PRank, the first the better one."""

    tight: float
    printed: float


@entry
def prank_mistake_bound(
    X: MatrixLike,
    y: VectorLike,
    coef: ArrayLike,
    thresholds: ArrayLike,
    *,
    classes: VectorLike | None = None,
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
    rows: Matrix = check_array(
        rows_without_gaps(X),
        accept_sparse="csr",
        dtype=np.float64,
        estimator=caller(),
        input_name="X",
    )
    column = read_labels(y)
    column.check_length(rows.shape[0])
    scale = Scale.inferred(column) if classes is None else Scale.given(classes)
    w = _vector("coef", coef, rows.shape[1], "weights, one per feature")
    rule = "thresholds, one less than classes"
    b = _vector("thresholds", thresholds, len(scale) - 1, rule)
    if np.any(np.diff(b) < 0):
        raise refusal("thresholds", "be ascending", repr(b.tolist()), error=ValueError)
    level = scale.levels(column, slice(None))
    # A rule is the same at any length.
    length = max(np.abs(w).max(), np.abs(b).max()) or 1.0
    w, b = w / length, b / length
    with np.errstate(over="ignore", invalid="ignore"):
        score = safe_sparse_dot(rows, w)
    if not np.isfinite(score).all():
        raise refusal(
            "X",
            "be small enough for its scores to be finite",
            f"rows of norms up to {_largest_norm(rows)!r}",
        )
    # A margin is smallest at one of the two thresholds next to the true class.
    fences = np.concatenate(([-inf], b, [inf]))
    margin = np.minimum(score - fences[level], fences[level + 1] - score).min()
    gamma = float(margin) / float(np.sqrt(w @ w + b @ b) or 1.0)
    if gamma <= 0:
        return MistakeBound(inf, inf)
    radius, k = _largest_norm(rows), len(scale)
    # Squared last: of very large or small numbers only the ratio may have a square.
    spread, slack = (radius / gamma) * (radius / gamma), (1.0 / gamma) * (1.0 / gamma)
    return MistakeBound((k - 1) * spread + slack, (k - 1) * (spread + slack))


@entry
def rankboost_vc_bound(*, m: int, n: int, d: float, rounds: int, delta: float) -> float:
    """Bound how far the error of RankBoost on new pairs may be off that on its own.

    For bipartite feedback on m bad and n good rows, drawn independently, and weak
    rankings into {0, 1} of VC dimension d >= 2, with probability 1 - delta the share of
    wrong pairs in all the world is within ::

        sum over s in (m, n) of 2 sqrt((d' (ln(2s/d') + 1) + ln(18/delta)) / s)
        d' = 2 (d + 1) (T + 1) log2(e (T + 1))

    of that among the rows seen, after T rounds (Theorem 3 of the paper). It says
    nothing before there are a million rows.

    Parameters
    ----------
    m, n : int
        How many bad and good rows were seen.
    d : float
        The VC dimension of the weak rankings, 2 at least.
    rounds : int
        The number of rounds T.
    delta : float
        How likely the bound may fail, above 0 and below 1.

    Returns
    -------
    bound : float
        Infinite if there are not more than d'/2 rows of each kind. O(1) time.

    Examples
    --------
    >>> from peckorder.bounds import rankboost_vc_bound
    >>> round(rankboost_vc_bound(m=10**6, n=10**6, d=2, rounds=50, delta=0.05), 2)
    0.52
    """
    for name, count in (("m", m), ("n", n), ("rounds", rounds)):
        whole(1).check(name, count)
    _DIMENSION.check("d", d)
    open_fraction.check("delta", delta)
    steps = _count(rounds) + 1
    combined = 2 * (d + 1) * steps * log2(e * steps)
    if 2 * min(m, n) <= combined:
        return inf
    doubt = log(18) - log(delta)
    terms = [
        2 * sqrt((combined * (log(s / combined) + log(2) + 1) + doubt) / s)
        for s in map(_count, (m, n))
        if s < inf
    ]
    return float(sum(terms))


@entry
def stability_coefficient(*, C: float, kappa: float, m: int, power: int, M: float) -> float:
    """Bound by how much one row can change what a pair costs after training.

    Let h minimise ``||h||**2 + (C / m**2) sum_ij c(h, i, j)``, as MPRank and SVRank do,
    with a pair loss to the power n (see `losses.pair_loss`). If one of the m rows is
    taken away, the cost of any pair in all the world changes by no more than ::

        beta = 4 C sigma_n**2 kappa**2 / m,   sigma_1 = 1,  sigma_2 = 4 M

    This is proved for the losses "mp", "svr", "hr" and "hmpc", not for "hmp", which
    jumps; sigma_n is how steep a cost is in a difference of scores. There are data
    for which "mp" with power 1 comes to (m-1)/m of it. *Replacing* a row is taking one
    away and adding another: 2 beta.

    Parameters
    ----------
    C : float
        The weight of the loss, above 0.
    kappa : float
        The square root of the largest K(x, x): the largest norm of a row, if linear.
    m : int
        The number of rows.
    power : {1, 2}
        The power n of the loss.
    M : float
        The largest distance of h(x) from y; for power 1 it does not matter.

    Returns
    -------
    beta : float
        O(1) time.

    Examples
    --------
    >>> from peckorder.bounds import stability_coefficient
    >>> stability_coefficient(C=1.0, kappa=1.0, m=100, power=1, M=2.0)
    0.04
    """
    return _stability(C, kappa, m, power, M) / _count(m)


@entry
def stability_bound(
    *,
    C: float,
    kappa: float,
    m: int,
    power: int,
    M: float,
    delta: float,
    empirical_error: float = 0.0,
    variant: str = "printed",
) -> float:
    """Bound the cost of new pairs for MPRank and SVRank, by their stability.

    With probability 1 - delta over m independent rows, the expected cost R of a pair is
    at most, beta being the `stability_coefficient` ::

        printed  E + 2 beta + (beta m + (2M)**n) sqrt((2/m) ln(2/delta))
        safe     E + 4 beta + (2M)**n / m
                   + (2 beta m + (2M)**n) sqrt((2/m) ln(2/delta))

    E being the mean cost over the m**2 ordered pairs seen. "printed" is the paper's
    corollary, whose proof has a gap: it takes beta, which is for a row taken away,
    where one is replaced, and that can cost 2 beta; and it overlooks that the m pairs
    of a row with itself cost nothing. With both mended the proof gives "safe". No case
    is known in which "printed" fails; only "safe" is proved. Both are for the losses
    for which the coefficient is.

    Parameters
    ----------
    C, kappa, m, power, M
        As in `stability_coefficient`.
    delta : float
        How likely the bound may fail, above 0 and below 1.
    empirical_error : float, default=0.0
        The mean cost E; at 0 the bound is on the difference of R and E.
    variant : {"printed", "safe"}, default="printed"
        Which of the two.

    Returns
    -------
    bound : float
        O(1) time.

    Examples
    --------
    >>> from peckorder.bounds import stability_bound
    >>> given = {"C": 1, "kappa": 1, "m": 10**4, "power": 1, "M": 2, "delta": 0.05}
    >>> round(stability_bound(**given), 4)
    0.2181
    >>> round(stability_bound(**given, variant="safe"), 4)
    0.3279
    """
    total = _stability(C, kappa, m, power, M)
    open_fraction.check("delta", delta)
    not_negative.check("empirical_error", empirical_error)
    _VARIANT.check("variant", variant)
    count, largest = _count(m), 2.0 * M if power == 1 else 4.0 * M * M
    deviation = sqrt(2.0 / count * (log(2.0) - log(delta)))
    if variant == "safe":
        total, empirical_error = 2.0 * total, empirical_error + largest / count
    bound = empirical_error + 2.0 * total / count + (total + largest) * deviation
    # Infinite, but multiplied by zero: there are infinitely many rows.
    return inf if isnan(bound) else bound


def _stability(C: float, kappa: float, m: int, power: int, M: float) -> float:
    """Return m times the stability coefficient."""
    positive.check("C", C)
    positive.check("kappa", kappa)
    whole(1).check("m", m)
    one_or_two.check("power", power)
    positive.check("M", M)
    sigma = 1.0 if power == 1 else 4.0 * M
    return 4.0 * C * sigma * sigma * kappa * kappa


def _largest_norm(rows: Any) -> float:
    """Return the largest norm of a row, whether or not its square is finite."""
    with np.errstate(over="ignore"):
        square = float(row_norms(rows, squared=True).max())
    if 1e-200 < square < inf:
        return sqrt(square)
    values = rows.data if sparse.issparse(rows) else rows
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    return largest * float(row_norms(rows / largest).max())


def _count(number: int) -> float:
    """Return a whole number as a float; infinite if it is too large for one."""
    return float(number) if number <= float_info.max else inf


def _vector(name: str, values: ArrayLike, size: int, rule: str) -> Floats:
    unmasked(name, values)
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        vector = np.empty(0)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise refusal(name, f"be {size} finite {rule}", repr(values), error=ValueError)
    return vector
