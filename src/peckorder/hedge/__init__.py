"""Rankers combined on-line: weights by their losses, and one order of what they say."""

from math import log
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import not_negative, open_fraction, unmasked, whole
from peckorder.feedback import Preferences, read_grades
from peckorder.hedge.compiled import greedy_order as compiled_order
from peckorder.metrics import disagreement

__all__ = ["Hedge", "greedy_order"]


@entry
def greedy_order(scores: ArrayLike, weights: ArrayLike | None = None) -> Ints:
    """Return the rows in an order that agrees with weighted rankers, best first.

    Of two rows u and v the rankers prefer u by ``PREF(u, v) = sum_i w_i R_i(u, v)``,
    where R_i is 1 if ranker i scores u above v, 0 if below and 1/2 if it scores them
    equally or one of them not at all. An order agrees with them by the sum of PREF over
    all pairs that it puts in this order. To find the best order is NP-hard; this one,
    which takes again and again the row with the largest potential ::

        sum over rows v that are left of PREF(u, v) - PREF(v, u)

    agrees at least half as much as the best [1]_.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_rankers)
        What each ranker says of each row, larger is better, on any scale; NaN for no
        opinion.
    weights : array-like of shape (n_rankers,), default=None
        How much each ranker counts, not negative; None for all alike.

    Returns
    -------
    order : ndarray of shape (n_rows,)
        Row numbers, best first; of equal potentials the first row. O(n_rows**2 *
        n_rankers) time, O(n_rows * n_rankers) memory.

    See Also
    --------
    Hedge : Learns the weights.

    References
    ----------
    .. [1] W. W. Cohen, R. E. Schapire and Y. Singer, "Learning to Order Things", JAIR
       10, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.hedge import greedy_order
    >>> scores = [[3.0, 0.1, np.nan], [2.0, 0.9, 5.0], [1.0, 0.5, 7.0]]
    >>> greedy_order(scores)
    array([1, 0, 2])
    >>> greedy_order(scores, weights=[3, 1, 1])
    array([0, 1, 2])
    """
    given = _scores(scores)
    n_rankers = given.shape[1]
    weight = np.ones(n_rankers) if weights is None else _weights(weights, n_rankers)
    order = np.empty(len(given), dtype=np.int64)
    compiled_order(given, weight, np.zeros(given.shape, dtype=np.int64), order)
    return order


