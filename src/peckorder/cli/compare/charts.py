"""The charts of a contest, and the values that they show."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from peckorder._core.typing import Array, Floats, Ints
from peckorder.comparison.contest import Contest, Result
from peckorder.comparison.measures import Measure, Measuring, of_lists, of_runs
from peckorder.comparison.ratings_case import HeldOutRatings, RatingsCase
from peckorder.comparison.table_case import TableCase
from peckorder.comparison.tuning import ROUNDS
from peckorder.reports import Cell, Chart, Curve, Dot, Dots, Section, Table

# More lines than these are hard to distinguish in a chart.
_MOST_LINES: Final = 6
# Of classes, whatever decides: other measures are no means over rows of one class.
_STEPS: Final = Measure("mean rank loss")
_MOST_BY_CLASS: Final = 3
_MOST_FEATURES: Final = 15
_MOST_PAIRS: Final = 2_000_000
_N_BINS: Final = 10
CUTOFFS: Final = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20])
NDCGS: Final = [f"ndcg@{k}" for k in CUTOFFS.tolist()]


def pictures(case: TableCase | RatingsCase, contest: Contest) -> tuple[Section, ...]:
    """Return the sections with charts."""
    shown = _shown(contest)
    where: list[Chart | Dots] = []
    inside: list[Chart | Dots | None] = []
    tables: list[Table] = []
    if isinstance(case, RatingsCase):
        held_out = case.held_out(contest.seed)
        person = np.unique(held_out.user, return_inverse=True)[1]
        if held_out.value.min() >= 0:  # else they are no gains
            where.append(_cutoffs(of_lists(held_out.value, person, NDCGS), person, shown))
        where.append(_by_known(contest, held_out, shown))
        where.append(_won(contest, shown))
    else:
        if case.kind == "ordinal":
            where.append(_by_class(case, contest, shown))
            tables.append(_confusion(case, contest))
        if case.qid is not None:
            if case.y.min() >= 0:
                measuring = of_lists(case.y, case.qid, NDCGS)
                if case.kind == "runs":
                    measuring = of_runs(case.y, case.qid, case.unlisted, NDCGS)
                where.append(_cutoffs(measuring, case.qid, shown))
            where.append(_won(contest, shown, _STEPS if case.kind == "ordinal" else None))
        elif case.kind == "magnitude":
            where.append(_by_size(case, contest, shown))
        inside = [
            _rounds(case, contest),
            _reliability(case, contest),
            _weights(case, contest, "MPRank", "weight of a standardised feature"),
            _weights(case, contest, "RankBoost", "share in what was learnt"),
            _thresholds(case, contest),
        ]
    sections = [
        Section("Where each ranker wins", (), tuple(tables), tuple(where)),
        Section("Inside the rankers", charts=tuple(filter(None, inside))),
    ]
    return tuple(s for s in sections if s.charts or s.tables)


def _shown(contest: Contest) -> list[Result]:
    """Return the first few, and the best baseline."""
    first = [result for result in contest.results if result.origin][:_MOST_LINES]
    baselines = [result for result in contest.results if not result.origin][:1]
    return [*first, *baselines]


def behind_chart(contest: Contest) -> Dots | None:
    """Draw how far the others are behind the first, if there are others."""
    dots = []
    for result in contest.results[1:]:
        mean, half = contest.behind(result)
        dots.append(Dot(result.name, mean, mean - half, mean + half))
    if not dots:
        return None
    return Dots(
        f"Behind {contest.best.name}",
        f"{contest.measures[0].name}: how much worse",
        tuple(dots),
        f"The further left the better. Lines are 95 % intervals of paired differences "
        f"over {contest.interval_unit}; those that cross the dashed line were not "
        "shown to differ from the first. They are about the rows left out: how models "
        "would vary if learnt from other rows is not in them, and the first of many is "
        "a little lucky.",
        (contest.best.name, 0.0),
    )


def _cutoffs(measuring: Measuring, qid: Ints, shown: Sequence[Result]) -> Chart:
    """Draw the NDCG of the first ranks; `measuring` takes it at all of `CUTOFFS`."""
    n_points = max(1, int((np.bincount(qid).max() >= CUTOFFS).sum()))
    curves = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for result in shown:
            if not result.origin:
                continue
            values = measuring(result.predictions())
            means = [np.nanmean(values[name]) for name in NDCGS[:n_points]]
            curves.append(Curve(result.name, CUTOFFS[:n_points], np.array(means)))
    return Chart(
        "How good the top of the list is",
        "first places of the list",
        "NDCG",
        tuple(curves),
        "Mean NDCG over the first places, from one place to twenty.",
        log_x=True,
    )


def _won(contest: Contest, shown: Sequence[Result], measure: Measure | None = None) -> Dots:
    deciding = contest.measures[0] if measure is None else measure
    shares = 100 * shares_won(shown, deciding)
    return Dots(
        f"Who is best on how many {contest.unit}",
        f"percent of {contest.unit}",
        tuple(Dot(r.name, float(s)) for r, s in zip(shown, shares, strict=True)),
        f"The share of {contest.unit} on which each has the best {deciding.name} of those "
        "shown; where some are equal they share it.",
        ("", 0.0),
    )


def _by_class(case: TableCase, contest: Contest, shown: Sequence[Result]) -> Chart:
    assert case.classes is not None
    # More lines of points that are nearly the same cannot be distinguished.
    rankers, baselines = ([r for r in shown if bool(r.origin) is k] for k in (True, False))
    shown = [*rankers[:_MOST_BY_CLASS], *baselines]
    levels = range(len(case.classes))
    numbers = [c for c in case.classes if isinstance(c, int | float)]
    has_scale = len(numbers) == len(levels) and bool((np.diff(numbers) > 0).all())
    x = np.array(numbers if has_scale else levels, dtype=float)
    return Chart(
        "Which classes are hard",
        f"true {case.target}" if has_scale else "true class, 0 the lowest",
        _STEPS.name,
        _curves_by(_STEPS.name, shown, x, case.y, levels),
        "The mean number of steps off, of rows of each class. Rare classes at the ends "
        "are where rankers differ most.",
    )


def _confusion(case: TableCase, contest: Contest) -> Table:
    assert case.classes is not None
    n = len(case.classes)
    table = confusion(case.y.astype(np.int64), contest.best.predictions().astype(np.int64), n)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (str(name), *row) for name, row in zip(case.classes, table.tolist(), strict=True)
    )
    return Table(
        ("true class", *(f"said {name}" for name in case.classes)),
        rows,
        f"What {contest.best.name} takes rows of each class for, when left out.",
    )


def _by_size(case: TableCase, contest: Contest, shown: Sequence[Result]) -> Chart:
    """Draw the loss of rows by tenths of the target."""
    measure = contest.measures[0].name
    weighing = ""
    if measure == "disagreement":
        weighing = ", rows that have few with another label weighing less"
    # The root is of a mean, also of that of a part.
    inner = "msd" if measure == "rmsd" else measure
    order = np.argsort(case.y, kind="stable")
    tenth = np.empty(len(order), dtype=np.int64)
    tenth[order] = np.arange(len(order)) * 10 // len(order)
    middles = np.array([np.median(case.y[tenth == k]) for k in range(10)])
    return Chart(
        "Which rows are hard",
        case.target,
        measure,
        tuple(
            replace(curve, y=np.sqrt(curve.y)) if inner != measure else curve
            for curve in _curves_by(inner, shown, middles, tenth, range(10))
        ),
        f"Rows in ten parts of equal size by their {case.target}: the mean over pairs "
        f"of each part's rows with all others of their fold{weighing}.",
    )


def _by_known(contest: Contest, held_out: HeldOutRatings, shown: Sequence[Result]) -> Chart:
    _, first = np.unique(held_out.user, return_index=True)
    n_known = held_out.n_known[first]
    cuts = np.unique(np.quantile(n_known, [0.2, 0.4, 0.6, 0.8]))
    fifth = np.searchsorted(cuts, n_known, side="right")
    fifths = np.unique(fifth).tolist()
    middles = np.array([np.median(n_known[fifth == k]) for k in fifths])
    return Chart(
        "Few ratings or many",
        "known ratings of a person",
        contest.measures[0].name,
        _curves_by(contest.measures[0].name, shown, middles, fifth, fifths),
        "People in fifths by how many of their ratings were known; a point stands at "
        "the median of its fifth.",
        log_x=True,
    )


def _rounds(case: TableCase, contest: Contest) -> Chart | None:
    """Draw how the loss falls with the rounds of boosting."""
    first = contest.measures[0]
    # Boosting knows neither steps nor distances.
    of_pairs = case.kind in ("ordinal", "magnitude")
    curves = []
    for result in contest.results:
        if result.curves:
            # They are of losses: less is better.
            sign = -1 if first.larger_is_better and not of_pairs else 1
            table = sign * np.stack(result.curves)
            mean, ends = table.mean(axis=0), (table.min(axis=0), table.max(axis=0))
            curves.append(Curve(result.name, np.array(ROUNDS), mean, *ends))
    if not curves:
        return None
    return Chart(
        "Boosting, round by round",
        "rounds",
        "disagreement" if of_pairs else first.name,
        tuple(curves),
        "On rows left out of what was learnt from, by which the number of rounds "
        "is chosen: the mean over folds, and the least and most.",
        log_x=True,
    )


def _reliability(case: TableCase, contest: Contest) -> Chart | None:
    """Draw, for MPRank on classes and magnitudes, what predicted distances are worth."""
    if case.kind not in ("ordinal", "magnitude"):
        return None
    curves = []
    group = np.zeros(len(case.y), dtype=np.int64) if case.qid is None else case.qid
    for result in contest.results:
        if not result.name.startswith("MPRank"):
            continue
        assert result.scores is not None
        pairs = reliability(case.y, result.scores, group)
        if pairs is not None:
            # Quartiles of a few classes would be steps.
            curves.append(Curve(result.name, *(pairs[:2] if case.classes else pairs)))
    if not curves:
        return None
    ends = np.array([0.0, max(float(curve.x[-1]) for curve in curves)])
    unit = "classes" if case.classes else case.target
    return Chart(
        "Are predicted distances true?",
        f"predicted distance of a pair ({unit})",
        "true distance",
        (*curves, Curve("as predicted", ends, ends)),
        "Pairs of rows left out, in ten parts by how far apart they were "
        "predicted: the mean of their true distances, in the predicted direction"
        f"{'' if case.classes else ', and the quartiles'}. Above the straight line "
        "pairs are further apart than predicted.",
    )


def _weights(case: TableCase, contest: Contest, name: str, axis: str) -> Dots | None:
    """Draw the features that weigh most in the models of all folds."""
    result = _result_of(contest, name)
    if result is None or not result.weights or (case.kind == "runs" and name != "RankBoost"):
        return None
    table = np.stack(result.weights)
    largest = np.argsort(-np.abs(table.mean(axis=0)), kind="stable")[:_MOST_FEATURES]
    return Dots(
        f"What {name} goes by",
        axis,
        tuple(_dot(case.features[k], table[:, k]) for k in largest.tolist()),
        f"The {len(largest)} features that weigh most: means over "
        "folds, and the least and most of them.",
        ("", 0.0),
    )


def _thresholds(case: TableCase, contest: Contest) -> Dots | None:
    """Draw where MPRank's scores are cut into classes."""
    result = _result_of(contest, "MPRank")
    if result is None or case.classes is None or not result.thresholds:
        return None
    names = zip(case.classes[:-1], case.classes[1:], strict=True)
    dots = tuple(
        _dot(f"{low} | {high}", values)
        for (low, high), values in zip(names, np.stack(result.thresholds).T, strict=True)
        if np.isfinite(values).all()
    )
    if not dots:
        return None
    return Dots(
        "Where MPRank's scores are cut into classes",
        "score, in steps above the lowest class",
        dots,
        "Thresholds that lose the fewest steps on rows left out: means over folds, "
        "and the least and most. A class between two that stand close is rarely "
        "said.",
    )


