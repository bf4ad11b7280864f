"""Freund et al. (2003): Figures 5 and 6, more features, and denser ones."""

from itertools import pairwise

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder._core.typing import Ints
from peckorder.experiments.framework.experiment import Claim, Measured, Part, Shown, Units
from peckorder.experiments.framework.statistics import (
    beside_printed,
    column,
    difference_text,
    side,
    verdict,
)
from peckorder.experiments.freund_2003.figures import (
    INTERVALS,
    by_measure,
    by_point,
    charts,
    drawn,
    gain,
    of,
    tally,
    wins,
)
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
    boosted,
    compared,
    draw_targets,
    joined,
    load_films,
    tabulated,
)
from peckorder.feedback import Ratings
from peckorder.reports import Table

# Random guessing, in the text on figure 5.
PRINTED_RANDOM = {"disagreement": 0.5, "AP": 0.41, "PROT": 0.45}
_LITTLE_BETTER = 0.45


def measure_sizes(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Draw viewers and targets; compare on the first 100, 200 and so on of them."""
    order = rng.permutation(films.n_users)
    most = max(config.sizes)
    viewers = Viewers(films.csr[order[:most]])
    targets = draw_targets(films.csr, order[most:], config.targets, rng)
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
    random = beside_printed(
        "random guessing",
        [
            (name, of(units, CONSTANT, name)[:, point], PRINTED_RANDOM.get(name))
            for name in MEASURES
        ],
        f"A constant score, all orders of ties averaged; printed for EachMovie. {INTERVALS}",
    )
    return Shown(
        tables=(
            by_point(units, "disagreement", [f"{n:,}" for n in sizes], note),
            by_measure(units, point, f"At {sizes[point]:,} features. {note}"),
            random,
        ),
        charts=charts(units, "Figure 5", "number of features", sizes, caption=note),
        claims=_claims_on_sizes(config, units, point),
    )


def _claims_on_sizes(config: Config, units: Units, point: int) -> tuple[Claim, ...]:
    rows = {name: wins(units, BOOST, name) for name in PRINTED[1:]}
    both = np.concatenate([rows[name] for name in (REGRESSION, NEAREST)])
    # Synthetic data have fewer than 200 viewers.
    limit = min(200, max(config.sizes) // 2)
    above = slice(sum(size <= limit for size in config.sizes), None)
    large = wins(units, BOOST, SIMILARITY, above)
    behind = difference_text(gain(units, BOOST, SIMILARITY, "disagreement")[:, point])
    ahead_of_mean = difference_text(gain(units, BOOST, MEAN, "disagreement")[:, point])
    prot = gain(units, NEAREST, CONSTANT, "PROT")[:, point]
    errors = of(units, REGRESSION, "disagreement")
    mean = errors.mean(axis=0)
    at = f"at {config.sizes[point]:,} features"
    return (
        Claim(
            "RankBoost beats regression and nearest neighbour on all four measures at "
            "every number of features.",
            verdict(both.ravel()),
            f"Against regression {tally(rows[REGRESSION])} cells, against nearest "
            f"neighbour {tally(rows[NEAREST])}.",
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
            "Gain of .cum in disagreement: "
            + ", ".join(
                f"{difference_text(gains)} with {size:,} features"
                for gains, size in zip(
                    gain(units, BOOST, PLAIN, "disagreement").T, config.sizes, strict=True
                )
            )
            + ".",
        ),
    )


def _claim_on_gains(units: Units, text: str, points: slice) -> Claim:
    """Judge RankBoost's gain from first to last against the largest of the others."""
    sides, texts = [], []
    for measure in MEASURES:
        sign = -1.0 if measure == "disagreement" else 1.0
        gains = {}
        for name in PRINTED:
            values = of(units, name, measure)[:, points]
            gains[name] = sign * (values[:, -1] - values[:, 0])
        rival = max(PRINTED[1:], key=lambda name: float(gains[name].mean()))
        sides.append(side(gains[BOOST] - gains[rival]))
        texts.append(
            f"{measure}: RankBoost {difference_text(gains[BOOST])}, {rival} "
            f"{difference_text(gains[rival])}"
        )
    lead = "Gain from first to last, beside the largest of the other three: "
    return Claim(text, verdict(sides), f"{lead}{'; '.join(texts)}.")


def thinned(ratings: sparse.csr_array, rng: Generator) -> sparse.csr_array:
    """Return 10 to 20 ratings of each viewer, drawn at random."""
    kept = []
    for start, end in pairwise(ratings.indptr.tolist()):
        count = min(int(rng.integers(10, 21)), end - start)
        kept.append(np.sort(start + rng.permutation(end - start)[:count]))
    chosen = np.concatenate(kept)
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in kept])])
    arrays = ratings.data[chosen], ratings.indices[chosen], starts
    return sparse.csr_array(arrays, shape=ratings.shape)


def in_bin(films: Ratings, people: Ints, limits: tuple[int, int]) -> Ints:
    """Return the people whose number of ratings is within the limits."""
    count = films.per_user[people]
    return people[(count >= limits[0]) & (count <= limits[1])]


def measure_densities(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Compare on viewers of each density, for the same targets."""
    order = rng.permutation(films.n_users)
    spare = 2 * config.density_targets + 10
    targets = draw_targets(films.csr, order[:spare], config.density_targets, rng)
    people_of = [in_bin(films, order[spare:], limits) for limits in config.bins]
    tables = [films.csr[people[: config.density_features]] for people in people_of]
    tables.insert(1, thinned(tables[1], rng))
    parts, viewers_of = [], [Viewers(table) for table in tables]
    for viewers in viewers_of:
        tables_of = [Tables.of(viewers, target) for target in targets]
        scored = [compared(tables, [len(viewers)]) for tables in tables_of]
        parts.append(tabulated(targets, scored))
    return Measured(
        {
            "targets": len(targets),
            "viewers": [len(viewers) for viewers in viewers_of],
            "density": [viewers.density for viewers in viewers_of],
            "rankers": joined(parts),
        }
    )


def show_densities(config: Config, units: Units, seconds: Units) -> Shown:
    """Show figure 6."""
    names = [bin_name(limits) for limits in config.bins]
    names.insert(1, f"{names[0]}, thinned")
    density = column(units, "density").mean(axis=0)
    viewers = column(units, "viewers").mean(axis=0)
    sizes = Table(
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
        tables=(sizes, *(by_point(units, measure, names, note) for measure in MEASURES)),
        charts=charts(units, "Figure 6", x_label, density[of_chart], of_chart, caption, log_x=True),
        claims=(_claim_on_gains(units, "RankBoost gains most from denser features.", of_chart),),
    )


def bin_name(limits: tuple[int, int]) -> str:
    """Format the limits of a bin."""
    low, high = limits
    return f"{low}-{high}" if high < 1000 else f"over {low - 1}"


SIZES = Part(
    "figure-5",
    "Figure 5: films, by the number of features",
    load_films,
    lambda config: config.splits,
    measure_sizes,
    show_sizes,
)
DENSITIES = Part(
    "figure-6",
    "Figure 6: films, by the density of features",
    load_films,
    lambda config: config.density_splits,
    measure_densities,
    show_densities,
)
