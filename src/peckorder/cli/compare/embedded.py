"""The work of `peckorder compare` without a file: rankers on embedded problems."""

import os
import shlex
import shutil
import sys
from math import isnan
from pathlib import Path

import numpy as np
from rich.table import Table as Screen

from peckorder import compare as engine
from peckorder import reports
from peckorder._core.typing import Floats
from peckorder.cli.compare.command import CompareOptions
from peckorder.cli.compare.report import versions
from peckorder.cli.console import ResultPrinter
from peckorder.cli.options import OutputOptions
from peckorder.cli.outputs import check_report
from peckorder.compare import Comparison, Outcome


def compare_embedded(options: CompareOptions, output: OutputOptions) -> None:
    """Train every ranker on embedded data."""
    repeats = 20 if options.repeats is None else options.repeats
    seed, out = options.seed, options.out
    check_report(out)
    printer = ResultPrinter(output)
    with printer.progress("Comparing") as report_progress:
        comparisons = engine.run(repeats=repeats, seed=seed, on_progress=report_progress)
        report_progress(0, None, "Writing the report")
        reports.write(build_report(comparisons, repeats, seed), out)
    printer.emit(
        {
            "seed": seed,
            "repeats": repeats,
            "problems": {c.problem.name: _as_json(c) for c in comparisons},
            "report": str(out),
        },
        *(leaderboard(comparison, repeats) for comparison in comparisons),
        f"Report with curves, for your browser: {out}",
        f"Next, on a file of your own: {program()} compare YOUR.csv",
        f"All commands: {program()} --help",
    )


def _as_json(comparison: Comparison) -> list[dict[str, str | float]]:
    return [
        {
            "ranker": outcome.ranker,
            **dict(
                zip(
                    comparison.problem.measures, outcome.measured.mean(axis=0).tolist(), strict=True
                )
            ),
            "half_width": float(engine.half_width(outcome.losses)),
        }
        for outcome in comparison.outcomes
    ]


def program() -> str:
    """Return how this program was called, so that it can be called again."""
    called = Path(sys.argv[0])
    if called.name != "peckorder":
        return "python -m peckorder"
    if shutil.which("peckorder") == str(called.absolute()):
        return "peckorder"
    return shlex.quote(os.path.relpath(called))


def leaderboard(comparison: Comparison, repeats: int) -> Screen:
    """Return the outcomes on one problem as a table for the terminal."""
    problem = comparison.problem
    table = Screen(
        title=f"{problem.name} ({repeats} repetitions, 95 % intervals)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("ranker")
    for heading in (*problem.measures, "seconds to fit"):
        table.add_column(heading, justify="right", no_wrap=True)
    for outcome in comparison.outcomes:
        table.add_row(outcome.ranker, *map(with_interval, outcome.measured.T), seconds(outcome))
    return table


def with_interval(values: Floats) -> str:
    """Return the mean of values, one per repetition, and half its interval, as text."""
    return f"{values.mean():.3f} ± {engine.half_width(values):.3f}"


def seconds(outcome: Outcome) -> str:
    """Return how long a fit took as text, if there was one."""
    median = float(np.median(outcome.seconds))
    return "" if isnan(median) else f"{median:.4f}"


def build_report(comparisons: tuple[Comparison, ...], repeats: int, seed: int) -> reports.Report:
    """Return the comparison as a page."""
    best = "; ".join(
        f"{c.problem.name}: {c.outcomes[0].ranker} "
        f"({c.problem.measures[0]} {c.outcomes[0].loss:.3f})"
        for c in comparisons
    )
    return reports.Report(
        title="Which ranker is best?",
        lead=f"The lowest losses. {best}.",
        sections=tuple(section(c, repeats) for c in comparisons),
        command=f"peckorder compare --repeats {repeats} --seed {seed}",
        facts=(("seed", str(seed)), ("repetitions", str(repeats)), *versions()),
    )


def section(comparison: Comparison, repeats: int) -> reports.Section:
    """Return the section of one problem: what it is, the leaderboard, the curves."""
    problem, outcomes = comparison.problem, comparison.outcomes
    loss, *others = problem.measures
    table = reports.Table(
        ("ranker", loss, "behind the first", *others, "seconds to fit"),
        tuple(row(outcome, outcomes[0]) for outcome in outcomes),
        f"{problem.meaning}: mean over {repeats} repetitions, with half the 95 % "
        f"interval of that mean. Behind the first: by how much more {loss} than the "
        "first ranker on the same rows. Seconds are the median: compiling, which "
        "happens once, does not count.",
    )
    axes = problem.axes
    chart = reports.Chart(
        title=f"{problem.name}: {axes.title}",
        x_label=axes.x_label,
        y_label=axes.y_label,
        curves=tuple(
            curve(outcome.ranker, outcome.curves, axes.first)
            for outcome in outcomes
            if outcome.curves is not None
        ),
        caption=f"{axes.caption}; bands are 95 % intervals of the mean over repetitions.",
        reference=problem.reference,
        log_x=True,
    )
    return reports.Section(problem.name, (problem.description,), (table,), (chart,))


def row(outcome: Outcome, best: Outcome) -> tuple[str, ...]:
    """Return one line of the table of the report."""
    loss, *others = map(with_interval, outcome.measured.T)
    behind = "" if outcome is best else with_interval(outcome.losses - best.losses)
    return outcome.ranker, loss, behind, *others, seconds(outcome)


def curve(ranker: str, curves: Floats, first: int) -> reports.Curve:
    """Return the mean of curves, one per repetition, from the point `first` on."""
    shown = curves[:, first - 1 :]
    mean, half = shown.mean(axis=0), engine.half_width(shown)
    points = np.arange(first, first + mean.size)
    return reports.Curve(ranker, points, mean, mean - half, mean + half)
