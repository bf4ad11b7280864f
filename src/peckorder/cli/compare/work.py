"""The work of `peckorder compare FILE`: a leaderboard, a report and a model."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isnan
from time import perf_counter

import numpy as np
from rich.console import RenderableType
from rich.table import Table as Screen

from peckorder import reports
from peckorder._core.errors import refusal
from peckorder._core.validation import whole
from peckorder.cli.compare.command import CompareOptions
from peckorder.cli.compare.report import build_report
from peckorder.cli.compare.text import KINDS, chosen_text, level_text, signed, written
from peckorder.cli.console import ResultPrinter, role_lines, roles_as_json
from peckorder.cli.model_limits import model_limits
from peckorder.cli.options import OutputOptions, separate_columns
from peckorder.cli.outputs import check_encodable, check_model, check_outputs, check_report
from peckorder.compare.contest import SEED, Contest, Result, run_contest
from peckorder.compare.fusion import make_runs_case
from peckorder.compare.ratings_case import MOST_PEOPLE, RatingsCase, make_ratings_case
from peckorder.compare.refit import keepable, refit
from peckorder.compare.table_case import MOST_ROWS, TableCase, make_table_case
from peckorder.datasets import Qrels, Run
from peckorder.tables.columns import Columns
from peckorder.tables.files.read import format_of, guess_format, read_columns
from peckorder.tables.files.runs import as_run, read_qrels, read_run_columns, run_names
from peckorder.tables.files.source import STDIN, check_is_file, is_standard, name_of, opened
from peckorder.tables.task import recognise


@dataclass(frozen=True, slots=True, eq=False)
class CompareResult:
    """What came out: the case, the contest, the kept candidate, how long it took.

    `limits` is what the kept model cannot be used for. `is_new`: the report replaces
    no other file.
    """

    files: tuple[str, ...]
    options: CompareOptions
    case: TableCase | RatingsCase
    contest: Contest
    seconds: float
    kept: Result | None = None
    limits: str = ""
    is_new: bool = True


def compare_files(files: tuple[str, ...], options: CompareOptions, output: OutputOptions) -> None:
    """Read, recognise, compare; write the report and the model; print."""
    files = tuple(STDIN if is_standard(file) else file for file in files)
    printer = ResultPrinter(output)
    check_paths(files, options)
    whole(2).check("folds", options.folds)
    SEED.check("seed", options.seed)
    if options.rows is not None:
        whole(20).check("rows", options.rows)
    begin, is_new = perf_counter(), not options.out.exists()
    with printer.progress("Reading") as report_progress:
        case = load_case(files, options)
        contest = run_contest(
            case,
            n_splits=options.folds,
            seed=options.seed,
            only=options.rankers,
            on_progress=report_progress,
        )
        seconds = perf_counter() - begin
        kept = None if options.save is None else keepable(contest)
        model = None
        if kept is not None:
            report_progress(0, None, f"Fitting {kept.name} to all rows")
            model = refit(case, contest, kept.name)
        limits = "" if model is None else model_limits(model, case.kind)
        result = CompareResult(files, options, case, contest, seconds, kept, limits, is_new)
        report_progress(0, None, "Writing the report")
        reports.write(build_report(files, options, case, contest, seconds), options.out)
        if model is not None:
            model.save(str(options.save))
    printer.emit(as_json(result), *shown(result))


def check_paths(files: tuple[str, ...], options: CompareOptions) -> None:
    """Refuse, before any work, files that cannot be written or named in the report."""
    check_report(options.out)
    check_encodable("file", *files, *filter(None, [options.qrels]))
    check_outputs({"--save": options.save, "-o": options.out}, [*files, options.qrels])
    if options.save is None:
        return
    check_encodable("save", options.save)
    if is_standard(options.save):
        raise refusal("save", "be a file", "'-'")
    check_model("--save", options.save)


def load_case(files: tuple[str, ...], options: CompareOptions) -> TableCase | RatingsCase:
    """Read the files, and prepare what candidates are compared on."""
    if options.qrels is not None:
        runs, qrels = read_runs(files, options.qrels)
        return make_runs_case(runs, qrels, metric=options.metric)
    if len(files) > 1:
        raise refusal("file", "be one, or runs with --qrels", ", ".join(files))
    roles = {name: getattr(options, name) for name in ("target", "qid", "user", "item", "rating")}
    ids = [name for role in ("qid", "user", "item") if (name := roles[role])]
    columns = read_table(files[0], options.format, separate_columns(options.columns), ids)
    task = recognise(
        columns, task=options.task, drop=options.drop or (), classes=options.classes, **roles
    )
    metric, seed = options.metric, options.seed
    if task.kind == "ratings":
        most = options.rows or MOST_PEOPLE
        return make_ratings_case(columns, task, metric=metric, most_people=most, seed=seed)
    most = options.rows or MOST_ROWS
    return make_table_case(columns, task, metric=metric, most_rows=most, seed=seed)


def read_table(
    path: str, format: str | None, names: tuple[str, ...] | None, ids: Collection[str] = ()
) -> Columns:
    """Read a table; one without a line of names has those given, or numbers.

    `ids` are columns of ids, beside those named so.
    """
    check_is_file(path)
    if is_standard(path):  # which can be read once only
        return read_columns(path, format=format, ids=ids, names=names)
    table_format = format_of(path, format)
    if table_format is None:
        with opened(path) as file:
            table_format = guess_format(file.head)
    if table_format in ("run", "qrels"):
        raise refusal(
            "qrels", "be given, by --qrels FILE, to compare runs", f"{name_of(path)} alone"
        )
    return read_columns(path, format=table_format, ids=ids, names=names)


def read_runs(paths: tuple[str, ...], qrels: str) -> tuple[Mapping[str, Run], Qrels]:
    """Read TREC runs, called by the names of their files, and judgements."""
    names = run_names(paths)
    runs = {name: as_run(read_run_columns(path)) for name, path in zip(names, paths, strict=True)}
    return runs, read_qrels(qrels)


def shown(result: CompareResult) -> tuple[RenderableType, ...]:
    """Return what is printed: the roles of columns, the leaderboard, files."""
    case, contest, kept = result.case, result.contest, result.kept
    lines = [f"{case.source}: {KINDS[case.kind]}"]
    lines += [f"  {line}" for line in role_lines(case.column_roles)]
    features = [r.column for r in case.column_roles if r.role.is_feature]
    if features:
        names = ", ".join(features[:6])
        more = ", ..." if len(features) > 6 else ""
        n = len(features)
        columns = "column" if n == 1 else "columns"
        lines.append(f"  {n} {columns} to learn from: {names}{more}")
    lines += [f"  {note}" for note in case.notes]
    after = [f"{name} was left out: {why}" for name, why in contest.left_out]
    after.append(level_text(contest))
    if kept is not None:
        other = "" if kept is contest.best else ", the best of peckorder's own"
        rows = "the rows drawn" if case.is_sample else "all rows"
        model = f"{result.options.save} ({kept.name}{other}, fitted to {rows})"
        after.append(f"Model: {model}")
        if result.limits:
            after.append(f"  {result.limits} --rankers chooses among others.")
    over = "" if result.is_new else " (written over the one that was there)"
    after.append(f"Report: {result.options.out}{over}")
    return "\n".join(lines), leaderboard(contest, result.seconds), "\n".join(after)


def leaderboard(contest: Contest, seconds: float) -> Screen:
    """Return the results as a table for the terminal."""
    first, *others = contest.measures
    table = Screen(
        title=f"{contest.n_splits} folds, {seconds:.0f} s, 95 % intervals over "
        f"{contest.interval_unit}",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("ranker")
    headings = (first.name, "behind the first", *(m.name for m in others))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for result in contest.results:
        behind = "" if result is contest.best else signed(contest, result)
        table.add_row(
            result.name,
            written(contest, result, first),
            behind,
            *(written(contest, result, measure) for measure in others),
        )
    return table


def as_json(result: CompareResult) -> dict[str, object]:
    """Return the whole result for programs."""
    case, contest, kept = result.case, result.contest, result.kept
    first = contest.measures[0]
    board = []
    for entry in contest.results:
        behind = contest.behind(entry)
        seconds = float(np.median(entry.seconds)) if entry.seconds else float("nan")
        board.append(
            {
                "ranker": entry.name,
                "from": entry.origin or "baseline",
                **{m.name: entry.mean(m) for m in contest.measures},
                "half_width": contest.half_width(entry.values[first.name]),
                "behind": behind.mean,
                "behind_half_width": behind.half_width,
                "level_with_the_first": entry is contest.best or behind.is_level,
                "seconds_to_fit": None if isnan(seconds) else seconds,
                "chosen": chosen_text(entry),
            }
        )
    saved = None
    if kept is not None:
        file, limits = str(result.options.save), result.limits or None
        saved = {"ranker": kept.name, "file": file, "limits": limits}
    return {
        "files": list(result.files),
        "task": case.kind,
        "taken": roles_as_json(case.column_roles),
        "notes": list(case.notes),
        "decides": first.name,
        "larger_is_better": first.larger_is_better,
        "folds": contest.n_splits,
        "seed": contest.seed,
        "intervals_over": contest.interval_unit,
        "leaderboard": board,
        "left_out": dict(contest.left_out),
        "seconds": result.seconds,
        "report": str(result.options.out),
        "saved": saved,
    }
