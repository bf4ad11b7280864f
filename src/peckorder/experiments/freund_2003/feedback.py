"""Freund et al. (2003): Figures 7 and 8, more feedback, and random guessing."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from peckorder._core.typing import Floats
from peckorder.experiments.framework.experiment import Claim, Measured, Part, Shown, Units
from peckorder.experiments.framework.statistics import (
    beside_printed,
    column,
    difference_text,
    printed_text,
    side,
    verdict,
)
from peckorder.experiments.freund_2003.features import PRINTED_RANDOM, bin_name, in_bin
from peckorder.experiments.freund_2003.figures import INTERVALS, by_point, charts, gain, of
from peckorder.experiments.freund_2003.films import (
    BOOST,
    MEASURES,
    PRINTED,
    SIMILARITY,
    Config,
    Tables,
    Target,
    Viewers,
    compared,
    draw_targets,
    joined,
    load_films,
    measures,
    tabulated,
    top_measures,
)
from peckorder.feedback import Ratings
from peckorder.metrics import rank_probability
from peckorder.reports import Chart, Curve, Table

# Shares of good films in the feedback per bin, in the text on figure 8.
PRINTED_GOOD = (0.33, 0.26, 0.22, 0.20, 0.18)
TOP = MEASURES[1:]
FRACTIONS = (1 / 5, 1 / 4, 1 / 3, 1 / 2)
N_FILMS = (8, 12, 20, 40, 60, 100, 200)


def measure_feedback(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Compare for targets of each density, with the same viewers as features."""
    order = rng.permutation(films.n_users)
    size = config.feedback_features
    viewers = Viewers(films.csr[order[:size]])
    parts, rated, counts = [], [], []
    for limits in config.bins:
        people = in_bin(films, order[size:], limits)
        targets = draw_targets(films.csr, people, config.feedback_targets, rng)
        scored = [compared(Tables.of(viewers, target), [size]) for target in targets]
        parts.append(tabulated(targets, scored))
        n_films = [len(target.given) + len(target.truth) for target in targets]
        rated.append(np.mean(n_films))
        counts.append(len(targets))
    return Measured({"targets": counts, "density": rated, "rankers": joined(parts)})


def show_feedback(config: Config, units: Units, seconds: Units) -> Shown:
    """Show figure 7."""
    names = [bin_name(limits) for limits in config.bins]
    density = column(units, "density").mean(axis=0)
    targets = column(units, "targets").mean(axis=0)
    drawn = Table(
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
        tables=(drawn, *(by_point(units, measure, names, note) for measure in MEASURES)),
        charts=charts(units, "Figure 7", x_label, density, caption=note, log_x=True),
        claims=_claims_on_feedback(config, units),
    )


def _claims_on_feedback(config: Config, units: Units) -> tuple[Claim, ...]:
    few = [i for i, (_, high) in enumerate(config.bins) if high <= 40]
    sides, texts = [], []
    for i in few:
        for which in ("disagreement", "AP", "PROT"):
            gains = [
                gain(units, SIMILARITY, name, which)[:, i] for name in PRINTED if name != SIMILARITY
            ]
            sides.append(side(min(gains, key=lambda values: float(values.mean()))))
        over = difference_text(gain(units, SIMILARITY, BOOST, "disagreement")[:, i])
        texts.append(f"{bin_name(config.bins[i])}: {over}")
    falls = {}
    for which in ("AP", "coverage"):
        ends = of(units, BOOST, which)
        falls[which] = ends[:, -1] - ends[:, 0]
    disagreements = of(units, BOOST, "disagreement")
    rises = disagreements[:, 0] - disagreements[:, -1]
    degrade = [side(-fall) for fall in falls.values()]
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
            verdict([*degrade, side(rises)]),
            "RankBoost, last bin minus first: AP "
            f"{difference_text(falls['AP'])}, coverage "
            f"{difference_text(falls['coverage'])}; gain in disagreement "
            f"{difference_text(rises)}.",
        ),
    )


