"""Freund et al. (2003): Figures 5 to 7 on films, and the tables that films share."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from peckorder._core.typing import Floats
from peckorder.experiments.framework import Claim, Measured, Part, Shown, Units
from peckorder.experiments.framework.statistics import (
    column,
    difference_text,
    mean_curve,
    mean_row,
    side,
    verdict,
)
from peckorder.experiments.freund_2003.chance import random_guessing
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
    Tables,
    Viewers,
    all_compared,
    bin_name,
    boosted,
    compared,
    draw,
    draw_targets,
    in_bin,
    joined,
    load_films,
    tabulated,
    thinned,
)
from peckorder.feedback import Ratings
from peckorder.reports import Cell, Chart, Table

INTERVALS = "± is half the 95 % interval of the mean over the draws; so are bands in charts."
_LITTLE_BETTER = 0.45


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


def charts(
    units: Units,
    title: str,
    x_label: str,
    x: ArrayLike,
    caption: str,
    points: slice = slice(None),
    *,
    log_x: bool = True,
) -> tuple[Chart, ...]:
    """Return one chart per measure, with one curve per ranker."""
    return tuple(
        Chart(
            f"{title}: {measure}",
            x_label,
            measure,
            tuple(
                mean_curve(name, x, of(units, name, measure)[:, points])
                for name in units[0]["rankers"]
            ),
            caption,
            log_x=log_x,
        )
        for measure in MEASURES
    )


def by_point(units: Units, measure: str, headings: Sequence[str], caption: str) -> Table:
    """Return a table of one measure: one row per ranker, one column per point."""
    rows = (mean_row(name, *of(units, name, measure).T) for name in units[0]["rankers"])
    return Table((measure, *headings), tuple(rows), caption)


def measures_at(units: Units, ranker: str, point: int) -> tuple[Cell, ...]:
    """Return a row with all measures of a ranker at one point."""
    return mean_row(ranker, *(of(units, ranker, measure)[:, point] for measure in MEASURES))


def wins(units: Units, one: str, other: str, points: slice = slice(None)) -> Floats:
    """Return 1 where `one` is better, -1 where it is worse, 0 where that is open.

    One row per measure, one column per point.
    """
    gains = [gain(units, one, other, measure)[:, points].T for measure in MEASURES]
    return np.array([[side(values) for values in by_point] for by_point in gains])


def tally(outcome: Floats) -> str:
    """Format the numbers of better, open and worse."""
    better, worse = int((outcome > 0).sum()), int((outcome < 0).sum())
    n_open = outcome.size - better - worse
    return f"better in {better}, open in {n_open}, worse in {worse} of {outcome.size}"


def drawn(units: Units) -> str:
    """Format the number of draws, and of their targets, which may vary."""
    counts = sorted({int(unit["targets"]) for unit in units})
    ends = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return f"{len(units)} draws of {ends} targets"


# Figure 5.


def measure_sizes(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Draw viewers and targets; compare on the first 100, 200 and so on of them."""
    viewers, targets = draw(films, max(config.sizes), config.targets, rng)
    scored = []
    for target in targets:
        scores = compared(Tables.of(viewers, target), config.sizes)
        scores[PLAIN] = [
            boosted(viewers, target, size, cumulative=False)[0] for size in config.sizes
        ]
        scored.append(scores)
    return Measured({"targets": len(targets), "rankers": tabulated(targets, scored)})


def show_sizes(config: Config, units: Units, seconds: Units) -> Shown:
    """Show figure 5 and what the text says of it."""
    sizes = config.sizes
    point = sizes.index(1000) if 1000 in sizes else len(sizes) - 1
    note = f"Means over {drawn(units)}, and viewers. {INTERVALS}"
    return Shown(
        tables=(
            by_point(units, "disagreement", [f"{n:,}" for n in sizes], note),
            Table(
                ("ranker", *MEASURES),
                tuple(measures_at(units, name, point) for name in units[0]["rankers"]),
                f"At {sizes[point]:,} features. {note}",
            ),
            random_guessing(
                {name: of(units, CONSTANT, name)[:, point] for name in MEASURES},
                "A constant score, all orders of ties averaged; printed for EachMovie. "
                f"{INTERVALS}",
            ),
        ),
        charts=charts(units, "Figure 5", "number of features", sizes, note, log_x=False),
        claims=_claims_on_sizes(config, units, point),
    )


