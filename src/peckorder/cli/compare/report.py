"""The pages that `peckorder compare` writes: of a contest on files, and on embedded data."""

import hashlib
import os
import platform
import shlex
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from math import isnan
from pathlib import Path
from typing import Final

import numpy as np

from peckorder import __version__, reports
from peckorder._core.typing import Floats
from peckorder.cli.compare.charts import behind_chart, pictures
from peckorder.cli.options import CompareOptions
from peckorder.comparison import Comparison
from peckorder.comparison.contest import KINDS, Contest, Result, listed
from peckorder.comparison.pairs_case import PairsCase
from peckorder.comparison.ratings_case import RatingsCase
from peckorder.comparison.table_case import TableCase
from peckorder.metrics import half_width
from peckorder.reports import Cell, Chart, Curve, Section, Table
from peckorder.tables.columns import counted
from peckorder.tables.roles import Role

_MOST_LINES: Final = 40
# Whose scores are sums over features.
_EXPLAINED: Final = (
    *("MPRank", "PRank", "PRank on grades", "RankBoost", "SVRank"),
    *("CatBoost", "LightGBM", "Ridge", "XGBoost", "mord"),
)
_PACKAGES: Final = ("numpy", "scipy", "scikit-learn", "numba")
_OTHER_LIBRARIES: Final = ("lightgbm", "xgboost", "catboost", "mord")
_SPLITS: Final = {
    "ordinal": "Rows are divided into folds class by class.",
    "magnitude": "Rows are divided into folds at random.",
    "graded": "Queries are kept whole: those of a fold are not learnt from.",
    "ratings": "Of the people of a fold half of their ratings are known, as are all "
    "ratings of the other people; the other half is ranked.",
    "runs": "Queries are kept whole: fusions that learn have not seen those that they "
    "are measured on. What no run lists cannot be found, but counts as missed; what a "
    "run does not list counts as not found by it.",
}


def file_report(
    files: tuple[str, ...],
    options: CompareOptions,
    case: TableCase | RatingsCase,
    contest: Contest,
    seconds: float,
) -> reports.Report:
    """Return a contest as a page."""
    names = [Path(file).name for file in files]
    source = names[0] if len(names) == 1 else f"{len(names)} runs"
    hashed = [file for file in (*files, options.qrels) if file]
    return reports.Report(
        title=f"Which ranker is best on {source}?",
        lead=lead(contest),
        sections=(
            _task(options, case, contest),
            _data(case),
            leaderboard(contest),
            *pictures(case, contest),
            *settings_chosen(contest),
            _next_steps(files, options, case, contest),
        ),
        command=shlex.join(options.command(files)),
        facts=facts_of(contest, seconds, hashed),
    )


