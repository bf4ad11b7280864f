"""The work of `peckorder compare`: a leaderboard, a report and a model."""

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

from rich.console import RenderableType
from rich.table import Table as Screen

from peckorder import comparison, reports
from peckorder._core.errors import refusal
from peckorder.cli.compare.report import embedded_report, embedded_rows, file_report
from peckorder.cli.models import model_limits, needed_package
from peckorder.cli.options import CompareOptions, OutputOptions, separate_columns
from peckorder.cli.outputs import ResultPrinter, role_lines, roles_as_json, screen
from peckorder.comparison import Comparison
from peckorder.comparison.contest import KINDS, Contest, Interrupted, Result, entries, run_contest
from peckorder.comparison.fusion import make_runs_case
from peckorder.comparison.leaderboard import make_case
from peckorder.comparison.ratings_case import RatingsCase
from peckorder.comparison.refit import refit
from peckorder.comparison.table_case import TableCase
from peckorder.tables.columns import counted
from peckorder.tables.files.paths import name_of
from peckorder.tables.files.read import file_format, read_columns
from peckorder.tables.files.runs import as_run, read_qrels, read_run_columns, run_names
from peckorder.tables.files.standard_streams import STDIN, is_standard

# Seconds after which it is worth a line who is ahead.
_SOON: Final = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class CompareResult:
    """What came out: the case, the contest, the kept candidate, how long it took.

    `limits` is what the kept model cannot be used for, `package` another library that it
    needs. `is_new`: the report replaces
    no other file.
    """

    files: tuple[str, ...]
    options: CompareOptions
    case: TableCase | RatingsCase
    contest: Contest
    seconds: float
    kept: Result | None = None
    limits: str = ""
    package: str | None = None
    is_new: bool = True


def compare_files(files: tuple[str, ...], options: CompareOptions, output: OutputOptions) -> None:
    """Read, recognise, compare; write the report and the model; print."""
    files = tuple(STDIN if is_standard(file) else file for file in files)
    printer = ResultPrinter(output)
    begin, is_new = perf_counter(), not options.out.exists()

    def show_part(contest: Contest) -> None:
        if output.verbose or is_late(begin):
            printer.remark(first_few(contest))

    with printer.progress("Reading") as report_progress:
        case = load_case(files, options)

        def report_step(done: int, total: int, label: str) -> None:
            if done == 0:
                printer.show(opening(case))
            report_progress(done, total, label)

        try:
            contest = run_contest(
                case,
                n_splits=options.folds,
                seed=options.seed,
                only=options.rankers,
                on_progress=report_step,
                on_part=show_part,
            )
        except Interrupted as stop:
            printer.show(board(stop.contest, perf_counter() - begin))
            raise
        seconds = perf_counter() - begin
        kept, model = None, None
        if options.save is not None:
            kept = contest.best_saved
            if kept is None:
                raise refusal("save", "have a ranker that can be saved", "none in the contest")
            report_progress(0, None, f"Fitting {kept.name} to all rows")
            model = refit(case, contest, kept.name)
        limits, package = "", None
        if model is not None:
            limits, package = model_limits(model), needed_package(model)
        result = CompareResult(
            files, options, case, contest, seconds, kept, limits, package, is_new
        )
        report_progress(0, None, "Writing the report")
        reports.write(file_report(files, options, case, contest, seconds), options.out)
        if model is not None:
            model.save(str(options.save))
    printer.emit(as_json(result), *shown(result))


def load_case(files: tuple[str, ...], options: CompareOptions) -> TableCase | RatingsCase:
    """Read the files, and prepare what candidates are compared on."""
    if options.qrels is not None:
        pairs = zip(run_names(files), files, strict=True)
        runs = {name: as_run(read_run_columns(path)) for name, path in pairs}
        return make_runs_case(runs, read_qrels(options.qrels), metric=options.metric)
    if len(files) > 1:
        raise refusal("file", "be one, or runs with --qrels", ", ".join(files))
    (file,) = files
    if not is_standard(file) and file_format(file, options.format) in ("run", "qrels"):
        raise refusal(
            "qrels", "be given, by --qrels FILE, to compare runs", f"{name_of(file)} alone"
        )
    names = separate_columns(options.columns)
    columns = read_columns(file, format=options.format, ids=options.ids(), names=names)
    return make_case(
        columns,
        options.roles(),
        task=options.task,
        classes=options.classes,
        drop=options.drop or (),
        category=options.category or (),
        keep=options.keep or (),
        metric=options.metric,
        rows=options.rows,
        seed=options.seed,
    )


