"""Runs evaluated against judgements, as trec_eval does it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Floats
from peckorder.metrics import Evaluation, evaluate, metric_by_name
from peckorder.tables.columns import Columns, counted

MEASURES: Final = ("ap", "rr", "p", "recall", "hits", "ndcg")
# Below all scores of a run, above what no run lists, also in single precision.
_FILL: Final = -3e38


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Rows with grades and scores; -inf for documents that a run does not list."""

    grade: Floats
    score: Floats
    qid: Array
    docid: Array
    notes: tuple[str, ...] = ()


def judge(run: Columns, qrels: Columns, queries: Array | None = None) -> Judged:
    """Join the grades of judgements to the documents of a run.

    Documents that are not judged, or below 0, have grade 0. Judged ones that the run
    does not list have the score -inf. Queries that are not in both are left out, unless
    `queries` says which are kept. O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.tables.columns import Columns
    >>> from peckorder.comparison.run_evaluation import judge
    >>> q, d = np.array(["q", "q"]), np.array(["a", "b"])
    >>> run = Columns({"qid": q, "docid": d, "score": np.array([2.0, 1.0])}, "my.run")
    >>> judged = np.array(["b", "c"])
    >>> qrels = Columns({"qid": q, "docid": judged, "grade": np.array([1, 2])}, "qrels")
    >>> judged = judge(run, qrels)
    >>> judged.docid.tolist(), judged.grade.tolist(), judged.score.tolist()
    (['a', 'b', 'c'], [0.0, 1.0, 2.0], [2.0, 1.0, -inf])
    """
    qid, docid = _joined(run, qrels, "qid"), _joined(run, qrels, "docid")
    n_listed = len(run)
    ids, query = np.unique(qid, return_inverse=True)
    names, name = np.unique(docid, return_inverse=True)
    pair = query * len(names) + name
    _check_once(run.source, pair[:n_listed], qid, docid)
    _check_once(qrels.source, pair[n_listed:], qid[n_listed:], docid[n_listed:])
    in_run, in_qrels = np.zeros((2, len(ids)), dtype=bool)
    in_run[query[:n_listed]] = True
    in_qrels[query[n_listed:]] = True
    kept = in_run & in_qrels if queries is None else np.isin(ids, queries.astype(str))
    if not (in_run & in_qrels).any():
        raise refusal(
            f"{run.source} and {qrels.source}",
            "have queries in common",
            f"such as {str(qid[0])!r} and {str(qid[n_listed])!r}",
        )
    # Judgements below 0, of spam, earn nothing, as in trec_eval.
    grades = np.maximum(np.asarray(qrels.arrays["grade"], dtype=np.float64), 0.0)
    order = np.argsort(pair[n_listed:])
    judged = pair[n_listed:][order]
    row = np.minimum(np.searchsorted(judged, pair[:n_listed]), len(judged) - 1)
    is_judged = judged[row] == pair[:n_listed]
    grade = np.where(is_judged, grades[order][row], 0.0)
    score = np.asarray(run.arrays["score"], dtype=np.float64)
    unlisted = ~np.isin(pair[n_listed:], pair[:n_listed]) & kept[query[n_listed:]]
    rows = np.concatenate([kept[query[:n_listed]], unlisted])
    left_out = (
        (in_run & ~in_qrels, "query of the run is not", "queries of the run are not", "judged"),
        (in_qrels & ~in_run, "judged query is not", "judged queries are not", "in the run"),
    )
    notes = tuple(
        f"{counted(int(these.sum()), one, many)} {end}: left out."
        for these, one, many, end in left_out
        if these.any()
    )
    return Judged(
        np.concatenate([grade, grades])[rows],
        np.concatenate([score, np.full(len(grades), -np.inf)])[rows],
        qid[rows],
        docid[rows],
        notes,
    )


