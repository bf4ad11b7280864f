"""PRank: an on-line learner of ordered classes."""

from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from peckorder._base import all_or_nothing
from peckorder._core.errors import entry, refusal
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints, MatrixLike, Seed, VectorLike
from peckorder._core.validation import Rules, one_of, optional, positive, refuse_parameter, unmasked
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.ordinal.compiled.large_margin import Update
from peckorder.ordinal.kernel_estimator import KernelEstimator
from peckorder.ordinal.learners.kernel_prank import KernelPRankLearner, KernelVotedLearner
from peckorder.ordinal.learners.large_margin import (
    KernelMarginLearner,
    LargeMarginLearner,
    VotedMarginLearner,
)
from peckorder.ordinal.learners.polynomial import Monomials, PolynomialLearner
from peckorder.ordinal.learners.prank import PRankLearner
from peckorder.ordinal.learners.voted import VotedLearner
from peckorder.similarity.kernel_function import KernelFunction
from peckorder.similarity.parameters import KERNEL_RULES

# What papers call them.
_ALIASES = {"prank": "perceptron", "large-margin": "projection", "projecting": "projection"}
_Learner: TypeAlias = PRankLearner | KernelPRankLearner | KernelMarginLearner | PolynomialLearner


def _is_voted(estimator: "PRank") -> bool:
    """Whether the rule that predicts, if there is one yet, is voted."""
    return str(getattr(estimator, "_begun_with", vars(estimator))["rule"]) == "voted"


def _has_one_score(estimator: "PRank") -> bool:
    return not _is_voted(estimator)


def _start(name: str, given: ArrayLike, shapes: set[tuple[int, ...]], rule: str) -> Floats:
    """Return a copy of an array of finite numbers to start from."""
    unmasked(name, given)
    try:
        numbers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all():
        raise refusal(name, "be finite numbers", repr(given), error=ValueError)
    if numbers.shape not in shapes:
        got = f"an array of shape {numbers.shape!r}"
        raise refusal(name, rule, got, error=ValueError)
    return numbers


