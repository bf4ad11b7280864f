"""The work of `peckorder fuse`."""

from pathlib import Path
from typing import Any

import numpy as np

from peckorder._validation import did_you_mean, whole
from peckorder.cli._roles import column_of, numbers_of
from peckorder.cli._say import Speaker, screen
from peckorder.cli._tables import as_qrels, format_of, read_columns, write_columns
from peckorder.cli._tables_source import is_standard, name_of, shown_out
from peckorder.cli._tables_write import check_target
from peckorder.compare._columns import Columns
from peckorder.compare._fusion import LEARNT, METHODS, RRF, Fused
from peckorder.compare._fusion import fuse as fused
from peckorder.compare._judging import check_measures, judge, measure
from peckorder.datasets import Qrels, Run


def run_fuse(
    runs: list[str],
    *,
    qrels: str | None,
    out: str,
    method: str | None,
    rounds: int,
    folds: int,
    metric: list[str] | None,
    save: Path | None,
    tag: str,
    seed: int,
    json: bool,
    quiet: bool,
) -> None:
    """Fuse TREC runs into one: learnt from judgements, or by counts of places."""
    speaker = Speaker(json=json, quiet=quiet, out=out)
    check_target(out)
    kind = "run" if is_standard(out) else format_of(out, None) or "run"
    names = tuple(metric or ("ap", "ndcg@10", "rr"))
    check_measures(names)
    whole(1).check("fuse", "rounds", rounds)
    whole(2).check("fuse", "folds", folds)
    chosen = _method(method, qrels)
    if save is not None:
        if qrels is None:
            raise ValueError("fuse: save must go with qrels to learn from; got none.")
        check_target(save)
    if len(runs) < 2:
        raise ValueError(f"fuse: runs must be two or more; got {len(runs)}.")
    tables = {_name(path, runs): _run(path) for path in runs}
    known = None if qrels is None else _qrels(qrels)
    with speaker.bar("Fusing") as tell:
        result = fused(
            {name: _as_run(columns) for name, columns in tables.items()},
            None if known is None else _as_qrels(known),
            n_rounds=rounds,
            n_folds=folds,
            seed=seed,
            on_progress=tell,
        )
        rows = [] if known is None else _measured(result, tables, known, names)
    n_rows = write_columns(out, _written(result, chosen, tag), format=kind)
    if save is not None and result.model is not None:
        _named(result.model, list(tables)).save(save)
    headings = ("method", *names)
    speaker.say(
        {
            "runs": list(tables),
            "written": {"method": chosen, "file": out, "rows": n_rows},
            "folds": folds if rows else None,
            "metrics": {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows},
        },
        *([screen(f"{folds} folds, {names[0]} first", headings, rows)] if rows else []),
        f"{chosen}: {n_rows} rows in {shown_out(out)}",
    )


def _method(method: str | None, qrels: str | None) -> str:
    if method is None:
        return RRF if qrels is None else LEARNT
    if method not in METHODS:
        raise ValueError(
            f"fuse: method must be one of {', '.join(METHODS)}; got {method!r}."
            f"{did_you_mean(method, METHODS, {})}"
        )
    if qrels is None and METHODS[method] == LEARNT:
        raise ValueError(
            "fuse: method must be borda or rrf without qrels to learn from; got "
            f"{method!r}."
        )
    return METHODS[method]


def _name(path: str, paths: list[str]) -> str:
    """Call a run by its file, by the whole path if others are called the same."""
    if is_standard(path):
        return name_of(path)
    stem = Path(path).name.split(".")[0]
    alike = [other for other in paths if Path(other).name.split(".")[0] == stem]
    if paths.count(path) > 1:
        raise ValueError(f"fuse: runs must differ; got {path!r} twice.")
    return stem if len(alike) == 1 else path


def _run(path: str) -> Columns:
    kind = "run" if is_standard(path) else format_of(path, None)
    columns = read_columns(path, format=kind or "run")
    for name in ("qid", "docid", "score"):
        column_of("fuse", columns, name, name, ())
    return columns


def _as_run(columns: Columns) -> Run:
    arrays = columns.arrays
    rank: Any = arrays.get("rank")
    score = numbers_of("fuse", columns, "score")
    return Run(arrays["qid"], arrays["docid"], score, rank)


def _qrels(path: str) -> Columns:
    columns = as_qrels(path)
    for name in ("qid", "docid", "grade"):
        column_of("fuse", columns, name, name, ())
    return columns


def _as_qrels(columns: Columns) -> Qrels:
    grade = numbers_of("fuse", columns, "grade")
    return Qrels(columns.arrays["qid"], columns.arrays["docid"], grade)


def _measured(
    result: Fused, runs: dict[str, Columns], qrels: Columns, names: tuple[str, ...]
) -> list[tuple[Any, ...]]:
    """Return a row for each method, and each run by itself, the best first.

    All are measured on the judged queries that any run lists; one that a run leaves
    out counts as 0.
    """
    queries = np.unique(np.asarray(result.documents.qid)[result.is_judged])
    every = {method: _written(result, method, "") for method in result.scores} | runs
    found = []
    for name, columns in every.items():
        table = measure(judge(columns, qrels, queries), names, n_bootstrap=1)
        found.append((name, *table.means.values()))
    return sorted(found, key=lambda row: -row[1])


def _written(result: Fused, method: str, tag: str) -> Columns:
    """Return a run: queries in their order, documents by falling score."""
    documents, score = result.documents, result.scores[method]
    qid: Any = documents.qid
    query = np.unique(qid, return_index=True, return_inverse=True)
    first = query[1][query[2]]
    order = np.lexsort((-score, first))
    begins = np.flatnonzero(np.r_[True, np.diff(first[order]) > 0])
    sizes = np.diff(np.r_[begins, len(order)])
    docid: Any = documents.docid
    return Columns(
        {
            "qid": qid[order].astype(object),
            "docid": docid[order].astype(object),
            "rank": 1 + np.arange(len(order)) - np.repeat(begins, sizes),
            "score": score[order],
            "tag": np.full(len(order), tag, dtype=object),
        },
        "fused",
    )


def _named(model: Any, names: list[str]) -> Any:
    model.feature_names_in_ = np.asarray(names, dtype=object)
    return model
