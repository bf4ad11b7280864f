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
    table = Screen(
        title=f"{comparison.problem.name} ({repeats} repetitions)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("ranker")
    for heading in ("mean rank loss", "95 % interval", "seconds to fit"):
        table.add_column(heading, justify="right")
    for outcome in comparison.outcomes:
        table.add_row(outcome.ranker, *cells(outcome))
    return table


def cells(outcome: Outcome) -> tuple[str, str, str]:
    """Write the figures of an outcome."""
    loss, half = outcome.loss, outcome.half_width
    interval = f"{max(loss - half, 0.0):.3f} to {loss + half:.3f}"
    seconds = float(np.median(outcome.seconds))
    return f"{loss:.3f}", interval, "" if isnan(seconds) else f"{seconds:.4f}"


def build_report(
    comparisons: tuple[Comparison, ...], repeats: int, seed: int
) -> reports.Report:
    """Lay the comparison out as a page."""
    best = "; ".join(
        f"{c.problem.name}: {c.outcomes[0].ranker} "
        f"({c.outcomes[0].loss:.3f} steps off on average)"
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
        lead=f"Lowest mean rank loss. {best}.",
        sections=tuple(section(c, repeats) for c in comparisons),
        command=f"peckorder compare --repeats {repeats} --seed {seed}",
        facts=facts,
    )


def section(comparison: Comparison, repeats: int) -> reports.Section:
    """Lay out one problem: what it is, the leaderboard, the curves."""
    problem = comparison.problem
    table = reports.Table(
        ("ranker", "mean rank loss", "95 % interval", "seconds to fit"),
        tuple((outcome.ranker, *cells(outcome)) for outcome in comparison.outcomes),
        "Steps between the predicted and the true class on rows that were not learnt "
        f"from: mean over {repeats} repetitions, with the 95 % interval of that mean. "
        "Seconds are the median: compiling, which happens once, does not count.",
    )
    chart = reports.Chart(
        title=f"{problem.name}: learning as rows arrive",
        x_label="rows seen",
        y_label="time-averaged rank loss",
        curves=tuple(curve(o) for o in comparison.outcomes if o.curves is not None),
        caption="Every row is predicted before it is learnt. A line at t is the mean "
        "loss of the first t predictions of one pass; bands are 95 % intervals of the "
        "mean over repetitions.",
        reference=problem.reference,
        log_x=True,
    )
    return reports.Section(problem.name, (problem.description,), (table,), (chart,))


def curve(outcome: Outcome) -> reports.Curve:
    """Return the mean on-line curve of an outcome from the tenth row on."""
    if outcome.curves is None:
        raise ValueError(f"compare: {outcome.ranker} has no curve.")
    # The first few rows are the luck of the draw and would dwarf the rest.
    curves = outcome.curves[:, 9:]
    mean, half = curves.mean(axis=0), engine.half_width(curves)
    rounds = np.arange(10, 10 + mean.size)
    return reports.Curve(outcome.ranker, rounds, mean, mean - half, mean + half)