def facts_of(contest: Contest, seconds: float, files: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return what a contest depends on: seed, machine, versions, files."""
    return (
        ("seed", str(contest.seed)),
        ("folds", str(contest.n_splits)),
        ("seconds in all", f"{seconds:.0f}"),
        ("processors", str(os.cpu_count())),
        *_versions(_OTHER_LIBRARIES),
        *((f"SHA-256 of {Path(file).name}", _checksum(file)) for file in files if file != "-"),
    )


def _versions(others: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return the versions of Python, of peckorder and of what it uses."""
    packages = []
    for name in (*_PACKAGES, *others):
        try:
            packages.append((name, version(name)))
        except PackageNotFoundError:
            packages.append((name, "not installed"))
    python = platform.python_version()
    return ("python", python), ("peckorder", __version__), *packages


def _checksum(file: str) -> str:
    with Path(file).open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def lead(contest: Contest) -> str:
    """Return who is first, by how much, in a few sentences."""
    measure, best = contest.measures[0], contest.best
    baselines = [result for result in contest.results if not result.origin]
    text = f"{contest.summary} Its {measure.name} is {contest.written(best, measure)}"
    if baselines:
        worst = baselines[-1]
        text += f", against {contest.written(worst, measure)} for {worst.name.strip('()')}"
    ours = next((r for r in contest.results if r.origin == "peckorder"), None)
    if ours is not None and ours is not best:
        reached = contest.written(ours, measure)
        text += f". The best of peckorder's own is {ours.name}, {reached}"
    return f"{text}."


def _task(options: CompareOptions, case: TableCase | RatingsCase, contest: Contest) -> Section:
    kind = case.kind
    how = _SPLITS[kind]
    if kind in ("ordinal", "magnitude") and contest.unit != "rows":
        how = _SPLITS["graded"]
    elif contest.group_name:
        how = (
            f"{contest.group_name.capitalize()} are kept whole: rows of those of a "
            "fold are not learnt from."
        )
    inside: tuple[str, ...] = (
        "Settings are chosen inside what a ranker learns from: C of MPRank by leaving "
        "every pair out, exactly, the number of rounds of boosting and other settings "
        "on inner folds: three at most of any ranker, from whatever library, with all "
        "rounds. Features are standardised there for rankers that depend on "
        "their scale, empty cells filled with the mean.",
    )
    if kind in ("ratings", "runs"):
        inside = ()
    because = "its columns" if options.task is None else "what was asked"
    paragraphs = (
        "Which of these runs, or which fusion of them, is best?"
        if kind == "runs"
        else f"The file was taken for {KINDS[kind]}, because of {because}.",
        f"Cross-validation with {contest.n_splits} folds; every ranker sees the same ones. {how}",
        *inside,
        *case.notes,
    )
    return Section("What was asked", paragraphs, role_table(case))


def role_table(case: TableCase | RatingsCase | PairsCase) -> tuple[Table, ...]:
    """Return what columns were taken for, as a table if there are some."""
    if not case.column_roles:
        return ()
    rows: list[tuple[Cell, ...]] = [
        (role.column, role.role.value, role.why)
        for role in case.column_roles
        if role.role is not Role.FEATURE
    ]
    n_more = len(rows) - _MOST_LINES
    if n_more > 0:
        rows = [*rows[:_MOST_LINES], (f"{n_more} more", "", "not shown")]
    n_plain = sum(role.role is Role.FEATURE for role in case.column_roles)
    if n_plain:
        rows.append((counted(n_plain, "other", "others"), "features", "numbers; see below"))
    caption = "What each column was taken for, and why."
    return (Table(("column", "taken for", "why"), tuple(rows), caption),)


def _data(case: TableCase | RatingsCase) -> Section:
    if isinstance(case, RatingsCase):
        return _ratings_data(case)
    facts: list[tuple[Cell, ...]] = [("rows", len(case.y)), ("features", len(case.features))]
    if case.qid is not None:
        sizes = np.bincount(case.qid)
        facts += [
            ("queries", len(sizes)),
            ("rows of a query, fewest", int(sizes.min())),
            ("rows of a query, median", int(np.median(sizes))),
            ("rows of a query, most", int(sizes.max())),
        ]
    tables = [Table(("what", "number"), tuple(facts))]
    if case.classes is not None or case.kind in ("graded", "runs"):
        values, counts = np.unique(case.y, return_counts=True)
        names = [str(case.classes[int(v)]) if case.classes else f"{v:g}" for v in values]
        rows = tuple(
            (name, int(n), float(100 * n / len(case.y)))
            for name, n in zip(names, counts, strict=True)
        )
        label = "class, lowest first" if case.classes else "grade"
        tables.append(Table((label, "rows", "percent"), rows))
    else:
        quantiles = np.quantile(case.y, [0, 0.25, 0.5, 0.75, 1])
        heads = ("", "least", "lower quartile", "median", "upper quartile", "most")
        tables.append(Table(heads, ((case.target, *map(float, quantiles)),)))
    if case.kind != "runs":
        tables.append(_feature_table(case))
    else:
        tables.append(_runs_table(case))
    return Section("The data at a glance", tables=tuple(tables))


def _feature_table(case: TableCase) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for k, name in enumerate(case.features[:_MOST_LINES]):
        column = case.X[:, k]
        values = column[~np.isnan(column)]
        low, middle, high = np.quantile(values, [0, 0.5, 1]).tolist()
        empty = 100 * (1 - len(values) / len(column))
        rows.append((name, *(f"{v:.4g}" for v in (low, middle, high)), f"{empty:.3g}"))
    n_more = len(case.features) - len(rows)
    caption = f"Features; {n_more} more are not shown." if n_more > 0 else "Features."
    heads = ("feature", "least", "median", "most", "% empty")
    return Table(heads, tuple(rows), caption)


def _runs_table(case: TableCase) -> Table:
    assert case.qid is not None
    rows = []
    for k, name in enumerate(case.features):
        listed_rows = ~np.isnan(case.X[:, k])
        n_good = int((case.y[listed_rows] > 0).sum())
        n_queries = len(np.unique(case.qid[listed_rows]))
        rows.append((name, n_queries, int(listed_rows.sum()), n_good))
    n_missed = sum(int((grades > 0).sum()) for grades in case.unlisted.values())
    caption = (
        "What runs list, of queries that are judged. "
        f"{n_missed:,} relevant documents are in no run."
    )
    heads = ("run", "queries", "documents", "relevant")
    return Table(heads, tuple(rows), caption)


def _ratings_data(case: RatingsCase) -> Section:
    ratings = case.ratings
    facts = (
        ("ratings", len(ratings)),
        ("people", ratings.n_users),
        ("items", ratings.n_items),
        ("people tested", len(case.people)),
        ("people learnt from", case.sample.n_users),
        ("ratings of a person, median", int(np.median(ratings.per_user))),
        ("ratings of an item, median", int(np.median(ratings.per_item))),
    )
    values, counts = np.unique(ratings.csr.data, return_counts=True)
    rows = tuple(
        (f"{value:g}", int(n), float(100 * n / len(ratings)))
        for value, n in zip(values.tolist(), counts.tolist(), strict=True)
    )[:_MOST_LINES]
    tables = (Table(("what", "number"), facts), Table(("rating", "times", "percent"), rows))
    return Section("The data at a glance", tables=tables)


def leaderboard(contest: Contest) -> Section:
    """Return all results, the best first."""
    first, *others = (measure.name for measure in contest.measures)
    rows = []
    for k, result in enumerate(contest.results, start=1):
        figures = contest.leaderboard_row(result, with_half=True)
        origin = result.origin or "baseline"
        rows.append((f"{k}. {result.name}", *figures, _seconds(result), origin))
    words = "; ".join(f"{m.name}: {m.meaning}" for m in contest.measures)
    table = Table(
        ("ranker", first, "behind the first", *others, "s to fit", "from"),
        tuple(rows),
        f"{words}. Means over {contest.unit} that were left out, with half their 95 % "
        f"intervals over {contest.interval_unit}. Behind the first: the mean "
        f"difference on the same {contest.unit}; ≈ where its interval contains zero, "
        "so that no difference was shown here.",
    )
    left = tuple(f"{name} was left out: {why}." for name, why in contest.left_out)
    left += tuple(contest.undefined_notes())
    charts = tuple(filter(None, [behind_chart(contest)]))
    return Section("Leaderboard", left, (table,), charts)


def _seconds(result: Result) -> str:
    """Return how long a fit took, if there was something to learn."""
    if not result.origin or result.origin in ("run", "rule"):
        return ""
    median = float(np.median(result.seconds))
    return f"{median:.2f}" if median >= 0.005 else "<0.01"


def settings_chosen(contest: Contest) -> tuple[Section, ...]:
    """Return what rankers chose for themselves, if they did."""
    rows = tuple((result.name, text) for result in contest.results if (text := result.chosen_text))
    if not rows:
        return ()
    caption = "What rankers chose for themselves; one value per fold where they differ."
    return (Section("Settings", tables=(Table(("ranker", "chosen"), rows, caption),)),)


def _next_steps(
    files: tuple[str, ...], options: CompareOptions, case: TableCase | RatingsCase, contest: Contest
) -> Section:
    """Return what to do with the result, as commands."""
    steps: list[tuple[str, list[str]]] = []
    model = str(options.save or "winner.peckorder")
    kept = contest.best_saved
    if kept is not None and options.save is None:
        text = f"Keep {kept.name}, fitted to the rows compared:"
        steps.append((text, [*options.command(files), "--save", model]))
    if case.kind == "runs":
        fuse = ["peckorder", "fuse", *files, "--qrels", str(options.qrels), "-o", "fused.run"]
        steps.append(("Write a fused run:", fuse))
    elif kept is not None and isinstance(case, RatingsCase):
        rank = ["peckorder", "rank", model, "--user", str(case.ratings.users[0])]
        steps.append(("What it recommends to a person:", rank))
    elif kept is not None:
        new = f"new{''.join(Path(files[0]).suffixes[-2:])}"
        rank = ["peckorder", "rank", model, new, "-o", "ranked.csv"]
        steps.append(("Put new rows in order:", rank))
        if kept.name in _EXPLAINED:
            explain = ["peckorder", "explain", model, new, "--row", "1"]
            steps.append(("Why a row stands where it does:", explain))
    level = [contest.best.name, *(result.name for result in contest.level())]
    level = [name for name in level if not name.startswith("(")]
    if len(level) > 1:
        seed = (options.seed + 1) % 2**31
        closer = replace(options, rankers=tuple(level), seed=seed, save=None)
        text = f"Look closer at {listed(level)}, with other folds:"
        steps.append((text, closer.command(files)))
    if case.column_roles:
        text = (
            "If the file was taken for the wrong thing, say what its columns are; "
            "peckorder compare --help has all flags:"
        )
        roles = ["target", "qid"]
        if isinstance(case, RatingsCase):
            roles = ["user", "item", "rating"]
        flags = [word for role in roles for word in (f"--{role}", "NAME")]
        steps.append((text, ["peckorder", "compare", *files, *flags]))
    commands = tuple((text, shlex.join(words)) for text, words in steps)
    return Section("What to do next", commands=commands)


def embedded_report(comparisons: tuple[Comparison, ...], repeats: int, seed: int) -> reports.Report:
    """Return the contests on embedded problems as a page."""
    best = "; ".join(
        f"{problem.name}: {contest.best.name} "
        f"({problem.measures[0]} {contest.best.mean(contest.measures[0]):.3f})"
        for problem, contest in comparisons
    )
    return reports.Report(
        title="Which ranker is best?",
        lead=f"The lowest losses. {best}.",
        sections=tuple(map(_embedded_section, comparisons)),
        command=f"peckorder compare --repeats {repeats} --seed {seed}",
        facts=(("seed", str(seed)), ("repetitions", str(repeats)), *_versions()),
    )


def _embedded_section(comparison: Comparison) -> Section:
    """Return the section of one problem: what it is, the leaderboard, the curves."""
    problem, contest = comparison
    loss, *others = problem.measures
    table = Table(
        ("ranker", loss, "behind the first", *others, "seconds to fit"),
        embedded_rows(contest),
        f"{problem.meaning}: mean over {contest.n_splits} repetitions, with half the 95 % "
        f"interval of that mean. Behind the first: by how much more {loss} than the "
        "first ranker on the same rows. Seconds are the median: compiling, which "
        "happens once, does not count.",
    )
    axes = problem.axes
    chart = Chart(
        title=f"{problem.name}: {axes.title}",
        x_label=axes.x_label,
        y_label=axes.y_label,
        curves=tuple(
            _mean_curve(result, axes.first) for result in contest.results if result.curves
        ),
        caption=f"{axes.caption}; bands are 95 % intervals of the mean over repetitions.",
        reference=problem.reference,
        log_x=True,
    )
    return Section(problem.name, (problem.description,), (table,), (chart,))


def embedded_rows(contest: Contest) -> tuple[tuple[str, ...], ...]:
    """Return the names of rankers with their losses, how far behind they are, seconds."""

    def with_interval(values: Floats) -> str:
        return f"{values.mean():.3f} ± {half_width(values):.3f}"

    first = contest.measures[0].name
    rows = []
    for result in contest.results:
        loss, *others = (with_interval(result.values[m.name]) for m in contest.measures)
        behind = result.values[first] - contest.best.values[first]
        behind_text = "" if result is contest.best else with_interval(behind)
        seconds = float(np.median(result.seconds))
        seconds_text = "" if isnan(seconds) else f"{seconds:.4f}"
        rows.append((result.name, loss, behind_text, *others, seconds_text))
    return tuple(rows)


def _mean_curve(result: Result, first: int) -> Curve:
    """Return the mean of curves, one per repetition, from the point `first` on."""
    shown = np.stack(result.curves)[:, first - 1 :]
    mean, half = shown.mean(axis=0), half_width(shown)
    points = np.arange(first, first + mean.size)
    return Curve(result.name, points, mean, mean - half, mean + half)
