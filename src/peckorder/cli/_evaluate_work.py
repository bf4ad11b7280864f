"""The work of `peckorder evaluate`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from peckorder import metrics
from peckorder._validation import did_you_mean, whole
from peckorder.cli._roles import column_of, numbers_of
from peckorder.cli._say import Speaker, screen
from peckorder.cli._tables import as_qrels, format_of, read_columns, write_columns
from peckorder.cli._tables_source import name_of
from peckorder.compare._columns import Columns
from peckorder.compare._judging import Judged, check_measures, judge, measure

_SCORES = ("score", "scores", "prediction", "predicted", "pred", "y_score", "y_pred")
_TARGETS = ("target", "grade", "label", "relevance", "rel", "y", "y_true", "rating")
_QUERIES = ("qid", "query", "query_id", "topic", "user", "user_id")
_TIES = ("expected", "best", "worst", "order", "docid")


def run_evaluate(
    file: str,
    *,
    metric: list[str] | None,
    qrels: str | None,
    target: str | None,
    score: str | None,
    qid: str | None,
    ties: str,
    bootstrap: int,
    seed: int,
    per_query: str | None,
    format: str | None,
    json: bool,
    quiet: bool,
) -> None:
    """Measure predictions, or a TREC run: means over queries, 95 % intervals."""
    speaker = Speaker(json=json, quiet=quiet, out=per_query)
    names = tuple(metric or ("ndcg@10", "ap", "rr"))
    if ties not in _TIES:
        raise ValueError(
            f"evaluate: ties must be one of {', '.join(_TIES)}; got {ties!r}."
            f"{did_you_mean(ties, _TIES, {})}"
        )
    metrics.evaluate([1, 0], [1, 0], names, n_bootstrap=1)  # names, before any work
    whole(1).check("evaluate", "bootstrap", bootstrap)
    whole(0).check("evaluate", "seed", seed)
    more: dict[str, Any] = {"ties": ties, "n_bootstrap": bootstrap}
    notes: Sequence[str] = ()
    with speaker.bar("Measuring"):
        if qrels is None:
            ids = () if qid is None else (qid,)
            columns = read_columns(file, format=format, ids=ids)
            n_rows, table = _of_table(columns, (target, score, qid), names, seed, more)
        else:
            check_measures(names)
            judged = _judged(file, format, qrels)
            n_rows, notes = int(np.isfinite(judged.score).sum()), judged.notes
            table = measure(judged, names, seed=seed, **more)
    rows = table._rows()
    if per_query is not None:
        write_columns(per_query, _by_query(table))
    speaker.say(
        {
            "file": name_of(file),
            "rows": n_rows,
            "ties": ties,
            "notes": list(notes),
            "metrics": {row.pop("metric"): row for row in [dict(r) for r in rows]},
        },
        screen(
            f"{name_of(file)} ({n_rows} rows, 95 % intervals)",
            ("metric", "mean", "low", "high", "queries", "undefined"),
            [tuple(row.values()) for row in rows],
        ),
        *notes,
    )


def _of_table(
    columns: Columns,
    given: tuple[str | None, str | None, str | None],
    names: tuple[str, ...],
    seed: int,
    more: dict[str, Any],
) -> tuple[int, metrics.Evaluation]:
    """Measure a table that has targets and scores."""
    who = "evaluate"
    score = column_of(who, columns, "score", given[1], _SCORES)
    others = tuple(word for word in _TARGETS if word != score)
    target = column_of(who, columns, "target", given[0], others)
    query = column_of(who, columns, "qid", given[2], _QUERIES, optional=True)
    if more["ties"] == "docid":
        more = {**more, "docid": columns.arrays[_docid(columns)]}
    table = metrics.evaluate(
        numbers_of(who, columns, target),
        numbers_of(who, columns, score),
        names,
        qid=None if query is None else columns.arrays[query],
        random_state=seed,
        **more,
    )
    return len(columns), table


def _docid(columns: Columns) -> str:
    return column_of("evaluate", columns, "docid", None, ("docid", "doc_id", "id"))


def _judged(file: str, format: str | None, qrels: str) -> Judged:
    run = read_columns(file, format=format_of(file, format) or "run")
    known = as_qrels(qrels)
    for columns, needed in (
        (run, ("qid", "docid", "score")),
        (known, ("qid", "docid", "grade")),
    ):
        for name in needed:
            column_of("evaluate", columns, name, name, ())
    return judge(run, known)


def _by_query(table: Any) -> Columns:
    ids = np.asarray([str(q) for q in table.queries.tolist()], dtype=object)
    return Columns({"qid": ids, **table.values}, "values of queries")
