"""Freund et al. (2003): Figure 8, random guessing."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.random import Generator

from peckorder._core.typing import Floats
from peckorder.experiments.framework import Claim, Measured, Part, Shown, Units
from peckorder.experiments.framework.claims import exactly
from peckorder.experiments.framework.statistics import beside_printed, column, printed_text
from peckorder.experiments.freund_2003.films import (
    MEASURES,
    Config,
    Target,
    bin_name,
    draw_targets,
    in_bin,
    load_films,
    measures,
    top_measures,
)
from peckorder.feedback import Ratings
from peckorder.metrics import rank_probability
from peckorder.reports import Chart, Curve, Table

# Random guessing, in the text on figure 5.
PRINTED_RANDOM = {"disagreement": 0.5, "AP": 0.41, "PROT": 0.45}
# Shares of good films in the feedback per bin, in the text on figure 8.
PRINTED_GOOD = (0.33, 0.26, 0.22, 0.20, 0.18)
TOP = MEASURES[1:]
FRACTIONS = (1 / 5, 1 / 4, 1 / 3, 1 / 2)
N_FILMS = (8, 12, 20, 40, 60, 100, 200)


def measure_chance(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Count good films of all people by density; rank test halves at random."""
    bins = []
    all_targets: list[Target] = []
    for limits in config.bins:
        people = in_bin(films, np.arange(films.n_users), limits)
        targets = draw_targets(films.csr, people, len(people), rng)
        all_targets += targets
        given = [films.csr.data[slice(*films.csr.indptr[p : p + 2])] for p in people]
        good = np.mean([good_fraction(values) for values in given])
        bins.append({"people": len(people), "good": good, **guessed(targets)})
    return Measured(
        {
            "bins": bins,
            "all": guessed(all_targets),
            "by fraction": [by_chance_alone(60, f) for f in FRACTIONS],
            "by number": [by_chance_alone(n, 0.25) for n in N_FILMS],
        }
    )


def good_fraction(values: Floats) -> float:
    """Return the share of a person's films with their highest rating."""
    return float((values == values.max()).mean())


def guessed(targets: Sequence[Target]) -> dict[str, float]:
    """Return the measures of a constant, expected over all orders."""
    return measures(targets, [np.zeros(len(target.truth)) for target in targets])


def by_chance_alone(n_films: int, fraction: float) -> dict[str, float]:
    """Return the measures of random guessing in closed form; PROT by (22)."""
    n_good = round(fraction * n_films)
    truth = np.repeat([1.0, 0.0], [n_good, n_films - n_good])
    scores, one = np.zeros(n_films), np.zeros(n_films, dtype=int)
    probability = rank_probability(truth, scores, 1)
    prot = float(probability @ (1.0 / np.arange(1, n_films + 1)))
    return {**top_measures(truth, scores, one), "PROT": prot}


def random_guessing(values: Mapping[str, Floats], caption: str) -> Table:
    """Return the measures of random guessing beside the printed ones."""
    rows = [(name, values[name], PRINTED_RANDOM.get(name)) for name in MEASURES]
    return beside_printed("random guessing", rows, caption)


def show_chance(config: Config, units: Units, seconds: Units) -> Shown:
    """Show figure 8 and the fractions of good films."""
    bins = units[0]["bins"]
    printed = PRINTED_GOOD if len(bins) == len(PRINTED_GOOD) else [None] * len(bins)
    rows = []
    for limits, values, share in zip(config.bins, bins, printed, strict=True):
        good = f"{values['good']:.3f}", printed_text(share)
        chance = (f"{values[key]:.3f}" for key in TOP)
        rows.append((bin_name(limits), f"{values['people']:,}", *good, *chance))
    table = Table(
        ("films rated", "people", "good", "good, printed", *TOP),
        tuple(rows),
        "The fraction of films with a person's highest rating, and the measures of "
        "random guessing on a random half of them; everybody in the set.",
    )
    for_all = {name: np.array([value]) for name, value in units[0]["all"].items()}
    return Shown(
        tables=(
            table,
            random_guessing(for_all, "On the test halves of everybody; printed for EachMovie."),
        ),
        charts=(
            _chart(units[0]["by fraction"], FRACTIONS, "fraction good, of 60 films"),
            _chart(units[0]["by number"], N_FILMS, "films, a quarter of them good"),
        ),
        claims=_claims_on_chance(bins),
    )


def _chart(values: Units, x: Sequence[float], x_label: str) -> Chart:
    curves = tuple(Curve(measure, np.array(x), column(values, measure)) for measure in TOP)
    caption = "Closed form, over all orders."
    return Chart("Figure 8: random guessing", x_label, "measure", curves, caption)


def _claims_on_chance(bins: Units) -> tuple[Claim, ...]:
    good = column(bins, "good")
    fractions = ", ".join(f"{value:.2f}" for value in good)
    ends = [f"{w} {bins[0][w]:.2f} to {bins[-1][w]:.2f}" for w in TOP]
    everybody = "Everybody in the set, so nothing is left to chance."
    return (
        Claim(
            'Figure 8: "the fraction of good movies in the feedback decreases as feedback '
            'density increases".',
            tuple(map(exactly, -np.diff(good))),
            f"Fractions {fractions}: one comparison for each step. {everybody}",
        ),
        Claim(
            'Figure 8: "the performance of random guessing also degrades as the feedback '
            'density increases".',
            tuple(exactly(bins[0][measure] - bins[-1][measure]) for measure in TOP),
            f"From the first bin to the last {'; '.join(ends)}. {everybody}",
        ),
    )


CHANCE = Part(
    "figure-8",
    "Figure 8: random guessing",
    load_films,
    lambda config: 1,
    measure_chance,
    show_chance,
)
