"""The problems that rankers are compared on when no file is given, and their kinds."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from peckorder._core.typing import Estimator, Floats, Ints, Labels, Predictor
from peckorder.comparison.baselines import BestFeature, MeanFeature
from peckorder.datasets import make_letor, make_square
from peckorder.estimators import (
    AggregatePRank,
    MPRankCV,
    MulticlassPerceptron,
    PRank,
    RankBoost,
    SVRank,
    WidrowHoff,
)
from peckorder.feedback import Scale, read_labels
from peckorder.metrics import (
    disagreement,
    mean_squared_difference,
    ndcg,
    rank_loss,
    time_averaged_rank_loss,
)
from peckorder.model_selection import train_test_split_queries

# Points of a curve of magnitudes: pairs that are at least so many tenths apart.
_TENTHS: Final = 10

# For problems with ordered classes.
ORDINAL_RANKERS: Final[dict[str, Estimator]] = {
    "PRank, averaged": PRank(),
    "PRank, voted": PRank(rule="voted"),
    "PRank, last rule": PRank(rule="last"),
    "PRank, RBF kernel": PRank(kernel="rbf", budget=2000),
    "PRank, cubic kernel": PRank(kernel="poly", degree=3),
    "OAP-BPM (100 PRanks)": AggregatePRank(),
    "OAP-Bagg": AggregatePRank(aggregate="bagging"),
    "OAP-VP": AggregatePRank(aggregate="voted"),
    "OAP, median": AggregatePRank(aggregate="median"),
    "Widrow-Hoff": WidrowHoff(),
    "Multiclass perceptron": MulticlassPerceptron(),
}


def _filled(ranker: Estimator) -> Pipeline:
    """Return a ranker that sees zeros for gaps, and indicators of where they were."""
    zeros = SimpleImputer(strategy="constant", fill_value=0.0, add_indicator=True)
    return make_pipeline(zeros, ranker)


# For graded problems with queries.
GRADED_RANKERS: Final[dict[str, Estimator]] = {
    "RankBoost": RankBoost(),
    "RankBoost, numeric alpha": RankBoost(alpha="numeric"),
    "RankBoost, 32 bins": RankBoost(max_bins=32),
    "RankBoost, not cumulative": RankBoost(cumulative=False),
    "RankBoost on features": RankBoost(weak="feature", alpha="numeric"),
    "PRank on grades": _filled(PRank(max_iter=10, shuffle=True, random_state=0)),
    "Ridge on grades": _filled(Ridge()),
    "Best feature": BestFeature(),
    "Mean of all features": MeanFeature(),
}

# For problems with real-valued relevance.
MAGNITUDE_RANKERS: Final[dict[str, Estimator]] = {
    "MPRank": MPRankCV(),
    "MPRank, RBF kernel": MPRankCV(kernel="rbf", gammas=(0.001, 0.01)),
    "SVRank": SVRank(C=100.0),
    "SVRank, squared": SVRank(C=100.0, power=2),
    "SVRank, hinge (HMPc)": SVRank(C=100.0, loss="hmpc"),
    "RankBoost": RankBoost(),
    "Ridge": RidgeCV(),
    "Support vector regression": SVR(),
}


class Split(NamedTuple):
    """Rows to learn from, in order, and rows to be tested on; queries if there are."""

    X_train: Floats
    y_train: Labels
    X_test: Floats
    y_test: Labels
    qid_train: Labels | None = None
    qid_test: Labels | None = None


class Axes(NamedTuple):
    """What the curves of a kind of problem show, and from which point on."""

    title: str
    x_label: str
    y_label: str
    caption: str
    first: int = 1


@dataclass(frozen=True, slots=True)
class Problem(ABC):
    """Data that can be drawn, or divided, again and again, and how to measure on it.

    Subclasses are the kinds of problem: `OrdinalProblem`, `GradedProblem` and
    `MagnitudeProblem`.

    Parameters
    ----------
    name : str
        What it is called.
    description : str
        What it is, in a sentence or two.
    draw : callable
        From a seed to a Split.
    settings : mapping, default={}
        Parameters that rankers get here, if they have them and leave them open.
    reference : tuple of (str, float) or None, default=None
        A loss worth knowing, such as the smallest possible, and its name.

    Examples
    --------
    >>> from peckorder.comparison import PROBLEMS
    >>> PROBLEMS[0].draw(0).X_train.shape
    (5000, 6)
    """

    name: str
    description: str
    draw: Callable[[int], Split]
    settings: Mapping[str, object] = field(default_factory=dict, kw_only=True)
    reference: tuple[str, float] | None = field(default=None, kw_only=True)

    # What is measured, the loss that decides first; in words; the baseline's name.
    measures: ClassVar[tuple[str, ...]]
    meaning: ClassVar[str]
    baseline: ClassVar[str]
    # What is compared unless other rankers are given.
    rankers: ClassVar[Mapping[str, Estimator]]
    axes: ClassVar[Axes]

    @abstractmethod
    def measure(self, model: Predictor, split: Split) -> tuple[float, ...]:
        """Return all measures of a fitted model on the rows to be tested on."""

    def baseline_answer(self, split: Split) -> Hashable:
        """Return what the baseline, which ignores the features, says of all rows."""
        return 0.0

    @abstractmethod
    def follow(self, model: Predictor, split: Split) -> Floats | None:
        """Return how the loss falls while a fitted model learns; None if unknown.

        A curve that is shorter than others goes on as it ends.
        """


@dataclass(frozen=True, slots=True)
class OrdinalProblem(Problem):
    """A problem whose rows belong to ordered classes.

    The loss is the mean number of classes between prediction and truth.

    Parameters
    ----------
    name, description, draw, settings, reference
        As in `Problem`.
    classes : tuple
        The classes, lowest first.

    Examples
    --------
    >>> from peckorder import PRank
    >>> from peckorder.comparison import OrdinalProblem, Split
    >>> split = Split([[0.0], [1.0]], [1, 2], [[2.0], [0.0]], [2, 2])
    >>> two_rows = OrdinalProblem("two rows", "Two.", lambda seed: split, (1, 2))
    >>> two_rows.measure(PRank(max_iter=9).fit(split.X_train, split.y_train), split)
    (0.5,)
    """

    classes: tuple[Hashable, ...]

    measures: ClassVar[tuple[str, ...]] = ("mean rank loss",)
    meaning: ClassVar[str] = (
        "Steps between the predicted and the true class on rows that were not learnt from"
    )
    baseline: ClassVar[str] = "(always the median class)"
    rankers: ClassVar[Mapping[str, Estimator]] = ORDINAL_RANKERS
    # The first few rows are the luck of the draw and would dwarf the rest.
    axes: ClassVar[Axes] = Axes(
        "learning as rows arrive",
        "rows seen",
        "time-averaged rank loss",
        "Every row is predicted before it is learnt. A line at t is the mean loss of "
        "the first t predictions of one pass",
        10,
    )

    def measure(self, model: Predictor, split: Split) -> tuple[float, ...]:
        """Return the mean rank loss."""
        guesses = model.predict(split.X_test)
        return (rank_loss(split.y_test, guesses, classes=self.classes),)

    def baseline_answer(self, split: Split) -> Hashable:
        """Return the median class of the rows to learn from."""
        level = Scale.given(self.classes).levels(read_labels(split.y_train), slice(None))
        return self.classes[int(np.quantile(level, 0.5, method="lower"))]

    def follow(self, model: Predictor, split: Split) -> Floats | None:
        """Return the time-averaged loss of one pass, of what learns on-line."""
        if not hasattr(model, "progressive"):
            return None
        X, y = split.X_train, split.y_train
        guesses = clone(model).progressive(X, y, classes=self.classes)
        return time_averaged_rank_loss(y, guesses, classes=self.classes)


def _draw_square(seed: int) -> Split:
    X, y = make_square(6000, random_state=seed)
    return Split(X[:5000], y[:5000], X[5000:], y[5000:])


def _diabetes_split(seed: int, target: Callable[[Floats, Ints], Floats | Ints]) -> Split:
    """Return 300 patients to learn from and the other 142, with standardised features.

    `target` makes labels out of the progression and the rows to learn from.
    """
    X, progression = load_diabetes(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(progression))
    train, test = order[:300], order[300:]
    scaler = StandardScaler().fit(X[train])
    y = target(progression, train)
    return Split(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def _draw_diabetes(seed: int) -> Split:
    def grade(progression: Floats, train: Ints) -> Ints:
        cuts = np.quantile(progression, [0.2, 0.4, 0.6, 0.8])
        return 1 + np.searchsorted(cuts, progression, side="right")

    return _diabetes_split(seed, grade)


SQUARE: Final = OrdinalProblem(
    "The square",
    "Points of the unit square in five ordered classes that bend around its "
    "centre, with noise (the problem of the papers on PRank and OAP-BPM): one "
    "pass over 5,000 points, tested on 1,000 new ones, features as in the papers.",
    _draw_square,
    (1, 2, 3, 4, 5),
    settings={"fit_intercept": False, "unit_norm": False},
    reference=("no rule can do better", 0.1526),
)
DIABETES: Final = OrdinalProblem(
    "Diabetes",
    "How far the disease of 442 patients went within a year, in five grades of "
    "equal frequency, from ten standardised measurements: ten shuffled passes "
    "over 300 patients, tested on the other 142.",
    _draw_diabetes,
    (1, 2, 3, 4, 5),
    settings={"max_iter": 10, "shuffle": True},
)


@dataclass(frozen=True, slots=True)
class GradedProblem(Problem):
    """A problem whose rows have grades that are compared within queries.

    The loss is the disagreement; NDCG@10 stands beside it. Both are means over queries,
    without those in which they are undefined.

    Parameters
    ----------
    name, description, draw, settings, reference
        As in `Problem`.

    Examples
    --------
    >>> from peckorder import RankBoost
    >>> from peckorder.comparison import GradedProblem, Split
    >>> X, y, qid = [[1.0], [2.0], [0.0], [3.0]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> split = Split(X[:2], y[:2], X, y, qid[:2], qid)
    >>> one_query = GradedProblem("one query", "One.", lambda seed: split)
    >>> model = RankBoost(n_rounds=1).fit(X[:2], y[:2], qid=qid[:2])
    >>> one_query.measure(model, split)[0]
    0.5
    """

    measures: ClassVar[tuple[str, ...]] = ("disagreement", "ndcg@10")
    meaning: ClassVar[str] = (
        "The share of pairs of a query's rows that are ranked the wrong way (less is "
        "better), and the NDCG of its first ten rows (more is better), on queries that "
        "were not learnt from"
    )
    baseline: ClassVar[str] = "(a random order)"
    rankers: ClassVar[Mapping[str, Estimator]] = GRADED_RANKERS
    axes: ClassVar[Axes] = Axes(
        "learning round by round",
        "rounds",
        "disagreement",
        "A line at t is the loss, on the queries that are not learnt from, after t "
        "rounds of boosting; what does not learn in rounds has a level line",
    )

    def measure(self, model: Predictor, split: Split) -> tuple[float, ...]:
        """Return the disagreement and the NDCG@10."""
        scores = getattr(model, "decision_function", model.predict)(split.X_test)
        gains = ndcg(split.y_test, scores, qid=split.qid_test, k=10, per_query=True)
        return _loss(scores, split), float(np.nanmean(gains))

    def follow(self, model: Predictor, split: Split) -> Floats | None:
        """Return the disagreement after each round, or the last one alone."""
        if not hasattr(model, "staged_predict"):
            return np.array(self.measure(model, split)[:1])
        stages = model.staged_predict(split.X_test)
        return np.array([_loss(scores, split) for scores in stages])


def _loss(scores: Floats, split: Split) -> float:
    values = disagreement(split.y_test, scores, qid=split.qid_test, per_query=True)
    return float(np.nanmean(values))


def _draw_search(seed: int) -> Split:
    X, y, qid = make_letor(missing=0.3, random_state=seed)
    X = np.concatenate([_scaled(X[qid == query]) for query in np.unique(qid)])
    X_train, X_test, y_train, y_test, *qids = train_test_split_queries(
        X, y, qid=qid, test_size=50, random_state=seed
    )
    return Split(X_train, y_train, X_test, y_test, *qids)


def _scaled(rows: Floats) -> Floats:
    """Bring each column to [0, 1]; what is constant, to 0."""
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    return np.asarray((rows - low) / np.where(high > low, high - low, 1.0))


SEARCH: Final = GradedProblem(
    "Search results",
    "100 invented queries with 20 to 80 documents each, in five grades, the lowest the "
    "most frequent, with 24 features: scores, counts, long-tailed ones, search engines "
    "that leave out what they find worst, noise. All are scaled to [0, 1] within "
    "queries, as in LETOR. 100 rounds of boosting over 50 queries, tested on the other "
    "50. Judges err: the true relevance, too, disagrees with 7 % of their pairs.",
    _draw_search,
    settings={"n_rounds": 100},
    reference=("the true relevance", 0.072),
)


@dataclass(frozen=True, slots=True)
class MagnitudeProblem(Problem):
    """A problem in which it matters how far apart two rows are, not only their order.

    The loss is the mean squared difference between the distances of scores and those of
    truths; the disagreement stands beside it. All rows are one list.

    Parameters
    ----------
    name, description, draw, settings, reference
        As in `Problem`.

    Examples
    --------
    >>> from peckorder import MPRank
    >>> from peckorder.comparison import MagnitudeProblem, Split
    >>> X, y = [[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0]
    >>> three_rows = MagnitudeProblem("three", "Three.", lambda seed: Split(X, y, X, y))
    >>> split = three_rows.draw(0)
    >>> loss, disagreement = three_rows.measure(MPRank(C=1e6).fit(X, y), split)
    >>> loss < 1e-6, disagreement
    (True, 0.0)
    """

    measures: ClassVar[tuple[str, ...]] = ("msd", "disagreement")
    meaning: ClassVar[str] = (
        "By how much the distances between scores miss those between truths, squared "
        "(msd), and the share of pairs that are ranked the wrong way (less is better "
        "for both), on rows that were not learnt from"
    )
    baseline: ClassVar[str] = "(the same score for all)"
    rankers: ClassVar[Mapping[str, Estimator]] = MAGNITUDE_RANKERS
    axes: ClassVar[Axes] = Axes(
        "pairs that are far apart",
        "without the nearest pairs, tenths of all",
        "disagreement",
        "A line at t is the disagreement over pairs of test rows, without the t - 1 "
        "tenths of them whose truths are nearest to each other",
    )

    def measure(self, model: Predictor, split: Split) -> tuple[float, ...]:
        """Return the mean squared difference and the disagreement."""
        truth, scores = split.y_test, model.predict(split.X_test)
        return mean_squared_difference(truth, scores), disagreement(truth, scores)

    def follow(self, model: Predictor, split: Split) -> Floats | None:
        """Return the disagreement over fewer and fewer pairs, the distant ones last."""
        truth, score = np.asarray(split.y_test), model.predict(split.X_test)
        first, second = np.triu_indices(len(truth), 1)
        distance = truth[second] - truth[first]
        gap = (score[second] - score[first]) * np.sign(distance)
        wrong = np.where(gap < 0, 1.0, np.where(gap == 0, 0.5, 0.0))
        apart = np.abs(distance)
        least = np.quantile(apart[apart > 0], np.arange(_TENTHS) / _TENTHS)
        return np.array([wrong[apart >= d].mean() for d in least])


def _draw_progression(seed: int) -> Split:
    def standardised(progression: Floats, train: Ints) -> Floats:
        known = progression[train]
        return np.asarray((progression - known.mean()) / known.std())

    return _diabetes_split(seed, standardised)


PROGRESSION: Final = MagnitudeProblem(
    "Progression",
    "How far the disease of 442 patients went within a year, as a number in standard "
    "deviations: who is ahead, and by how much? From ten standardised measurements of "
    "300 patients, tested on the other 142.",
    _draw_progression,
)
PROBLEMS: Final = (SQUARE, DIABETES, SEARCH, PROGRESSION)
