"""The work of `peckorder compare`."""

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import version
from math import isnan
from pathlib import Path

import numpy as np
from rich.table import Table as Screen

from peckorder import __version__, reports
from peckorder import compare as engine
from peckorder._core.typing import Floats
from peckorder.cli.compare.from_file import Wanted, check_out, compare_file
from peckorder.cli.console import Speaker
from peckorder.compare import Comparison, Outcome
from peckorder.tables.files.source import STDIN, is_standard


def run_compare(
    files: tuple[str, ...],
    *,
    task: str | None,
    target: str | None,
    qid: str | None,
    user: str | None,
    item: str | None,
    rating: str | None,
    drop: list[str] | None,
    classes: list[str] | None,
    columns: str | None,
    qrels: str | None,
    metric: str | None,
    rankers: list[str] | None,
    folds: int,
    rows: int | None,
    format: str | None,
    save: Path | None,
    repeats: int | None,
    seed: int,
    out: Path,
    json: bool,
    quiet: bool,
) -> None:
    """Find out which ranker is best on a file; print a leaderboard, write a report."""
    if not files:
        given = {
            "task": task,
            "target": target,
            "qid": qid,
            "user": user,
            "item": item,
            "rating": rating,
            "drop": drop,
            "classes": classes,
            "columns": columns,
            "qrels": qrels,
            "metric": metric,
            "rankers": rankers,
            "rows": rows,
            "format": format,
            "save": save,
        }
        _check_alone(given, "left out without a file")
        compare_embedded(20 if repeats is None else repeats, seed, out, json, quiet)
        return
    _check_alone({"repeats": repeats}, "left out with a file, which has folds")
    wanted = Wanted(
        files=tuple(STDIN if is_standard(file) else file for file in files),
        qrels=qrels,
        task=task,
        target=target,
        qid=qid,
        user=user,
        item=item,
        rating=rating,
        drop=tuple(drop or ()),
        classes=None if classes is None else tuple(classes),
        columns=None if columns is None else tuple(map(str.strip, columns.split(","))),
        metric=metric,
        rankers=None if rankers is None else tuple(rankers),
        folds=folds,
        rows=rows,
        format=format,
        seed=seed,
        save=save,
        out=out,
    )
    compare_file(wanted, Speaker(json=json, quiet=quiet))


def _check_alone(given: Mapping[str, object], rule: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"compare: {name} must be {rule}; got {str(value)!r}.")


def compare_embedded(
    repeats: int, seed: int, out: Path, json: bool, quiet: bool
) -> None:
    """Train every ranker on embedded data."""
    check_out(out)
    speaker = Speaker(json=json, quiet=quiet)
    with speaker.bar("Comparing") as tell:
        comparisons = engine.run(repeats=repeats, seed=seed, on_progress=tell)
        tell(0, None, "Writing the report")
        reports.write(build_report(comparisons, repeats, seed), out)
    result = {
        "seed": seed,
        "repeats": repeats,
        "problems": {
            comparison.problem.name: [
                {
                    "ranker": outcome.ranker,
                    **dict(
                        zip(
                            comparison.problem.measures,
                            outcome.measured.mean(axis=0).tolist(),
                            strict=True,
                        )
                    ),
                    "half_width": float(engine.half_width(outcome.losses)),
                }
                for outcome in comparison.outcomes
            ]
            for comparison in comparisons
        },
        "report": str(out),
    }
    boards = (leaderboard(comparison, repeats) for comparison in comparisons)
    after = (
        f"Report with curves, for your browser: {out}",
        f"Next, on a file of your own: {program()} compare YOUR.csv",
        f"All commands: {program()} --help",
    )
    speaker.say(result, *boards, *after)


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