def measure_chance(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Count good films of all people by density; rank test halves at random."""
    bins = []
    all_targets: list[Target] = []
    for limits in config.bins:
        people = in_bin(films, np.arange(films.n_users), limits)
        targets = draw_targets(films.csr, people, len(people), rng)
        all_targets += targets
        by_chance = guessed([target.truth for target in targets])
        given = [films.csr.data[slice(*films.csr.indptr[p : p + 2])] for p in people]
        good = [good_fraction(values) for values in given]
        bins.append({"people": len(people), "good": np.mean(good), **by_chance})
    return Measured(
        {
            "bins": bins,
            "all": guessed([target.truth for target in all_targets]),
            "by fraction": [by_chance_alone(60, f) for f in FRACTIONS],
            "by number": [by_chance_alone(n, 0.25) for n in N_FILMS],
        }
    )


def good_fraction(values: Floats) -> float:
    """Return the share of a person's films with their highest rating."""
    return float((values == values.max()).mean())


def guessed(truths: Sequence[Floats]) -> dict[str, float]:
    """Return the measures of a constant, expected over all orders."""
    return measures(truths, [np.zeros(len(truth)) for truth in truths])


def by_chance_alone(n_films: int, fraction: float) -> dict[str, float]:
    """Return the measures of random guessing in closed form; PROT by (22)."""
    n_good = round(fraction * n_films)
    truth = np.repeat([1.0, 0.0], [n_good, n_films - n_good])
    scores, one = np.zeros(n_films), np.zeros(n_films, dtype=int)
    probability = rank_probability(truth, scores, 1)
    prot = float(probability @ (1.0 / np.arange(1, n_films + 1)))
    return {**top_measures(truth, scores, one), "PROT": prot}


def show_chance(config: Config, units: Units, seconds: Units) -> Shown:
    """Show figure 8 and the fractions of good films."""
    bins = units[0]["bins"]
    printed = PRINTED_GOOD if len(bins) == len(PRINTED_GOOD) else [None] * len(bins)
    rows = []
    for limits, values, share in zip(config.bins, bins, printed, strict=True):
        good = f"{values['good']:.3f}", printed_text(share)
        chance = (f"{values[key]:.3f}" for key in TOP)
        rows.append((bin_name(limits), f"{values['people']:,}", *good, *chance))
    headings = ("films rated", "people", "good", "good, printed", *TOP)
    table = Table(
        headings,
        tuple(rows),
        "The fraction of films with a person's highest rating, and the measures of "
        "random guessing on a random half of them; everybody in the set.",
    )
    for_all = beside_printed(
        "random guessing",
        [(name, np.array([units[0]["all"][name]]), PRINTED_RANDOM.get(name)) for name in MEASURES],
        "On the test halves of everybody; printed for EachMovie.",
    )
    return Shown(
        tables=(table, for_all),
        charts=(
            _chart(units[0]["by fraction"], FRACTIONS, "fraction good, of 60 films"),
            _chart(units[0]["by number"], N_FILMS, "films, a quarter of them good"),
        ),
        claims=_claims_on_chance(bins),
    )


def _chart(values: Units, x: Sequence[float], x_label: str) -> Chart:
    curves = tuple(
        Curve(which, np.array(x), np.array([point[which] for point in values])) for which in TOP
    )
    caption = "Closed form, over all orders."
    return Chart("Figure 8: random guessing", x_label, "measure", curves, caption)


def _claims_on_chance(bins: Units) -> tuple[Claim, ...]:
    good = [values["good"] for values in bins]
    fractions = ", ".join(f"{value:.2f}" for value in good)
    steps = [int(np.sign(step)) for step in -np.diff(good)]
    worse = [int(np.sign(bins[0][which] - bins[-1][which])) for which in TOP]
    ends = [f"{w} {bins[0][w]:.2f} to {bins[-1][w]:.2f}" for w in TOP]
    return (
        Claim(
            "The fraction of good movies falls with the density of the feedback, and "
            "random guessing degrades.",
            verdict([*steps, *worse]),
            f"Fractions {fractions}; random guessing in the first and the last bin: "
            f"{'; '.join(ends)}. Everybody in the set: judged by the sign of every "
            "step between fractions, and from the first bin to the last.",
        ),
    )


FEEDBACK = Part(
    "figure-7",
    "Figure 7: films, by the density of feedback",
    load_films,
    lambda config: config.feedback_splits,
    measure_feedback,
    show_feedback,
)
CHANCE = Part(
    "figure-8",
    "Figure 8: random guessing",
    load_films,
    lambda config: 1,
    measure_chance,
    show_chance,
)
