"""The work of `peckorder fuse`."""

import numpy as np
from rich.table import Table as Screen

from peckorder._core.errors import refusal
from peckorder._core.validation import did_you_mean, optional, whole
from peckorder.cli.compare.text import level_text, signed
from peckorder.cli.console import ResultPrinter, screen
from peckorder.cli.fuse.command import FuseOptions
from peckorder.cli.options import OutputOptions
from peckorder.cli.outputs import check_model, check_outputs
from peckorder.compare.contest import Contest, Result, ranked
from peckorder.compare.fusion import LEARNT, METHODS, RRF, Fused
from peckorder.compare.fusion import fuse as fused
from peckorder.compare.measures import Measure
from peckorder.compare.run_evaluation import check_measures, judge, measure
from peckorder.datasets import Qrels
from peckorder.tables.columns import Columns, counted
from peckorder.tables.files.read import format_to_write, write_columns
from peckorder.tables.files.runs import as_run, qrels_columns, read_run_columns, run_names
from peckorder.tables.files.source import is_standard, shown_out


def run_fuse(runs: list[str], options: FuseOptions, output: OutputOptions) -> None:
    """Fuse TREC runs into one: learnt from judgements, or by counts of places."""
    qrels, out, save, folds = options.qrels, options.out, options.save, options.folds
    printer = ResultPrinter(output, out)
    check_outputs({"-o": out, "--save": save}, [*runs, qrels])
    out_format = "run" if is_standard(out) else format_to_write(out, None, text="run")
    metrics = options.metric or ("ndcg@10", "ap", "rr")
    check_measures(metrics)
    optional(whole(1)).check("rounds", options.rounds)
    whole(2).check("folds", folds)
    method = _method(options.method, qrels)
    if save is not None:
        if qrels is None:
            raise refusal("save", "go with qrels to learn from", "none")
        check_model("--save", save)
    if len(runs) < 2:
        raise refusal("runs", "be two or more", len(runs))
    pairs = zip(run_names(runs), runs, strict=True)
    tables = {name: read_run_columns(path) for name, path in pairs}
    judgements = None if qrels is None else qrels_columns(qrels)
    if judgements is not None:
        # A run that has no query in common with them is refused before any work.
        for columns in tables.values():
            judge(columns, judgements)
    board: Contest | None = None
    with printer.progress("Fusing") as report_progress:
        result = fused(
            {name: as_run(columns) for name, columns in tables.items()},
            None if judgements is None else _as_qrels(judgements),
            n_rounds=options.rounds,
            n_folds=folds,
            seed=options.seed,
            metric=metrics[0] if metrics[0].startswith(("ap", "ndcg")) else "ndcg@10",
            on_progress=report_progress,
        )
        if judgements is not None:
            board = _measured(result, tables, judgements, metrics)
    n_rows = write_columns(out, _run(result, method, options.tag), format=out_format)
    if save is not None and result.model is not None:
        result.model.feature_names_in_ = np.asarray(list(tables), dtype=object)
        result.model.save(save)
    notes = [] if board is None else _notes(board, method, list(tables))
    printer.emit(
        {
            "runs": list(tables),
            "written": {"method": method, "file": out, "rows": n_rows},
            "folds": None if board is None else folds,
            **({"metrics": {}} if board is None else _as_json(board)),
            "notes": notes,
        },
        *([] if board is None else [_screen(board, folds)]),
        *notes,
        f"{method}: {counted(n_rows, 'row', 'rows')} in {shown_out(out)}",
    )


def _as_json(board: Contest) -> dict[str, object]:
    """Return the means of all methods, and how far behind the first they are."""
    return {
        "decides": board.measures[0].name,
        "metrics": {
            result.name: {m.name: result.mean(m) for m in board.measures}
            for result in board.results
        },
        "behind": {
            result.name: dict(zip(("mean", "half_width"), board.behind(result), strict=True))
            for result in board.results
        },
    }


def _screen(board: Contest, folds: int) -> Screen:
    """Return the table for the terminal: as `compare` has it."""
    first, *others = board.measures
    rows: list[tuple[str | float, ...]] = [
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


def _notes(board: Contest, method: str, runs: list[str]) -> list[str]:
    """Return what is first, and whether the written run beats single runs."""
    notes = [level_text(board)]
    by_name = {result.name: result for result in board.results}
    single = next(result for result in board.results if result.name in runs)
    name = board.measures[0].name
    gap = by_name[method].values[name] - single.values[name]
    mean, half = float(np.nanmean(gap)), board.half_width(gap)
    if mean - half <= 0:
        relation = "is behind" if mean + half < 0 else "is not shown to differ from"
        notes.append(
            f"By {name} {method}, which is written, {relation} the run {single.name} "
            f"alone ({mean:+.4f} ± {half:.4f})."
        )
    return notes


def _method(method: str | None, qrels: str | None) -> str:
    if method is None:
        return RRF if qrels is None else LEARNT
    if method not in METHODS:
        raise refusal(
            "method",
            f"be one of {', '.join(METHODS)}",
            repr(method),
            hint=did_you_mean(method, METHODS, {}),
        )
    if qrels is None and METHODS[method] == LEARNT:
        raise refusal("method", "be borda or rrf without qrels to learn from", repr(method))
    return METHODS[method]


def _as_qrels(columns: Columns) -> Qrels:
    arrays = columns.arrays
    return Qrels(arrays["qid"], arrays["docid"], arrays["grade"])


def _measured(
    result: Fused, runs: dict[str, Columns], qrels: Columns, names: tuple[str, ...]
) -> Contest:
    """Return what each method, and each run by itself, achieved, the best first.

    All are measured on the queries in which something is relevant and that any run
    lists; one that a run leaves out counts as 0.
    """
    queries = np.unique(np.asarray(result.documents.qid)[result.is_judged])
    every = {method: _run(result, method, "") for method in result.scores} | runs
    results = []
    for name, columns in every.items():
        judged = judge(columns, qrels, queries)
        table = measure(judged, names, n_bootstrap=1)
        results.append(Result(name, "", dict(table.values)))
    measures = tuple(map(Measure.of_lists, names))
    return Contest(measures, ranked(results, measures[0]), (), 0, 0, "queries")


def _run(result: Fused, method: str, tag: str) -> Columns:
    """Return a run: queries in their order, documents by falling score."""
    documents, score = result.documents, result.scores[method]
    qid = np.asarray(documents.qid)
    query = np.unique(qid, return_index=True, return_inverse=True)
    first = query[1][query[2]]
    order = np.lexsort((-score, first))
    begins = np.flatnonzero(np.r_[True, np.diff(first[order]) > 0])
    sizes = np.diff(np.r_[begins, len(order)])
    docid = np.asarray(documents.docid)
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
