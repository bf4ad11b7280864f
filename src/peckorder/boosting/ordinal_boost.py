"""OrdinalBoost: boosted trees for ordered classes."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted

from peckorder._base import all_or_nothing, checked_weight, shares_of
from peckorder._core.errors import entry, refusal
from peckorder._core.threads import Team, allowed, n_cores
from peckorder._core.typing import Floats, Ints, Labels, Matrix, MatrixLike, Seed, VectorLike
from peckorder._core.validation import (
    Rule,
    Rules,
    check_parameters,
    generator,
    one_of,
    positive,
    refuse_parameter,
    whole,
)
from peckorder.boosting.ordinal_rounds import Choice, OrdinalBooster, OrdinalOptions, choose
from peckorder.boosting.parameters import RULES
from peckorder.feedback import Scale, read_labels
from peckorder.storage.fields import Field, Table, floats, ints, nested, scale, word
from peckorder.storage.fields import whole as number
from peckorder.storage.format import Node
from peckorder.storage.mixin import StoredModel
from peckorder.trees import explain
from peckorder.trees.columns import MOST_BINS, Columns, bin_columns
from peckorder.trees.features import FEATURE_RULES, FEATURES, TreeFeatures
from peckorder.trees.forest import FOREST, Forest
from peckorder.trees.growing import TreeOptions

# Sums of weights times rows must leave room for products of three.
_LARGEST_WEIGHT = 1e60
# Rows from which one share held out tells as much as three in turn.
_MANY_ROWS = 20_000
_FOLDS = 3
_SEEDS = 2**31 - 1
_SHARED_RULES = (
    *("n_rounds", "max_leaf_nodes", "max_depth", "min_samples_leaf", "l2", "max_features"),
    *("subsample", "validation_fraction", "n_iter_no_change", "warm_start", "n_jobs"),
)


def _spare_rows(level: Ints, rng: np.random.RandomState) -> Ints:
    """Return rows that may be held out, class by class, each in random order.

    Every class keeps a row to be learnt from.
    """
    shuffled = rng.permutation(len(level))
    order = shuffled[np.argsort(level[shuffled], kind="stable")]
    is_first = np.diff(level[order], prepend=-1) > 0
    return order[~is_first]


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    weight = checked_weight(sample_weight, n_rows)
    if weight is None:
        return np.ones(n_rows)
    if not weight.any():
        raise refusal("sample_weight", "be positive for one row at least", "every weight zero")
    if weight.max() > _LARGEST_WEIGHT:
        rule = f"be at most {_LARGEST_WEIGHT:g}"
        raise refusal("sample_weight", rule, float(weight.max()))
    return weight


def _complete(node: Node) -> None:
    """Check what concerns several fields of a file, and name what follows from them."""
    values = node.values
    n_classes, present, path = len(values["_scale"]), values["_present"], values["_path"]
    forest, odds = values["_forest"], values["odds_"]
    if len(present) < 1 or present[-1] >= n_classes:
        raise node.refuse("present", f"classes from 0 to below {n_classes}")
    n_thresholds = len(present) - 1
    n_stages = 1 if odds == "free" else len(forest) + 1
    if path.shape != (n_stages, n_thresholds) or not (np.diff(path, axis=1) > 0.0).all():
        raise node.refuse("thresholds", f"{n_stages} rows of {n_thresholds}, ascending")
    if not np.array_equal(forest.is_category, values["_features"].is_category):
        raise node.refuse("forest.is_category", "true for columns with levels")
    if odds == "proportional" and (forest.column == forest.n_columns).any():
        raise node.refuse("forest.column", "columns of X with proportional odds")
    model = node.owner
    vars(model).update(values)
    model._show()


STORED = Table(
    Field("classes", scale, "_scale"),
    Field("present", ints(None, rising=True), "_present"),
    Field("odds", word("proportional", "free"), "odds_"),
    Field("features", nested(FEATURES, TreeFeatures), "_features"),
    Field("forest", nested(FOREST, Forest), "_forest"),
    Field("thresholds", floats(None, None), "_path"),
    Field("validation_losses", floats(None), "validation_losses_", optional=True),
    Field("seed", number(0, _SEEDS), "_seed"),
    complete=_complete,
)


@entry
class OrdinalBoost(StoredModel, BaseEstimator, stored=True):  # type: ignore[misc]
    """Boosted trees for ordered classes, with probabilities.

    For classes 1 to K and each k < K, the model has the odds that the class of a row is
    above k::

        P(y > k | x) = 1 / (1 + exp(-(f_k(x) - theta_k)))

    With proportional odds all f_k are one score f, a sum of trees, and ``theta_1 < ... <
    theta_{K-1}`` are thresholds on it. A row of class y then has the loss::

        -log(s(theta_y - f) - s(theta_{y-1} - f)),        s(u) = 1 / (1 + exp(-u))

    Let ``a = s(theta_y - f)`` and ``b = s(theta_{y-1} - f)``, with a = 1 for the highest
    class and b = 0 for the lowest. Since s' = s (1 - s), the slope of the log-likelihood
    by f is ``(b (1 - b) - a (1 - a)) / (a - b) = a + b - 1``, and its curvature ``a (1 -
    a) + b (1 - b)``, never negative. Each tree is a Newton step on f; a leaf adds
    ``learning_rate * slope / (curvature + l2)``, of sums over its rows. After every tree
    the thresholds take a Newton step of their own. They stay ordered: the loss equals::

        -log s(theta_y - f) - log s(f - theta_{y-1}) - log(1 - exp(theta_{y-1} - theta_y))

    which is convex in scores and thresholds together, and infinite where two meet; steps
    are cut such that it never rises and no gap shrinks to less than a half.

    With free odds a tree may divide the thresholds as well as the rows: a leaf then adds
    to f_k for a range of k, never less for a lower k than for a higher one, so that
    ``P(y > k)`` never rises with k and no class has a negative probability. The loss is
    the sum of K - 1 logistic losses, one for each question whether ``y > k``. (The
    likelihood of the class was tried instead: it learns from the two thresholds beside a
    class only, and lost more on all tables but one.) Rows are not repeated in memory.

    Parameters
    ----------
    odds : {"auto", "proportional", "free"}, default="auto"
        Whether one score serves all thresholds. "auto" tries both on rows held out, one
        third at a time (or `validation_fraction`), takes the one with the least loss,
        with as many rounds as were best, and learns again from all rows: five times the
        work of one fit, from 20,000 rows on, where one third is enough, three times.
    n_rounds : int, default=300
        How many trees to add, at most.
    learning_rate : float, default=0.1
        What every tree adds is multiplied by this.
    max_leaf_nodes : int, default=31
        Leaves of a tree, at most. The leaf that gains most is split next.
    max_depth : int or None, default=None
        Splits between the root and a leaf, at most; those of thresholds count too.
    min_samples_leaf : int, default=5
        Rows of a leaf, at least.
    l2 : float, default=1.0
        Added to the curvature of leaves.
    max_features : float, default=0.7
        The share of features that a split looks at, drawn for each split; one at least.
    subsample : float, default=0.8
        The share of rows that a tree is grown from, drawn for each.
    max_bins : int, default=255
        Bins of a feature, at most; 2 to 255. Up to so many distinct values each has its own.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories without an order: True or False for each, or
        positions, or names; "from_dtype" for the columns of a frame that are categorical
        (pandas) or Categorical or Enum (polars), in which texts are allowed. Categories
        that did not occur in training count as missing ones, for which each split has
        learnt a side. Of more than 255 the rarest count as one.
    monotonic_cst : array-like, dict or None, default=None
        1 for a feature with which predictions never fall, -1 for one with which they
        never rise, 0 for others; or a dict of these by name.
    validation_fraction : float or None, default=None
        The share of rows held out to choose the number of rounds by; they are not learnt
        from. None to do all rounds, unless odds are "auto".
    n_iter_no_change : int or None, default=50
        Stop when the loss of rows held out has not been less for so many rounds; None to
        try all. The loss is the rank loss of the predicted class, which is what counts
        but jumps, plus the ranked probability score, which is smooth: the sum over k of
        ``(P(y > k) - [y > k])**2``. Scores and thresholds are then multiplied by the
        factor with which probabilities fit these rows best; predictions stay the same.
    classes : array-like, default=None
        All classes, lowest first. Needed for labels without an order of their own, such
        as strings, and for classes that the data may not show. A class without rows has
        probability zero.
    warm_start : bool, default=False
        Go on from the rounds of the last fit, on the same data.
    n_jobs : int, default=-1
        Threads; -1 for one per processor. The model does not depend on them.
    random_state : int, RandomState or None, default=None
        Which rows are held out, and which rows and features trees see.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, lowest first.
    odds_ : {"proportional", "free"}
        What was learnt.
    thresholds_ : ndarray of shape (n_classes - 1,)
        The thresholds on scores after the last round, ascending; those beside a class
        without rows are equal, or infinite at the ends.
    n_rounds_ : int
        The number of trees.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in what all splits gained.
    validation_losses_ : ndarray
        The loss of rows held out, before the first round and after each.
    expected_value_ : float
        The mean log odds from which `explain` says how features deviate.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    PRank : Learns rows one after another, also from streams.
    RankBoost : Trees that put rows in order, within queries.

    Notes
    -----
    A round costs O(rows x features) time, with free odds also O(rows x classes); bins
    take one byte per entry, rounds some 100 bytes per row, with free odds 50 for each of
    its thresholds. The model is the same, bit for bit, for any number of
    threads, and for dense and sparse X. NaN is a missing value: each split has learnt a
    side for it. Rows of weight zero are left out.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder import OrdinalBoost
    >>> X = np.arange(60.0).reshape(-1, 1)
    >>> y = np.repeat(["poor", "fair", "good"], 20)
    >>> model = OrdinalBoost(classes=["poor", "fair", "good"], random_state=0).fit(X, y)
    >>> model.predict([[5.0], [30.0], [55.0]]).tolist()
    ['poor', 'fair', 'good']
    >>> model.predict_proba([[5.0]]).sum().round(6)
    np.float64(1.0)
    """

    _stored_fields: ClassVar = STORED
    _rules: ClassVar[Rules] = {
        "odds": one_of("auto", "proportional", "free"),
        "learning_rate": positive,
        "max_bins": Rule(
            "an integer from 2 to 255", lambda value: whole(2).accepts(value) and value <= MOST_BINS
        ),
        **FEATURE_RULES,
        **{name: RULES[name] for name in _SHARED_RULES},
    }

    _scale: Scale
    _present: Ints
    _features: TreeFeatures
    _forest: Forest
    _path: Floats

    __metadata_request__fit: ClassVar = {"sample_weight": True}
    # Pipelines want it of every last step under metadata routing.
    __metadata_request__score: ClassVar = {"sample_weight": None}

    def __init__(
        self,
        *,
        odds: str = "auto",
        n_rounds: int = 300,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        l2: float = 1.0,
        max_features: float = 0.7,
        subsample: float = 0.8,
        max_bins: int = MOST_BINS,
        categorical_features: VectorLike | str | None = "from_dtype",
        monotonic_cst: VectorLike | Mapping[str, int] | None = None,
        validation_fraction: float | None = None,
        n_iter_no_change: int | None = 50,
        classes: VectorLike | None = None,
        warm_start: bool = False,
        n_jobs: int = -1,
        random_state: Seed = None,
    ) -> None:
        self.odds = odds
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2 = l2
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.classes = classes
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: VectorLike, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, or with `warm_start` from where the last fit ended.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Their labels: numbers, an ordered categorical, or any of `classes`.
        sample_weight : array-like of shape (n_samples,), default=None
            The loss of each row is multiplied by its weight.

        Returns
        -------
        self
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._check()
            n_threads = n_cores() if self.n_jobs == -1 else allowed(self.n_jobs)
            with Team(n_threads) as team:
                self._fit(X, y, sample_weight, team)
        return self

    def predict(self, X: MatrixLike) -> Labels:
        """Predict the class of each row with the least expected rank loss.

        That is the median: the lowest class k with ``P(y <= k) >= 1/2``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
            One of `classes_` for each row.
        """
        level = self._medians(self._log_odds(X))
        predicted: Labels = self.classes_[level]
        return predicted

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns in the order of `classes_`.
        """
        return shares_of(self.decision_function(X))

    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the logarithm of the odds of being above each class but the last.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_odds : ndarray of shape (n_samples, n_classes - 1)
            ``log(P(y > k) / P(y <= k))``, never rising from one class to the next; with
            proportional odds a score minus `thresholds_`. Infinite beside the lowest and
            highest classes if these had no rows.
        """
        return self._spread(self._log_odds(X))

    def mean_rank(self, X: MatrixLike) -> Floats:
        """Return the expected rank of each row, one number to put rows in order by.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        rank : ndarray of shape (n_samples,)
            From 1, the lowest class, to the number of classes.
        """
        return np.asarray(1.0 + expit(self.decision_function(X)).sum(axis=1))

    def explain(self, X: MatrixLike) -> Floats:
        """Return how much each feature contributes to the mean log odds of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features)
            Shapley values: their sums over features are the means of `decision_function`
            over the thresholds between classes that had rows, less `expected_value_`. A
            feature that does not take part sends a row both ways of its splits, by the
            shares of the training rows. O(n_samples x leaves x depth**2) time, with free
            odds for each threshold.

        Examples
        --------
        >>> from peckorder import OrdinalBoost
        >>> X, y = [[0, 5], [0, 3], [1, 4], [1, 5]] * 9, [0, 0, 1, 1] * 9
        >>> model = OrdinalBoost(odds="proportional", random_state=0).fit(X, y)
        >>> added = model.explain(X)
        >>> bool(abs(added[0, 0]) > abs(added[0, 1]))
        True
        """
        rows = self._rows(X)
        levels = range(self._empty_scores(rows[:0]).shape[1])
        sums = np.zeros(rows.shape)
        for level in levels:
            sums += explain.contributions(self._forest, rows, level)
        return sums / max(1, len(levels))

    @property
    def expected_value_(self) -> float:
        """What `explain` adds nothing for: the mean log odds of training rows."""
        check_is_fitted(self)
        path = self._path[-1]
        if not len(path):
            return 0.0
        levels = range(len(path) if self.odds_ == "free" else 1)
        means = [explain.expected_score(self._forest, level) for level in levels]
        return float(np.mean(means) - path.mean())

    def score(self, X: MatrixLike, y: VectorLike) -> float:
        """Return minus the mean rank loss, so that larger is better.

        The rank loss of a row is the number of steps on the scale of `classes_`
        between the predicted class and the true one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        score : float
            Zero at best.
        """
        guess = self._medians(self._log_odds(X))
        column = read_labels(y)
        column.check_length(len(guess))
        truth = self._scale.levels(column, slice(None))
        return -float(np.mean(np.abs(guess - truth)))

    def staged_decision_function(self, X: MatrixLike) -> Iterator[Floats]:
        """Yield what `decision_function` returns after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        log_odds : ndarray of shape (n_samples, n_classes - 1)
            A new array each time. O(n_samples) time per round.
        """
        for log_odds in self._staged(X):
            yield self._spread(log_odds)

    def staged_predict(self, X: MatrixLike) -> Iterator[Labels]:
        """Yield what `predict` returns after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        predicted : ndarray of shape (n_samples,)
            A new array each time. O(n_samples) time per round.
        """
        for log_odds in self._staged(X):
            yield self.classes_[self._medians(log_odds)]

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn what the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags()
        return tags

    def _check(self) -> None:
        """Refuse parameters that break a rule, alone or together."""
        check_parameters(self, self._rules)
        generator(self.random_state)
        if self.warm_start and self.odds == "auto":
            refuse_parameter(self, "odds", "be 'proportional' or 'free' with warm_start")
        if self.warm_start and self.validation_fraction is not None:
            refuse_parameter(self, "validation_fraction", "be None with warm_start")

    def _fit(
        self, X: MatrixLike, y: VectorLike, sample_weight: ArrayLike | None, team: Team
    ) -> None:
        is_warm = self.warm_start and hasattr(self, "_forest")
        if is_warm:
            self._check_warm()
            features, rows = self._features, self._features.matrix(self, X)
        else:
            features, rows = TreeFeatures.learnt(
                self, X, self.categorical_features, self.monotonic_cst
            )
        n_rows = rows.shape[0]
        column = read_labels(y)
        column.check_length(n_rows)
        classes = Scale.inferred(column) if self.classes is None else Scale.given(self.classes)
        level, weight = classes.levels(column, slice(None)), _weights(sample_weight, n_rows)
        has_weight = weight > 0.0
        if not has_weight.all():
            rows, level, weight = rows[has_weight], level[has_weight], weight[has_weight]
        present, position = np.unique(level, return_inverse=True)
        if is_warm and not (classes == self._scale and np.array_equal(present, self._present)):
            raise refusal("y", "have the classes of the last fit, with warm_start", classes)
        self._scale, self._present, self._features = classes, present, features
        rng = generator(self.random_state)
        if not is_warm:
            self._seed = int(rng.randint(_SEEDS))
        if len(present) == 1:
            self._publish(
                Forest.of([], features.is_category),
                np.zeros((1, 0)),
                "proportional" if self.odds == "auto" else self.odds,
                None,
            )
            return
        columns = bin_columns(
            rows, team, is_category=features.is_category, rises=features.rises,
            max_bins=self.max_bins,
        )  # fmt: skip
        options = self._options(len(position), len(present) - 1)
        choice = self._choice(columns, position, weight, options, team, rng)
        booster, n_rounds = choice.booster, choice.n_rounds
        if booster is None or self.validation_fraction is None:
            options = options._replace(n_rounds=n_rounds)
            booster = OrdinalBooster(columns, position, weight, options, team, free=choice.free)
            if is_warm:
                booster.repeat(self._forest, self._path, self._scores(rows))
            booster.boost()
        trees = [tree._replace(value=choice.factor * tree.value) for tree in booster.trees]
        forest = Forest.of(trees[:n_rounds], features.is_category)
        path = choice.factor * np.array(booster.thresholds[: 1 if choice.free else n_rounds + 1])
        self._publish(forest, path, "free" if choice.free else "proportional", choice.losses)

    def _check_warm(self) -> None:
        """Refuse to go on with other parameters than those begun with."""
        if self.n_rounds < self.n_rounds_:
            rule = f"be >= {self.n_rounds_}, the rounds there are, with warm_start"
            raise refusal("n_rounds", rule, self.n_rounds, error=ValueError)
        if self.odds != self.odds_:
            rule = f"be {self.odds_!r} as in the last fit, with warm_start"
            raise refusal("odds", rule, repr(self.odds), error=ValueError)

    def _options(self, n_rows: int, n_thresholds: int) -> OrdinalOptions:
        # Memory grows with leaves, of which there are no more than rows and thresholds take.
        n_most = n_rows // self.min_samples_leaf * n_thresholds
        tree = TreeOptions(
            max_leaf_nodes=max(2, min(self.max_leaf_nodes, n_most)),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            l2=float(self.l2),
            max_features=float(self.max_features),
        )
        rate, share = float(self.learning_rate), float(self.subsample)
        return OrdinalOptions(self.n_rounds, rate, share, self._seed, tree)

    def _choice(
        self,
        columns: Columns,
        level: Ints,
        weight: Floats,
        options: OrdinalOptions,
        team: Team,
        rng: np.random.RandomState,
    ) -> Choice:
        """Choose odds and the number of rounds, on rows held out if there is a choice."""
        share, n_rows = self.validation_fraction, len(level)
        is_auto = self.odds == "auto"
        kinds = [False, True] if is_auto and level.max() > 1 else [self.odds == "free"]
        if share is None and not is_auto:
            return Choice(kinds[0], options.n_rounds)
        spare = _spare_rows(level, rng)
        if len(spare) == 0:
            if share is None:
                return Choice(False, options.n_rounds)
            rule = "be None where no class has two rows, one to be held out"
            raise refusal("validation_fraction", rule, share, error=ValueError)
        if share is None:
            n_folds = 1 if n_rows >= _MANY_ROWS else min(_FOLDS, len(spare))
            folds = [np.sort(spare[k::_FOLDS]) for k in range(n_folds)]
        else:
            n_held = min(max(1, round(share * n_rows)), len(spare))
            # Spread evenly over the classes.
            folds = [np.sort(spare[np.arange(n_held) * len(spare) // n_held])]
        return choose(
            columns, level, weight, options, team,
            kinds=kinds, folds=folds, patience=self.n_iter_no_change,
        )  # fmt: skip

    def _publish(self, forest: Forest, path: Floats, odds: str, losses: Floats | None) -> None:
        self._forest, self._path, self.odds_ = forest, path, odds
        self.__dict__.pop("validation_losses_", None)  # of an earlier fit
        if losses is not None:
            self.validation_losses_ = losses
        self._show()

    def _show(self) -> None:
        """Set the attributes that follow from others."""
        self.classes_ = self._scale.classes
        self.n_rounds_ = len(self._forest)
        self.thresholds_ = -self._spread(-self._path[-1:])[0]
        self.feature_importances_ = self._forest.importances()

    def _spread(self, log_odds: Floats) -> Floats:
        """Return log odds of thresholds between all classes, given those that had rows."""
        ends = np.full((len(log_odds), 1), np.inf)
        every = np.hstack([ends, log_odds, -ends])
        return every[:, np.searchsorted(self._present, np.arange(len(self.classes_) - 1), "right")]

    def _medians(self, log_odds: Floats) -> Ints:
        """Return the level of the median class of each row."""
        level: Ints = self._present[(log_odds > 0.0).sum(axis=1)]
        return level

    def _scores(self, rows: Matrix) -> Floats:
        scores = self._empty_scores(rows)
        self._forest.add_scores(rows, scores)
        return scores

    def _empty_scores(self, rows: Matrix) -> Floats:
        width = self._path.shape[1] if self.odds_ == "free" else 1
        return np.zeros((rows.shape[0], width))

    def _rows(self, X: MatrixLike) -> Matrix:
        check_is_fitted(self)
        rows: Matrix = self._features.matrix(self, X)
        return rows

    def _log_odds(self, X: MatrixLike) -> Floats:
        """Return the log odds of thresholds between the classes that had rows."""
        return np.asarray(self._scores(self._rows(X)) - self._path[-1])

    def _staged(self, X: MatrixLike) -> Iterator[Floats]:
        """Yield the log odds after each round."""
        rows = self._rows(X)
        scores = self._empty_scores(rows)
        for tree in range(self.n_rounds_):
            self._forest.add_scores(rows, scores, slice(tree, tree + 1))
            yield scores - self._path[min(tree + 1, len(self._path) - 1)]
