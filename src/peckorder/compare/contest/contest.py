"""The contest: every ranker on the same folds, measured on rows it has not seen."""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

from peckorder import estimators
from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import whole
from peckorder.compare.candidates.calibration import fit
from peckorder.compare.candidates.registry import Entrant, Setting
from peckorder.compare.contest.case import Case
from peckorder.compare.contest.measures import Measure
from peckorder.compare.embedded.run import SEED
from peckorder.exceptions import DataError
from peckorder.metrics import half_width
from peckorder.tables.features import Scaling

Tell = Callable[[int, int, str], None]

# Those of other tasks exist too, whatever their names look like.
_RANKERS: Final = {
    name.lower(): name for name in (*estimators.__all__, "PersonalRanker")
}


class Behind(NamedTuple):
    """How far a ranker is behind the first, on the same rows, queries or people."""

    mean: float
    half_width: float

    @property
    def is_level(self) -> bool:
        """Whether the 95 % interval holds zero: the two cannot be told apart."""
        return not abs(self.mean) > self.half_width  # which may be unknown


@dataclass(slots=True, eq=False)
class Result:
    """How one ranker fared.

    `values` has, for each measure, one value a unit (row, query, person); `answers` and
    `scores` what it said of each row when that was left out, before and after scores
    were turned into answers. `weights`, `curves`, `thresholds` and `chosen` are what
    can be seen of its models, one a fold.
    """

    name: str
    home: str
    values: dict[str, Floats] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    answers: Floats | None = None
    scores: Floats | None = None
    weights: list[Floats] = field(default_factory=list)
    curves: list[Floats] = field(default_factory=list)
    thresholds: list[Floats] = field(default_factory=list)
    chosen: list[Mapping[str, Any]] = field(default_factory=list)

    def mean(self, measure: Measure) -> float:
        """Return the mean over units for which the measure is defined."""
        return float(np.nanmean(self.values[measure.name]))


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """All results, the best first, and who was left out for which reason.

    `unit` is what a value of a measure is of. Where values of rows came in groups,
    queries or people as `called` says, `groups` has them: rows of a group are not
    independent.
    """

    measures: tuple[Measure, ...]
    results: tuple[Result, ...]
    left_out: tuple[tuple[str, str], ...]
    n_folds: int
    seed: int
    unit: str
    spread: float = 1.0
    groups: Ints | None = None
    called: str = ""

    @property
    def over(self) -> str:
        """What intervals are over."""
        return self.called or self.unit

    @property
    def best(self) -> Result:
        """The first of all."""
        return self.results[0]

    def half_width(self, values: Floats) -> float:
        """Return half the 95 % interval of a mean over units."""
        is_defined = ~np.isnan(values)
        groups = None if self.groups is None else self.groups[is_defined]
        return self.spread * float(half_width(values[is_defined], groups))

    def behind(self, result: Result, measure: Measure | None = None) -> Behind:
        """Return by how much a ranker is worse than the first; paired."""
        measure = measure or self.measures[0]
        sign = -1.0 if measure.larger_is_better else 1.0
        gap = sign * (result.values[measure.name] - self.best.values[measure.name])
        return Behind(float(np.nanmean(gap)), self.half_width(gap))

    def level(self) -> tuple[Result, ...]:
        """Return those who cannot be told from the first."""
        others = self.results[1:]
        return tuple(other for other in others if self.behind(other).is_level)


def hold(
    case: Case,
    *,
    folds: int = 5,
    seed: int = 0,
    only: Iterable[str] | None = None,
    on_progress: Tell | None = None,
) -> Contest:
    """Cross-validate all rankers of a case.

    Parameters
    ----------
    case : Case
        The table, as `make_case` returns it.
    folds : int, default=5
        Into how many parts rows, or queries, are divided. Each is left out once; what
        a ranker says of it then is measured.
    seed : int, default=0
        Decides the folds and all that is random in rankers.
    only : iterable of str, default=None
        The rankers that take part; what knows nothing always does.
    on_progress : callable, default=None
        Called with (steps done, steps in all, what comes next).

    Returns
    -------
    contest : Contest
        The results, the best first.
    """
    whole(2).check("compare", "folds", folds)
    SEED.check("compare", "seed", seed)
    taking = choose(case.entrants, only)
    fold = case.folds(folds, seed)
    n_folds = int(fold.max()) + 1
    n_learnt = int(len(fold) - np.bincount(fold).max())
    left_out = []
    playing: list[Entrant] = []
    for entrant in taking:
        if entrant.most_rows is not None and n_learnt > entrant.most_rows:
            why = f"more than {entrant.most_rows:,} rows to learn from"
            left_out.append((entrant.name, why))
        else:
            playing.append(entrant)
    results = {
        e.name: Result(
            e.name, e.home, answers=np.empty(len(fold)), scores=np.empty(len(fold))
        )
        for e in playing
    }
    tell = on_progress or (lambda done, total, label: None)
    done, total = 0, n_folds * len(playing)
    setting = case.setting(seed)
    for k in range(n_folds):
        split = _Split.of(case, fold, k)
        for entrant in playing:
            tell(done, total, f"fold {k + 1}: {entrant.name}")
            done += 1
            if entrant.name in results:
                result = results[entrant.name]
                why = _try(entrant, setting, split, result)
                if why:
                    left_out.append((entrant.name, why))
                    del results[entrant.name]
    tell(total, total, "measuring")
    measuring = case.measuring(fold)
    for result in results.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert result.answers is not None
            result.values.update(measuring(result.answers))
    groups = case.groups if case.unit == "rows" else None
    return Contest(
        case.measures,
        ranked(results.values(), case.measures[0]),
        tuple(left_out),
        n_folds,
        seed,
        case.unit,
        case.spread,
        groups,
        "" if groups is None else "people" if case.qid is None else "queries",
    )