@entry
class PRank(KernelEstimator, stored=True):
    """Place rows on an ordered scale, learning one row at a time.

    A linear score is cut into k classes by ordered thresholds: the class of x is
    one plus the number of thresholds b_r with w.x >= b_r. A row of class y that is
    misplaced moves every threshold it is on the wrong side of by one (z_r = +1 if
    y > r, else -1)::

        tau_r = z_r if (w.x - b_r) z_r <= 0 else 0
        w += (sum of tau_r) x        b_r -= tau_r

    The thresholds never cross, and on data that can be separated with margin gamma
    the rank losses of all rounds add up to at most
    ``((k - 1) R**2 + 1) / gamma**2`` (see `peckorder.bounds.prank_mistake_bound`).

    Parameters
    ----------
    rule : {"averaged", "voted", "last"}, default="averaged"
        Which rule predicts. "last" is the published algorithm [1]_: the rule as it
        stands after the last row. "averaged" takes the mean of the rules after every
        row; it is as cheap and far more accurate, and steady where the last rule
        depends on the last few rows. "voted" lets every rule there ever was predict
        a rank and takes the mean, weighted by the rounds that rule got right, to the
        nearest class [2]_. Learning follows the last rule always.
    update : {"perceptron", "projection", "romma"}, default="perceptron"
        How a row changes the rule. "perceptron" is the published step above.
        "projection" [3]_ takes the nearest rule that places the row with a margin of
        one at every threshold, and learns from every row that lacks one, misplaced or
        not. "romma" [2]_ [4]_ takes, at a mistake, the smallest v' with v'.v >= v.v
        and v'.u >= 1, v being (w, b) and u what the published step adds; its
        thresholds may cross. See Notes.
    C : float or None, default=1.0
        Of "projection": the most by which one row moves a threshold, so that noisy
        rows do not move it far. None demands the margins.
    max_iter : int, default=1
        Passes over the rows in `fit`. One pass is the published algorithm; several
        help on small data.
    shuffle : bool, default=False
        Visit the rows in a new random order on every pass of `fit`. Do so if the rows
        come in a meaningful order, sorted by class for instance.
    fit_intercept : bool, default=True
        Give every row a constant feature of one, so that the score has a level of
        its own to move.
    unit_norm : bool, default=True
        Divide every row by its norm, the constant included. See Notes. Rows shorter
        than 1e-150 count as zero.
    classes : array-like, default=None
        All classes, lowest first. Needed for labels without an order of their own,
        such as strings, and for classes that the data may not show.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        What takes the place of the product x.z of two rows, for scores that are not
        linear: ``(gamma x.z + coef0)**degree`` ("poly"), ``exp(-gamma ||x - z||**2)``
        ("rbf"), or a function of two matrices that returns a number for each two of
        their rows, such as `sklearn.metrics.pairwise.laplacian_kernel`. Rows are
        given their constant and their norm before. With "precomputed", X holds the
        values, to which neither is done: of each two rows in `fit`, of each new row
        with each training row in `predict`.
    gamma : float or None, default=None
        Of "poly" and "rbf", not of a function; None is one over the number of
        features. Rows of unit norm are at most 2 apart: with many features, try 1
        and 10 instead.
    degree : int, default=2
        Of "poly". The kernel of the papers, (x.z + 1)**2, has ``gamma=1``.
    coef0 : float, default=1.0
        Of "poly".
    budget : int or None, default=None
        The most rows to keep for the score, the oldest being dropped; None keeps all
        that were misplaced. Losses grow fast below the length of `support_` without a
        budget; see Notes. Not for the voted rule.
    random_state : int, RandomState instance or None, default=None
        Source of the orders if `shuffle` is set.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, lowest first.
    coef_ : ndarray of shape (n_features,)
        Weights of the rule that predicts, for the linear kernel without a budget
        (not for the voted rule, which has many).
    intercept_ : float
        Its constant; zero without `fit_intercept`.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Its thresholds, ascending; whole numbers for the last rule (not for the voted
        rule). Those of "romma", which may have crossed, are put in order: the number
        that a score has reached is the same.
    support_ : ndarray of shape (n_support,)
        With a kernel or a budget: the rows that the score is a sum over (not for the
        voted rule). In `fit` they are rows of X; rows of later calls are counted on
        from `n_rounds_` as it was before.
    dual_coef_ : ndarray of shape (n_support,)
        Their coefficients: integers for the last rule, means for the averaged one.
    votes_ : ndarray of shape (n_rules,)
        For the voted rule: the rounds each successive rule got right.
    n_rounds_ : int
        Rows learnt so far, over all passes and calls.
    n_mistakes_ : int
        Rows among them that the last rule misplaced when they came.
    cumulative_loss_ : int
        Steps by which it misplaced them, summed: what the mistake bound bounds.
    n_iter_ : int
        Passes of the last call.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the columns had any.

    See Also
    --------
    peckorder.AggregatePRank : Many PRanks that saw different rows.
    peckorder.WidrowHoff : Treats ranks as numbers.
    peckorder.bounds.prank_mistake_bound : The guarantee, computed.

    Notes
    -----
    A pass costs O(nnz(X) + n_samples * log(n_classes) + mistakes * n_classes) time
    and, beyond the data, O(n_features + n_classes) memory (with `shuffle`, one
    more integer per row). The voted rule keeps a copy of every row it erred on, and
    predicting a row costs a pass over all of them.

    *Scale the features.* A threshold moves by one per mistake, a weight by the
    feature's value: with values of a hundredth the thresholds outrun the weights,
    with values of a hundred the weights outrun the thresholds. `unit_norm` keeps the
    two in step whatever comes in, and is right for counts, texts and ratings, where
    the length of a row means little. Columns that are measurements in different
    units are better standardised as well (`sklearn.preprocessing.StandardScaler`);
    with those, and ten passes or more, ``unit_norm=False`` is best. Mean rank loss
    over fifteen tables, one pass / twenty: raw 1.14 / 0.73, raw at unit norm 0.71 /
    0.56, standardised 0.49 / 0.42, standardised at unit norm 0.47 / 0.44.

    *Kernels.* The score is a sum over the rows misplaced so far, and a round costs as
    many kernels as there are such rows, of which the model keeps a copy. A polynomial
    kernel with at most 1,024 monomials is computed by these instead, at a cost that
    does not grow (but for three numbers kept of each mistake); the coefficients are
    the same, unless rounding decides on which side of a threshold a score lies. With a
    `budget`, cost and memory are bounded, but what is dropped is forgotten: the
    mistake bound no longer holds, not even on data that can be separated, and losses
    are larger unless the budget holds most of the support. (Thresholds stay in order,
    and coefficients integers: nothing is projected or scaled.) The averaged rule then
    takes the mean over the last updates only, between an eighth and a quarter of the
    budget, as older rules had rows that are gone. RBF kernels of sparse rows lose
    digits where distances are small beside the norms; take an offset away before.

    There is no `sample_weight`: thresholds stay in order because they all move in
    the same integer steps. A weighted step breaks this: from b = (0, 0.5) a row
    with score 0.25 and the lowest class leads to b = (1, 0.5).

    *Margins.* A projection minimises ``||w' - w||**2 / 2 + ||b' - b||**2 / 2 + C sum
    of max(0, 1 - z_r (w'.x - b'_r))``. Thresholds below the class of the row only fall
    and those above only rise, each kind by a function that does not change their
    order: so it is kept without asking, and what is left, the new score of the row,
    is found exactly in O(k log k). For any rule u = (w, b) whatever, the rank losses
    of the last rule, started from zero, add up to at most::

        max(1 / C, (k - 1) R**2 + 1) (||u||**2 + 2 C sum of max(0, 1 - z_r (w.x - b_r)))

    and for C=None, if u has all margins, to PRank's own bound. ROMMA's step is no
    multiple of one: rows -3, 1, 3, 1 of classes 1, 1, 2, 3 lead from b = (1, 1) / 2 by
    (8, 11) / 19 to (20, 3) / 44, crossed, and it has no bound of rank losses. Where
    rows contradict each other so that its two conditions do, it starts from u anew. A
    mistake costs it O(n_features), of sparse rows too. Both keep weights with the
    linear kernel, else rows, as the voted rule does; its rules then also have the vote
    of the round in which they are replaced for a margin. Mean test loss on the square
    of the paper (last rule / averaged): published 0.334 / 0.178, projection with C=1
    0.301 / 0.209, with C=0.2 0.273 / 0.240, ROMMA 0.297 / 0.167.

    `predict`, `save` and copying may run in several threads at once; `fit`,
    `partial_fit` and `progressive` may not run beside anything else on the same object.

    References
    ----------
    .. [1] K. Crammer and Y. Singer, "Pranking with Ranking", NIPS 14, 2001.
    .. [2] E. F. Harrington, "Online Ranking/Collaborative Filtering Using the
       Perceptron Algorithm", ICML, 2003.
    .. [3] K. Crammer and Y. Singer, "Online Ranking by Projecting", Neural
       Computation 17, 2005.
    .. [4] Y. Li and P. Long, "The Relaxed Online Maximum Margin Algorithm", Machine
       Learning 46, 2002.

    Examples
    --------
    >>> from peckorder import PRank
    >>> from peckorder.datasets import make_square
    >>> X, y = make_square(2000, random_state=0)
    >>> model = PRank(max_iter=5).fit(X[:1000], y[:1000])
    >>> model.predict(X[1000:1008])
    array([3, 3, 2, 2, 3, 3, 5, 5])
    >>> y[1000:1008]
    array([3, 3, 2, 2, 4, 3, 5, 5])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    -0.2

    The same classes from the two coordinates alone, by a kernel:

    >>> X, y = make_square(2000, degree=1, random_state=0)
    >>> model = PRank(kernel="rbf", gamma=10, max_iter=5).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    -0.16
    """

    _rules: ClassVar[Rules] = (
        OrdinalEstimator._rules
        | {
            "rule": one_of("averaged", "voted", "last"),
            "update": one_of("perceptron", "projection", "romma", aliases=_ALIASES),
            "C": optional(positive),
        }
        | KERNEL_RULES
    )
    _not_in_old_files: ClassVar[dict[str, Any]] = {"update": "perceptron", "C": 1.0}
    _learner: _Learner
    _fixed: ClassVar[tuple[str, ...]] = (
        "rule",
        "update",
        "C",
        *OrdinalEstimator._fixed,
        *KERNEL_RULES,
    )

    def __init__(
        self,
        *,
        rule: str = "averaged",
        update: Any = "perceptron",
        C: float | None = 1.0,
        max_iter: int = 1,
        shuffle: bool = False,
        fit_intercept: bool = True,
        unit_norm: bool = True,
        classes: VectorLike | None = None,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 2,
        coef0: float = 1.0,
        budget: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.rule = rule
        self.update = update
        self.C = C
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.unit_norm = unit_norm
        self.classes = classes
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        coef_init: ArrayLike | None = None,
        thresholds_init: ArrayLike | None = None,
    ) -> Self:
        """Learn from scratch, or from a given rule.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels: numbers, an ordered categorical, or any of `classes`.
        coef_init : array-like of shape (n_features,) or (n_features + 1,), optional
            Weights to start from instead of zeros; one more, the last, for the
            constant feature.
        thresholds_init : array-like of shape (n_classes - 1,), optional
            Thresholds to start from instead of zeros, ascending. With
            update="perceptron" integers: averaged thresholds could cross on the way.

        Returns
        -------
        self
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._fit(X, y, coef=coef_init, thresholds=thresholds_init)
        return self

    @available_if(_has_one_score)  # type: ignore[untyped-decorator]
    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the score of each row, to be compared with `thresholds_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        score : ndarray of shape (n_samples,)
            Larger is higher on the scale.
        """
        return self._from_learner("mean_scores", X)

    @available_if(_is_voted)  # type: ignore[untyped-decorator]
    def mean_rank(self, X: MatrixLike) -> Floats:
        """Return the mean of the ranks that all rules vote for, not rounded.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        rank : ndarray of shape (n_samples,)
            From 1, the lowest class, to the number of classes.
        """
        return self._from_learner("mean_ranks", X)

    @property
    def votes_(self) -> Ints:
        """The rounds each successive rule got right; of the voted rule alone."""
        votes: Ints | None = getattr(vars(self).get("_learner"), "votes", None)
        if votes is None:
            raise refusal("votes_ exists once fitted with rule='voted'", error=AttributeError)
        return votes

    def _check(self) -> None:
        super()._check()
        if self.budget is not None and self.rule == "voted":
            raise refusal(
                "budget",
                "be None with rule='voted', in which every row that was ever misplaced has a part",
                repr(self.budget),
                error=ValueError,
            )

        if self.budget is not None and self.update != "perceptron":
            rule = "be None unless update='perceptron', whose steps alone can be left out"
            refuse_parameter(self, "budget", rule)

    def _needs_norms(self) -> bool:
        return bool(self.unit_norm) or self.update != "perceptron"

    def _is_primal(self) -> bool:
        # Rules with a margin vote by kernels of the rows that they have added.
        is_plain = self.rule != "voted" or self.update == "perceptron"
        return is_plain and super()._is_primal()

    def _has_few_monomials(self, kernel: KernelFunction) -> bool:
        # Rules that vote are known by the rows that they have added.
        is_plain = self.rule != "voted" and self.update == "perceptron"
        return is_plain and super()._has_few_monomials(kernel)

    def _shapes(self, n_features: int, n_levels: int) -> dict[str, tuple[int, ...]]:
        n_weights = self._n_weights(n_features)
        return {} if n_weights is None else {"weights": (n_weights,)}

    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: ArrayLike | None
    ) -> _Learner:
        thresholds = self._first_thresholds(n_levels - 1, start.get("thresholds"))
        averaged, voted = self.rule == "averaged", self.rule == "voted"
        update = Update(self.update == "romma", np.inf if self.C is None else float(self.C))
        has_margin = self.update != "perceptron"
        if self._is_primal():
            weights = self._first_weights(n_features, start.get("coef"))
            if has_margin:
                transform = self._transform()
                return LargeMarginLearner(transform, averaged, weights, thresholds, update=update)
            learner = VotedLearner if voted else PRankLearner
            return learner(self._transform(), averaged, weights, thresholds)
        if start.get("coef") is not None:
            few = ", and the voted rule update='perceptron'," if has_margin else ","
            raise refusal(
                "coef_init",
                f"be None unless kernel='linear' and budget=None{few} which alone "
                "have weights to start from",
                repr(start["coef"]),
                error=ValueError,
            )
        kernel = self._kernel_function(n_features)
        if has_margin:
            margin_learner = VotedMarginLearner if voted else KernelMarginLearner
            return margin_learner(
                kernel=kernel, averaged=averaged, budget=0, thresholds=thresholds, update=update
            )
        if voted:
            return KernelVotedLearner(
                kernel=kernel, averaged=False, budget=0, thresholds=thresholds
            )
        if self._has_few_monomials(kernel):
            monomials = Monomials.of_kernel(kernel)
            weights = np.zeros(len(monomials))
            transform = RowTransform(intercept=False, unit_norm=False)
            linear = PRankLearner(transform, averaged, weights, thresholds)
            return PolynomialLearner(monomials, linear)
        budget = self.budget or 0
        return KernelPRankLearner(
            kernel=kernel, averaged=averaged, budget=budget, thresholds=thresholds
        )

    def _first_weights(self, n_features: int, given: ArrayLike | None) -> Floats:
        weights = np.zeros(n_features + bool(self.fit_intercept))
        if given is None:
            return weights
        more = ", and one for the constant" if self.fit_intercept else ""
        rule = f"be one weight per feature, {n_features} in all{more}"
        start = _start("coef_init", given, {(n_features,), weights.shape}, rule)
        weights[: start.size] = start
        return weights

    def _first_thresholds(self, n_thresholds: int, given: ArrayLike | None) -> Floats:
        if given is None:
            return np.zeros(n_thresholds)
        rule = f"be one threshold between each two classes, {n_thresholds} in all"
        thresholds = _start("thresholds_init", given, {(n_thresholds,)}, rule)
        needs_integers = self.update == "perceptron"
        is_whole = not needs_integers or np.all(thresholds == np.floor(thresholds))
        if not is_whole or np.any(np.diff(thresholds) < 0):
            why = "integers in ascending order, else they could cross while learning"
            raise refusal(
                "thresholds_init",
                f"be {why}" if needs_integers else "be in ascending order",
                repr(thresholds.tolist()),
                error=ValueError,
            )
        return thresholds

    def _publish(self) -> None:
        for name in ("coef_", "intercept_", "thresholds_"):
            self.__dict__.pop(name, None)  # of a fit with another rule
        if self.rule == "voted":
            return
        if not isinstance(self._learner, PRankLearner):
            self.thresholds_ = self._learner.mean_thresholds()
            return
        weights, self.thresholds_ = self._learner.mean_rule()
        self.coef_ = weights[: self.n_features_in_]
        self.intercept_ = float(weights[-1]) if self.fit_intercept else 0.0
