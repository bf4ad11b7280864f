"""Ensembles of PRanks, each of which learns its own random sample of the rows."""

from copy import copy
from functools import partial
from multiprocessing import parent_process
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from peckorder._base import all_or_nothing
from peckorder._core.errors import entry, refusal
from peckorder._core.row_transform import RowTransform, UnusableRow
from peckorder._core.threads import allowed
from peckorder._core.typing import Floats, Ints, Labels, MatrixLike, Rows, Seed, VectorLike
from peckorder._core.validation import (
    Rule,
    Rules,
    count_rows,
    fraction,
    one_of,
    optional,
    refuse_parameter,
    unmasked,
    whole,
)
from peckorder.feedback import LabelColumn, Scale
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.ordinal.kernel_estimator import KernelEstimator
from peckorder.ordinal.learners.ensemble import EnsembleLearner
from peckorder.ordinal.learners.ensemble_base import (
    MOST_OFFERS,
    AggregateLearner,
    bernoulli,
    learn_permuted,
    member_keys,
    poisson,
)
from peckorder.ordinal.learners.kernel_ensemble import KernelEnsembleLearner
from peckorder.ordinal.learners.polynomial import Monomials, PolynomialLearner
from peckorder.ordinal.mergeable import check_mergeable
from peckorder.similarity.parameters import KERNEL_RULES

_jobs = Rule("an integer, not zero", lambda value: whole(-(2**31)).accepts(value) and value != 0)


_Learner: TypeAlias = EnsembleLearner | KernelEnsembleLearner | PolynomialLearner
# What the paper and others call them.
_ALIASES = {
    "bpm": "bayes_point",
    "oap-bpm": "bayes_point",
    "mean": "bayes_point",
    "bagg": "bagging",
    "oap-bagg": "bagging",
    "vp": "voted",
    "oap-vp": "voted",
}
_SAMPLINGS = {"oza": "poisson", "bagging": "poisson", "bootstrap": "poisson"}


def _has_one_score(estimator: "AggregatePRank") -> bool:
    """Whether the rule that predicts, if there is one yet, is the mean of members."""
    begun = getattr(estimator, "_begun_with", vars(estimator))
    return str(begun["aggregate"]) == "bayes_point"


def _learns_in_turn(estimator: "AggregatePRank") -> bool:
    """Whether rows may be learnt as they come; if not, the reason is raised."""
    if estimator.sampling == "permutation":
        raise refusal(
            "sampling",
            "be 'bernoulli' or 'poisson' to learn rows as they come",
            "'permutation', which is of all rows",
            hint="Call fit.",
            error=AttributeError,
        )
    return True