def _claims_on_sizes(config: Config, units: Units, point: int) -> tuple[Claim, ...]:
    regression, nearest = (wins(units, BOOST, name) for name in (REGRESSION, NEAREST))
    # Synthetic data have fewer than 200 viewers.
    limit = min(200, max(config.sizes) // 2)
    above = slice(sum(size <= limit for size in config.sizes), None)
    large = wins(units, BOOST, SIMILARITY, above)
    behind, ahead_of_mean = (
        difference_text(gain(units, BOOST, name, "disagreement")[:, point])
        for name in (SIMILARITY, MEAN)
    )
    prot = gain(units, NEAREST, CONSTANT, "PROT")[:, point]
    errors = of(units, REGRESSION, "disagreement")
    mean = errors.mean(axis=0)
    at = f"at {config.sizes[point]:,} features"
    of_cum = ", ".join(
        f"{difference_text(gains)} with {size:,} features"
        for gains, size in zip(
            gain(units, BOOST, PLAIN, "disagreement").T, config.sizes, strict=True
        )
    )
    return (
        Claim(
            "RankBoost beats regression and nearest neighbour on all four measures at "
            "every number of features.",
            verdict([*regression.ravel(), *nearest.ravel()]),
            f"Against regression {tally(regression)} cells, against nearest "
            f"neighbour {tally(nearest)}.",
        ),
        Claim(
            "RankBoost beats vector similarity above 200 features.",
            verdict(large.ravel()),
            f"{tally(large).capitalize()} cells above {limit:,} features; gain in "
            f"disagreement {at} {behind}, over the item mean {ahead_of_mean}.",
        ),
        Claim(
            "Nearest neighbour is worse than random guessing on PROT; regression's "
            "disagreement is little better than 0.5.",
            verdict([side(-prot), side(errors[:, mean.argmin()] - _LITTLE_BETTER)]),
            f"{at.capitalize()} nearest neighbour's PROT minus that of random guessing "
            f"is {difference_text(prot)}; regression's disagreement is "
            f"{mean[0]:.3f} at the smallest number, {mean[point]:.3f} {at}; little "
            f"better is above {_LITTLE_BETTER} at every number.",
        ),
        _claim_on_gains(units, "RankBoost gains most from more features.", slice(None)),
        Claim(
            "WeakLearn.3.cum has a lower test error than WeakLearn.3 (films).",
            verdict(wins(units, BOOST, PLAIN)[0]),
            f"Gain of .cum in disagreement: {of_cum}.",
        ),
    )


def rise(values: Floats) -> Floats:
    """Return the last value minus the first, per repetition."""
    return values[:, -1] - values[:, 0]


def _claim_on_gains(units: Units, text: str, points: slice) -> Claim:
    """Judge RankBoost's gain from first to last against the largest of the others."""
    sides, texts = [], []
    for measure in MEASURES:
        gains = {name: rise(quality(units, name, measure)[:, points]) for name in PRINTED}
        rival = max(PRINTED[1:], key=lambda name: float(gains[name].mean()))
        sides.append(side(gains[BOOST] - gains[rival]))
        texts.append(
            f"{measure}: RankBoost {difference_text(gains[BOOST])}, {rival} "
            f"{difference_text(gains[rival])}"
        )
    lead = "Gain from first to last, beside the largest of the other three: "
    return Claim(text, verdict(sides), f"{lead}{'; '.join(texts)}.")


# Figures 6 and 7.


def measure_densities(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Compare on viewers of each density, for the same targets."""
    order = rng.permutation(films.n_users)
    spare = 2 * config.density_targets + 10
    targets = draw_targets(films.csr, order[:spare], config.density_targets, rng)
    people_of = [in_bin(films, order[spare:], limits) for limits in config.bins]
    tables = [films.csr[people[: config.density_features]] for people in people_of]
    tables.insert(1, thinned(tables[1], rng))
    viewers_of = [Viewers(table) for table in tables]
    return Measured(
        {
            "targets": len(targets),
            "viewers": [len(viewers) for viewers in viewers_of],
            "density": [viewers.density for viewers in viewers_of],
            "rankers": joined([all_compared(viewers, targets) for viewers in viewers_of]),
        }
    )


def show_densities(config: Config, units: Units, seconds: Units) -> Shown:
    """Show figure 6."""
    names = [bin_name(limits) for limits in config.bins]
    names.insert(1, f"{names[0]}, thinned")
    viewers, density = (column(units, key).mean(axis=0) for key in ("viewers", "density"))
    counts = Table(
        ("ratings of a viewer", "viewers", "mean number of ratings"),
        tuple(
            (name, f"{n:.0f}", f"{d:.1f}")
            for name, n, d in zip(names, viewers, density, strict=True)
        ),
        "Feature sets. Thinned: viewers of the next bin, of whose ratings 10 to 20 "
        "drawn at random are kept, since the set has few such viewers.",
    )
    note = (
        f"Means over {drawn(units)}; T = 40 + N/10 rounds for the N viewers of a bin. {INTERVALS}"
    )
    x_label = "mean number of ratings of a feature"
    of_chart = slice(1, None)
    caption = f"{note} The first point is of the thinned viewers."
    return Shown(
        tables=(counts, *(by_point(units, measure, names, note) for measure in MEASURES)),
        charts=charts(units, "Figure 6", x_label, density[of_chart], caption, of_chart),
        claims=(_claim_on_gains(units, "RankBoost gains most from denser features.", of_chart),),
    )


def measure_feedback(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Compare for targets of each density, with the same viewers as features."""
    order = rng.permutation(films.n_users)
    size = config.feedback_features
    viewers = Viewers(films.csr[order[:size]])
    parts, rated, counts = [], [], []
    for limits in config.bins:
        people = in_bin(films, order[size:], limits)
        targets = draw_targets(films.csr, people, config.feedback_targets, rng)
        parts.append(all_compared(viewers, targets))
        rated.append(np.mean([len(target.given) + len(target.truth) for target in targets]))
        counts.append(len(targets))
    return Measured({"targets": counts, "density": rated, "rankers": joined(parts)})


def show_feedback(config: Config, units: Units, seconds: Units) -> Shown:
    """Show figure 7."""
    names = [bin_name(limits) for limits in config.bins]
    targets, density = (column(units, key).mean(axis=0) for key in ("targets", "density"))
    counts = Table(
        ("films rated by a target", "targets in a draw", "mean number of films"),
        tuple(
            (name, f"{n:.1f}", f"{d:.1f}")
            for name, n, d in zip(names, targets, density, strict=True)
        ),
        f"Targets, means over {len(units)} draws: {config.feedback_targets} per bin, "
        "or fewer if the bin has not enough people with different ratings in both "
        "halves who are not features.",
    )
    note = (
        f"{config.feedback_features:,} features; means over {len(units)} draws of "
        "targets, whose numbers are above, half of whose films are ranked. "
        f"{INTERVALS}"
    )
    x_label = "mean number of films rated by a target"
    return Shown(
        tables=(counts, *(by_point(units, measure, names, note) for measure in MEASURES)),
        charts=charts(units, "Figure 7", x_label, density, note),
        claims=_claims_on_feedback(config, units),
    )


def _claims_on_feedback(config: Config, units: Units) -> tuple[Claim, ...]:
    others = [name for name in PRINTED if name != SIMILARITY]
    sides, texts = [], []
    for i, (_, high) in enumerate(config.bins):
        if high > 40:
            continue
        for measure in ("disagreement", "AP", "PROT"):
            gains = [gain(units, SIMILARITY, name, measure)[:, i] for name in others]
            sides.append(side(min(gains, key=lambda values: float(values.mean()))))
        over = difference_text(gain(units, SIMILARITY, BOOST, "disagreement")[:, i])
        texts.append(f"{bin_name(config.bins[i])}: {over}")
    rises = {measure: rise(quality(units, BOOST, measure)) for measure in MEASURES}
    return (
        Claim(
            "Vector similarity is best when the target has rated at most 40 movies.",
            verdict(sides),
            f"Ahead of the best of the other three in {sides.count(1)} of {len(sides)} "
            "cells of disagreement, AP and PROT, behind in "
            f"{sides.count(-1)}; its gain over RankBoost in disagreement: "
            f"{'; '.join(texts)}.",
        ),
        Claim(
            "Denser feedback degrades AP and coverage; RankBoost's disagreement improves with it.",
            verdict([side(-rises["AP"]), side(-rises["coverage"]), side(rises["disagreement"])]),
            "RankBoost, last bin minus first: AP "
            f"{difference_text(rises['AP'])}, coverage "
            f"{difference_text(rises['coverage'])}; gain in disagreement "
            f"{difference_text(rises['disagreement'])}.",
        ),
    )


FIGURES = (
    Part(
        "figure-5",
        "Figure 5: films, by the number of features",
        load_films,
        lambda config: config.splits,
        measure_sizes,
        show_sizes,
    ),
    Part(
        "figure-6",
        "Figure 6: films, by the density of features",
        load_films,
        lambda config: config.density_splits,
        measure_densities,
        show_densities,
    ),
    Part(
        "figure-7",
        "Figure 7: films, by the density of feedback",
        load_films,
        lambda config: config.feedback_splits,
        measure_feedback,
        show_feedback,
    ),
)
