"""The pictures of a contest: what each task lets one see."""

import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from peckorder.compare.candidates.tuning import ROUNDS
from peckorder.compare.contest.case import Case
from peckorder.compare.contest.contest import Contest, Result
from peckorder.compare.contest.findings import (
    CUTOFFS,
    confusion,
    means_by,
    reliability,
    shares_won,
    weights,
)
from peckorder.compare.contest.measures import Measuring, of_lists, of_runs
from peckorder.compare.contest.ratings import Asked, RatingsCase
from peckorder.reports import Chart, Curve, Dot, Dots, Section, Table

# More lines than these cannot be told apart in a picture.
_MOST_LINES: Final = 6
_MOST_BY_CLASS: Final = 3
NDCGS: Final = [f"ndcg@{k}" for k in CUTOFFS.tolist()]


def pictures(
    case: Case | RatingsCase, contest: Contest, asked: Asked | None
) -> tuple[Section, ...]:
    """Return the sections with pictures."""
    shown = _shown(contest)
    rankers = [result for result in shown if result.home]
    where: list[Chart | Dots] = []
    tables: list[Table] = []
    if isinstance(case, RatingsCase):
        assert asked is not None
        place = np.unique(asked.user, return_inverse=True)[1]
        measuring = of_lists(asked.value, place, NDCGS)
        longest = int(np.bincount(place).max())
        if asked.value.min() >= 0:  # else they are no gains
            where.append(_cutoffs(measuring, longest, rankers))
        where.append(_by_known(contest, asked, shown))
        where.append(_won(contest, shown))
        return (Section("Where each ranker wins", charts=tuple(where)),)
    inside: list[Chart | Dots] = []
    if case.kind == "ordinal":
        where.append(_by_class(case, contest, shown))
        tables.append(_confusion(case, contest))
    if case.qid is not None:
        measuring = (
            of_runs(case.y, case.qid, case.unlisted, NDCGS)
            if case.kind == "runs"
            else of_lists(case.y, case.qid, NDCGS)
        )
        longest = int(np.bincount(case.qid).max())
        if case.y.min() >= 0:
            where.append(_cutoffs(measuring, longest, rankers))
        where.append(_won(contest, shown))
    if case.kind == "magnitude" and case.qid is None:
        where.append(_by_size(case, contest, shown))
    inside += _rounds(contest)
    if case.kind in ("ordinal", "magnitude"):
        inside += _reliability(case, contest)
    inside += _weights(case, contest)
    inside += _thresholds(case, contest)
    sections = [
        Section("Where each ranker wins", (), tuple(tables), tuple(where)),
        Section("Inside the rankers", charts=tuple(inside)),
    ]
    return tuple(s for s in sections if s.charts or s.tables)


def _shown(contest: Contest) -> list[Result]:
    """Return the first few, and the best of what knows nothing."""
    first = [result for result in contest.results if result.home][:_MOST_LINES]
    floor = [result for result in contest.results if not result.home][:1]
    return [*first, *floor]


def _cutoffs(measuring: Measuring, longest: int, shown: Sequence[Result]) -> Chart:
    """Draw the NDCG of the first places; `measuring` takes it at all of `CUTOFFS`."""
    n_points = max(1, int((longest >= CUTOFFS).sum()))
    curves = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for result in shown:
            assert result.answers is not None
            values = measuring(result.answers)
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


def _won(contest: Contest, shown: Sequence[Result]) -> Dots:
    shares = 100 * shares_won(contest, shown)
    measure = contest.measures[0].name
    return Dots(
        f"Who is best on how many {contest.unit}",
        f"percent of {contest.unit}",
        tuple(Dot(r.name, float(s)) for r, s in zip(shown, shares, strict=True)),
        f"The share of {contest.unit} on which each has the best {measure} of those "
        "shown; where some are equal they share it.",
        ("", 0.0),
    )


def _by_class(case: Case, contest: Contest, shown: Sequence[Result]) -> Chart:
    assert case.classes is not None
    measure = contest.measures[0]
    # More lines of points that are nearly the same cannot be told apart.
    floor = [r for r in shown if not r.home]
    shown = [*[r for r in shown if r.home][:_MOST_BY_CLASS], *floor]
    levels = list(range(len(case.classes)))
    numbers = [c for c in case.classes if isinstance(c, int | float)]
    x = np.array(numbers if len(numbers) == len(levels) else levels, dtype=float)
    rising = (np.diff(x) > 0).all()
    curves = tuple(
        Curve(
            result.name,
            x if rising else np.array(levels, dtype=float),
            means_by(result, measure, case.y.astype(np.int64), levels),
        )
        for result in shown
    )
    return Chart(
        "Which classes are hard",
        f"true {case.target}" if rising and numbers else "true class, 0 the lowest",
        measure.name,
        curves,
        "The mean number of steps off, of rows of each class. Rare classes at the ends "
        "are where rankers differ most.",
    )


def _confusion(case: Case, contest: Contest) -> Table:
    assert case.classes is not None
    assert contest.best.answers is not None
    n = len(case.classes)
    table = confusion(case.y.astype(np.int64), contest.best.answers.astype(np.int64), n)
    rows: Any = tuple(
        (str(name), *row)
        for name, row in zip(case.classes, table.tolist(), strict=True)
    )
    return Table(
        ("true class", *(f"said {name}" for name in case.classes)),
        rows,
        f"What {contest.best.name} takes rows of each class for, when left out.",
    )


