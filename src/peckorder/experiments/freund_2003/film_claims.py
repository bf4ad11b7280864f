"""Freund et al. (2003): what the paper says of Figures 5 to 7."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from peckorder._core.typing import Floats
from peckorder.experiments.framework import Claim, Comparison, Units
from peckorder.experiments.framework.claims import above_zero, all_of, within
from peckorder.experiments.framework.statistics import column, difference_text
from peckorder.experiments.freund_2003.films import (
    BOOST,
    CONSTANT,
    MEAN,
    MEASURES,
    NEAREST,
    PLAIN,
    PRINTED,
    REGRESSION,
    SIMILARITY,
    Config,
    bin_name,
)

LITTLE_BETTER = 0.45
# Measures that differ by no more are called close, comparable, or practically the same.
ALIKE = 0.02


def of(units: Units, ranker: str, measure: str) -> Floats:
    """Return one value per repetition and point of the x axis."""
    return column(units, "rankers", ranker, measure)


def quality(units: Units, ranker: str, measure: str) -> Floats:
    """Return the values with the sign that makes larger ones better."""
    values = of(units, ranker, measure)
    return -values if measure == "disagreement" else values


def gain(units: Units, one: str, other: str, measure: str) -> Floats:
    """Return by how much `one` is better than `other`, per repetition and point."""
    return quality(units, one, measure) - quality(units, other, measure)


def ahead(
    units: Units, one: str, other: str, points: slice = slice(None), among: Sequence[str] = MEASURES
) -> tuple[Comparison, ...]:
    """Return whether `one` is better, for every measure and point."""
    return tuple(
        above_zero(values)
        for measure in among
        for values in gain(units, one, other, measure)[:, points].T
    )


def ahead_of_all(
    units: Units, one: str, points: slice = slice(None), among: Sequence[str] = MEASURES
) -> tuple[Comparison, ...]:
    """Return whether a ranker of the paper is better than the three others."""
    rivals = [ahead(units, one, other, points, among) for other in PRINTED if other != one]
    return tuple(map(all_of, zip(*rivals, strict=True)))


def alike(
    units: Units, one: str, other: str, points: slice = slice(None), among: Sequence[str] = MEASURES
) -> tuple[Comparison, ...]:
    """Return whether two rankers are within `ALIKE`, for every measure and point."""
    return tuple(
        within(values, ALIKE)
        for measure in among
        for values in gain(units, one, other, measure)[:, points].T
    )


def gains_text(
    units: Units, one: str, other: str, point: int, among: Sequence[str] = MEASURES
) -> str:
    """Format by how much one ranker is better at a point, in every measure."""
    return ", ".join(
        f"{difference_text(gain(units, one, other, measure)[:, point])} in {measure}"
        for measure in among
    )


def claims_on_sizes(config: Config, units: Units, point: int) -> Iterator[Claim]:
    """Judge what is said of the number of features; `point` is where figures are given."""
    # Synthetic data have fewer than 200 viewers.
    limit = min(200, max(config.sizes) // 2)
    n_small = sum(size <= limit for size in config.sizes)
    at = f"At {config.sizes[point]:,} features"
    for name in (REGRESSION, NEAREST):
        yield Claim(
            f'Number of features: RankBoost "clearly outperformed" {name} '
            '"for all four performance measures".',
            ahead(units, BOOST, name),
            f"{at} better by {gains_text(units, BOOST, name, point)}.",
        )
    yield Claim(
        "Number of features: RankBoost outperformed vector similarity "
        '"when the feature set size was greater than 200".',
        ahead(units, BOOST, SIMILARITY, slice(n_small, None)),
        f"{at} better by {gains_text(units, BOOST, SIMILARITY, point)}; in disagreement "
        f"{difference_text(gain(units, BOOST, MEAN, 'disagreement')[:, point])} over the item "
        "mean.",
    )
    yield Claim(
        'Number of features: vector similarity "was very close to RankBoost for feature set '
        'sizes of 100 and 200".',
        alike(units, SIMILARITY, BOOST, slice(0, n_small)),
        f"Close is within {ALIKE}. With {config.sizes[0]:,} features vector similarity is better "
        f"by {gains_text(units, SIMILARITY, BOOST, 0)}.",
    )
    before = point - 1
    falls = {
        m: -np.diff(quality(units, SIMILARITY, m)[:, before : point + 1])[:, 0] for m in MEASURES
    }
    yield Claim(
        'Number of features: the performance of vector similarity "degraded when moving from '
        'feature sets of size 750 to size 1000".',
        tuple(map(above_zero, falls.values())),
        f"Worse at {config.sizes[point]:,} than at {config.sizes[before]:,} by {_texts(falls)}.",
    )
    yield Claim(
        'Number of features: RankBoost "was best able to improve its performance" as their '
        "number increased.",
        *_rises(units, slice(None)),
    )
    yield _against_chance(units, NEAREST, "PROT", "worse", at, point)
    for measure, relation in (("PROT", "better"), ("coverage", "better"), ("AP", "worse")):
        yield _against_chance(units, REGRESSION, measure, relation, at, point)
    errors = of(units, REGRESSION, "disagreement")
    yield Claim(
        "Number of features: regression's disagreement \"was little better than that of random "
        'guessing".',
        tuple(above_zero(values - LITTLE_BETTER) for values in errors.T),
        f"{errors[:, 0].mean():.3f} at the smallest number, {errors[:, point].mean():.3f} "
        f"{at[0].lower()}{at[1:]}; little better is above {LITTLE_BETTER}, at every number.",
    )
    of_cum = ", ".join(
        f"{difference_text(gains)} with {size:,} features"
        for gains, size in zip(
            gain(units, BOOST, PLAIN, "disagreement").T, config.sizes, strict=True
        )
    )
    yield Claim(
        'Films: WeakLearn.3.cum "achieved a lower test error rate than WeakLearn.3".',
        ahead(units, BOOST, PLAIN, among=MEASURES[:1]),
        f"Gain of .cum in disagreement: {of_cum}.",
    )


def _texts(by_measure: Mapping[str, Floats]) -> str:
    return ", ".join(
        f"{difference_text(values)} in {measure}" for measure, values in by_measure.items()
    )


def _against_chance(
    units: Units, name: str, measure: str, relation: str, at: str, point: int
) -> Claim:
    ours, other = (name, CONSTANT) if relation == "better" else (CONSTANT, name)
    gap = difference_text(gain(units, name, CONSTANT, measure)[:, point])
    return Claim(
        f"Number of features: {name} is {relation} than random guessing on {measure}.",
        ahead(units, ours, other, among=(measure,)),
        f"{at} {measure} minus that of random guessing is {gap}.",
    )


def rise(values: Floats) -> Floats:
    """Return the last value minus the first, per repetition."""
    return values[:, -1] - values[:, 0]


def _rises(units: Units, points: slice) -> tuple[tuple[Comparison, ...], str]:
    """Compare RankBoost's gain from first to last with those of the others."""
    comparisons, texts = [], []
    for measure in MEASURES:
        gains = {name: rise(quality(units, name, measure)[:, points]) for name in PRINTED}
        rivals = PRINTED[1:]
        comparisons.append(all_of(above_zero(gains[BOOST] - gains[name]) for name in rivals))
        rival = max(rivals, key=lambda name: float(gains[name].mean()))
        texts.append(
            f"{measure}: RankBoost {difference_text(gains[BOOST])}, {rival} "
            f"{difference_text(gains[rival])}"
        )
    lead = "Gain from first to last, beside the largest of the other three: "
    return tuple(comparisons), f"{lead}{'; '.join(texts)}."


