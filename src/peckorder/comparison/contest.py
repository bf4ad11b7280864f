"""The one engine of comparison: every candidate on the same splits of a case.

A case (`Case`) is data with a task, a table, ratings of people or a problem that can be
drawn again, and knows how it is split. The engine runs every candidate on every split,
and `Contest` has what was measured, the best first.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import floor, isnan, log10
from typing import ClassVar, Final, NamedTuple

import numpy as np

from peckorder import estimators
from peckorder._core.errors import refusal
from peckorder._core.parameters import SEED
from peckorder._core.typing import Bools, Floats, Ints
from peckorder._core.validation import did_you_mean, whole
from peckorder.comparison.candidates import Candidate, plain_name
from peckorder.comparison.measures import Measure, Measuring
from peckorder.exceptions import DataError
from peckorder.metrics import half_width

Progress = Callable[[int, int, str], None]

# Leaderboards have another name than its class for it.
_OF_CLASS: Final = {"aggregateprank": "oap-bpm (100 pranks)"}
# Rankers of other tasks exist too, whatever their names look like.
_RANKERS: Final = {name.lower(): name for name in (*estimators.__all__, "PersonalRanker")}
# What rankers are made for.
KINDS: Final = {
    "ordinal": "ordered classes",
    "magnitude": "real-valued relevance",
    "graded": "grades within queries",
    "ratings": "ratings of items by people",
    "runs": "ranked lists with judgements",
    "pairs": "pairs of items",
    "embedded": "embedded data",
}
# Relative; means of the same list by way of other scores may differ by as much.
_ROUNDING: Final = 1e-13
_WHY: Final = {
    "ap": "nothing is relevant",
    "disagreement": "all labels are the same",
    "ndcg": "nothing is relevant",
}


class Behind(NamedTuple):
    """How far a candidate is behind the first, on the same rows, queries or people."""

    mean: float
    half_width: float

    @property
    def is_level(self) -> bool:
        """Whether the 95 % interval contains zero: no difference was shown."""
        return not abs(self.mean) > self.half_width  # which may be unknown


@dataclass(slots=True, eq=False)
class Result:
    """What one candidate achieved.

    `values` has, for each measure, one value per unit (row, query, person, repetition);
    `answers` and `scores` are its predictions for each row when that was left out, after
    and before calibration, of those that `is_predicted`. `seconds`, `weights`, `curves`,
    `thresholds` and `chosen` describe its models, one per split.
    """

    name: str
    origin: str
    values: dict[str, Floats] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    answers: Floats | None = None
    scores: Floats | None = None
    is_predicted: Bools | None = None
    weights: list[Floats] = field(default_factory=list)
    curves: list[Floats] = field(default_factory=list)
    thresholds: list[Floats] = field(default_factory=list)
    chosen: list[Mapping[str, object]] = field(default_factory=list)
    can_be_saved: bool = True

    def mean(self, measure: Measure) -> float:
        """Return the mean over units for which the measure is defined."""
        return float(np.nanmean(self.values[measure.name]))

    @property
    def chosen_text(self) -> str:
        """The settings that were chosen in all folds."""
        names: dict[str, list[str]] = {}
        for chosen in self.chosen:
            for name, value in chosen.items():
                text = f"{value:.3g}" if isinstance(value, float) else str(value)
                names.setdefault(name, []).append(text)
        return "; ".join(
            f"{name} {texts[0] if len(set(texts)) == 1 else ', '.join(texts)}"
            for name, texts in names.items()
        )

    def record(
        self, rows: Ints, n_rows: int, scores: Floats, answers: Floats | None = None
    ) -> None:
        """Keep the predictions for rows that were left out, of `n_rows` in all."""
        if self.scores is None or self.answers is None or self.is_predicted is None:
            self.scores, self.answers = np.empty(n_rows), np.empty(n_rows)
            self.is_predicted = np.zeros(n_rows, dtype=bool)
        self.is_predicted[rows] = True
        self.scores[rows] = scores
        self.answers[rows] = scores if answers is None else answers

    def predictions(self) -> Floats:
        """Return the answers for all rows, each when it was left out."""
        assert self.answers is not None
        return self.answers


class Trial(NamedTuple):
    """One split of a case, by the name it has while it runs.

    `run` fits a candidate to some rows, and adds what it does on others to its result.
    """

    name: str
    run: Callable[[Candidate, Result], None]


class Plan(NamedTuple):
    """The splits of a case, and what makes values out of predictions.

    `measuring` returns that for the rows of some or all splits. `groups` has the groups
    of rows that are not independent of each other, queries or people as `group_name`
    says. `n_train_rows` are the rows to learn from, at least.
    """

    n_splits: int
    trials: Iterable[Trial]
    measuring: Callable[[Ints], Measuring] | None = None
    n_train_rows: int = 0
    groups: Ints | None = None
    group_name: str = ""


class Case(ABC):
    """What candidates are compared on: data, a task, and the way to split it.

    `measures` are those of the leaderboard, the one that decides first; `unit` is what
    one value of a measure belongs to; `spread` is how much wider than usual intervals
    are. `kind` is one of `KINDS`.
    """

    __slots__ = ()

    kind: str
    measures: tuple[Measure, ...]
    candidates: tuple[Candidate, ...]
    unit: str
    spread: float = 1.0

    # The option by which one says how many splits there are.
    split_option: ClassVar[str] = "folds"
    # A candidate that fails is left out, or else its error is raised.
    leaves_out_failures: ClassVar[bool] = True

    @abstractmethod
    def plan(self, n_splits: int, seed: int) -> Plan:
        """Return the splits, at most so many if the case has not enough rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """All results, the best first, and which candidates were left out for what reason.

    `unit` is what one value of a measure belongs to. Where values of rows came in
    groups, queries or people as `group_name` says, `groups` has them.
    """

    measures: tuple[Measure, ...]
    results: tuple[Result, ...]
    left_out: tuple[tuple[str, str], ...]
    n_splits: int
    seed: int
    unit: str
    spread: float = 1.0
    groups: Ints | None = None
    group_name: str = ""

    @property
    def interval_unit(self) -> str:
        """What intervals are over."""
        return self.group_name or self.unit

    @property
    def best(self) -> Result:
        """The first of all."""
        return self.results[0]

    @property
    def best_saved(self) -> Result | None:
        """The best of those that can be saved."""
        return next((result for result in self.results if result.can_be_saved), None)

    @property
    def undefined(self) -> dict[str, int]:
        """How many queries or people have no value of a measure, if some have none."""
        if self.unit == "rows":
            return {}
        counts = {m.name: int(np.isnan(self.best.values[m.name]).sum()) for m in self.measures}
        return {name: n for name, n in counts.items() if n}

    def undefined_notes(self) -> list[str]:
        """Say which measures leave out how many queries or people, and why."""
        notes = []
        for name, n in self.undefined.items():
            n_all = len(self.best.values[name])
            word = name.partition("@")[0]
            why = _WHY.get(word, "it is undefined")
            notes.append(f"{name} leaves out {n:,} of {n_all:,} {self.unit}, in which {why}.")
        return notes

    def half_width(self, values: Floats) -> float:
        """Return half the 95 % interval of a mean over units."""
        is_defined = ~np.isnan(values)
        groups = None if self.groups is None else self.groups[is_defined]
        return self.spread * float(half_width(values[is_defined], groups))

    def behind(self, result: Result) -> Behind:
        """Return by how much a candidate is worse than the first; paired."""
        measure = self.measures[0]
        sign = -1.0 if measure.larger_is_better else 1.0
        values, best = result.values[measure.name], self.best.values[measure.name]
        gap = sign * (values - best)
        # Else rankers of equal orders may differ by rounding, always in one direction.
        gap[np.abs(gap) <= _ROUNDING * np.maximum(np.abs(values), np.abs(best))] = 0.0
        return Behind(float(np.nanmean(gap)), self.half_width(gap))

    def level(self) -> tuple[Result, ...]:
        """Return those that were not shown to differ from the first."""
        others = self.results[1:]
        return tuple(other for other in others if self.behind(other).is_level)

    @property
    def summary(self) -> str:
        """Which candidate is first, and which were not shown to differ from it."""
        level = [result.name for result in self.level()]
        if len(self.results) == 1:
            return f"{self.best.name} is alone: there is nothing to compare it with."
        if not level:
            return f"{self.best.name} is first, and no other is level with it."
        return f"{self.best.name} is first; no difference from {listed(level)} was shown (≈)."

    def written(self, result: Result, measure: Measure) -> str:
        """Return the mean of a measure as text."""
        n = self._decimals(measure)
        return f"{round(result.mean(measure), n) + 0.0:.{n}f}"  # 0 without a sign

    def behind_text(self, result: Result) -> str:
        """Return how far behind as text, marked where no difference was shown."""
        if result is self.best:
            return ""
        behind, n = self.behind(result), self._decimals(self.measures[0])
        level = " ≈" if behind.is_level else ""
        return f"{behind.mean:.{n}f} ± {behind.half_width:.{n}f}{level}"

    def _decimals(self, measure: Measure) -> int:
        """Return how many decimals give the best mean four figures."""
        size = abs(self.best.mean(measure))
        return 4 if size == 0 or isnan(size) else min(max(3 - floor(log10(size)), 0), 8)

    def leaderboard_row(self, result: Result, *, with_half: bool = False) -> list[str]:
        """Return what a leaderboard has: of the first measure, behind, of the others.

        `with_half`: the first has half its interval.
        """
        first, *others = self.measures
        value = self.written(result, first)
        if with_half:
            half = self.half_width(result.values[first.name])
            value += f" ± {half:.{self._decimals(first)}f}"
        behind = self.behind_text(result)
        return [value, behind, *(self.written(result, measure) for measure in others)]


