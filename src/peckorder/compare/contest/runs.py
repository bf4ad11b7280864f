"""The contest of ranked lists: each run by itself, and ways to fuse them."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import RidgeCV

from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import did_you_mean
from peckorder.compare.candidates import registry as entrants
from peckorder.compare.candidates.calibration import fit
from peckorder.compare.candidates.registry import Entrant, Setting
from peckorder.compare.candidates.third_party import LightGBM, installed
from peckorder.compare.candidates.tuning import SampledMPRank, list_loss
from peckorder.compare.contest.case import Case
from peckorder.compare.contest.fusion import RRF_SHIFT
from peckorder.compare.contest.measures import Measure
from peckorder.datasets import Qrels, Run, from_runs
from peckorder.exceptions import DataError
from peckorder.tables.columns import counted


class One(BaseEstimator):  # type: ignore[misc]
    """One run as it is, by its scores; NaN for what it does not list."""

    def __init__(self, run: int, n_runs: int) -> None:
        self.run = run
        self.n_runs = n_runs

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn nothing."""
        return self

    def predict(self, X: Floats) -> Floats:
        """Return its scores, of which equal ones are a tie."""
        return np.asarray(X[:, 2 * self.n_runs + self.run])


class Rule(BaseEstimator):  # type: ignore[misc]
    """A rule that adds what runs say: of places (rrf) or of scores (sum, mnz)."""

    def __init__(self, rule: str, n_runs: int) -> None:
        self.rule = rule
        self.n_runs = n_runs

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn nothing."""
        return self

    def predict(self, X: Floats) -> Floats:
        """Return sums over the runs that list a row."""
        places, scores = X[:, : self.n_runs], X[:, self.n_runs : 2 * self.n_runs]
        if self.rule == "rrf":
            return np.asarray(np.nansum(1.0 / (RRF_SHIFT + 1.0 / places), axis=1))
        total = np.nansum(scores, axis=1)
        if self.rule == "mnz":
            total = total * (~np.isnan(places)).sum(axis=1)
        return np.asarray(total)


class OfPlaces(BaseEstimator):  # type: ignore[misc]
    """A ranker that learns from 1 / place in each run; 0 of what is not listed."""

    def __init__(self, model: Any, n_runs: int, *, fill: bool) -> None:
        self.model = model
        self.n_runs = n_runs
        self.fill = fill

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Learn how to combine runs."""
        self.model_ = fit(self.model, self._seen(X), y, qid)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        return np.asarray(self.model_.predict(self._seen(X)))

    def _seen(self, X: Floats) -> Floats:
        places = X[:, : self.n_runs]
        return np.asarray(np.nan_to_num(places) if self.fill else places)


def make_runs_case(
    runs: Mapping[str, Run], qrels: Qrels, *, metric: str | None = None
) -> Case:
    """Put runs side by side, as rows that can be ranked anew, query by query.

    Queries that are not judged are left out. What no run lists cannot be found, but
    counts in what there was to find.
    """
    # Judgements below 0, of spam, earn nothing, as in trec_eval.
    qrels = Qrels(qrels.qid, qrels.docid, np.maximum(qrels.grade, 0))
    listed = from_runs(runs, qrels)
    scores = np.asarray(from_runs(runs, feature="score").X)
    asked: Any = listed.qid
    is_judged = np.isin(asked, np.unique(qrels.qid[qrels.grade > 0]))
    notes = []
    n_all = len(np.unique(asked))
    if not is_judged.all():
        n_left = n_all - len(np.unique(asked[is_judged]))
        have = counted(n_left, "query has", "queries have")
        notes.append(f"{have} nothing that is relevant: left out.")
    if not is_judged.any():
        raise DataError(
            "compare: qrels must judge queries of the runs; got none in common, such "
            f"as {str(qrels.qid[:1].tolist())[1:-1]} and "
            f"{str(asked[:1].tolist())[1:-1]}."
        )
    queries, qid = np.unique(asked[is_judged], return_inverse=True)
    # 1 / place, scores from 0 to 1, and scores as they are.
    scores = scores[is_judged]
    X = np.hstack([listed.X[is_judged], _scaled(scores, qid), scores])
    first = Measure.of_lists(_checked(metric or "ndcg@10"))
    others = map(Measure.of_lists, ("ndcg@10", "ap"))
    measures = (first, *(m for m in others if m.name != first.name))
    names = tuple(runs)
    return Case(
        kind="runs",
        source=", ".join(names),
        X=X,
        y=listed.y[is_judged],
        features=names,
        measures=measures,
        entrants=_entrants(names),
        loss=list_loss(first.name),
        qid=qid,
        queries=tuple(queries.tolist()),
        target="grade",
        notes=tuple(notes),
        unit="queries",
        unlisted=_unlisted(listed, qrels, queries),
        levels=dict.fromkeys(names),
    )


