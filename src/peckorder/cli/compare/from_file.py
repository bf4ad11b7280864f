"""`peckorder compare FILE`: from a file to a leaderboard, a report and a model."""

import shlex
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table as Screen

from peckorder import reports
from peckorder._core.validation import whole
from peckorder.cli.column_report import role_lines
from peckorder.cli.compare.reading import read_runs, read_table
from peckorder.cli.compare.report import build_report
from peckorder.cli.compare.text import KINDS, chosen_text, level_text, signed, written
from peckorder.cli.console import Speaker
from peckorder.cli.model_limits import refusals
from peckorder.cli.outputs import check_model, check_outputs
from peckorder.compare.contest.case import MOST_ROWS, Case, make_case
from peckorder.compare.contest.contest import Contest, Result, hold
from peckorder.compare.contest.ratings import (
    MOST_PEOPLE,
    Asked,
    RatingsCase,
    hold_ratings,
    make_ratings_case,
)
from peckorder.compare.contest.refit import keepable, refit, save
from peckorder.compare.contest.runs import make_runs_case
from peckorder.compare.embedded.run import SEED
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.task import recognise


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked on the command line."""

    files: tuple[str, ...]
    qrels: str | None = None
    task: str | None = None
    target: str | None = None
    qid: str | None = None
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    drop: tuple[str, ...] = ()
    classes: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    metric: str | None = None
    rankers: tuple[str, ...] | None = None
    folds: int = 5
    rows: int | None = None
    format: str | None = None
    seed: int = 0
    save: Path | None = None
    out: Path = Path("peckorder-report.html")

    @property
    def command(self) -> str:
        """The command that gives the same result again."""
        words = ["peckorder", "compare", *self.files]
        for name in ("qrels", "task", "target", "qid", "user", "item", "rating"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", value]
        for name in ("drop", "rankers"):
            for value in getattr(self, name) or ():
                words += [f"--{name}", value]
        for name in ("classes", "columns"):
            if (values := getattr(self, name)) is not None:
                words += [f"--{name}", ",".join(values)]
        for name in ("metric", "rows", "format", "save"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", str(value)]
        words += ["--folds", str(self.folds), "--seed", str(self.seed)]
        return shlex.join(words)


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """What came out: the case, the contest, what was asked of people, how long."""

    case: Case | RatingsCase
    contest: Contest
    asked: Asked | None
    seconds: float
    is_anew: bool = True


def compare_file(wanted: Wanted, speaker: Speaker) -> None:
    """Read, recognise, compare, tell, write."""
    check_files(wanted)
    whole(2).check("compare", "folds", wanted.folds)
    SEED.check("compare", "seed", wanted.seed)
    if wanted.rows is not None:
        whole(20).check("compare", "rows", wanted.rows)
    begin, is_anew = perf_counter(), not wanted.out.exists()
    with speaker.bar("Reading") as tell:
        case = make(wanted)
        contest, asked = play(case, wanted, tell)
        seconds = perf_counter() - begin
        done = Done(case, contest, asked, seconds, is_anew)
        kept = None if wanted.save is None else keepable(contest)
        model = None
        if kept is not None:
            tell(0, None, f"Fitting {kept.name} to all rows")
            model = refit(case, contest, kept.name)
        tell(0, None, "Writing the report")
        reports.write(
            build_report(wanted, done.case, contest, asked, seconds), wanted.out
        )
        if model is not None:
            save(model, str(wanted.save))
    limits = "" if model is None else refusals(model, kind_of(case))
    speaker.say(as_json(wanted, done, kept, limits), *told(wanted, done, kept, limits))


def check_files(wanted: Wanted) -> None:
    """Refuse, before any work, files that the result cannot go to or be told of."""
    check_out(wanted.out)
    check_named("file", *wanted.files, *([wanted.qrels] if wanted.qrels else []))
    outputs = {"--save": wanted.save, "-o": wanted.out}
    check_outputs("compare", outputs, [*wanted.files, wanted.qrels])
    if wanted.save is None:
        return
    check_named("save", wanted.save)
    if is_standard(wanted.save):
        raise ValueError("compare: save must be a file; got '-'.")
    check_model("compare", "--save", wanted.save)


def check_out(out: Path) -> None:
    """Refuse a place where no report can be written."""
    if is_standard(out):
        raise ValueError("compare: out must be a file; got '-'.")
    check_named("out", out)
    reports.check_path(out)


def check_named(what: str, *paths: str | Path) -> None:
    """Refuse names that are not UTF-8, as the page that has them is."""
    for path in paths:
        try:
            str(path).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(
                f"compare: {what} must have a name in UTF-8; got {str(path)!a}."
            ) from None


def make(wanted: Wanted) -> Case | RatingsCase:
    """Read what is to be compared on and make it ready."""
    if wanted.qrels is not None:
        runs, qrels = read_runs(wanted.files, wanted.qrels)
        return make_runs_case(runs, qrels, metric=wanted.metric)
    if len(wanted.files) > 1:
        raise ValueError(
            "compare: file must be one, or runs with --qrels; got "
            f"{', '.join(wanted.files)}."
        )
    ids = [name for name in (wanted.qid, wanted.user, wanted.item) if name is not None]
    columns = read_table(wanted.files[0], wanted.format, wanted.columns, ids)
    task = recognise(
        columns,
        task=wanted.task,
        target=wanted.target,
        qid=wanted.qid,
        user=wanted.user,
        item=wanted.item,
        rating=wanted.rating,
        drop=wanted.drop,
        classes=wanted.classes,
    )
    if task.kind == "ratings":
        return make_ratings_case(
            columns,
            task,
            metric=wanted.metric,
            most_people=wanted.rows or MOST_PEOPLE,
            seed=wanted.seed,
        )
    return make_case(
        columns,
        task,
        metric=wanted.metric,
        most_rows=wanted.rows or MOST_ROWS,
        seed=wanted.seed,
    )


def play(
    case: Case | RatingsCase, wanted: Wanted, tell: Any
) -> tuple[Contest, Asked | None]:
    """Hold the contest."""
    options: dict[str, Any] = {
        "folds": wanted.folds,
        "seed": wanted.seed,
        "only": wanted.rankers,
        "on_progress": tell,
    }
    if isinstance(case, RatingsCase):
        return hold_ratings(case, **options)
    return hold(case, **options), None


def told(
    wanted: Wanted, done: Done, kept: Result | None, limits: str = ""
) -> tuple[RenderableType, ...]:
    """Return what people see: what was taken for what, the leaderboard, files."""
    case, contest = done.case, done.contest
    lines = [f"{case.source}: {KINDS[kind_of(case)]}"]
    plain_features = [t.column for t in case.column_roles if t.role.is_feature]
    lines += [f"  {line}" for line in role_lines(case.column_roles)]
    if plain_features:
        names = ", ".join(plain_features[:6])
        more = ", ..." if len(plain_features) > 6 else ""
        n = len(plain_features)
        columns = "column" if n == 1 else "columns"
        lines.append(f"  {n} {columns} to learn from: {names}{more}")
    lines += [f"  {note}" for note in case.notes]
    after = [f"{name} was left out: {why}" for name, why in contest.left_out]
    after.append(level_text(contest))
    if kept is not None:
        other = "" if kept is contest.best else ", the best of peckorder's own"
        is_sample = not isinstance(case, RatingsCase) and case.is_sample
        rows = "the rows drawn" if is_sample else "all rows"
        after.append(f"Model: {wanted.save} ({kept.name}{other}, fitted to {rows})")
        if limits:
            after.append(f"  {limits} --rankers chooses among others.")
    over = "" if done.is_anew else " (written over the one that was there)"
    after.append(f"Report: {wanted.out}{over}")
    return "\n".join(lines), leaderboard(done), "\n".join(after)


def kind_of(case: Case | RatingsCase) -> str:
    """Return what kind of task a case is."""
    return "ratings" if isinstance(case, RatingsCase) else case.kind


def leaderboard(done: Done) -> Screen:
    """Return the results as a table for the terminal."""
    contest = done.contest
    first, *others = contest.measures
    table = Screen(
        title=f"{contest.n_folds} folds, {done.seconds:.0f} s, 95 % intervals over "
        f"{contest.over}",
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


def as_json(
    wanted: Wanted, done: Done, kept: Result | None, limits: str = ""
) -> dict[str, Any]:
    """Return the whole result for programs."""
    case, contest = done.case, done.contest
    first = contest.measures[0]
    board = []
    for result in contest.results:
        behind = contest.behind(result)
        seconds = float(np.median(result.seconds)) if result.seconds else float("nan")
        board.append(
            {
                "ranker": result.name,
                "from": result.home or "baseline",
                **{m.name: result.mean(m) for m in contest.measures},
                "half_width": contest.half_width(result.values[first.name]),
                "behind": behind.mean,
                "behind_half_width": behind.half_width,
                "level_with_the_first": result is contest.best or behind.is_level,
                "seconds_to_fit": None if isnan(seconds) else seconds,
                "chosen": chosen_text(result),
            }
        )
    return {
        "files": list(wanted.files),
        "task": kind_of(case),
        "taken": {t.column: [t.role.value, t.why] for t in case.column_roles},
        "notes": list(case.notes),
        "decides": first.name,
        "larger_is_better": first.larger_is_better,
        "folds": contest.n_folds,
        "seed": contest.seed,
        "intervals_over": contest.over,
        "leaderboard": board,
        "left_out": dict(contest.left_out),
        "seconds": done.seconds,
        "report": str(wanted.out),
        "saved": None
        if kept is None
        else {"ranker": kept.name, "file": str(wanted.save), "limits": limits or None},
    }