@entry
class Hedge:
    """Weights of rankers, learnt on-line from the pairs that each puts in the wrong order.

    In every round the rankers score some rows, and feedback says which of them should
    be above which. The loss of ranker i is the weighted share of these pairs that it
    puts in the wrong order, half of those that it scores equally or not at all:
    `peckorder.metrics.disagreement`. Then ::

        w_i <- w_i beta**loss_i / Z

    with Z such that weights add up to one [1]_. The combination ``PREF = sum_i w_i
    R_i``, see `greedy_order`, has the loss ``sum_i w_i loss_i``, and whatever the
    feedback, its losses of all rounds add up to at most::

        (ln(1 / beta) min_i sum of loss_i + ln(n_rankers)) / (1 - beta)

    So it is soon about as good as the best ranker, which need not be known. Where rows
    have features, `peckorder.RankBoost` learns more from the same pairs, but needs all
    of them at once.

    Parameters
    ----------
    n_rankers : int
        How many rankers there are.
    beta : float, default=0.5
        Above 0 and below 1. The smaller, the faster the weight of a bad ranker falls.

    Attributes
    ----------
    n_rounds : int
        Rounds so far.
    losses : ndarray of shape (n_rankers,)
        The losses of each ranker, summed over rounds.
    loss : float
        Those of the combination, each by the weights before its round.

    See Also
    --------
    peckorder.RankBoost : Learns from all pairs at once.

    Notes
    -----
    A round costs O(n log n) per ranker for n grades, O(n_pairs) for preferences, and
    O(n_rankers) memory beyond the data.

    References
    ----------
    .. [1] W. W. Cohen, R. E. Schapire and Y. Singer, "Learning to Order Things", JAIR
       10, 1999.

    Examples
    --------
    >>> from peckorder import Preferences
    >>> from peckorder.hedge import Hedge
    >>> hedge = Hedge(n_rankers=2)
    >>> scores = [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]
    >>> hedge.weights
    array([0.5, 0.5])
    >>> hedge.update(Preferences(better=[2, 1], worse=[0, 0]), scores).weights.round(2)
    array([0.67, 0.33])
    >>> hedge.order(scores)
    array([2, 1, 0])
    >>> hedge.loss, round(hedge.loss_bound, 2)
    (0.5, 1.39)
    """

    def __init__(self, n_rankers: int, beta: float = 0.5) -> None:
        whole(1).check("n_rankers", n_rankers)
        open_fraction.check("beta", beta)
        self.beta = float(beta)
        self.n_rounds, self.loss = 0, 0.0
        self.losses: Floats = np.zeros(int(n_rankers))

    @property
    def weights(self) -> Floats:
        """The weights of the rankers, which add up to one."""
        powers = self.beta ** (self.losses - self.losses.min())
        return np.asarray(powers / powers.sum())

    @property
    def loss_bound(self) -> float:
        """What `loss` is at most."""
        best = log(1 / self.beta) * float(self.losses.min())
        return (best + log(len(self.losses))) / (1 - self.beta)

    def update(self, y: ArrayLike | Preferences, scores: ArrayLike) -> Self:
        """Learn one round.

        Parameters
        ----------
        y : array-like of shape (n_rows,) or Preferences
            How good each row is, or which should be above which.
        scores : array-like of shape (n_rows, n_rankers)
            What each ranker said of each row, larger is better; NaN for no opinion.

        Returns
        -------
        self
            With the weights of the next round.
        """
        losses = self.losses_of(y, scores)
        self.loss += float(self.weights @ losses)
        self.losses = self.losses + losses
        self.n_rounds += 1
        return self

    def losses_of(self, y: ArrayLike | Preferences, scores: ArrayLike) -> Floats:
        """Return the loss of each ranker in a round, which is not learnt.

        Parameters
        ----------
        y, scores
            As in `update`.

        Returns
        -------
        losses : ndarray of shape (n_rankers,)
            From 0, all pairs in the right order, to 1.
        """
        given = self._scores(scores)
        if isinstance(y, Preferences):
            y.without_sizes().check_rows(len(given))
            return np.array([_loss_of_pairs(y, column) for column in given.T])
        grades = read_grades(y)
        pairs = Preferences.of_labels(grades, None, n_rows=len(given))
        pairs.check_rows(len(given))
        return np.array([_loss_of_grades(grades, pairs, column) for column in given.T])

    def order(self, scores: ArrayLike) -> Ints:
        """Return rows in the order of the combination, best first.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_rankers)
            What each ranker says of each row; NaN for no opinion.

        Returns
        -------
        order : ndarray of shape (n_rows,)
            Row numbers, by `greedy_order`.
        """
        return greedy_order(self._scores(scores), self.weights)

    def _scores(self, scores: ArrayLike) -> Floats:
        given = _scores(scores)
        if given.shape[1] != len(self.losses):
            rule = f"have a column per ranker, {len(self.losses)} in all"
            raise refusal("scores", rule, given.shape[1])
        return given


def _loss_of_pairs(pairs: Preferences, score: Floats) -> float:
    known = ~np.isnan(score)
    if known.all():
        return float(disagreement(pairs, score))
    every = pairs.without_sizes()
    rest = every.restrict(known)
    share = rest.total_weight / every.total_weight
    return _with_abstentions(share, disagreement(rest, score[known]) if share else 0.0)


def _loss_of_grades(grade: Floats, pairs: Preferences, score: Floats) -> float:
    known = ~np.isnan(score)
    if known.all():
        return float(disagreement(grade, score))
    share = pairs.restrict(known).total_weight / pairs.total_weight
    return _with_abstentions(share, disagreement(grade[known], score[known]) if share else 0.0)


def _with_abstentions(share: float, loss: float) -> float:
    """Return a loss, given that of the share of pairs without: half of the others are wrong."""
    return float(share * loss + (1 - share) / 2)


def _scores(scores: ArrayLike) -> Floats:
    """Return scores (rows, rankers) as floats, NaN among them."""
    given = np.asarray(unmasked("scores", scores))
    if given.dtype.kind not in "biuf" or given.ndim != 2 or given.size == 0:
        rule = "be numbers, a row per row and a column per ranker, one of each at least"
        raise refusal("scores", rule, f"an array of shape {given.shape} of {given.dtype}")
    return np.ascontiguousarray(given, dtype=np.float64)


def _weights(weights: ArrayLike, n_rankers: int) -> Floats:
    given = np.asarray(unmasked("weights", weights))
    is_valid = given.dtype.kind in "biuf" and given.shape == (n_rankers,)
    if not is_valid or not all(not_negative.accepts(value) for value in given.tolist()):
        rule = f"be one finite number >= 0 per ranker, {n_rankers} in all"
        raise refusal("weights", rule, repr(given.tolist()), error=ValueError)
    return given.astype(np.float64)
