"""`peckorder compare`: find out which ranker is best."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from math import isnan
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
from cyclopts import Parameter
from rich.table import Table as Screen

from peckorder import __version__, reports
from peckorder import compare as engine
from peckorder._typing import Floats
from peckorder.cli._compare_file import Wanted, compare_file
from peckorder.cli._say import AsJson, Quiet, Speaker
from peckorder.cli._tables_source import STDIN, is_standard
from peckorder.compare import Comparison, Outcome

Several: TypeAlias = Annotated[list[str] | None, Parameter(negative="")]


def compare(
    *files: str,
    task: str | None = None,
    target: str | None = None,
    qid: str | None = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    drop: Several = None,
    classes: Several = None,
    columns: str | None = None,
    qrels: str | None = None,
    metric: str | None = None,
    rankers: Several = None,
    folds: int = 5,
    rows: int | None = None,
    format: str | None = None,
    save: Path | None = None,
    repeats: int | None = None,
    seed: int = 0,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path(
        "peckorder-report.html"
    ),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out which ranker is best on a file; print a leaderboard, write a report.

    Example: peckorder compare wine.csv --target quality --save wine.peckorder

    Example: peckorder compare train.txt.gz --metric ndcg@5

    Example: peckorder compare u.data --columns user,item,rating,timestamp

    Example: peckorder compare bm25.run dense.run --qrels qrels.txt

    What is to be learnt is told from the columns: ordered classes, real-valued
    relevance, grades within queries, ratings of items by people. All rankers that can
    do it are cross-validated, queries and people kept whole, beside LightGBM, XGBoost,
    mord and scikit-learn's ridge where these are installed. Without a file they are
    compared on embedded data.

    Parameters
    ----------
    files
        A table (csv, tsv, parquet, jsonl, LETOR; also .gz and .zst), "-" for standard
        input, or several TREC runs with --qrels.
    task
        ordinal, magnitude, graded or ratings, if it is not told rightly.
    target, qid
        Columns: what to predict, and the queries within which rows are compared.
    user, item, rating
        Columns of ratings.
    drop
        A column to leave out; give it again for more.
    classes
        The labels from lowest to highest, as in poor,fair,good; needed if they are
        text.
    columns
        Names for the columns of a file, as in user,item,rating.
    qrels
        TREC judgements: the files are runs then, compared with each other and with
        ways to fuse them.
    metric
        What decides, as in ndcg@5 or ap; of grades and runs ndcg@10, of ratings
        disagreement, of classes the mean rank loss, of magnitudes msd.
    rankers
        A ranker of the leaderboard to take part; give it again for more.
    folds
        Folds of the cross-validation; at least 2.
    rows
        Compare on so many rows, or of ratings people, drawn at random, at most.
    format
        Of the file, if its name does not tell: csv, tsv, parquet, jsonl, letor.
    save
        A model file for the best of peckorder's own rankers, fitted to all rows.
    repeats
        Without a file: repetitions, each with rows of its own; at least 2.
    seed
        Where the random numbers start.
    out
        The HTML file to write.
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    """
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
    reports.check_path(out)
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
    speaker.say(result, *boards, f"Report with curves: {out}")


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
