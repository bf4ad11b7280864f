"""Fusion of runs, by rules or learnt from judgements, and the case that compares it."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from sklearn.base import BaseEstimator

from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Bools, Estimator, Floats, Ints
from peckorder._core.validation import did_you_mean
from peckorder.comparison.baselines import Constant
from peckorder.comparison.candidates import (
    Candidate,
    Make,
    TaskInfo,
    boosted_trees,
    linear_mprank,
    rankboost,
)
from peckorder.comparison.measures import of_lists_by_name
from peckorder.comparison.table_case import TableCase, folds_of_queries
from peckorder.comparison.tuning import Wrapper, fit_model, innermost, list_loss
from peckorder.datasets import Documents, Qrels, Run, from_runs
from peckorder.estimators import RankBoost
from peckorder.feedback import Queries
from peckorder.tables.coders import Number
from peckorder.tables.columns import counted
from peckorder.tables.features import Coding
from peckorder.third_party import LightGBM, Ridge, installed

# Cormack, Clarke and Buettcher (SIGIR 2009) found it, and everybody keeps it.
RRF_SHIFT = 60
BORDA: Final = "Borda"
RRF: Final = "reciprocal rank fusion"
LEARNT: Final = "RankBoost"
METHODS: Final = {"borda": BORDA, "rrf": RRF, "rankboost": LEARNT}


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """Documents of all runs with the scores of each method.

    Learnt scores of judged queries, those in which something is relevant, come from
    models that did not see these queries; those of others from `model`, which saw all
    judged ones.
    """

    documents: Documents
    scores: Mapping[str, Floats]
    is_judged: Bools
    model: RankBoost | None = None


def fuse(
    runs: Mapping[str, Run],
    qrels: Qrels | None = None,
    *,
    n_rounds: int | None = None,
    n_folds: int = 5,
    seed: int = 0,
    metric: str = "ndcg@10",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fused:
    """Fuse runs, one column per run; a run abstains on documents that it does not list.

    Borda's count gives a document, from each run that lists it, the number of
    documents of its query that do not stand above it; reciprocal rank fusion
    1 / (60 + rank). RankBoost learns from 1 / rank and the judgements, as in
    `compare`: on the same folds of queries in which something is relevant, for
    `n_rounds` rounds, or those that do best by `metric` on queries left out.
    O(n log n) for n rows of all runs, and what RankBoost takes for `n_folds` + 1 fits.

    Examples
    --------
    >>> from peckorder.comparison.fusion import fuse
    >>> from peckorder.datasets import Run
    >>> a = Run(["q", "q"], ["x", "y"], [2.0, 1.0])
    >>> b = Run(["q", "q"], ["y", "z"], [2.0, 1.0])
    >>> fused = fuse({"a": a, "b": b})
    >>> fused.documents.docid.tolist(), fused.scores["Borda"].tolist()
    (['x', 'y', 'z'], [3.0, 5.0, 2.0])
    """
    if qrels is not None:
        # Judgements below 0, of spam, earn nothing, as in trec_eval.
        qrels = Qrels(qrels.qid, qrels.docid, np.maximum(qrels.grade, 0))
    documents = from_runs(runs, qrels)
    ranks = 1 / documents.X
    queries = Queries.of(documents.qid, len(documents))
    size = queries.sizes[queries.of_rows()]
    borda = np.asarray(np.nansum(1 + size[:, None] - ranks, axis=1))
    scores = {BORDA: borda, RRF: np.nansum(1 / (RRF_SHIFT + ranks), axis=1)}
    if qrels is None:
        return Fused(documents, scores, np.zeros(len(documents), dtype=bool))
    relevant = np.unique(qrels.qid[qrels.grade > 0])
    is_judged = np.isin(np.asarray(documents.qid), relevant)
    rows = np.flatnonzero(is_judged)
    X, y = documents.X[rows], documents.y[rows]
    qid = np.unique(np.asarray(documents.qid)[rows], return_inverse=True)[1]
    _check_judgements(y, qid, n_folds)
    fold = folds_of_queries("the runs", qid, n_folds, seed)
    info = TaskInfo(seed, len(runs), loss=list_loss(metric))

    def fit(rows: Bools | slice) -> RankBoost:
        """Fit for so many rounds, or choose their number on queries left out."""
        if n_rounds is not None:
            return RankBoost(n_rounds=n_rounds).fit(X[rows], y[rows], qid=qid[rows])
        with warnings.catch_warnings():
            # Of fits on parts of the queries.
            warnings.simplefilter("ignore")
            fitted = fit_model(rankboost(info), X[rows], y[rows], qid[rows])
        model: RankBoost = innermost(fitted)
        return model

    learnt = np.empty(len(documents))
    for k in range(n_folds):
        on_progress(k, n_folds + 1)
        learnt[rows[fold == k]] = fit(fold != k).predict(X[fold == k])
    on_progress(n_folds, n_folds + 1)
    model = fit(slice(None))
    if not is_judged.all():
        learnt[~is_judged] = model.predict(documents.X[~is_judged])
    return Fused(documents, {LEARNT: learnt, **scores}, is_judged, model)


def _check_judgements(y: Floats, qid: Ints, n_folds: int) -> None:
    """Refuse judgements that do not distinguish documents in enough queries."""
    n_queries = int(qid.max(initial=-1)) + 1
    highest, lowest = np.full(n_queries, -np.inf), np.full(n_queries, np.inf)
    np.maximum.at(highest, qid, y)
    np.minimum.at(lowest, qid, y)
    n_informative = int((highest > lowest).sum())
    if n_informative < n_folds:
        raise refusal(
            "qrels",
            f"tell documents apart in {n_folds} of the runs' queries or more, one a fold",
            n_informative,
        )


class FusionRule(BaseEstimator):  # type: ignore[misc]
    """A rule that makes one score of those of all runs, and learns nothing.

    `rule` takes reciprocal ranks, scores from 0 to 1, and scores as they are, each with
    one column per run.
    """

    def __init__(self, rule: Callable[[Floats, Floats, Floats], Floats]) -> None:
        self.rule = rule

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn nothing."""
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        return np.asarray(self.rule(*np.hsplit(X, 3)))


