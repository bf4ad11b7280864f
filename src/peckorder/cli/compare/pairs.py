"""The work of `peckorder compare` on pairs of items."""

import shlex
from pathlib import Path
from time import perf_counter

from peckorder import reports
from peckorder._core.errors import refusal
from peckorder.cli.compare import board, first_few, is_late
from peckorder.cli.compare.report import facts_of, lead, leaderboard, role_table, settings_chosen
from peckorder.cli.options import CompareOptions, OutputOptions, PairOptions
from peckorder.cli.outputs import ResultPrinter, role_lines, roles_as_json
from peckorder.cli.pairs import TOO_NARROW, load_pairs
from peckorder.comparison.contest import KINDS, Contest, Interrupted, entries, run_contest
from peckorder.comparison.pairs_case import LEFT_OUT, PairsCase, measures_of_pairs
from peckorder.reports import Section
from peckorder.tables.columns import counted
from peckorder.tables.files.paths import name_of


def compare_pairs(
    file: str, options: CompareOptions, pairs: PairOptions, output: OutputOptions
) -> None:
    """Compare rankers on pairs of items; write the report and the model; print."""
    printer, begin = ResultPrinter(output), perf_counter()

    def show_part(contest: Contest) -> None:
        if output.verbose or is_late(begin):
            printer.remark(first_few(contest))

    with printer.progress("Reading") as report_progress:
        measures = measures_of_pairs(options.metric)
        loaded = load_pairs(file, options, pairs)
        case = PairsCase(
            name_of(file),
            loaded.data,
            options.by or "pair",
            measures,
            loaded.column_roles,
            loaded.notes,
        )
        printer.show(_opening(case))
        try:
            contest = run_contest(
                case,
                n_splits=options.folds,
                seed=options.seed,
                only=options.rankers,
                on_progress=report_progress,
                on_part=show_part,
            )
        except Interrupted as stop:
            printer.show(board(stop.contest, perf_counter() - begin))
            raise
        seconds, kept = perf_counter() - begin, None
        if options.save is not None:
            kept = contest.best_saved
            if kept is None:
                raise refusal("save", "have a ranker that can be saved", "none in the contest")
            report_progress(0, None, f"Fitting {kept.name} to all pairs")
            model = case.refit(kept.name)
        report_progress(0, None, "Writing the report")
        reports.write(_report(file, options, pairs, case, contest, seconds), options.out)
        if kept is not None:
            model.save(str(options.save))
    after = [f"{name} was left out: {why}" for name, why in contest.left_out]
    after += [*contest.undefined_notes(), *_remarks(contest), contest.summary]
    if kept is not None:
        after.append(f"Model: {options.save} ({kept.name}, fitted to all pairs)")
    after.append(f"Report: {options.out}")
    printer.emit(
        {
            "files": [file],
            "items": pairs.items,
            "task": case.kind,
            "taken": roles_as_json(case.column_roles),
            "notes": [*case.notes, *_remarks(contest)],
            "by": case.by,
            "decides": measures[0].name,
            "larger_is_better": measures[0].larger_is_better,
            "folds": contest.n_splits,
            "seed": contest.seed,
            "intervals_over": contest.interval_unit,
            "leaderboard": entries(contest),
            "left_out": dict(contest.left_out),
            "seconds": seconds,
            "report": str(options.out),
            "saved": None if kept is None else {"ranker": kept.name, "file": str(options.save)},
        },
        board(contest, seconds),
        "\n".join(after),
    )


def _size(case: PairsCase) -> str:
    n_pairs = counted(len(case.data.preferences), "pair", "pairs")
    n_features = counted(len(case.data.coding.features), "feature", "features")
    return f"{n_pairs} of {counted(len(case.data.items), 'item', 'items')} with {n_features}"


def _remarks(contest: Contest) -> list[str]:
    return [] if contest.group_name else [TOO_NARROW]


def _opening(case: PairsCase) -> str:
    lines = [f"{case.source}: {KINDS[case.kind]}, {_size(case)}"]
    return "\n".join(
        [*lines, *(f"  {line}" for line in role_lines(case.column_roles)), *case.notes]
    )


def _report(
    file: str,
    options: CompareOptions,
    pairs: PairOptions,
    case: PairsCase,
    contest: Contest,
    seconds: float,
) -> reports.Report:
    """Return a contest as a page."""
    what = LEFT_OUT[case.by]
    paragraphs = (
        f"Pairs of items, of which one is better: {_size(case)}.",
        f"Cross-validation with {contest.n_splits} folds; every ranker sees the same ones. What is "
        f"left out in a fold are {what}. Settings are chosen on {what} left out inside what a "
        "ranker learns from. (won less lost) counts the pairs that are learnt from, and knows no "
        "features.",
        *case.notes,
        *_remarks(contest),
    )
    words = options.command((file,))
    command = [*words, *pairs.words(), *(["--by", options.by] if options.by else [])]
    return reports.Report(
        title=f"Which ranker is best on {Path(file).name}?",
        lead=lead(contest),
        sections=(
            Section("What was asked", paragraphs, role_table(case)),
            leaderboard(contest),
            *settings_chosen(contest),
        ),
        command=shlex.join(command),
        facts=facts_of(contest, seconds, (file, str(pairs.items))),
    )
