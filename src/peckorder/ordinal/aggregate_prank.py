"""Ensembles of PRanks, each of which learns its own random subset of the rows."""

import pickle
from copy import copy
from multiprocessing import parent_process
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from peckorder._core.errors import entry, refusal
from peckorder._core.row_transform import RowTransform
from peckorder._core.threads import allowed
from peckorder._core.typing import Floats, Ints, MatrixLike, Seed, VectorLike
from peckorder._core.validation import (
    Rule,
    Rules,
    fraction,
    one_of,
    optional,
    refuse_parameter,
    whole,
)
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.ordinal.learners.ensemble import EnsembleLearner
from peckorder.ordinal.learners.ensemble_base import AggregateLearner, mask_threshold, member_keys
from peckorder.ordinal.learners.kernel_ensemble import KernelEnsembleLearner
from peckorder.ordinal.learners.polynomial import Monomials, PolynomialLearner
from peckorder.ordinal.prank import KernelEstimator
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


def _has_one_score(estimator: "AggregatePRank") -> bool:
    """Whether the rule that predicts, if there is one yet, is the mean of members."""
    begun = getattr(estimator, "_begun_with", vars(estimator))
    return str(begun["aggregate"]) == "bayes_point"


@entry
class AggregatePRank(KernelEstimator, stored=True):
    """Place rows on an ordered scale by many PRanks that learn different rows.

    In every round each of the N members is offered the row with probability `tau`,
    independently of the others, and learns it as `PRank` does. So the members differ,
    and so do their errors; together they are steadier than the last rule of one [1]_.
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
        Probability that a member is offered a row, above 0 and at most 1. With 1 all
        members are alike, and like a `PRank` of their rule but for rounding.
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
        Visit the rows in a new random order on every pass of `fit`.
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
        Source of the rows that members are offered, and of the orders if `shuffle` is
        set.

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
        The rows that each member was offered and placed rightly before learning them.
    support_, dual_coef_ : ndarray of shape (n_support,)
        Else: the rows that any member keeps, numbered as in `PRank`, and the mean of
        their coefficients.
    n_rounds_ : int
        Rows learnt so far, over all passes and calls.
    n_mistakes_, cumulative_loss_ : int
        Rows that members misplaced when they were offered, and by how many steps,
        summed over the members.
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
    n_estimators)), whatever `tau`.

    Whether member j is offered the row of round t depends on the seed, j and t alone.
    So the model is the same, bit for bit, on any number of threads and however a stream
    is cut into batches, and the first members are the same however many follow.

    `predict`, `save` and copying may run in several threads at once; `fit`,
    `partial_fit` and `progressive` may not run beside anything else on the same object.

    References
    ----------
    .. [1] E. F. Harrington, "Online Ranking/Collaborative Filtering Using the
       Perceptron Algorithm", ICML, 2003.

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
            "aggregate": one_of("bayes_point", "bagging", "voted", "median", aliases=_ALIASES),
            "member_rule": one_of("last", "averaged"),
            "n_jobs": optional(_jobs),
        }
        | KERNEL_RULES
    )
    _not_in_old_files: ClassVar[dict[str, Any]] = {"member_rule": "last"}
    _learner: _Learner
    _fixed: ClassVar[tuple[str, ...]] = (
        "n_estimators",
        "tau",
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
        _check_mergeable(self, other)
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

    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: ArrayLike | None
    ) -> _Learner:
        seed = int(rng.randint(2**63 - 1, dtype=np.int64))
        members: dict[str, Any] = {
            "aggregate": self.aggregate,
            "mask_threshold": mask_threshold(self.tau),
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
        """The rows that each member was offered and placed rightly."""
        return self._members("votes_").right


def _check_mergeable(mine: AggregatePRank, other: AggregatePRank) -> None:
    """Refuse an ensemble that another one cannot be merged with."""
    if type(other) is not type(mine):
        got = type(other).__name__
        raise refusal(
            "other", f"be an {type(mine).__name__}", f"an object of type {got}", error=TypeError
        )
    if not hasattr(other, "classes_"):
        hint = "Call its fit first."
        raise refusal("other", "be fitted", repr(other), hint=hint, error=NotFittedError)
    if mine._begun_with["kernel"] == "precomputed":
        raise refusal(
            "kernel",
            "be 'linear', 'poly', 'rbf' or a function to merge, since columns "
            "of two precomputed ones stand for different rows",
            "'precomputed'",
            error=ValueError,
        )

    def refused(rule: str, got: object, hint: str = "") -> Exception:
        return refusal("other", f"be {rule}", got, hint=hint, error=ValueError)

    if mine._scale != other._scale:
        hint = "Give both the same classes=."
        raise refused(f"of the classes {mine._scale}", other._scale, hint)
    if mine.n_features_in_ != other.n_features_in_:
        raise refused(f"of {mine.n_features_in_!r} features", repr(other.n_features_in_))
    names, others = (getattr(e, "feature_names_in_", None) for e in (mine, other))
    if names is not None and others is not None and any(names != others):
        raise refused(f"of the features {names.tolist()!r}", repr(others.tolist()))
    for name, value in mine._begun_with.items():
        if name != "n_estimators" and not _is_same(value, other._begun_with[name]):
            raise refused(f"one with {name}={value!r}", repr(other._begun_with[name]))


def _is_same(a: object, b: object) -> bool:
    """Whether two parameters are equal, including functions that were unpickled."""
    if a is b or a == b:
        return True
    if not (callable(a) and callable(b)):
        return False
    try:
        return pickle.dumps(a) == pickle.dumps(b)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
