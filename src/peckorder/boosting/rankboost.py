"""RankBoost: weak rankings combined."""

from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from peckorder._base import ScoreEstimator, all_or_nothing, checked_offset, checked_weight
from peckorder._core.errors import entry, refusal, warn
from peckorder._core.threads import Team, allowed, n_cores
from peckorder._core.typing import Bools, Floats, Matrix, MatrixLike, Seed
from peckorder._core.validation import (
    Rules,
    check_csr,
    generator,
    masked_as_nan,
    read_matrix,
    refuse_parameter,
)
from peckorder.boosting.distribution import feedback_rows
from peckorder.boosting.parameters import RULES, check, has_trees, options_of, tree_settings_of
from peckorder.boosting.round_record import (
    BOOSTED,
    RECORD,
    RankedRows,
    RoundLog,
    ScoreTable,
    recorded,
)
from peckorder.boosting.run_rounds import EarlyStopping, InMemoryBooster
from peckorder.boosting.tree_rounds import TreeBooster, TreeRanking
from peckorder.boosting.weak_learners import ranked
from peckorder.feedback import GradedRows, Preferences
from peckorder.metrics import metric_by_name
from peckorder.trees.explain import contributions, expected_score
from peckorder.trees.features import TreeFeatures
from peckorder.trees.forest import Forest

# Half of the largest difference of two numbers.
_LARGEST_HALF = 0.5 * np.finfo(np.float64).max