class Interrupted(KeyboardInterrupt):
    """An interrupt, with the contest on those splits that every candidate was run on."""

    def __init__(self, contest: Contest) -> None:
        super().__init__(f"Interrupted after {contest.n_splits} splits; nothing was written.")
        self.contest = contest


def entries(contest: Contest) -> list[dict[str, object]]:
    """Return what is known of each candidate, the best first, with plain names."""
    first = contest.measures[0]
    found: list[dict[str, object]] = []
    for result in contest.results:
        behind = contest.behind(result)
        found.append(
            {
                "ranker": result.name,
                "from": result.origin or "baseline",
                **{measure.name: result.mean(measure) for measure in contest.measures},
                "half_width": contest.half_width(result.values[first.name]),
                "behind": behind.mean,
                "behind_half_width": behind.half_width,
                "level_with_the_first": result is contest.best or behind.is_level,
                "seconds_to_fit": float(np.median(result.seconds)) if result.seconds else None,
                "chosen": result.chosen_text,
            }
        )
    return found


def listed(names: Sequence[str]) -> str:
    """Return names as an enumeration."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def run_contest(
    case: Case,
    *,
    n_splits: int = 5,
    seed: int = 0,
    only: Iterable[str] | None = None,
    on_progress: Progress | None = None,
    on_part: Callable[[Contest], None] | None = None,
) -> Contest:
    """Fit and measure all candidates of a case on the same splits.

    Parameters
    ----------
    case : Case
        What they are compared on.
    n_splits : int, default=5
        How many folds, each left out once, or how many repetitions.
    seed : int, default=0
        Decides the splits and all that is random in candidates.
    only : iterable of str, default=None
        The candidates that take part; baselines always do.
    on_progress : callable, default=None
        Called with (steps done, steps in all, what comes next).
    on_part : callable, default=None
        Called with the contest on the splits done so far, after each of a table but the last.

    Returns
    -------
    contest : Contest
        The results, the best first.
    """
    whole(2).check(case.split_option, n_splits)
    SEED.check("seed", seed)
    taking_part = choose_candidates(case.kind, case.candidates, only)
    plan = case.plan(n_splits, seed)
    candidates, left_out = [], []
    for candidate in taking_part:
        most = candidate.most_rows
        if most is None or plan.n_train_rows <= most:
            candidates.append(candidate)
        else:
            left_out.append((candidate.name, f"more than {most:,} rows to learn from"))
    results = {c.name: Result(c.name, c.origin, can_be_saved=c.can_be_saved) for c in candidates}
    report_progress = on_progress or (lambda done, total, label: None)
    n_done, n_steps = 0, plan.n_splits * sum(bool(c.origin) for c in candidates)
    n_whole, rows = 0, None

    def part() -> Contest:
        measured = _measured(case, plan, results, rows)
        return replace(measured, n_splits=n_whole, left_out=tuple(left_out))

    try:
        for trial in plan.trials:
            for candidate in candidates:
                if candidate.origin:  # baselines take no time
                    report_progress(n_done, n_steps, f"{trial.name}: {candidate.name}")
                    n_done += 1
                if candidate.name not in results:
                    continue
                if not case.leaves_out_failures:
                    trial.run(candidate, results[candidate.name])
                    continue
                try:
                    with warnings.catch_warnings():
                        # Of thousands of fits on parts of the data; the leaderboard tells.
                        warnings.simplefilter("ignore")
                        trial.run(candidate, results[candidate.name])
                except Exception as error:  # those of other packages may be of any class
                    left_out.append((candidate.name, _reason(error)))
                    del results[candidate.name]
            n_whole += 1
            masks = (result.is_predicted for result in results.values())
            rows = next((np.flatnonzero(mask) for mask in masks if mask is not None), None)
            if on_part is not None and rows is not None and n_whole < plan.n_splits:
                with suppress(DataError):  # a measure may be undefined as yet
                    on_part(part())
    except KeyboardInterrupt:
        if rows is None:
            raise
        raise Interrupted(part()) from None
    report_progress(n_steps, n_steps, "measuring")
    contest = _measured(case, plan, results, rows)
    return replace(contest, seed=seed, left_out=tuple(left_out))


def _measured(case: Case, plan: Plan, results: Mapping[str, Result], rows: Ints | None) -> Contest:
    """Return the contest as far as rows have predictions."""
    groups = plan.groups
    if plan.measuring is not None and rows is not None:
        groups = None if groups is None else groups[rows]
        measuring = plan.measuring(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for result in results.values():
                result.values.update(measuring(result.predictions()[rows]))
    return Contest(
        measures=case.measures,
        results=ranked(results.values(), case.measures[0]),
        left_out=(),
        n_splits=plan.n_splits,
        seed=0,
        unit=case.unit,
        spread=case.spread,
        groups=groups,
        group_name=plan.group_name,
    )


def _reason(error: Exception) -> str:
    """Return the first line of an error, or at least its class."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text if isinstance(error, DataError) else f"failed: {text}"


