"""A ranking of items from comparisons alone: matches, tournaments, A/B tests."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import stdtr, stdtrit
from sklearn.exceptions import ConvergenceWarning

from peckorder._core.errors import entry, refusal, warn
from peckorder._core.parameters import open_fraction
from peckorder._core.threads import blas_threads_for
from peckorder._core.typing import Floats, Frame, Ints, Labels
from peckorder.feedback import Ids, Preferences, columns_of_frame, id_list
from peckorder.magnitude.mprank_solver.iterative import conjugate_gradients
from peckorder.magnitude.mprank_solver.pairs import PairWeights
from peckorder.metrics import ranks

__all__ = ["ItemRanking", "ScoreDifference", "rank_items"]

# Items up to which the Laplacian is decomposed rather than solved by iteration.
_FEW: Final = 3_000
# Squared residuals beside the right side at which iteration ends.
_ENOUGH: Final = 1e-26
# Those above which scores may be far off; below, rounding may end iteration.
_COARSE: Final = 1e-18
# Variances that are computed together.
_TOGETHER: Final = 256


class ScoreDifference(NamedTuple):
    """By how much items score more than others, with standard errors and intervals.

    Arrays of shape (n_differences,), NaN where no comparisons connect the two items.
    """

    difference: Floats
    standard_error: Floats
    low: Floats
    high: Floats


@entry
def rank_items(comparisons: Preferences | Frame, ids: ArrayLike | None = None) -> "ItemRanking":
    """Rank items by comparisons of two, without features: least squares on a graph.

    With h the scores of items, and weights u and sizes s of the comparisons, it
    minimises ``sum_k u_k [(h_better - h_worse) - s_k]^2``: `MPRank` with each item its own
    feature, and no ridge. These are the ratings of Massey [1]_, or HodgeRank [2]_. With
    the Laplacian ``L = B' U B`` of the comparisons B, the scores are ``h = L^+ B' U s``,
    and their covariance is ``sigma^2 L^+`` if errors of sizes are independent with
    variances ``sigma^2 / u_k``.

    Parameters
    ----------
    comparisons : Preferences, frame or mapping of columns
        Which item was better, and by how much: 1 without sizes, 0 for a draw. A frame has
        one comparison per row: columns better and worse, or winner and loser, and size
        or margin, and weight, as in `Preferences.from_frame`.
    ids : array-like of shape (n_items,), default=None
        The id of each item, of which preferences have the numbers. None: its number, or
        the ids of the frame in their order.

    Returns
    -------
    ranking : ItemRanking
        Scores, standard errors and intervals. There is a warning if comparisons do not
        connect all items: scores of different parts must not be compared. O(n^3) time
        for n items up to 3,000, else O(m) for each iteration over m comparisons.

    See Also
    --------
    MPRank : The same for items with features, or with a ridge against few comparisons.

    References
    ----------
    .. [1] K. Massey, "Statistical Models Applied to the Rating of Sports Teams",
       Bluefield College, 1997.
    .. [2] X. Jiang, L.-H. Lim, Y. Yao and Y. Ye, "Statistical Ranking and Combinatorial
       Hodge Theory", Mathematical Programming 127, 2011.

    Examples
    --------
    >>> from peckorder import rank_items
    >>> ranking = rank_items({
    ...     "winner": ["ann", "bob", "ann", "eve", "ann"],
    ...     "loser": ["bob", "eve", "eve", "bob", "bob"],
    ...     "margin": [3, 2, 4, 1, 2],
    ... })
    >>> dict(zip(ranking.ids.tolist(), ranking.scores.round(2).tolist()))
    {'ann': 2.1, 'bob': -0.6, 'eve': -1.5}
    >>> best = ranking.difference("ann", "bob")
    >>> best.difference.round(2), best.standard_error.round(2)
    (array([2.75]), array([0.83]))
    """
    if not isinstance(comparisons, Preferences):
        if ids is None:
            ids = _ids_of(comparisons)
        comparisons = Preferences.from_frame(comparisons, ids)
    known, n_items = _known_ids(ids, comparisons)
    pairs, used = PairWeights.of(comparisons, n_items, None, None)
    component = comparisons.components(n_items)
    sizes = np.bincount(component)
    if len(sizes) > 1:
        largest = ", ".join(map(str, np.sort(sizes)[:-6:-1].tolist()))
        more = "" if len(sizes) <= 5 else " and fewer"
        warn(
            f"comparisons connect no more than {len(sizes)} separate parts, of {largest}{more} "
            "items: scores can be compared within a part only. Look at `component`, and "
            "add comparisons between parts, or fit MPRank, whose ridge draws all to zero."
        )
    graph, scores = _Graph(pairs), np.zeros(n_items)
    few = blas_threads_for(float(len(used)) ** 3 / 3.0)
    with few, np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(pairs.target @ pairs.target * len(used)):
            rule = "be small enough for its squares to be finite"
            raise refusal("size", rule, repr(float(pairs.size.max())))
        scores[used] = graph.solve(pairs.to_rows(pairs.target))
    scores -= (np.bincount(component, scores) / sizes)[component]
    error = pairs.target - pairs.differences(scores[used])
    dof = len(pairs) - (n_items - len(sizes))
    sigma = pairs.unit * float(np.sqrt(error @ error / dof)) if dof else np.nan
    return ItemRanking(known, scores, component, sigma, dof, graph, used)


@entry
@dataclass(frozen=True, eq=False, repr=False)
class ItemRanking:
    """Scores of items from comparisons, and how certain their differences are.

    Made by `rank_items`.

    Attributes
    ----------
    ids : ndarray of shape (n_items,)
        What the items are called.
    scores : ndarray of shape (n_items,)
        Larger is better; their mean is zero in each part that comparisons connect.
    component : ndarray of shape (n_items,)
        The part of each item, numbered from 0. Scores of two parts say nothing of each
        other.
    sigma : float
        The standard deviation of the size of a comparison of weight 1, beside what scores
        say; NaN if no comparison is left to tell.
    dof : int
        Comparisons less items, plus parts: what `sigma` is estimated from.

    Examples
    --------
    >>> from peckorder import Preferences, rank_items
    >>> matches = Preferences([0, 1, 2, 0], [1, 2, 0, 2], size=[2, 1, 0, 1])
    >>> ranking = rank_items(matches, ids=["a", "b", "c"])
    >>> ranking
    ItemRanking(a: 0.667, b: -0.333, c: -0.333)
    >>> ranking.ranks.tolist()
    [1, 2, 3]
    """

    ids: Labels
    scores: Floats
    component: Ints
    sigma: float
    dof: int
    _graph: "_Graph"
    _used: Ints

    def __repr__(self) -> str:
        best = np.argsort(-self.scores, kind="stable")[:5]
        ids = id_list(self.ids)
        names = [f"{ids[item]}: {self.scores[item]:.3g}" for item in best.tolist()]
        more = [f"{len(ids) - 5:,} more"] if len(ids) > 5 else []
        return f"ItemRanking({', '.join(names + more)})"

    @property
    def ranks(self) -> Ints:
        """The rank of each item within its part, 1 for the best."""
        return ranks(self.scores, self.component)

    def standard_errors(self) -> Floats:
        """Return the standard error of each score beside the mean score of its part.

        Returns
        -------
        standard_error : ndarray of shape (n_items,)
            NaN for items in no comparison. O(n_items^3) time for up to 3,000 items; refused
            for more, of which `difference` has those asked for.
        """
        if len(self._used) > _FEW:
            raise refusal(
                "standard_errors",
                f"be asked for {_FEW:,} items at most",
                f"{len(self._used):,}",
                hint="Ask for those of some by difference().",
            )
        errors = np.full(len(self.scores), np.nan)
        errors[self._used] = self.sigma * np.sqrt(self._graph.variances()) / self._graph.unit
        return errors

    def difference(self, better: Any, worse: Any, level: float = 0.95) -> ScoreDifference:
        """Return by how much items score more than others, with intervals.

        Parameters
        ----------
        better, worse : id, or array-like of shape (n_differences,)
            The ids of the two items, or of several; one id stands for as many as there
            are others.
        level : float, default=0.95
            How often intervals of Student's t contain the difference.

        Returns
        -------
        difference : ScoreDifference
            Of arrays. O(n_items^2) time each for up to 3,000 items, else a solution by
            conjugate gradients.

        Examples
        --------
        >>> from peckorder import Preferences, rank_items
        >>> ranking = rank_items(Preferences([0, 1, 0, 2], [1, 2, 2, 1], size=[2, 1, 4, 1]))
        >>> low, high = ranking.difference(0, [1, 2])[2:]
        >>> low.round(1).tolist(), high.round(1).tolist()
        ([-1.7, -1.3], [7.3, 7.7])
        """
        open_fraction.check("level", level)
        above, below, resistance = self._resistances(better, worse)
        apart = self.scores[above] - self.scores[below]
        apart = np.where(np.isnan(resistance), np.nan, apart)
        error = self.sigma * np.sqrt(resistance)
        half = stdtrit(self.dof, 0.5 + level / 2.0) * error if self.dof else error
        return ScoreDifference(apart, error, apart - half, apart + half)

    def probability(self, better: Any, worse: Any) -> Floats:
        """Return the probability that the next comparison of two has the first above.

        Of one with weight 1, whose size is normal around the difference of scores:
        Student's t, with the error of scores in it. Of few comparisons scores are too
        far apart, for want of a ridge, and so are probabilities.

        Parameters
        ----------
        better, worse : id, or array-like of shape (n_comparisons,)
            As in `difference`.

        Returns
        -------
        probability : ndarray of shape (n_comparisons,)
            NaN where no comparisons connect the two items, or none is left to tell how
            they vary.
        """
        above, below, resistance = self._resistances(better, worse)
        apart = self.scores[above] - self.scores[below]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = apart / (self.sigma * np.sqrt(1.0 + resistance))
        return np.asarray(stdtr(self.dof, t) if self.dof else np.full(len(t), np.nan))

    def _resistances(self, better: Any, worse: Any) -> tuple[Ints, Ints, Floats]:
        """Return numbers of items, and the variances of their differences over sigma^2."""
        above, below = self._positions("better", better), self._positions("worse", worse)
        if len(above) != len(below) and 1 not in (len(above), len(below)):
            raise refusal("worse", f"be as many as better, {len(above)} in all", len(below))
        above, below = np.broadcast_arrays(above, below)
        place = np.full(len(self.scores), -1)
        place[self._used] = np.arange(len(self._used))
        is_known = (self.component[above] == self.component[below]) & (place[above] >= 0)
        resistance = np.full(len(above), np.nan)
        resistance[is_known] = self._graph.resistances(
            place[above[is_known]], place[below[is_known]]
        )
        return above, below, resistance / self._graph.unit**2

    def _positions(self, name: str, asked: Any) -> Ints:
        is_one = isinstance(asked, str | bytes) or not isinstance(asked, Iterable)
        values = [asked] if is_one else np.asarray(asked).tolist()
        return np.array([self._ids.position(value, name) for value in values], dtype=np.int64)

    @cached_property
    def _ids(self) -> Ids:
        return Ids("item", self.ids)


@dataclass(frozen=True, eq=False)
class _Graph:
    """Solves systems of the Laplacian of pairs, all of whose items are in some pair."""

    pairs: PairWeights

    @property
    def unit(self) -> float:
        """The root of the weight to which others are relative."""
        return self.pairs.unit

    @property
    def is_large(self) -> bool:
        """Whether it is too large to be decomposed."""
        return self.pairs.n_rows > _FEW

    def solve(self, right: Floats) -> Floats:
        """Return x with ``L x = right``, whose sum is zero in each component."""
        if not self.is_large:
            grounded = self.pairs.grounded
            half = solve_triangular(grounded.factor, right[grounded.kept], lower=True)
            return grounded.potentials(half)
        L = self.pairs.laplacian
        result = conjugate_gradients(
            lambda x: L @ x,
            right,
            lambda x: right - L @ x,
            L.diagonal(),
            _ENOUGH * float(right @ right),
            10 * len(right),
        )
        rest = right - L @ result.x
        if not result.is_converged and rest @ rest > _COARSE * float(right @ right):
            warn(
                f"not converged after {result.n_iter} iterations: scores may be far off. Bring "
                "weights closer to each other, or add comparisons between distant items.",
                ConvergenceWarning,
            )
        return result.x

    def resistances(self, above: Ints, below: Ints) -> Floats:
        """Return ``(e_a - e_b)' L^+ (e_a - e_b)`` of items of one component."""
        found, n_items = np.empty(len(above)), self.pairs.n_rows
        for first in range(0, len(above), _TOGETHER):
            block = slice(first, first + _TOGETHER)
            right = np.zeros((n_items, len(above[block])))
            each = np.arange(right.shape[1])
            right[above[block], each] += 1.0
            right[below[block], each] -= 1.0
            if not self.is_large:
                found[block] = self._squares(right)
                continue
            for i in each:
                x = self.solve(right[:, i])
                found[first + i] = x @ right[:, i]
        return found

    def _squares(self, right: Floats) -> Floats:
        """Return ``r' L^+ r`` of each column r, whose sum is zero in each component."""
        grounded = self.pairs.grounded
        half = solve_triangular(grounded.factor, right[grounded.kept], lower=True)
        squares: Floats = np.square(half).sum(axis=0)
        return squares

    def variances(self) -> Floats:
        """Return the diagonal of the pseudo-inverse of the Laplacian."""
        component = self.pairs.component
        share = 1.0 / np.bincount(component)[component]
        found = np.empty(len(component))
        for first in range(0, len(found), _TOGETHER):
            items = np.arange(first, min(first + _TOGETHER, len(found)))
            is_beside = component[:, np.newaxis] == component[items]
            right = np.where(is_beside, -share[:, np.newaxis], 0.0)
            right[items, items - first] += 1.0
            found[items] = self._squares(right)
        return found


def _ids_of(frame: Frame) -> Labels:
    """Return the ids of both columns of a frame, in their order."""
    columns = columns_of_frame(frame, {})
    found: list[Any] = []
    for role, column in (("better", columns.better), ("worse", columns.worse)):
        found += id_list(Ids.from_column(role, column)[1].values)
    return Ids.from_column("ids", list(dict.fromkeys(found)))[1].values


def _known_ids(ids: ArrayLike | None, comparisons: Preferences) -> tuple[Labels, int]:
    n_items = comparisons.last_row + 1
    if ids is None:
        return np.arange(n_items), n_items
    codes, known = Ids.from_column("ids", ids)
    if len(known) != len(codes):
        again = int(np.argmax(np.bincount(codes) > 1))
        raise refusal("ids", "be distinct", f"{id_list(known.values)[again]!r} again")
    if len(codes) < n_items:
        raise refusal("ids", f"be one per item, {n_items} at least", len(codes))
    return known.values[codes], len(codes)
