"""One list out of several: by counts of places, or by what judgements teach."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peckorder._core.typing import Floats
from peckorder.compare.candidates.calibration import fit
from peckorder.compare.candidates.registry import Setting, rankboost
from peckorder.compare.candidates.tuning import list_loss
from peckorder.compare.contest.case import folds_of_queries
from peckorder.datasets import Documents, Qrels, Run, from_runs
from peckorder.estimators import RankBoost
from peckorder.exceptions import DataError
from peckorder.feedback import Queries

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

    runs: tuple[str, ...]
    documents: Documents
    scores: Mapping[str, Floats]
    is_judged: NDArray[np.bool_]
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
    """Fuse runs, a column each; a run abstains on documents that it does not list.

    Borda's count gives a document, from each run that lists it, the number of
    documents of its query that do not stand above it; reciprocal rank fusion
    1 / (60 + place). RankBoost learns from 1 / place and the judgements, as in
    `compare`: on the same folds of queries in which something is relevant, for
    `n_rounds` rounds, or those that do best by `metric` on queries left out.
    O(n log n) for n rows of all runs, and what RankBoost takes for `n_folds` + 1 fits.

    Examples
    --------
    >>> from peckorder.compare.contest.fusion import fuse
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
    place = 1 / documents.X
    queries = Queries.of("fuse", documents.qid, len(documents))
    scores = {
        BORDA: _borda(place, queries),
        RRF: np.nansum(1 / (RRF_SHIFT + place), axis=1),
    }
    if qrels is None:
        none = np.zeros(len(documents), dtype=bool)
        return Fused(tuple(runs), documents, scores, none)
    relevant = np.unique(qrels.qid[qrels.grade > 0])
    is_judged = np.isin(np.asarray(documents.qid), relevant)
    setting = Setting(seed, len(runs), loss=list_loss(metric))
    learnt, model = _learnt(
        documents, is_judged, n_rounds, n_folds, setting, on_progress
    )
    return Fused(tuple(runs), documents, {LEARNT: learnt, **scores}, is_judged, model)


def _borda(place: Floats, queries: Queries) -> Floats:
    """Return the sum, over the runs that list a document, of those not above it."""
    size = queries.sizes[queries.of_rows()]
    return np.asarray(np.nansum(1 + size[:, None] - place, axis=1))


def _learnt(
    documents: Documents,
    is_judged: NDArray[np.bool_],
    n_rounds: int | None,
    n_folds: int,
    setting: Setting,
    on_progress: Callable[[int, int], None],
) -> tuple[Floats, RankBoost]:
    rows = np.flatnonzero(is_judged)
    X, y = documents.X[rows], documents.y[rows]
    asked: Any = np.asarray(documents.qid)[rows]
    _check_teachable(y, asked, n_folds)
    qid = np.unique(asked, return_inverse=True)[1]

    def learn(some: Any) -> RankBoost:
        if n_rounds is not None:
            plain = RankBoost(n_rounds=n_rounds)
            return plain.fit(X[some], y[some], qid=qid[some])
        with warnings.catch_warnings():
            # Of fits on parts of the queries.
            warnings.simplefilter("ignore")
            fitted = fit(rankboost(setting), X[some], y[some], qid[some])
        best: RankBoost = fitted.model_
        return best

    scores = np.empty(len(documents))
    fold = folds_of_queries("the runs", qid, n_folds, setting.seed)
    for k in range(n_folds):
        on_progress(k, n_folds + 1)
        test = fold == k
        scores[rows[test]] = learn(~test).predict(X[test])
    on_progress(n_folds, n_folds + 1)
    model = learn(slice(None))
    if not is_judged.all():
        scores[~is_judged] = model.predict(documents.X[~is_judged])
    return scores, model


def _check_teachable(y: Floats, qid: Any, n_folds: int) -> None:
    """Refuse judgements that say nothing in too many queries."""
    query = np.unique(qid, return_inverse=True)[1]
    n_queries = int(query.max(initial=-1)) + 1
    highest, lowest = np.full(n_queries, -np.inf), np.full(n_queries, np.inf)
    np.maximum.at(highest, query, y)
    np.minimum.at(lowest, query, y)
    n_telling = int((highest > lowest).sum())
    if n_telling < n_folds:
        raise DataError(
            f"fuse: qrels must tell documents apart in {n_folds} of the runs' queries "
            f"or more, one a fold; got {n_telling}."
        )
