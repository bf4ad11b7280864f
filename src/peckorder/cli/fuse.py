"""The work of `peckorder fuse`, and of `peckorder rank` with a model that fuses runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as Screen

from peckorder._core.errors import refusal
from peckorder._core.validation import did_you_mean
from peckorder.cli.options import FuseOptions, OutputOptions
from peckorder.cli.outputs import Notes, ResultPrinter, screen
from peckorder.comparison.contest import Contest, Result, ranked
from peckorder.comparison.fusion import LEARNT, METHODS, RRF, Fused, fuse
from peckorder.comparison.measures import Measure
from peckorder.comparison.run_evaluation import check_measures, judge, measure
from peckorder.datasets import Qrels, from_runs
from peckorder.estimators import TableRanker
from peckorder.metrics import ranks
from peckorder.tables.coders import Number
from peckorder.tables.columns import Columns, counted, listed
from peckorder.tables.files.paths import format_to_write, shown_out
from peckorder.tables.files.read import write_columns
from peckorder.tables.files.runs import as_run, qrels_columns, read_run_columns, run_names
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.model_rows import ModelRows, scores_of
from peckorder.tables.roles import ColumnRole, Role


def run_fuse(runs: list[str], options: FuseOptions, output: OutputOptions) -> None:
    """Fuse TREC runs into one: learnt from judgements, or by counts of places."""
    qrels, out, save, folds = options.qrels, options.out, options.save, options.folds
    printer = ResultPrinter(output, out)
    out_format = "run" if is_standard(out) else format_to_write(out, None, text="run")
    metrics = options.metric or ("ndcg@10", "ap", "rr")
    check_measures(metrics)
    method = _method(options.method, qrels)
    pairs = zip(run_names(runs), runs, strict=True)
    tables = {name: read_run_columns(path) for name, path in pairs}
    judgements, known = None, None
    if qrels is not None:
        judgements = qrels_columns(qrels)
        known = Qrels(*(judgements.arrays[name] for name in ("qid", "docid", "grade")))
        # A run that has no query in common with them is refused before any work.
        for columns in tables.values():
            judge(columns, judgements)
    board: Contest | None = None
    with printer.progress("Fusing") as report_progress:
        result = fuse(
            {name: as_run(columns) for name, columns in tables.items()},
            known,
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
    rows: list[tuple[str | float, ...]] = []
    for result in board.results:
        value, *others = map(result.mean, board.measures)
        rows.append((result.name, value, board.behind_text(result), *others))
    first, *names = (measure.name for measure in board.measures)
    title = f"{folds} folds, 95 % intervals over {board.unit}"
    return screen(title, ("method", first, "behind the first", *names), rows)


def _notes(board: Contest, method: str, runs: list[str]) -> list[str]:
    """Return what is first, and whether the written run beats single runs."""
    notes = [board.summary]
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
        table = measure(judge(columns, qrels, queries), names, n_bootstrap=1)
        results.append(Result(name, "", dict(table.values)))
    measures = tuple(map(Measure.of_lists, names))
    return Contest(measures, ranked(results, measures[0]), (), 0, 0, "queries")


def _run(result: Fused, method: str, tag: str) -> Columns:
    """Return a run: queries in their order, documents by falling score, then name."""
    score = result.scores[method]
    qid, docid = (np.asarray(ids) for ids in (result.documents.qid, result.documents.docid))
    _, first, query = np.unique(qid, return_index=True, return_inverse=True)
    rank = ranks(score, qid, docid)
    order = np.lexsort((rank, first[query]))
    qid = qid[order]
    arrays = {
        "qid": qid.astype(object),
        "docid": docid[order].astype(object),
        "rank": rank[order],
        "score": score[order],
        "tag": np.full(len(order), tag, dtype=object),
    }
    return Columns(arrays, "fused")


def fused_runs(model: Any, files: Sequence[str], notes: Notes) -> Iterator[Columns]:
    """Yield the documents of all runs with their scores, query by query.

    A run is called by its file, or by a given name: NAME=FILE. Runs that a model knows
    and that are not given list no document.
    """
    model_rows = ModelRows.of(model)
    if model_rows.names is None:
        raise refusal(
            "the model",
            "have learnt from runs, and know their names",
            f"{type(model_rows.model).__name__} without names",
        )
    if _is_of_columns(model_rows.table):
        raise refusal(
            "file",
            f"be a table, with the columns that the model learnt from, {listed(model_rows.names)}",
            listed(files),
        )
    tables = {name: read_run_columns(path) for name, path in _named(files, model_rows.names)}
    documents = from_runs({n: as_run(tables[n]) for n in tables})
    X = np.full((len(documents), len(model_rows.names)), np.nan)
    positions = [model_rows.names.index(name) for name in tables]
    X[:, positions] = documents.X
    for name, columns in tables.items():
        notes.column_roles.append(ColumnRole(name, Role.RUN, f"of {columns.source}"))
    absent = [name for name in model_rows.names if name not in tables]
    if absent:
        notes.add(f"No run is given for {listed(absent)}: taken to list no document.")
    arrays = {
        "qid": np.asarray(documents.qid).astype(object),
        "docid": np.asarray(documents.docid).astype(object),
        "score": scores_of(model_rows.model, model_rows.array(X)),
    }
    yield Columns(arrays, "the runs")


def _named(files: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and paths of runs; refuse those that the model does not know."""
    given, paths = [], []
    for file in files:
        name, _, path = file.partition("=")
        is_named = bool(path) and name in known
        if path and not is_named and not Path(file).exists():
            raise _unknown(name, known)
        given.append(name if is_named else "")
        paths.append(path if is_named else file)
    called = [name or stem for name, stem in zip(given, run_names(paths), strict=True)]
    for name in called:
        if name not in known:
            advice = f"Say which it is: {known[0]}=FILE; or give a table if these are its columns."
            raise _unknown(name, known, advice)
        if called.count(name) > 1:
            raise refusal("runs", "differ", f"{name!r} twice")
    return list(zip(called, paths, strict=True))


def _unknown(name: str, known: Sequence[str], hint: str = "") -> Exception:
    rule = f"be called as those that the model learnt from, {listed(known)}"
    return refusal("runs", rule, repr(name), hint=hint)


def _is_of_columns(table: TableRanker | None) -> bool:
    """Return whether a model has surely not learnt from runs.

    Models of runs have no text, and what they do not list is 0, if anything.
    """
    if table is None:
        return False
    has_text = not all(isinstance(coder, Number) for coder in table.coders_)
    return has_text or (table.shift_ is not None and bool(np.any(table.shift_)))