def choose(
    entrants: tuple[Entrant, ...], only: Iterable[str] | None
) -> tuple[Entrant, ...]:
    """Return those who were asked for, and what knows nothing."""
    if only is None:
        return entrants
    names = [entrant.name for entrant in entrants if entrant.home]
    small = {known.lower(): known for known in names}
    wanted = set()
    for name in split_names(only, small):
        near = [known for known in names if known.lower() == name.lower()]
        if not near:
            close = [small[word] for word in get_close_matches(name.lower(), small)]
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            if name.lower() in _RANKERS:
                hint = f" {_RANKERS[name.lower()]} is not for this task."
            raise DataError(
                f"compare: rankers must be some of {', '.join(map(repr, names))}; got "
                f"{name!r}.{hint}"
            )
        wanted.update(near)
    return tuple(e for e in entrants if not e.home or e.name in wanted)


def split_names(only: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """Yield names one by one, also of several with commas between."""
    for name in only:
        if name.lower() in known or "," not in name:
            yield name
        else:
            yield from filter(None, map(str.strip, name.split(",")))


def ranked(results: Iterable[Result], first: Measure) -> tuple[Result, ...]:
    """Put the best first; of equals, what was entered first."""
    sign = -1.0 if first.larger_is_better else 1.0
    kept = tuple(results)
    if not kept or np.isnan([result.mean(first) for result in kept]).any():
        raise DataError(
            f"compare: {first.name} must be defined somewhere, of labels that differ; "
            "got none to measure it on."
        )
    return tuple(sorted(kept, key=lambda result: sign * result.mean(first)))


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """One fold: rows to learn from and rows left out, as they are and scaled."""

    plain: tuple[Floats, Floats]
    scaled: tuple[Floats, Floats]
    y: Floats
    qid: Ints | None
    groups: Ints | None
    test: Ints

    @classmethod
    def of(cls, case: Case, fold: Ints, k: int) -> "_Split":
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        plain = case.X[train], case.X[test]
        scaling = Scaling.learn(plain[0])
        scaled = scaling.apply(plain[0]), scaling.apply(plain[1])
        qid = None if case.qid is None else case.qid[train]
        groups = None if case.groups is None else case.groups[train]
        return cls(plain, scaled, case.y[train], qid, groups, test)


def _try(entrant: Entrant, setting: Setting, split: _Split, result: Result) -> str:
    """Fit one ranker on one fold and keep what it says; return why it could not."""
    X_train, X_test = split.scaled if entrant.scaled else split.plain
    try:
        with warnings.catch_warnings():
            # Of thousands of fits on parts of the data; the leaderboard tells.
            warnings.simplefilter("ignore")
            begin = perf_counter()
            model = fit(
                entrant.make(setting), X_train, split.y, split.qid, split.groups
            )
            result.seconds.append(perf_counter() - begin)
            scores = getattr(model, "scorer_", model).predict(X_test)
            is_finished = hasattr(model, "answer")
            answers = model.answer(scores) if is_finished else scores
    except Exception as error:  # those of other packages may be of any kind
        return f"failed: {reason(error)}"
    assert result.answers is not None
    assert result.scores is not None
    result.answers[split.test], result.scores[split.test] = answers, scores
    _look(model, setting.n_features, result)
    return ""


def reason(error: Exception) -> str:
    """Return the first line of an error, or at least its kind."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _look(model: Any, n_features: int, result: Result) -> None:
    """Keep what can be seen of a fitted model."""
    chosen: dict[str, Any] = {}
    inner: Any = model
    while inner is not None:
        seen = vars(inner)
        chosen |= seen.get("chosen_", {})
        for name, attribute in (("C", "C_"), ("gamma", "gamma_"), ("alpha", "alpha_")):
            if seen.get(attribute) is not None:
                chosen[name] = float(seen[attribute])
        if "curve_" in seen:
            result.curves.append(seen["curve_"])
        if "thresholds_" in seen:
            result.thresholds.append(np.asarray(seen["thresholds_"], dtype=float))
        for attribute in ("coef_", "feature_importances_"):
            if attribute in seen or attribute == "feature_importances_":
                weights = np.asarray(getattr(inner, attribute, np.nan), dtype=float)
                if weights.shape == (n_features,):
                    result.weights.append(weights)
                    break
        inner = seen.get("scorer_", seen.get("model_"))
    result.chosen.append(chosen)
