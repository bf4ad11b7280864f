"""Graded rows of queries, measured by the order into which a query's rows are put."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from peckorder._core.typing import Floats
from peckorder.compare.embedded.problem import Axes, Problem, Split
from peckorder.compare.embedded.rankers import GRADED_RANKERS
from peckorder.datasets import make_letor
from peckorder.metrics import disagreement, ndcg
from peckorder.model_selection import train_test_split_queries


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
    >>> from peckorder.compare import GradedProblem, Split
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
    ignorant: ClassVar[str] = "(a random order)"
    rankers: ClassVar[Mapping[str, Any]] = GRADED_RANKERS
    axes: ClassVar[Axes] = Axes(
        "learning round by round",
        "rounds",
        "disagreement",
        "A line at t is the loss, on the queries that are not learnt from, after t "
        "rounds of boosting; what does not learn in rounds has a level line",
    )

    def measure(self, model: Any, split: Split) -> tuple[float, ...]:
        """Return the disagreement and the NDCG@10."""
        scores = getattr(model, "decision_function", model.predict)(split.X_test)
        return _loss(scores, split), _ndcg(scores, split)

    def measure_ignorant(self, split: Split) -> tuple[float, ...]:
        """Return what equal scores get: the expectation over all orders."""
        scores = np.zeros(len(split.y_test))
        return _loss(scores, split), _ndcg(scores, split)

    def follow(self, model: Any, split: Split) -> Floats | None:
        """Return the disagreement after each round, or the last one alone."""
        if not hasattr(model, "staged_predict"):
            return np.array(self.measure(model, split)[:1])
        stages = model.staged_predict(split.X_test)
        return np.array([_loss(scores, split) for scores in stages])


def _loss(scores: Floats, split: Split) -> float:
    values = disagreement(split.y_test, scores, qid=split.qid_test, per_query=True)
    return float(np.nanmean(values))


def _ndcg(scores: Floats, split: Split) -> float:
    values = ndcg(split.y_test, scores, qid=split.qid_test, k=10, per_query=True)
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