class OnReciprocalRanks(Wrapper):
    """A ranker that learns from 1 / rank in each run.

    `fill`: what a run does not list is 0, not NaN.
    """

    def __init__(self, model: Estimator, n_runs: int, *, fill: bool) -> None:
        self.model = model
        self.n_runs = n_runs
        self.fill = fill

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Learn how to combine runs."""
        self.model_ = fit_model(self.model, self._features(X), y, qid)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        return np.asarray(self.model_.predict(self._features(X)))

    def _features(self, X: Floats) -> Floats:
        reciprocals = X[:, : self.n_runs]
        return np.asarray(np.nan_to_num(reciprocals) if self.fill else reciprocals)


def make_runs_case(
    runs: Mapping[str, Run], qrels: Qrels, *, metric: str | None = None
) -> TableCase:
    """Put runs side by side, as rows that can be ranked anew, query by query.

    Queries that are not judged are left out. What no run lists cannot be found, but
    counts in what there was to find.
    """
    # Judgements below 0, of spam, earn nothing, as in trec_eval.
    qrels = Qrels(qrels.qid, qrels.docid, np.maximum(qrels.grade, 0))
    listed = from_runs(runs, qrels)
    scores = np.asarray(from_runs(runs, feature="score").X)
    every_qid = np.asarray(listed.qid)
    is_judged = np.isin(every_qid, np.unique(qrels.qid[qrels.grade > 0]))
    notes = []
    n_all = len(np.unique(every_qid))
    if not is_judged.all():
        n_left = n_all - len(np.unique(every_qid[is_judged]))
        have = counted(n_left, "query has", "queries have")
        notes.append(f"{have} nothing that is relevant: left out.")
    if not is_judged.any():
        raise refusal(
            "qrels",
            "judge queries of the runs",
            f"none in common, such as {str(qrels.qid[:1].tolist())[1:-1]} and "
            f"{str(every_qid[:1].tolist())[1:-1]}",
        )
    queries, qid = np.unique(every_qid[is_judged], return_inverse=True)
    # 1 / rank, scores from 0 to 1, and scores as they are.
    scores = scores[is_judged]
    X = np.hstack([listed.X[is_judged], _scaled(scores, qid), scores])
    _check_metric(metric)
    measures = of_lists_by_name(metric, ("ndcg@10", "ap"), least=0.0)
    names = tuple(runs)
    return TableCase(
        kind="runs",
        source=", ".join(names),
        X=X,
        y=listed.y[is_judged],
        features=names,
        measures=measures,
        candidates=_candidates(names),
        loss=list_loss(measures[0].name),
        qid=qid,
        target="grade",
        notes=tuple(notes),
        unit="queries",
        unlisted=_unlisted(listed, qrels, queries),
        coding=Coding(dict.fromkeys(names, Number())),
    )


def _candidates(names: tuple[str, ...]) -> tuple[Candidate, ...]:
    """Return each run by itself, rules, what learns to fuse, and a random order."""
    n = len(names)

    def single(run: int) -> Make:
        # NaN for what it does not list; equal scores are a tie.
        return lambda info: FusionRule(lambda ranks, scaled, scores: scores[:, run])

    def rrf(ranks: Floats, scaled: Floats, scores: Floats) -> Floats:
        return np.asarray(np.nansum(1.0 / (RRF_SHIFT + 1.0 / ranks), axis=1))

    def combsum(ranks: Floats, scaled: Floats, scores: Floats) -> Floats:
        return np.asarray(np.nansum(scaled, axis=1))

    def combmnz(ranks: Floats, scaled: Floats, scores: Floats) -> Floats:
        return np.asarray(combsum(ranks, scaled, scores) * (~np.isnan(ranks)).sum(axis=1))

    def learnt(make: Make, *, fill: bool) -> Make:
        return lambda info: OnReciprocalRanks(make(info), n, fill=fill)

    runs = [(name, single(k), "run") for k, name in enumerate(names)]
    fusions = [
        ("fused by places (RRF)", lambda info: FusionRule(rrf), "rule"),
        ("fused by scores (CombSUM)", lambda info: FusionRule(combsum), "rule"),
        ("fused by scores (CombMNZ)", lambda info: FusionRule(combmnz), "rule"),
        ("RankBoost", learnt(rankboost, fill=False), "peckorder"),
        ("MPRank", learnt(linear_mprank, fill=True), "peckorder"),
        ("Ridge", learnt(lambda info: Ridge(), fill=True), "scikit-learn"),
    ]
    if installed("lightgbm"):
        trees = learnt(boosted_trees(LightGBM), fill=False)
        fusions.append(("LightGBM", trees, "lightgbm"))
    # One run has nothing to be fused with.
    entries = runs if n == 1 else [*runs, *fusions]
    return (
        *(
            Candidate(name, make, False, origin, can_be_saved=origin not in ("run", "rule"))
            for name, make, origin in entries
        ),
        Candidate("(a random order)", lambda info: Constant(), origin="", can_be_saved=False),
    )


def _check_metric(metric: str | None) -> None:
    """Refuse metrics that cannot tell what was there to find."""
    if metric is None or metric == "ap":
        return
    if metric.partition("@")[0] != "ndcg" or "(" in metric:
        hint = did_you_mean(metric, ("ap", "ndcg"), {"map": "ap"})
        raise refusal("metric", "be 'ap' or 'ndcg@k' for runs", repr(metric), hint=hint)


def _scaled(scores: Floats, qid: Ints) -> Floats:
    """Bring the scores of each run to [0, 1] within queries."""
    low = np.full((int(qid.max()) + 1, scores.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, qid, np.where(np.isnan(scores), np.inf, scores))
    np.maximum.at(high, qid, np.where(np.isnan(scores), -np.inf, scores))
    width = np.where(high > low, high - low, 1.0)
    low = np.where(high > low, low, low - 1.0)
    return np.asarray((scores - low[qid]) / width[qid])


def _unlisted(listed: Documents, qrels: Qrels, queries: Array) -> dict[int, Floats]:
    """Return the grades of what is judged and in no run, by query."""
    qid, docid = np.asarray(listed.qid), np.asarray(listed.docid)
    is_listed = set(zip(qid.tolist(), docid.tolist(), strict=True))
    number = {query: k for k, query in enumerate(queries.tolist())}
    missed: dict[int, list[float]] = {}
    for query, document, grade in zip(
        qrels.qid.tolist(), qrels.docid.tolist(), qrels.grade.tolist(), strict=True
    ):
        if query in number and (query, document) not in is_listed:
            missed.setdefault(number[query], []).append(float(grade))
    return {query: np.array(grades) for query, grades in missed.items()}