def _result_of(contest: Contest, name: str) -> Result | None:
    return next((result for result in contest.results if result.name == name), None)


def _dot(label: str, values: Floats) -> Dot:
    """Return the mean of values, one per fold, with the least and most."""
    return Dot(label, float(values.mean()), float(values.min()), float(values.max()))


class Reliability(NamedTuple):
    """Pairs by how far apart they were predicted: means predicted, means true."""

    predicted: Floats
    true: Floats
    low: Floats
    high: Floats


def reliability(y: Floats, scores: Floats, group: Ints) -> Reliability | None:
    """Compare predicted distances with true ones, over pairs of a group.

    Pairs are turned so that the predicted distance is positive, and divided into ten
    bins of equal size. The limits are quartiles of true distances.
    """
    rng = np.random.default_rng(0)
    predicted, true = [], []
    groups = np.unique(group)
    for k in groups.tolist():
        rows = np.flatnonzero(group == k)
        n_pairs = min(_MOST_PAIRS // len(groups), len(rows) * (len(rows) - 1) // 2)
        first = rng.integers(0, len(rows), n_pairs)
        second = rng.integers(0, len(rows), n_pairs)
        gap = scores[rows[first]] - scores[rows[second]]
        truth = y[rows[first]] - y[rows[second]]
        kept = gap != 0
        predicted.append(np.abs(gap[kept]))
        true.append(truth[kept] * np.sign(gap[kept]))
    distance, truth = np.concatenate(predicted), np.concatenate(true)
    if len(distance) < 10 * _N_BINS:
        return None
    bins = np.array_split(np.argsort(distance, kind="stable"), _N_BINS)
    quartiles = np.array([np.quantile(truth[rows], [0.25, 0.75]) for rows in bins])
    return Reliability(
        np.array([distance[rows].mean() for rows in bins]),
        np.array([truth[rows].mean() for rows in bins]),
        quartiles[:, 0],
        quartiles[:, 1],
    )


def shares_won(results: Sequence[Result], measure: Measure) -> Floats:
    """Return the share of units on which each ranker is best; equals share it."""
    sign = -1.0 if measure.larger_is_better else 1.0
    table = np.stack([sign * result.values[measure.name] for result in results])
    table = table[:, ~np.isnan(table).any(axis=0)]
    is_best = table == table.min(axis=0)
    return np.asarray((is_best / is_best.sum(axis=0)).mean(axis=1))


def _curves_by(
    measure: str, shown: Sequence[Result], x: Floats, part_of: Array, parts: Sequence[int]
) -> tuple[Curve, ...]:
    """Return the means of a measure over the units of each part; NaN for none."""
    curves = []
    for result in shown:
        values = result.values[measure]
        means = []
        for k in parts:
            inside = values[(part_of == k) & ~np.isnan(values)]
            means.append(inside.mean() if len(inside) else np.nan)
        curves.append(Curve(result.name, x, np.array(means)))
    return tuple(curves)


def confusion(levels: Ints, guesses: Ints, n_levels: int) -> Ints:
    """Return how often each level (row) was predicted as each level (column)."""
    table = np.zeros((n_levels, n_levels), dtype=np.int64)
    np.add.at(table, (levels, guesses), 1)
    return table
