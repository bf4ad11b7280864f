"""`peckorder compare`: find out which ranker is best."""

import platform
from importlib.metadata import version
from math import isnan
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table as Screen

from peckorder import __version__, reports
from peckorder import compare as engine
from peckorder._typing import Floats
from peckorder.compare import Comparison, Outcome


def compare(
    *,
    repeats: int = 20,
    seed: int = 0,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path(
        "peckorder-report.html"
    ),
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Train every ranker on embedded data; print a leaderboard, write a report.

    Example: peckorder compare --repeats 50 --out report.html

    Parameters
    ----------
    repeats
        Repetitions, each with rows of its own; at least 2.
    seed
        Where the random numbers start.
    out
        The HTML file to write.
    quiet
        Print nothing but errors.
    """
    reports.check_path(out)
    console = Console(quiet=quiet)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # A bar is for people: in a pipe or a log it would be noise.
    shown = console.is_terminal and not quiet
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        task = bar.add_task("Comparing", total=None)

        def on_progress(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, description=label)

        comparisons = engine.run(repeats=repeats, seed=seed, on_progress=on_progress)
        bar.update(task, description="Writing the report")
        reports.write(build_report(comparisons, repeats, seed), out)
    for comparison in comparisons:
        console.print(leaderboard(comparison, repeats))
    console.print(f"Report with curves: {out}", highlight=False, soft_wrap=True)


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
        table.add_row(
            outcome.ranker, *map(with_interval, outcome.measured.T), seconds(outcome)
        )
    return table


def with_interval(values: Floats) -> str:
    """Write the mean of values, one a repetition, and half its interval."""
    return f"{values.mean():.3f} ± {engine.half_width(values):.3f}"


def seconds(outcome: Outcome) -> str:
    """Write how long a fit took, if there was one."""
    median = float(np.median(outcome.seconds))
    return "" if isnan(median) else f"{median:.4f}"


def build_report(
    comparisons: tuple[Comparison, ...], repeats: int, seed: int
) -> reports.Report:
    """Lay the comparison out as a page."""
    best = "; ".join(
        f"{c.problem.name}: {c.outcomes[0].ranker} "
        f"({c.problem.measures[0]} {c.outcomes[0].loss:.3f})"
        for c in comparisons
    )
    names = ("numpy", "scipy", "scikit-learn", "numba")
    facts = (
        ("seed", str(seed)),
        ("repetitions", str(repeats)),
        ("python", platform.python_version()),
        ("peckorder", __version__),
        *((name, version(name)) for name in names),
    )
    return reports.Report(
        title="Which ranker is best?",
        lead=f"The lowest losses. {best}.",
        sections=tuple(section(c, repeats) for c in comparisons),
        command=f"peckorder compare --repeats {repeats} --seed {seed}",
        facts=facts,
    )


def section(comparison: Comparison, repeats: int) -> reports.Section:
    """Lay out one problem: what it is, the leaderboard, the curves."""
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
        caption=f"{axes.caption}; bands are 95 % intervals of the mean over "
        "repetitions.",
        reference=problem.reference,
        log_x=True,
    )
    return reports.Section(problem.name, (problem.description,), (table,), (chart,))


def row(outcome: Outcome, best: Outcome) -> tuple[str, ...]:
    """Write one line of the table of the report."""
    loss, *others = map(with_interval, outcome.measured.T)
    behind = "" if outcome is best else with_interval(outcome.losses - best.losses)
    return outcome.ranker, loss, behind, *others, seconds(outcome)


def curve(ranker: str, curves: Floats, first: int) -> reports.Curve:
    """Return the mean of curves, one a repetition, from the point `first` on."""
    shown = curves[:, first - 1 :]
    mean, half = shown.mean(axis=0), engine.half_width(shown)
    points = np.arange(first, first + mean.size)
    return reports.Curve(ranker, points, mean, mean - half, mean + half)
