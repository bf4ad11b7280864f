"""One list out of several: by counts of places, or by what judgements teach."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peckorder._typing import Floats
from peckorder.datasets import Documents, Qrels, Run, from_runs
from peckorder.estimators import RankBoost
from peckorder.exceptions import DataError
from peckorder.feedback import Queries
from peckorder.model_selection import QueryKFold

# Cormack, Clarke and Buettcher (SIGIR 2009) found it, and everybody keeps it.
_RRF_SHIFT = 60
BORDA: Final = "Borda"
RRF: Final = "reciprocal rank fusion"
LEARNT: Final = "RankBoost"
METHODS: Final = {"borda": BORDA, "rrf": RRF, "rankboost": LEARNT}


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """Documents of all runs with the scores of each method.

    Learnt scores of judged queries come from models that did not see these queries;
    those of others from `model`, which saw all judged ones.
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
    n_rounds: int = 50,
    n_folds: int = 5,
    seed: int = 0,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fused:
    """Fuse runs, a column each; a run abstains on documents that it does not list.

    Borda's count gives a document, from each run that lists it, the number of
    documents of its query that do not stand above it; reciprocal rank fusion
    1 / (60 + place). RankBoost learns from 1 / place and the judgements.
    O(n log n) for n rows of all runs, and what RankBoost takes for `n_folds` + 1 fits.

    Examples
    --------
    >>> from peckorder.compare._fusion import fuse
    >>> from peckorder.datasets import Run
    >>> a = Run(["q", "q"], ["x", "y"], [2.0, 1.0])
    >>> b = Run(["q", "q"], ["y", "z"], [2.0, 1.0])
    >>> fused = fuse({"a": a, "b": b})
    >>> fused.documents.docid.tolist(), fused.scores["Borda"].tolist()
    (['x', 'y', 'z'], [3.0, 5.0, 2.0])
    """
    documents = from_runs(runs, qrels)
    place = 1 / documents.X
    queries = Queries.of("fuse", documents.qid, len(documents))
    scores = {
        BORDA: _borda(place, queries),
        RRF: np.nansum(1 / (_RRF_SHIFT + place), axis=1),
    }
    if qrels is None:
        none = np.zeros(len(documents), dtype=bool)
        return Fused(tuple(runs), documents, scores, none)
    is_judged = np.isin(np.asarray(documents.qid), np.unique(qrels.qid))
    learnt, model = _learnt(documents, is_judged, n_rounds, n_folds, seed, on_progress)
    return Fused(tuple(runs), documents, {LEARNT: learnt, **scores}, is_judged, model)


def _borda(place: Floats, queries: Queries) -> Floats:
    """Return the sum, over the runs that list a document, of those not above it."""
    size = queries.sizes[queries.of_rows()]
    return np.asarray(np.nansum(1 + size[:, None] - place, axis=1))


def _learnt(
    documents: Documents,
    is_judged: NDArray[np.bool_],
    n_rounds: int,
    n_folds: int,
    seed: int,
    on_progress: Callable[[int, int], None],
) -> tuple[Floats, RankBoost]:
    rows = np.flatnonzero(is_judged)
    X, y = documents.X[rows], documents.y[rows]
    qid: Any = np.asarray(documents.qid)[rows]
    _check_teachable(y, qid, n_folds)
    scores = np.empty(len(documents))
    folds = QueryKFold(n_folds, shuffle=True, random_state=seed)
    for done, (train, test) in enumerate(folds.split(X, y, groups=qid)):
        on_progress(done, n_folds + 1)
        model = RankBoost(n_rounds=n_rounds).fit(X[train], y[train], qid=qid[train])
        scores[rows[test]] = model.predict(X[test])
    on_progress(n_folds, n_folds + 1)
    model = RankBoost(n_rounds=n_rounds).fit(X, y, qid=qid)
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