def _by_size(case: Case, contest: Contest, shown: Sequence[Result]) -> Chart:
    """Rows by tenths of the target: where on the scale who is wrong."""
    measure = contest.measures[0]
    order = np.argsort(case.y, kind="stable")
    part = np.empty(len(order), dtype=np.int64)
    part[order] = np.arange(len(order)) * 10 // len(order)
    middles = np.array([np.median(case.y[part == k]) for k in range(10)])
    return Chart(
        "Which rows are hard",
        case.target,
        measure.name,
        tuple(
            Curve(r.name, middles, means_by(r, measure, part, range(10))) for r in shown
        ),
        f"Rows in ten parts of equal size by their {case.target}: the mean over pairs "
        "of each part's rows with all others of their fold"
        + (
            ", rows that have few with another label weighing less."
            if measure.name == "disagreement"
            else "."
        ),
    )


def _by_known(contest: Contest, asked: Asked, shown: Sequence[Result]) -> Chart:
    measure = contest.measures[0]
    _, first = np.unique(asked.user, return_index=True)
    known = asked.n_known[first]
    cuts = np.unique(np.quantile(known, [0.2, 0.4, 0.6, 0.8]))
    part = np.searchsorted(cuts, known, side="right")
    parts = np.unique(part).tolist()
    middles = np.array([np.median(known[part == k]) for k in parts])
    return Chart(
        "Few ratings or many",
        "known ratings of a person",
        measure.name,
        tuple(Curve(r.name, middles, means_by(r, measure, part, parts)) for r in shown),
        "People in fifths by how many of their ratings were known; a point stands at "
        "the median of its fifth.",
        log_x=True,
    )


def _rounds(contest: Contest) -> list[Chart | Dots]:
    first = contest.measures[0]
    curves = []
    for result in contest.results:
        if result.curves:
            # They are of losses: less is better.
            table = (-1 if first.larger_is_better else 1) * np.stack(result.curves)
            curves.append(
                Curve(
                    result.name,
                    np.array(ROUNDS),
                    table.mean(axis=0),
                    table.min(axis=0),
                    table.max(axis=0),
                )
            )
    if not curves:
        return []
    # Boosting knows neither steps nor distances.
    of_pairs = first.name in ("mean rank loss", "msd")
    return [
        Chart(
            "Boosting, round by round",
            "rounds",
            "disagreement" if of_pairs else first.name,
            tuple(curves),
            "On rows left out of what was learnt from, by which the number of rounds "
            "is chosen: the mean over folds, and the least and most.",
            log_x=True,
        )
    ]


def _reliability(case: Case, contest: Contest) -> list[Chart | Dots]:
    """Show, for MPRank, what predicted distances are worth."""
    mprank = [r for r in contest.results if r.name.startswith("MPRank")]
    curves = []
    group = np.zeros(len(case.y), dtype=np.int64) if case.qid is None else case.qid
    for result in mprank:
        assert result.scores is not None
        found = reliability(case.y, result.scores, group)
        if found is not None:
            curves.append(
                # Quartiles of a few classes would be steps.
                Curve(result.name, found.said, found.true)
                if case.classes
                else Curve(result.name, found.said, found.true, found.low, found.high)
            )
    if not curves:
        return []
    furthest = max(float(curve.x[-1]) for curve in curves)
    ends = np.array([0.0, furthest])
    unit = "classes" if case.classes else case.target
    return [
        Chart(
            "Are predicted distances true?",
            f"predicted distance of a pair ({unit})",
            "true distance",
            (*curves, Curve("as predicted", ends, ends)),
            "Pairs of rows left out, in ten parts by how far apart they were "
            "predicted: the mean of their true distances, in the predicted direction"
            f"{'' if case.classes else ', and the quartiles'}. Above the straight line "
            "pairs are further apart than predicted.",
        )
    ]


def _weights(case: Case, contest: Contest) -> list[Chart | Dots]:
    charts: list[Chart | Dots] = []
    for name, words in (
        ("MPRank", "weight of a standardised feature"),
        ("RankBoost", "share in what was learnt"),
    ):
        result = next((r for r in contest.results if r.name == name), None)
        if result is None or (case.kind == "runs" and name != "RankBoost"):
            continue
        found = weights(result, case.features)
        if found is None:
            continue
        rows = zip(found.features, found.mean, found.low, found.high, strict=True)
        charts.append(
            Dots(
                f"What {name} goes by",
                words,
                tuple(
                    Dot(label, float(mean), float(low), float(high))
                    for label, mean, low, high in rows
                ),
                f"The {len(found.features)} features that weigh most: means over "
                "folds, and the least and most of them.",
                ("", 0.0),
            )
        )
    return charts


def _thresholds(case: Case, contest: Contest) -> list[Chart | Dots]:
    """Show where MPRank's scores are cut into classes."""
    result = next((r for r in contest.results if r.name == "MPRank"), None)
    if result is None or case.classes is None or not result.thresholds:
        return []
    table = np.stack(result.thresholds)
    finite = np.asarray(np.isfinite(table).all(axis=0))
    dots = tuple(
        Dot(
            f"{case.classes[r]} | {case.classes[r + 1]}",
            float(table[:, r].mean()),
            float(table[:, r].min()),
            float(table[:, r].max()),
        )
        for r in range(table.shape[1])
        if finite[r]
    )
    if not dots:
        return []
    return [
        Dots(
            "Where MPRank's scores are cut into classes",
            "score, in steps above the lowest class",
            dots,
            "Thresholds that lose the fewest steps on rows left out: means over folds, "
            "and the least and most. A class between two that stand close is rarely "
            "said.",
        )
    ]