@entry
class AggregatePRank(KernelEstimator, stored=True):
    """Place rows on an ordered scale by many PRanks that learn different rows.

    In every round each of the N members is offered the row with probability `tau`,
    independently of the others, and learns it as `PRank` does; or it is offered each
    row as `sampling` says. So the members differ, and so do their errors; together they
    are steadier than the last rule of one [1]_.
    What the last rows did to most of them alike remains, hence more passes need not
    help; it goes if each member averages its rules, see `member_rule`. With
    ``aggregate="bayes_point"`` the mean of the members predicts::

        w = mean of w_j        b_r = mean of b_jr
        class of x = 1 + #{r : w.x >= b_r}

    which is the centre of the rules that agree with the rows, roughly, and a rule like
    that of a single PRank, as fast and with thresholds in order.

    Parameters
    ----------
    n_estimators : int, default=100
        Members of the ensemble.
    tau : float, default=0.6
        Of ``sampling="bernoulli"``: the probability that a member is offered a row,
        above 0 and at most 1. With 1 all members are alike, and like a `PRank` of their
        rule but for rounding.
    sampling : {"bernoulli", "poisson", "permutation"}, default="bernoulli"
        What makes members differ. "bernoulli" offers them rows with probability `tau`
        [1]_. "poisson" is on-line bagging [2]_: a member is offered a row q times in
        succession, where q has the Poisson distribution with mean one, which bootstrap
        samples of many rows have in the limit. "permutation" lets each learn all rows
        in a random order of its own, another on each pass, which is how Bayes points
        are found by perceptrons [3]_; it needs all rows at once, hence `fit`, and has
        neither `partial_fit` nor `progressive`. Where it can be used, it is the best:
        on the square of [1]_ the mean of permuted members loses 0.161 steps, of others
        0.26, on fifteen tables 0.44 and 0.52. Or give `masks` to `fit`.
    aggregate : {"bayes_point", "bagging", "voted", "median"}, default="bayes_point"
        How members are made one rule. "bayes_point" (OAP-BPM) takes the mean of
        weights and thresholds. The others let each member predict a rank and take
        to the nearest class, half upwards, the mean ("bagging", OAP-Bagg), the mean
        weighted by the rows that the member was offered and had right ("voted",
        OAP-VP), or the median.
    member_rule : {"last", "averaged"}, default="last"
        By which rule a member predicts: its last one, as in [1]_, or the average of its
        rules after each round, offered or not, for the linear kernel without a budget.
        The average is better by 0.08 steps or so and hardly depends on the seed; but
        members agree so much then that `predict_proba` says less, with several passes
        next to nothing.
    max_iter : int, default=1
        Passes over the rows in `fit`; each draws anew which rows are offered.
    shuffle : bool, default=False
        Visit the rows in a new random order on every pass of `fit`; permutations do
        anyway.
    fit_intercept : bool, default=True
        Give every row a constant feature of one.
    unit_norm : bool, default=True
        Divide every row by its norm, the constant included.
    classes : array-like, default=None
        All classes, lowest first. Needed for labels without an order of their own,
        such as strings, and for classes that the data may not show.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As in `PRank`.
    gamma : float or None, default=None
        As in `PRank`.
    degree : int, default=2
        As in `PRank`.
    coef0 : float, default=1.0
        As in `PRank`.
    budget : int or None, default=None
        The most rows that each member keeps for its scores, as in `PRank`; all members
        together keep more.
    n_jobs : int or None, default=-1
        Threads that share the members: -1 for all cores (one in a process that is
        itself a worker of another), None for one unless joblib's context says
        otherwise. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of the rows that members are offered, and of orders.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, lowest first.
    coef_ : ndarray of shape (n_features,)
        For the linear kernel without a budget: the mean of the members' weights.
    intercept_ : float
        Its constant; zero without `fit_intercept`.
    thresholds_ : ndarray of shape (n_classes - 1,)
        The mean of the members' thresholds, ascending.
    member_coef_ : ndarray of shape (n_estimators, n_features)
        For the linear kernel without a budget: the members' weights.
    member_intercept_ : ndarray of shape (n_estimators,)
        Their constants.
    member_thresholds_ : ndarray of shape (n_estimators, n_classes - 1)
        Their thresholds; whole numbers if rules are not averaged.
    votes_ : ndarray of shape (n_estimators,)
        How many rows each member placed rightly when it was offered them; one that it
        is offered again counts again.
    support_, dual_coef_ : ndarray of shape (n_support,)
        Else: the rows that any member keeps, numbered as in `PRank`, and the mean of
        their coefficients.
    n_rounds_ : int
        Rows learnt so far, over all passes and calls.
    n_mistakes_, cumulative_loss_ : int
        Rows that members misplaced when they were offered them, and by how many steps,
        summed over offers and members.
    n_iter_ : int
        Passes of the last call.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the columns had any.

    See Also
    --------
    peckorder.PRank : One of them. Its averaged rule is better on most sets that we
        compared them on, and as good as averaged members, and faster; the ensemble
        shows in addition how far its members agree.

    Notes
    -----
    A pass costs O(tau * n_estimators) times that of one PRank, and O(n_estimators *
    (n_features + n_classes)) memory beyond the data. With a kernel the members share
    one set of rows, so that kernels are computed once for all, and keep a coefficient
    for each row and member; a round then costs O(support * (n_features +
    n_estimators)), whatever `tau`. Permuted members learn one by one: with a kernel
    each computes its own, and threads share the members.

    How often member j is offered the row of round t depends on the seed, j and t alone,
    and its permutations on the seed, j and the pass. So the model is the same, bit for
    bit, on any number of threads and however a stream is cut into batches, and the
    first members are the same however many follow.

    `predict`, `save` and copying may run in several threads at once; `fit`,
    `partial_fit` and `progressive` may not run beside anything else on the same object.

    References
    ----------
    .. [1] E. F. Harrington, "Online Ranking/Collaborative Filtering Using the
       Perceptron Algorithm", ICML, 2003.
    .. [2] N. C. Oza and S. Russell, "Online Bagging and Boosting", AISTATS, 2001.
    .. [3] R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", JMLR 1,
       2001.

    Examples
    --------
    >>> from peckorder import AggregatePRank
    >>> from peckorder.datasets import make_square
    >>> X, y = make_square(2000, random_state=0)
    >>> model = AggregatePRank(max_iter=5, random_state=0).fit(X[:1000], y[:1000])
    >>> model.predict(X[1000:1008])
    array([3, 3, 2, 2, 3, 3, 5, 5])
    >>> y[1000:1008]
    array([3, 3, 2, 2, 4, 3, 5, 5])
    >>> model.predict_proba(X[1000:1001])
    array([[0.  , 0.1 , 0.81, 0.09, 0.  ]])
    """

    _rules: ClassVar[Rules] = (
        OrdinalEstimator._rules
        | {
            "n_estimators": whole(1),
            "tau": fraction,
            "sampling": one_of("bernoulli", "poisson", "permutation", aliases=_SAMPLINGS),
            "aggregate": one_of("bayes_point", "bagging", "voted", "median", aliases=_ALIASES),
            "member_rule": one_of("last", "averaged"),
            "n_jobs": optional(_jobs),
        }
        | KERNEL_RULES
    )
    _not_in_old_files: ClassVar[dict[str, Any]] = {"member_rule": "last", "sampling": "bernoulli"}
    _learner: _Learner
    _fixed: ClassVar[tuple[str, ...]] = (
        "n_estimators",
        "tau",
        "sampling",
        "aggregate",
        "member_rule",
        *OrdinalEstimator._fixed,
        *KERNEL_RULES,
    )

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        tau: float = 0.6,
        sampling: str = "bernoulli",
        aggregate: str = "bayes_point",
        member_rule: str = "last",
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
        n_jobs: int | None = -1,
        random_state: Seed = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.tau = tau
        self.sampling = sampling
        self.aggregate = aggregate
        self.member_rule = member_rule
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: VectorLike, *, masks: ArrayLike | None = None) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels: numbers, an ordered categorical, or any of `classes`.
        masks : array-like of shape (n_samples, n_estimators), default=None
            How often each row is offered to each member, from 0 to 255, on every pass;
            None to draw it, as `sampling` says.

        Returns
        -------
        self
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._fit(X, y, {"masks": masks})
        return self

    @available_if(_learns_in_turn)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        classes: VectorLike | None = None,
        *,
        masks: ArrayLike | None = None,
    ) -> Self:
        """Continue learning: one pass over the rows in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, default=None
            All classes that will ever occur, lowest first. Only the first call
            needs them, and only if its own labels don't show them all.
        masks : array-like of shape (n_samples, n_estimators), default=None
            As in `fit`, for these rows.

        Returns
        -------
        self
            The estimator, having learnt the rows.
        """
        with all_or_nothing(self):
            self._continue(X, y, classes, masks=masks)
        return self

    @available_if(_learns_in_turn)  # type: ignore[untyped-decorator]
    def progressive(
        self,
        X: MatrixLike,
        y: VectorLike,
        classes: VectorLike | None = None,
        *,
        masks: ArrayLike | None = None,
    ) -> Labels:
        """Predict each row, then learn it, continuing from the current state.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, default=None
            All classes, lowest first, as in `partial_fit`.
        masks : array-like of shape (n_samples, n_estimators), default=None
            As in `fit`, for these rows.

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
            The class predicted for each row before it was learnt, as by `PRank`.
        """
        with all_or_nothing(self):
            predicted = self._continue(X, y, classes, predict=True, masks=masks)
        return self.classes_[predicted]

    @available_if(_has_one_score)  # type: ignore[untyped-decorator]
    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the mean score of each row, to be compared with `thresholds_`.

        Only of ``aggregate="bayes_point"``: the others predict by many scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        score : ndarray of shape (n_samples,)
            Larger for higher classes.
        """
        return self._from_learner("mean_scores", X)

    def mean_rank(self, X: MatrixLike) -> Floats:
        """Return the mean of the ranks that members predict, not rounded.

        Weighted by `votes_` if ``aggregate="voted"``, else each member counts alike.

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

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Return the share of the members' votes that each class has.

        Weighted by `votes_` if ``aggregate="voted"``, else each member counts alike.
        It shows how far the members agree, which is not how often they are right, and
        the class with the largest share need not be the predicted one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        share : ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns in the order of `classes_`.
        """
        return self._from_learner("shares", X)

    def merge(self, other: Self) -> Self:
        """Return a new ensemble of the members of both, whose rows may differ.

        So parts of the data can be learnt apart, in other processes or on other
        machines. The new ensemble can continue learning; the two are left as they are.
        Members keep their random numbers, unless some of both have the same ones.

        Parameters
        ----------
        other : AggregatePRank
            A fitted ensemble with the same classes, features and parameters, but for
            `n_estimators`, `n_jobs`, `random_state`, `max_iter` and `shuffle`. Not with
            ``kernel="precomputed"``, whose columns are rows of one training set.

        Returns
        -------
        merged : AggregatePRank
            With as many members as both together.

        Examples
        --------
        >>> from peckorder import AggregatePRank
        >>> from peckorder.datasets import make_square
        >>> X, y = make_square(1000, random_state=0)
        >>> a = AggregatePRank(n_estimators=10, random_state=1).fit(X[:500], y[:500])
        >>> b = AggregatePRank(n_estimators=20, random_state=2).fit(X[500:], y[500:])
        >>> len(a.merge(b).votes_)
        30
        """
        check_is_fitted(self, "classes_")
        check_mergeable(self, other)
        # Of the same class, since the parameters are the same.
        learner = self._learner.merge(other._learner)  # type: ignore[arg-type]
        n_members = len(learner.members)
        merged = copy(self)
        merged.n_estimators = n_members
        merged._begun_with = self._begun_with | {"n_estimators": n_members}
        if hasattr(other, "feature_names_in_"):
            merged.feature_names_in_ = other.feature_names_in_
        merged._store(learner, n_iter=max(self.n_iter_, other.n_iter_))
        return merged

    def __sklearn_tags__(self) -> Tags:
        """Declare what comes with `predict_proba`."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()
        return tags

    def _shapes(self, n_features: int, n_levels: int) -> dict[str, tuple[int, ...]]:
        n, n_weights = self.n_estimators, self._n_weights(n_features)
        shapes: dict[str, tuple[int, ...]] = {"key": (n,), "thresholds": (n, n_levels - 1)}
        if n_weights is not None:
            shapes["weights"] = (n, n_weights)
            if self._is_averaged():
                shapes |= {"lag": shapes["weights"], "threshold_lag": shapes["thresholds"]}
        return shapes

    def _is_averaged(self) -> bool:
        """Whether members average their rules."""
        return self.member_rule == "averaged"

    def _check(self) -> None:
        super()._check()
        if self.member_rule == "averaged" and not self._is_primal():
            refuse_parameter(self, "member_rule", "be 'last' with a kernel or a budget")

    def _learn_passes(
        self,
        learner: Any,
        rows: Rows,
        column: LabelColumn,
        scale: Scale,
        rng: RandomState,
        *,
        masks: ArrayLike | None = None,
        **how: Any,
    ) -> _Learner:
        if self.sampling != "permutation":
            super()._learn_passes(learner, rows, column, scale, rng, masks=masks, **how)
            return learner  # type: ignore[no-any-return]
        if masks is not None:
            rule = "be None with sampling='permutation', which offers all rows to all members"
            raise refusal("masks", rule, _shape_of(masks), error=ValueError)
        levels = partial(scale.levels, column)
        try:
            return learn_permuted(learner, rows, levels, self.max_iter)  # type: ignore[no-any-return]
        except UnusableRow as unusable:
            self._refuse_to_learn(rows, unusable.row)

    def _learn(
        self,
        learner: Any,
        rows: Rows,
        column: LabelColumn,
        scale: Scale,
        *,
        masks: ArrayLike | None = None,
        order: Ints | None = None,
        **how: Any,
    ) -> None:
        nothing = learner.members.given
        if masks is not None:
            given = _masks(masks, count_rows(rows), self.n_estimators)
            learner.members.given = given if order is None else given[order]
        super()._learn(learner, rows, column, scale, order=order, **how)
        learner.members.given = nothing  # not an empty part of the masks

    def _mask_thresholds(self) -> Ints:
        """Return what random numbers are compared with to draw masks."""
        if self.sampling == "poisson":
            return poisson()
        return bernoulli(self.tau if self.sampling == "bernoulli" else 1.0)

    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: ArrayLike | None
    ) -> _Learner:
        seed = int(rng.randint(2**63 - 1, dtype=np.int64))
        members: dict[str, Any] = {
            "aggregate": self.aggregate,
            "mask_thresholds": self._mask_thresholds(),
            "n_threads": self._n_threads(),
            "key": member_keys(seed, self.n_estimators),
            "thresholds": np.zeros((self.n_estimators, n_levels - 1)),
            "right": np.zeros(self.n_estimators, dtype=np.int64),
        }
        if self._is_primal():
            weights = np.zeros((self.n_estimators, n_features + self.fit_intercept))
            return EnsembleLearner(
                transform=self._transform(),
                averaged=self._is_averaged(),
                weights=weights,
                **members,
            )
        kernel = self._kernel_function(n_features)
        if self._has_few_monomials(kernel):
            monomials = Monomials.of_kernel(kernel)
            weights = np.zeros((self.n_estimators, len(monomials)))
            transform = RowTransform(intercept=False, unit_norm=False)
            linear = EnsembleLearner(
                transform=transform, averaged=False, weights=weights, **members
            )
            return PolynomialLearner(monomials, linear)
        coef = np.empty((0, self.n_estimators))
        budget = self.budget or 0
        return KernelEnsembleLearner(kernel=kernel, budget=budget, coef=coef, **members)

    def _n_threads(self) -> int:
        self._rules["n_jobs"].check("n_jobs", self.n_jobs)
        if self.n_jobs is not None and self.n_jobs < 0 and parent_process() is not None:
            return 1  # one of several processes that share the cores already
        return allowed(int(effective_n_jobs(self.n_jobs)))

    def _resumed(self) -> _Learner:
        return self._learner.copy().with_threads(self._n_threads())

    def _predicting(self) -> _Learner:
        return self._learner.with_threads(self._n_threads())

    def _publish(self) -> None:
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)  # of a fit with another kernel
        self.thresholds_ = self._learner.mean_thresholds()
        if isinstance(self._learner, EnsembleLearner):
            weights, _ = self._learner.mean_rule()
            self.coef_ = weights[: self.n_features_in_]
            self.intercept_ = float(weights[-1]) if self.fit_intercept else 0.0

    # What follows are properties, not attributes, which would be stored and copied
    # beside the members.

    def _members(self, name: str) -> AggregateLearner:
        """Return the learner that holds the members, for an attribute."""
        if "_learner" not in vars(self):
            raise refusal(f"{name} exists once fitted", error=AttributeError)
        return self._learner.members

    def _member_weights(self, name: str) -> Floats:
        """Return the weights of the members' rules, with those of the constant."""
        members = self._members(name)
        if not (members is self._learner and isinstance(members, EnsembleLearner)):
            raise refusal(
                f"{name} exists once fitted with kernel='linear' and no budget",
                error=AttributeError,
            )
        return members.mean_rules().weights

    @property
    def member_coef_(self) -> Floats:
        """The members' weights."""
        return self._member_weights("member_coef_")[:, : self.n_features_in_]

    @property
    def member_intercept_(self) -> Floats:
        """The members' constants."""
        weights = self._member_weights("member_intercept_")
        if weights.shape[1] == self.n_features_in_:
            return np.zeros(len(weights))
        return weights[:, -1]

    @property
    def member_thresholds_(self) -> Floats:
        """The members' thresholds."""
        members = self._members("member_thresholds_")
        if isinstance(members, EnsembleLearner):
            return members.mean_rules().thresholds
        return members.thresholds

    @property
    def votes_(self) -> Ints:
        """How many rows each member placed rightly when it was offered them."""
        return self._members("votes_").right


def _shape_of(values: ArrayLike) -> str:
    return f"an array of shape {np.shape(values)}"


def _masks(given: ArrayLike, n_rows: int, n_members: int) -> Ints:
    """Return masks given by the user, checked."""
    masks = np.asarray(unmasked("masks", given))
    if masks.shape != (n_rows, n_members):
        rule = f"have a row per row of X and a column per member, {n_rows} by {n_members}"
        hint = "Transpose it." if masks.shape == (n_members, n_rows) else ""
        raise refusal("masks", rule, _shape_of(masks), hint=hint, error=ValueError)
    is_number = masks.dtype.kind in "biuf"
    is_count = np.zeros(masks.shape, dtype=bool)
    if is_number:
        is_count = (masks >= 0) & (masks <= MOST_OFFERS) & (masks == np.floor(masks))
    if not is_count.all():
        row, member = np.argwhere(~is_count)[0]
        got = f"{masks[row, member]} in row {row} for member {member}"
        rule = f"be whole numbers from 0 to {MOST_OFFERS}, or booleans"
        raise refusal("masks", rule, got, error=ValueError)
    return masks.astype(np.uint8)