def check_measures(names: Iterable[str]) -> None:
    """Refuse metrics that mean nothing where documents are not listed."""
    for name in names:
        metric_by_name(name, "metric")
        word = name.lower().replace("(", "@").split("@")[0]
        word = {"map": "ap", "mrr": "rr", "precision": "p"}.get(word, word)
        if word not in MEASURES or "(top)" in name:
            raise refusal(
                "metrics with qrels",
                f"be of {', '.join(MEASURES)}, with a grade in brackets if any",
                repr(name),
                error=ValueError,
            )


def measure(
    judged: Judged,
    names: Iterable[str],
    *,
    ties: str = "expected",
    n_bootstrap: int = 1000,
    seed: int | None = 0,
) -> Evaluation:
    """Return metrics of a run; what it does not list adds nothing.

    Lists are filled up with documents of grade 0 to the length of the longest, behind
    which the unlisted ones stand. A cut-off beyond is one there, where nothing more is
    to be found, whatever it is; precision alone is less by as much. Average precision
    of the listed ones is multiplied by the share of good documents among them.
    O(n log n) for the filled lists.
    """
    filled, most = _filled(judged)
    values, ids = {}, np.unique(judged.qid)
    for name in names:
        metric = metric_by_name(name)
        brackets = name[name.index("(") :] if "(" in name else ""
        function = metric.kind.function.__name__
        if function == "average_precision":
            share = _values(filled, f"recall@{most}{brackets}", ids, ties)
            listed = _values(_listed(filled), name, ids, ties)
            values[name] = share * np.nan_to_num(listed)
        elif function in ("reciprocal_rank", "ndcg") and "@" not in name:
            word = "rr" if function == "reciprocal_rank" else "ndcg"
            values[name] = _values(filled, f"{word}@{most}{brackets}", ids, ties)
        else:
            cut = int(metric.options["k"])
            within = re.sub(r"@\d+", f"@{min(cut, most)}", name)
            value = _values(filled, within, ids, ties)
            is_less = cut > most and function == "precision_at"
            values[name] = value * (most / cut) if is_less else value
    return Evaluation.of(values, ids, np.ones(len(ids)), n_bootstrap, seed)


def _listed(rows: Judged) -> Judged:
    """Return the rows that a run lists, or that fill up its lists."""
    kept = np.isfinite(rows.score)
    return Judged(rows.grade[kept], rows.score[kept], rows.qid[kept], rows.docid[kept])


def _values(rows: Judged, name: str, ids: Array, ties: str) -> Floats:
    """Return a metric for each query; NaN where it is undefined."""
    docid = rows.docid if ties == "docid" else None
    table = evaluate(
        rows.grade, rows.score, name, qid=rows.qid, docid=docid, ties=ties, n_bootstrap=1
    )
    values = np.full(len(ids), np.nan)
    values[np.searchsorted(ids, table.queries)] = table.values[name]
    return values


def _filled(judged: Judged) -> tuple[Judged, int]:
    """Fill up lists with documents of grade 0 to a common length, and one of them each.

    No list consists of good documents alone: there are others in the collection.
    """
    ids, query, sizes = np.unique(judged.qid, return_inverse=True, return_counts=True)
    most = int(sizes.max())
    n_listed = np.bincount(query, np.isfinite(judged.score), len(ids)).astype(int)
    fill = np.repeat(ids, most + 1 - n_listed)
    return Judged(
        np.concatenate([judged.grade, np.zeros(len(fill))]),
        np.concatenate([judged.score, np.full(len(fill), _FILL)]),
        np.concatenate([judged.qid, fill]),
        np.concatenate([judged.docid, [f"\0{k}" for k in range(len(fill))]]),
    ), most


def _joined(run: Columns, qrels: Columns, name: str) -> Array:
    columns = (np.asarray(t.arrays[name], dtype=str) for t in (run, qrels))
    return np.concatenate(list(columns))


def _check_once(source: str, pairs: Array, qid: Array, docid: Array) -> None:
    order = np.argsort(pairs, kind="stable")
    again = order[1:][pairs[order[1:]] == pairs[order[:-1]]]
    if len(again):
        raise refusal(
            source,
            "have a document once per query",
            f"{str(docid[again[0]])!r} again for query {str(qid[again[0]])!r}",
        )
