"""Freund et al. (2003): Figures 5 to 7 on films, and the tables that films share."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from peckorder.experiments.framework import Measured, Part, Shown, Units
from peckorder.experiments.framework.statistics import column, mean_curve, mean_row
from peckorder.experiments.freund_2003.chance import random_guessing
from peckorder.experiments.freund_2003.film_claims import (
    claims_on_densities,
    claims_on_feedback,
    claims_on_sizes,
    of,
)
from peckorder.experiments.freund_2003.films import (
    CONSTANT,
    MEASURES,
    PLAIN,
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
        claims=tuple(claims_on_sizes(config, units, point)),
    )


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
        claims=tuple(claims_on_densities(units, of_chart)),
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
        claims=tuple(claims_on_feedback(config, units)),
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