def choose_candidates(
    kind: str, candidates: tuple[Candidate, ...], only: Iterable[str] | None
) -> tuple[Candidate, ...]:
    """Return the candidates of these names, and all baselines."""
    if only is None:
        return candidates
    names = [candidate.name for candidate in candidates if candidate.origin]
    chosen = set()
    for name in _separate_names(only, set(map(plain_name, names))):
        alike = {plain_name(name), _OF_CLASS.get(plain_name(name))}
        same = [other for other in names if plain_name(other) in alike]
        if not same:
            hint = did_you_mean(name, names, {})
            if name.lower() in _RANKERS:
                hint = f" {_RANKERS[name.lower()]} is not for {KINDS[kind]}."
            raise refusal(
                "rankers", f"be some of {', '.join(map(repr, names))}", repr(name), hint=hint
            )
        chosen.update(same)
    return tuple(c for c in candidates if not c.origin or c.name in chosen)


def _separate_names(only: Iterable[str], names: Collection[str]) -> Iterator[str]:
    """Yield names one by one, also of several with commas between."""
    for name in only:
        if plain_name(name) in names or "," not in name:
            yield name
        else:
            yield from filter(None, map(str.strip, name.split(",")))


def ranked(results: Iterable[Result], first: Measure) -> tuple[Result, ...]:
    """Put the best first; of equals, what was entered first."""
    sign = -1.0 if first.larger_is_better else 1.0
    kept = tuple(results)
    if not kept or np.isnan([result.mean(first) for result in kept]).any():
        raise refusal(
            first.name, "be defined somewhere, of labels that differ", "none to measure it on"
        )
    return tuple(sorted(kept, key=lambda result: sign * result.mean(first)))
