"""The work of `peckorder fuse`."""

from pathlib import Path
from typing import Any

import numpy as np

from peckorder._core.validation import did_you_mean, optional, whole
from peckorder.cli.compare.text import level_text, signed
from peckorder.cli.console import Speaker, screen
from peckorder.cli.outputs import check_model, check_outputs
from peckorder.compare.contest.contest import Contest, Result, ranked
from peckorder.compare.contest.fusion import LEARNT, METHODS, RRF, Fused
from peckorder.compare.contest.fusion import fuse as fused
from peckorder.compare.contest.measures import Measure
from peckorder.compare.run_evaluation import check_measures, judge, measure
from peckorder.datasets import Qrels
from peckorder.tables.columns import Columns, counted
from peckorder.tables.files.read import format_to_write, write_columns
from peckorder.tables.files.runs import (
    as_run,
    qrels_columns,
    read_run_columns,
    run_names,
)
from peckorder.tables.files.source import is_standard, shown_out


def run_fuse(
    runs: list[str],
    *,
    qrels: str | None,
    out: str,
    method: str | None,
    rounds: int | None,
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
    check_outputs("fuse", {"-o": out, "--save": save}, [*runs, qrels])
    kind = "run" if is_standard(out) else format_to_write(out, None, text="run")
    names = tuple(metric or ("ndcg@10", "ap", "rr"))
    check_measures(names, who="fuse")
    optional(whole(1)).check("fuse", "rounds", rounds)
    whole(2).check("fuse", "folds", folds)
    chosen = _method(method, qrels)
    if save is not None:
        if qrels is None:
            raise ValueError("fuse: save must go with qrels to learn from; got none.")
        check_model("fuse", "--save", save)
    if len(runs) < 2:
        raise ValueError(f"fuse: runs must be two or more; got {len(runs)}.")
    called = run_names("fuse", runs)
    pairs = zip(called, runs, strict=True)
    tables = {name: read_run_columns("fuse", path) for name, path in pairs}
    known = None if qrels is None else qrels_columns("fuse", qrels)
    if known is not None:  # a run that has nothing to do with them, before any work
        for columns in tables.values():
            judge(columns, known, who="fuse")
    with speaker.bar("Fusing") as tell:
        result = fused(
            {name: as_run("fuse", columns) for name, columns in tables.items()},
            None if known is None else _as_qrels(known),
            n_rounds=rounds,
            n_folds=folds,
            seed=seed,
            metric=names[0] if names[0].startswith(("ap", "ndcg")) else "ndcg@10",
            on_progress=tell,
        )
        board = None if known is None else _measured(result, tables, known, names)
    n_rows = write_columns(out, _written(result, chosen, tag), format=kind)
    if save is not None and result.model is not None:
        _named(result.model, list(tables)).save(save)
    speaker.say(
        {
            "runs": list(tables),
            "written": {"method": chosen, "file": out, "rows": n_rows},
            "folds": None if board is None else folds,
            **({"metrics": {}} if board is None else _as_json(board)),
            "notes": [] if board is None else _remarks(board, chosen, list(tables)),
        },
        *([] if board is None else [_screen(board, folds)]),
        *([] if board is None else _remarks(board, chosen, list(tables))),
        f"{chosen}: {counted(n_rows, 'row', 'rows')} in {shown_out(out)}",
    )


def _as_json(board: Contest) -> dict[str, Any]:
    """Return the means of all methods, and how far behind the first they are."""
    return {
        "decides": board.measures[0].name,
        "metrics": {
            result.name: {m.name: result.mean(m) for m in board.measures}
            for result in board.results
        },
        "behind": {
            result.name: dict(
                zip(("mean", "half_width"), board.behind(result), strict=True)
            )
            for result in board.results
        },
    }


def _screen(board: Contest, folds: int) -> Any:
    """Return the table for the terminal: as `compare` has it."""
    first, *others = board.measures
    rows = [
        (
            result.name,
            result.mean(first),
            "" if result is board.best else signed(board, result),
            *(result.mean(measure) for measure in others),
        )
        for result in board.results
    ]
    headings = (first.name, "behind the first", *(m.name for m in others))
    title = f"{folds} folds, 95 % intervals over {board.unit}"
    return screen(title, ("method", *headings), rows)


def _remarks(board: Contest, chosen: str, runs: list[str]) -> list[str]:
    """Say who is first, and if what is written is not known to beat a single run."""
    remarks = [level_text(board)]
    by_name = {result.name: result for result in board.results}
    single = next(result for result in board.results if result.name in runs)
    name = board.measures[0].name
    gap = by_name[chosen].values[name] - single.values[name]
    mean, half = float(np.nanmean(gap)), board.half_width(gap)
    if mean - half <= 0:
        known = "is behind" if mean + half < 0 else "cannot be told from"
        remarks.append(
            f"By {name} {chosen}, which is written, {known} the run {single.name} "
            f"alone ({mean:+.4f} ± {half:.4f})."
        )
    return remarks


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


def _as_qrels(columns: Columns) -> Qrels:
    arrays = columns.arrays
    return Qrels(arrays["qid"], arrays["docid"], arrays["grade"])


def _measured(
    result: Fused, runs: dict[str, Columns], qrels: Columns, names: tuple[str, ...]
) -> Contest:
    """Return how each method, and each run by itself, fared, the best first.

    All are measured on the queries in which something is relevant and that any run
    lists; one that a run leaves out counts as 0.
    """
    queries = np.unique(np.asarray(result.documents.qid)[result.is_judged])
    every = {method: _written(result, method, "") for method in result.scores} | runs
    found = []
    for name, columns in every.items():
        judged = judge(columns, qrels, queries, who="fuse")
        table = measure(judged, names, n_bootstrap=1)
        found.append(Result(name, "", dict(table.values)))
    measures = tuple(map(Measure.of_lists, names))
    return Contest(measures, ranked(found, measures[0]), (), 0, 0, "queries")


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