def _entrants(names: tuple[str, ...]) -> tuple[Entrant, ...]:
    n = len(names)

    def learnt(make: Any, *, fill: bool) -> Any:
        return lambda setting: OfPlaces(make(setting), n, fill=fill)

    def ridge(setting: Setting) -> Any:
        return RidgeCV((0.01, 0.1, 1.0, 10.0, 100.0))

    def one(run: int) -> Any:
        return lambda setting: One(run, n)

    def rule_of(rule: str) -> Any:
        return lambda setting: Rule(rule, n)

    each = [
        Entrant(name, one(place), scaled=False, home="run")
        for place, name in enumerate(names)
    ]
    rules = [
        Entrant(title, rule_of(rule), scaled=False, home="rule")
        for title, rule in (
            ("fused by places (RRF)", "rrf"),
            ("fused by scores (CombSUM)", "sum"),
            ("fused by scores (CombMNZ)", "mnz"),
        )
    ]
    boosted = entrants.rankboost
    fused = [
        Entrant("RankBoost", learnt(boosted, fill=False), scaled=False),
        Entrant(
            "MPRank",
            learnt(lambda s: SampledMPRank(seed=s.seed), fill=True),
            scaled=False,
        ),
        Entrant("Ridge", learnt(ridge, fill=True), scaled=False, home="scikit-learn"),
    ]
    if installed("lightgbm"):
        trees = entrants.trees(LightGBM)
        fused.append(
            Entrant(
                "LightGBM", learnt(trees, fill=False), scaled=False, home="lightgbm"
            )
        )
    equal = Entrant("(a random order)", lambda s: entrants.Constant(), home="")
    if n == 1:  # which there is nothing to be fused with
        return (*each, equal)
    return (*each, *rules, *fused, equal)


def _checked(metric: str) -> str:
    """Refuse metrics that cannot tell what was there to find."""
    kind = metric.partition("@")[0]
    if metric != "ap" and (kind != "ndcg" or "(" in metric):
        hint = did_you_mean(metric, ("ap", "ndcg"), {"map": "ap"})
        raise DataError(
            f"compare: metric must be 'ap' or 'ndcg@k' for runs; got {metric!r}.{hint}"
        )
    return metric


def _scaled(scores: Floats, qid: Ints) -> Floats:
    """Bring the scores of each run to [0, 1] within queries."""
    low = np.full((int(qid.max()) + 1, scores.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, qid, np.where(np.isnan(scores), np.inf, scores))
    np.maximum.at(high, qid, np.where(np.isnan(scores), -np.inf, scores))
    width = np.where(high > low, high - low, 1.0)
    low = np.where(high > low, low, low - 1.0)
    return np.asarray((scores - low[qid]) / width[qid])


def _unlisted(listed: Any, qrels: Qrels, queries: Any) -> dict[int, Floats]:
    """Return the grades of what is judged and in no run, by query."""
    seen = set(zip(listed.qid.tolist(), listed.docid.tolist(), strict=True))
    place = {query: k for k, query in enumerate(queries.tolist())}
    missed: dict[int, list[float]] = {}
    for query, document, grade in zip(
        qrels.qid.tolist(), qrels.docid.tolist(), qrels.grade.tolist(), strict=True
    ):
        if query in place and (query, document) not in seen:
            missed.setdefault(place[query], []).append(float(grade))
    return {query: np.array(grades) for query, grades in missed.items()}