def opening(case: TableCase | RatingsCase) -> str:
    """Return what is known before anything is compared: the roles of columns."""
    lines = [f"{case.source}: {KINDS[case.kind]}"]
    lines += [f"  {line}" for line in role_lines(case.column_roles)]
    features = [r.column for r in case.column_roles if r.role.is_feature]
    if features:
        names = ", ".join(features[:6]) + (", ..." if len(features) > 6 else "")
        columns = counted(len(features), "column", "columns")
        lines.append(f"  {columns} to learn from: {names}")
    lines += [f"  {note}" for note in case.notes]
    return "\n".join(lines)


def shown(result: CompareResult) -> tuple[RenderableType, ...]:
    """Return what is printed at the end: the leaderboard, files."""
    case, contest, kept = result.case, result.contest, result.kept
    after = [f"{name} was left out: {why}" for name, why in contest.left_out]
    after += contest.undefined_notes()
    after.append(contest.summary)
    if kept is not None:
        other = "" if kept is contest.best else ", the best that can be saved"
        rows = "the rows drawn" if case.is_sample else "all rows"
        after.append(f"Model: {result.options.save} ({kept.name}{other}, fitted to {rows})")
        if result.package:
            after.append(f"  It needs {result.package} wherever it is used.")
        if result.limits:
            after.append(f"  {result.limits} --rankers chooses among others.")
    over = "" if result.is_new else " (written over the one that was there)"
    after.append(f"Report: {result.options.out}{over}")
    return board(contest, result.seconds), "\n".join(after)


def is_late(begin: float) -> bool:
    """Return whether it is worth a line who is ahead."""
    return perf_counter() - begin > _SOON


def first_few(contest: Contest) -> str:
    """Return who is ahead after some folds, in a line."""
    first = contest.measures[0]
    ahead = [f"{result.name} {contest.written(result, first)}" for result in contest.results[:3]]
    folds = counted(contest.n_splits, "fold", "folds")
    return f"after {folds}, {first.name}: {', '.join(ahead)}"


def board(contest: Contest, seconds: float) -> Screen:
    """Return the leaderboard as a table for the terminal."""
    first, *others = (measure.name for measure in contest.measures)
    return screen(
        f"{counted(contest.n_splits, 'fold', 'folds')}, {seconds:.0f} s, 95 % intervals over "
        f"{contest.interval_unit}",
        ("ranker", first, "behind the first", *others),
        [(entry.name, *contest.leaderboard_row(entry)) for entry in contest.results],
    )


def as_json(result: CompareResult) -> dict[str, object]:
    """Return the whole result for programs."""
    case, contest, kept = result.case, result.contest, result.kept
    first = contest.measures[0]
    saved = None
    if kept is not None:
        file, limits = str(result.options.save), result.limits or None
        saved = {"ranker": kept.name, "file": file, "limits": limits, "needs": result.package}
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
        "leaderboard": entries(contest),
        "left_out": dict(contest.left_out),
        "undefined": contest.undefined,
        "seconds": result.seconds,
        "report": str(result.options.out),
        "saved": saved,
    }


def compare_embedded(options: CompareOptions, output: OutputOptions) -> None:
    """Train every ranker on embedded data."""
    repeats = 20 if options.repeats is None else options.repeats
    seed, out = options.seed, options.out
    printer = ResultPrinter(output)
    with printer.progress("Comparing") as report_progress:
        comparisons = comparison.run(repeats=repeats, seed=seed, on_progress=report_progress)
        report_progress(0, None, "Writing the report")
        reports.write(embedded_report(comparisons, repeats, seed), out)
    problems = {
        problem.name: [
            {
                "ranker": result.name,
                **{measure.name: result.mean(measure) for measure in contest.measures},
                "half_width": contest.half_width(result.values[contest.measures[0].name]),
            }
            for result in contest.results
        ]
        for problem, contest in comparisons
    }
    printer.emit(
        {"seed": seed, "repeats": repeats, "problems": problems, "report": str(out)},
        *map(embedded_board, comparisons),
        f"Report with curves, for your browser: {out}",
        f"Next, on a file of your own: {program()} compare YOUR.csv",
        f"All commands: {program()} --help",
    )


def embedded_board(comparison: Comparison) -> Screen:
    """Return the results on one problem as a table for the terminal."""
    problem, contest = comparison
    rows = [(name, loss, *others) for name, loss, _, *others in embedded_rows(contest)]
    title = f"{problem.name} ({contest.n_splits} repetitions, 95 % intervals)"
    return screen(title, ("ranker", *problem.measures, "seconds to fit"), rows)


def program() -> str:
    """Return how this program was called, so that it can be called again."""
    called = Path(sys.argv[0])
    if called.name != "peckorder":
        return "python -m peckorder"
    if shutil.which("peckorder") == str(called.absolute()):
        return "peckorder"
    return shlex.quote(os.path.relpath(called))