@entry
class RankBoost(ScoreEstimator, stored=True):
    """Combines weak rankings into a strong one, by boosting over pairs of rows.

    RankBoost [1]_ keeps a distribution D over the pairs x0, x1 of which x1 should stand
    above x0, and in every round adds a weak ranking h with a weight alpha::

        D(x0, x1) <- D(x0, x1) exp(alpha (h(x0) - h(x1))) / Z
        H = sum_t alpha_t h_t

    The share of wrong (or tied) pairs is at most the product of all Z. A weak ranking
    is a feature above a threshold, h(x) = [f(x) > theta], with a default for rows on
    which the feature abstains; features may be anything whose order has a meaning:
    their scale has none. With ``weak="tree"`` it is a tree of several thresholds.

    Parameters
    ----------
    n_rounds : int, default=50
        How many weak rankings to add. Trees of the default learning rate often need
        more: 100 to 300, chosen by `validation_fraction`.
    learning_rate : "auto" or float, default="auto"
        Every alpha is multiplied by this. "auto" is 1.0, and 0.1 for trees.
    alpha : {"approximate", "analytic", "numeric"}, default="approximate"
        The weight of a ranking, the paper's third, second and first method.
        "approximate" is ``log((1 + r) / (1 - r)) / 2`` with ``r = sum D (h(x1) -
        h(x0))``, and chooses rankings by the largest |r|. "analytic" is ``log(W- / W+)
        / 2``, W- being the weight of pairs put right, W+ that of those put wrong, and
        chooses by the least Z, exactly. "numeric" chooses by |r| and minimises Z,
        whatever the values of h: in closed form for thresholds, else by a safeguarded
        Newton iteration on the slope of log Z, which is convex. Its error at least
        halves every other step, and near the minimum is squared in each.
    weak : {"threshold", "feature", "tree"}, object or list, default="threshold"
        Where weak rankings come from. "feature" takes the features themselves. "tree"
        grows a tree in every round, and stands alone: see Notes. A
        regressor is fitted to the potentials of the rows (by how much the weight of
        pairs in which a row is the better one exceeds that of the others); its
        predictions, scaled to differ by 1 at most, are the ranking. A function
        ``f(X, potentials)`` returns a ranking, a function of X. Of several, the best
        one is taken in every round.
    cumulative : bool, default=True
        Keep the sum of the alphas of each weak ranking positive (the paper's
        WeakLearn.cum): larger values of a feature can only raise a row. Features that
        fall with relevance are then of no use, unless negated. Of trees all alphas are
        positive; they have `monotonic_cst`.
    default : {None, 0, 1} or float, default=None
        The value of a ranking for rows on which its feature abstains; None to choose
        it along with the threshold. Numbers other than 0 and 1 are for features.
    missing : {"zero", "abstain"}, default="zero"
        What entries mean that a sparse X does not store. NaN always abstains.
    missing_labels : {"raise", "skip"}, default="raise"
        What a missing label in `y` is (NaN, None, no category): refused; or no opinion on
        its row, which `fit` and `score` then leave out.
    smoothing : "auto" or float, default="auto"
        Keeps alpha finite where a ranking errs on no pair: added to ``1 + r`` and
        ``1 - r``, half of it to W- and W+; "numeric" is cut where the others would
        end. "auto" is one over the number of pairs, 0 is the paper.
    max_bins : int or None, default=None
        At most so many thresholds per feature, at quantiles; 2 to 255. None for every
        distinct value, for trees 255.
    query_weight : {"pairs", "equal"}, default="pairs"
        Whether every pair counts the same, as in the paper, or every query.
    validation_fraction : float or None, default=None
        The share of queries held out, whole, to choose the number of rounds by; of
        preferences, of connected components: rows that pairs lead to, over other rows.
    n_iter_no_change : int or None, default=None
        Stop when `metric` on them has not improved for so many rounds; None to do all.
    metric : str, default="disagreement"
        The name of that metric, as in `peckorder.metrics.evaluate`; of preferences, one
        of pairs.
    warm_start : bool, default=False
        Go on from the rounds of the last fit, on the same data.
    loss : {"exponential", "logistic"}, default="exponential"
        For trees: what a pair x0, x1 costs, ``exp(H(x0) - H(x1))`` as in the paper, or
        ``log(1 + exp(H(x0) - H(x1)))``, which pairs that are far off change less.
    pair_weight : {None, "ndcg"}, default=None
        For trees: "ndcg" multiplies the weight of a pair in every round by the change
        of NDCG (gains ``2**y - 1``, all ranks) if its rows were exchanged at the scores
        so far, as LambdaMART does. Rows with equal scores count as in the worst order.
    max_leaf_nodes : int, default=15
        The most leaves of a tree.
    max_depth : int or None, default=None
        The most splits on the way to a leaf.
    min_samples_leaf : int, default=20
        The least rows of a leaf.
    l2 : float, default=1.0
        Added to the curvature of a leaf, in units of which a row has 1 in the mean at
        the start: larger values make the scores of small leaves smaller.
    max_features : float, default=1.0
        The share of features that a split of a tree may take, drawn for every split; one
        at least.
    subsample : float, default=1.0
        The share of queries that a tree is grown from, drawn for every tree. A tree that
        would raise the bound of all queries stays without effect: its alpha is 0.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        For trees: which columns are categories without an order, by position, name or
        mask; "from_dtype" for those of a frame whose type is categorical. Of more than
        255 the rarest count as one; one that did not occur in training as missing.
    monotonic_cst : array-like of {-1, 0, 1}, dict or None, default=None
        For trees: 1 where scores must not fall with a feature, -1 where they must not
        rise; by position, or by name.
    n_jobs : int, default=-1
        Threads; -1 for one per processor. The model does not depend on them.
    random_state : int, RandomState or None, default=None
        Which queries are held out; which features and queries trees see.

    Attributes
    ----------
    weak_rankers_ : structured ndarray of shape (n_rounds_,)
        feature, threshold, default and alpha of each round. A threshold of NaN stands
        for the feature itself, a feature of -1 for a ranking in `own_rankings_`, or for
        a tree.
    own_rankings_ : list
        The rankings found by custom learners, in the order of rounds.
    n_rounds_ : int
        The number of rounds.
    bounds_ : ndarray of shape (n_rounds_ + 1,)
        The product of Z before the first round and after each. It bounds the weighted
        share of pairs that are wrong or tied. With an offset it begins with the
        offset's own bound.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the fall of the bound's logarithm; of trees, in
        what their splits gain.
    expected_value_ : float
        For trees the mean score of the training rows, from which `explain` says how
        features deviate; else 0.
    forest_ : peckorder.trees.forest.Forest
        Only with trees: all of them, behind each other.
    smoothing_ : float
        The smoothing that was used.
    validation_scores_ : ndarray
        The metric on the queries held out, before the first round and after each.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    peckorder.Preferences : Feedback as pairs.
    peckorder.bounds.rankboost_vc_bound : How far the test error can be off.

    Notes
    -----
    With graded rows pairs are never listed (but for "analytic" on a sum of several): a
    round costs O(rows + stored entries). Features with at most 255 values, or binned,
    take one byte per entry, others up to 21, more while being sorted. Potentials are
    exact integers in units of 2**-61, so that the model is the same, bit for bit, for
    any number of threads, and for dense and sparse X.

    Trees are grown leaf by leaf to second order: the slope of a row is its potential,
    its curvature the sum of D over the pairs that it is in, and a leaf adds the
    learning rate times ``sum slope / (sum curvature + l2)``, halved until Z is at most
    1. So `bounds_` never rises, and bounds the share of wrong pairs for trees as well;
    with the logistic loss it is the mean loss over log(2). With ``pair_weight="ndcg"``
    trees descend on other weights, so that it may rise, but is valid. A round on trees
    costs O(rows x features), one with the logistic loss or ``pair_weight="ndcg"``
    O(pairs) more, which is much if a query has ten thousands of rows. Slopes are summed
    as integers, so that trees do not depend on threads either.

    Successive halving over ``n_rounds`` works; over ``n_samples`` it cuts queries.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    References
    ----------
    .. [1] Y. Freund, R. Iyer, R. E. Schapire and Y. Singer, "An Efficient Boosting
       Algorithm for Combining Preferences", JMLR 4, 2003.

    Examples
    --------
    >>> from peckorder import RankBoost
    >>> X = [[1, 0], [2, 5], [3, 1], [1, 3], [4, 2]]
    >>> y, qid = [0, 1, 2, 0, 1], ["a", "a", "a", "b", "b"]
    >>> model = RankBoost(n_rounds=4).fit(X, y, qid=qid)
    >>> model.rank(X, qid).tolist()
    [3, 2, 1, 2, 1]
    >>> model.weak_rankers_["threshold"].tolist()
    [2.0, 1.0, 2.0, 1.0]
    """

    _stored_fields: ClassVar = BOOSTED
    _rules: ClassVar[Rules] = RULES

    def __init__(
        self,
        *,
        n_rounds: int = 50,
        learning_rate: float | str = "auto",
        alpha: str = "approximate",
        weak: object = "threshold",
        cumulative: bool = True,
        default: float | None = None,
        missing: str = "zero",
        missing_labels: str = "raise",
        smoothing: float | str = "auto",
        max_bins: int | None = None,
        query_weight: str = "pairs",
        validation_fraction: float | None = None,
        n_iter_no_change: int | None = None,
        metric: str = "disagreement",
        warm_start: bool = False,
        loss: str = "exponential",
        pair_weight: str | None = None,
        max_leaf_nodes: int = 15,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2: float = 1.0,
        max_features: float = 1.0,
        subsample: float = 1.0,
        categorical_features: object = "from_dtype",
        monotonic_cst: object = None,
        n_jobs: int = -1,
        random_state: Seed = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.weak = weak
        self.cumulative = cumulative
        self.default = default
        self.missing = missing
        self.missing_labels = missing_labels
        self.smoothing = smoothing
        self.max_bins = max_bins
        self.query_weight = query_weight
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.metric = metric
        self.warm_start = warm_start
        self.loss = loss
        self.pair_weight = pair_weight
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2 = l2
        self.max_features = max_features
        self.subsample = subsample
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | Preferences,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Learn from scratch, or with `warm_start` from where the last fit ended.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN where a feature abstains.
        y : array-like of shape (n_samples,) or Preferences
            How good each row is, compared within queries; or pairs of rows, without
            sizes: there is no place for these in the loss.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; None for one query of all rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of a pair is the product of its rows' weights.
        offset : array-like of shape (n_samples,), default=None
            Known scores to learn on top of.

        Returns
        -------
        self
            The fitted estimator.
        """
        with all_or_nothing(self), Team(self._n_threads()) as team:
            self._fit(X, y, qid, sample_weight, offset, team)
        return self

    def staged_predict(self, X: ArrayLike, *, offset: ArrayLike | None = None) -> Iterator[Floats]:
        """Yield the scores of rows after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        offset : array-like of shape (n_samples,), default=None
            Known scores to add.

        Yields
        ------
        scores : ndarray of shape (n_samples,)
            A new array each time. O(n_samples) time per round.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        scores = np.zeros(rows.shape[0])
        if offset is not None:
            scores += checked_offset(offset, len(scores))
        if hasattr(self, "forest_"):
            for t in range(self.n_rounds_):
                scores = scores.copy()
                added = scores[:, np.newaxis]
                self.forest_.add_scores(rows, added, slice(t, t + 1), unstored=self._unstored)
                yield scores
            return
        ranked_rows = RankedRows(rows, unstored=self._unstored)
        for round_ in recorded(self.weak_rankers_, self.own_rankings_):
            scores = scores + round_.alpha * ranked_rows.values(round_)
            yield scores

    def explain(self, X: ArrayLike) -> Floats:
        """Return how much each feature contributes to the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features)
            Their sums over features are the scores less `expected_value_`, without an
            offset and without rankings found by custom learners. Of trees these are
            Shapley values: a feature that does not take part sends a row both ways of
            its splits, by the shares of the training rows. O(n_samples) time per
            feature used, for sparse X O(stored entries); of trees O(n_samples x leaves
            x depth**2).

        Examples
        --------
        >>> from peckorder import RankBoost
        >>> X, y = [[1, 0], [2, 0], [3, 1]], [0, 1, 1]
        >>> model = RankBoost(n_rounds=1, smoothing=1.0).fit(X, y)
        >>> model.explain(X).round(2).tolist()
        [[0.0, 0.0], [0.55, 0.0], [0.55, 0.0]]
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        if hasattr(self, "forest_"):
            return contributions(self.forest_, rows, unstored=self._unstored)
        return self._table.contributions(rows, unstored=self._unstored)

    @property
    def expected_value_(self) -> float:
        """What `explain` adds nothing for: the mean score in training; 0 without trees."""
        check_is_fitted(self)
        return expected_score(self.forest_) if hasattr(self, "forest_") else 0.0

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _n_threads(self) -> int:
        check(self)
        return n_cores() if self.n_jobs == -1 else allowed(self.n_jobs)

    def _fit(
        self,
        X: MatrixLike,
        y: ArrayLike | Preferences,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        offset: ArrayLike | None,
        team: Team,
    ) -> None:
        is_warm = self.warm_start and hasattr(self, "weak_rankers_")
        if is_warm and self.n_rounds < self.n_rounds_:
            rule = f"be >= {self.n_rounds_}, the rounds there are, with warm_start"
            raise refusal("n_rounds", rule, self.n_rounds, error=ValueError)
        if is_warm and has_trees(self) != hasattr(self, "forest_"):
            refuse_parameter(self, "weak", "be as in the last fit with warm_start")
        X = self._rows(X, reset=not is_warm)
        n_rows = X.shape[0]
        weight = checked_weight(sample_weight, n_rows)
        start = None if offset is None else checked_offset(offset, n_rows)
        if start is not None and 0.5 * start.max() - 0.5 * start.min() > _LARGEST_HALF:
            low, high = float(start.min()), float(start.max())
            raise refusal("offset", "have finite differences", f"{low} and {high}")
        preferences = self._preferences(y, qid, n_rows)
        stopping = None
        if self.validation_fraction is not None:
            is_labelled = not isinstance(y, Preferences)
            stopping = self._hold_out(X, preferences, start, is_labelled=is_labelled)
            weight = np.ones(n_rows) if weight is None else weight.copy()
            weight[stopping.rows] = 0.0
        rows = feedback_rows(preferences, weight)
        if len(rows) == 0:
            _refuse_preferences(preferences)
        arguments = X, rows, preferences, weight, start
        if has_trees(self):
            self._check_trees(preferences)
            trees = TreeBooster.of_rows(*arguments, tree_settings_of(self), self._features, team)
            if is_warm:
                kept = X[rows]
                trees.repeat(self.forest_, self.weak_rankers_["alpha"], lambda: [kept])
            trees.boost(stopping)
            self._publish(trees.log, stopping, has_offset=offset is not None)
        else:
            booster = InMemoryBooster(*arguments, options_of(self), team)
            if is_warm:
                booster.repeat(self.weak_rankers_, self.own_rankings_)
            booster.boost(stopping)
            self._publish(booster.log, stopping, has_offset=offset is not None)
        self._has_queries = any(
            isinstance(part, GradedRows) and len(part.offsets) > 2 for part in preferences.parts
        )

    def _preferences(
        self, y: ArrayLike | Preferences, qid: ArrayLike | None, n_rows: int
    ) -> Preferences:
        if not isinstance(y, Preferences):
            graded = Preferences.of_labels(
                y, qid, n_rows=n_rows, missing_labels=self.missing_labels
            )
            if graded.last_row < 0:
                raise refusal("y", "have a label in some row", "none")
            return graded
        for name, is_given in (
            ("qid", qid is not None),
            ("query_weight", self.query_weight != "pairs"),
        ):
            if is_given:
                rule = "be left out with Preferences, which know no queries"
                raise refusal(name, rule, "one", error=ValueError)
        if y.has_sizes:
            raise refusal(
                "y",
                "be preferences without sizes, of which RankBoost would learn the order only",
                "sizes",
                hint="Give y.without_sizes(), or let sizes be weights.",
            )
        y.check_rows(n_rows)
        return y

    def _hold_out(
        self, X: Matrix, preferences: Preferences, offset: Floats | None, *, is_labelled: bool
    ) -> EarlyStopping:
        """Hold out queries or, of preferences, connected components; return their monitor."""
        metric, qid = metric_by_name(self.metric), None
        y: Floats | Preferences
        if is_labelled:
            graded: Any = preferences.parts[0]
            sizes = np.diff(graded.offsets)
            qid = np.repeat(np.arange(len(sizes)), sizes)
            kept = self._drawn(len(sizes), is_labelled=True)[qid]
            rows, y, qid = graded.rows[kept], graded.grade[kept], qid[kept]
        else:
            metric.check_of_pairs("metric")
            component = preferences.components(X.shape[0])
            paired = np.unique(component[preferences.paired_rows()])
            held = paired[self._drawn(len(paired), is_labelled=False)]
            rows = np.flatnonzero(np.isin(component, held))
            y = preferences.restrict(rows)
        patience, unstored = self.n_iter_no_change, self.missing == "zero"
        return EarlyStopping(metric, patience, rows, y, qid, X, offset, unstored=unstored)

    def _drawn(self, n_groups: int, *, is_labelled: bool) -> Bools:
        """Return which of so many queries, or components, are held out."""
        if n_groups < 2 and is_labelled:
            raise refusal(
                "qid",
                "have two queries at least with validation_fraction, which holds out whole ones",
                n_groups,
            )
        if n_groups < 2:
            raise refusal(
                "y",
                "have two connected components of pairs at least with validation_fraction, which "
                "holds out whole ones",
                n_groups,
                hint="Choose n_rounds by model_selection.PairKFold instead.",
            )
        share = float(self.validation_fraction or 0.0)
        n_held = min(max(1, round(share * n_groups)), n_groups - 1)
        is_held = np.zeros(n_groups, dtype=bool)
        is_held[generator(self.random_state).permutation(n_groups)[:n_held]] = True
        return is_held

    def _check_trees(self, preferences: Preferences) -> None:
        """Refuse what needs queries where there are none."""
        is_graded = len(preferences.parts) == 1 and isinstance(preferences.parts[0], GradedRows)
        for name, default in (("pair_weight", None), ("subsample", 1.0)):
            if getattr(self, name) != default and not is_graded:
                refuse_parameter(self, name, f"be {default!r} with listed pairs")

    def _scores(self, X: MatrixLike) -> Floats:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        if hasattr(self, "forest_"):
            added = np.zeros((X.shape[0], 1))
            self.forest_.add_scores(X, added, unstored=self._unstored)
            return added[:, 0]
        scores = self._table.scores(X, unstored=self._unstored)
        alphas = self.weak_rankers_["alpha"][self.weak_rankers_["feature"] < 0]
        for alpha, ranking in zip(alphas.tolist(), self.own_rankings_, strict=True):
            scores += alpha * ranked(ranking, X)
        return scores

    def _rows(self, X: MatrixLike, *, reset: bool) -> Matrix:
        if reset and has_trees(self):
            self._features, numbers = TreeFeatures.learnt(
                self,
                X,
                self.categorical_features,
                self.monotonic_cst,
                unstored=self.missing == "zero",
            )
            return numbers
        if not reset and hasattr(self, "forest_"):
            return self._features.matrix(self, X, unstored=self._unstored)
        rows: Matrix = read_matrix(self, X, masked_as_nan, reset=reset, finite="allow-nan")
        return rows if isinstance(rows, np.ndarray) else check_csr(rows)

    def _publish(
        self, log: RoundLog, stopping: EarlyStopping | None = None, *, has_offset: bool = False
    ) -> None:
        n_rounds = len(log.rounds) if stopping is None else stopping.best
        if len(log.rounds) == 0 and has_trees(self):
            warn(
                "no feature divides the rows of pairs, min_samples_leaf on either side, so "
                "that it helps; all scores are equal.",
                ConvergenceWarning,
            )
        elif len(log.rounds) == 0:
            warn(
                "no weak ranking separates the rows of a pair, so that "
                "all scores are equal. Do all features abstain? If they fall with "
                "relevance, set cumulative=False.",
                ConvergenceWarning,
            )
        elif n_rounds == 0:
            warn(
                "no round is better than none on the queries held out, "
                "so that all scores are equal. Hold out more of them, or other ones.",
                ConvergenceWarning,
            )
        rounds = log.rounds[:n_rounds]
        self.weak_rankers_ = np.array([tuple(r[:4]) for r in rounds], dtype=RECORD)
        trees = [r.ranking.tree for r in rounds if isinstance(r.ranking, TreeRanking)]
        self.__dict__.pop("forest_", None)
        self.own_rankings_ = []
        if has_trees(self):
            self.forest_ = Forest.of(trees, self._features.is_category)
        else:
            self.__dict__.pop("_features", None)
            self.own_rankings_ = [r.ranking for r in rounds if r.ranking is not None]
        self.n_rounds_ = n_rounds
        self.bounds_ = log.bounds(n_rounds)
        self.smoothing_ = log.smoothing
        self.feature_importances_ = (
            self.forest_.importances() if has_trees(self) else self._importances(log.log_bounds)
        )
        if stopping is not None:
            self.validation_scores_ = np.array(stopping.values)
        elif hasattr(self, "validation_scores_"):
            del self.validation_scores_  # of an earlier fit
        self.__dict__.pop("traffic_", None)  # of a fit on a cluster
        self._unstored, self._has_offset = self.missing == "zero", has_offset
        self._table = ScoreTable.of(self.weak_rankers_)

    def _importances(self, log_bounds: list[float]) -> Floats:
        falls = -np.diff(log_bounds[: self.n_rounds_ + 1])
        feature = self.weak_rankers_["feature"]
        is_feature = feature >= 0
        shares = np.bincount(feature[is_feature], falls[is_feature], minlength=self.n_features_in_)
        total = falls.sum()
        return shares / total if total > 0 else np.zeros(self.n_features_in_)


def _refuse_preferences(preferences: Preferences) -> NoReturn:
    counts = 0, 0, 0
    for graded in preferences.parts:
        if isinstance(graded, GradedRows) and graded.n_flat_queries:
            counts = len(graded.rows), len(graded.offsets) - 1, graded.n_flat_queries
    refuse_rows(*counts)


def refuse_rows(n_rows: int, n_queries: int, n_flat: int) -> NoReturn:
    """Refuse rows in queries, so many of one grade, without a pair to learn from."""
    got = f"{n_flat} of {n_queries} queries with one grade only" if n_flat else "every weight zero"
    if n_rows == 1:
        got = "one sample"
    raise refusal(
        "y", "contain two rows of one query with different grades and positive weights", got
    )