def claims_on_densities(units: Units, points: slice) -> Iterator[Claim]:
    """Judge what is said of the density of features, at some points."""
    yield Claim(
        'Density of features: "RankBoost was the winner again".',
        ahead_of_all(units, BOOST, points),
        "One comparison for each measure and density. In the densest bin better than vector "
        f"similarity by {gains_text(units, BOOST, SIMILARITY, -1)}.",
    )
    yield Claim(
        'Density of features: RankBoost "was best able to improve its performance" with denser '
        "features.",
        *_rises(units, points),
    )
    prot = gain(units, NEAREST, CONSTANT, "PROT")
    yield Claim(
        'Density of features: "on PROT" nearest neighbour "continued to perform worse than '
        'random guessing".',
        ahead(units, CONSTANT, NEAREST, points, ("PROT",)),
        f"Its PROT minus that of random guessing: {difference_text(prot[:, points][:, 0])} in the "
        f"sparsest bin, {difference_text(prot[:, -1])} in the densest.",
    )
    falls = -rise(quality(units, NEAREST, "PROT")[:, points])
    yield Claim(
        'Density of features: on PROT nearest neighbour "degraded as feature density increased".',
        (above_zero(falls),),
        f"It falls by {difference_text(falls)} from the first bin to the last.",
    )


def claims_on_feedback(config: Config, units: Units) -> Iterator[Claim]:
    """Judge what is said of the density of feedback."""
    rises = {
        name: {measure: rise(quality(units, name, measure)) for measure in MEASURES}
        for name in PRINTED
    }

    def texts(names: Iterable[str], measures: Iterable[str]) -> str:
        pairs = [(name, measure) for measure in measures for name in names]
        gains = ", ".join(f"{n} {difference_text(rises[n][m])} in {m}" for n, m in pairs)
        return f"Gain from the first bin to the last: {gains}."

    def moves(text: str, names: Sequence[str], measures: Sequence[str], sign: int) -> Claim:
        comparisons = (above_zero(sign * rises[n][m]) for m in measures for n in names)
        return Claim(f"Density of feedback: {text}", tuple(comparisons), texts(names, measures))

    yield moves(
        'denser feedback "degrades the performance of all four algorithms on coverage and AP".',
        PRINTED,
        ("coverage", "AP"),
        -1,
    )
    yield moves(
        "it degrades vector similarity, nearest neighbour and regression on PROT.",
        PRINTED[1:],
        ("PROT",),
        -1,
    )
    yield moves('"RankBoost is able to improve PROT".', (BOOST,), ("PROT",), 1)
    yield moves(
        "RankBoost and nearest neighbour do better with more feedback on disagreement.",
        (BOOST, NEAREST),
        ("disagreement",),
        1,
    )
    yield moves(
        "regression and vector similarity do not do better with more feedback on disagreement.",
        (REGRESSION, SIMILARITY),
        ("disagreement",),
        -1,
    )
    steps = np.diff(quality(units, BOOST, "disagreement")).T
    yield Claim(
        'Density of feedback: "RankBoost consistently improves as the size of the feedback set '
        'grows" (disagreement).',
        tuple(map(above_zero, steps)),
        "Gain from bin to bin: " + ", ".join(map(difference_text, steps)) + ".",
    )
    few = slice(0, sum(high <= 40 for _, high in config.bins))
    names = ", ".join(bin_name(limits) for limits in config.bins[few])
    over = ", ".join(
        difference_text(values)
        for values in gain(units, SIMILARITY, BOOST, "disagreement")[:, few].T
    )
    yield Claim(
        'Density of feedback: "when the feedback density is at most 40" vector similarity "is '
        'the best performing algorithm with respect to disagreements, AP, and PROT".',
        ahead_of_all(units, SIMILARITY, few, MEASURES[:3]),
        f"In the bins {names} better than RankBoost in disagreement by {over}.",
    )
    yield Claim(
        "Density of feedback: there it achieves practically the same coverage as RankBoost.",
        alike(units, SIMILARITY, BOOST, few, ("coverage",)),
        f"Practically the same is within {ALIKE}. In the bins {names} better by "
        + ", ".join(
            difference_text(values)
            for values in gain(units, SIMILARITY, BOOST, "coverage")[:, few].T
        )
        + ".",
    )
    last = slice(-1, None)
    but_prot = tuple(measure for measure in MEASURES if measure != "PROT")
    yield Claim(
        'Density of feedback: "for feedback densities of over 100" vector similarity "is '
        'comparable to" nearest neighbour "with respect to all of the performance measures, with '
        'the exception of PROT".',
        alike(units, SIMILARITY, NEAREST, last, but_prot),
        f"Comparable is within {ALIKE}. In the last bin better by "
        f"{gains_text(units, SIMILARITY, NEAREST, -1)}.",
    )
