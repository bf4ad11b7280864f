"""Verdicts on what Cortes, Mohri and Rastogi say, with synthetic repetitions."""

from dataclasses import asdict

import numpy as np
import pytest

from peckorder import experiments
from peckorder.experiments.cortes_2007 import figure_1, rankers, tables
from peckorder.experiments.cortes_2007 import leave_pair_out as left_out
from peckorder.experiments.cortes_2007.data import BOOKS_SUBSET
from support.outcomes import verdicts_of

QUICK = experiments.find("cortes-2007").presets["quick"]
STEADY = np.array([-0.01, 0.0, 0.01])


def found(**gaps):
    """Values of three repetitions: MPRank has 2, the others differ by `gaps`."""

    def of(ranker, measure):
        more = gaps.get(f"{ranker}_{measure}", gaps.get(ranker, 0.0))
        return 2.0 + more + STEADY * (ranker != "MPRank")

    return {"Films 20-40": of}


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ({"SVRank": 0.05, "RankBoost": 1.0}, ["yes", "yes", "yes", "yes"]),
        ({"SVRank": 0.0, "RankBoost": 1.0}, ["open", "yes", "yes", "yes"]),
        ({"SVRank": -1.0, "RankBoost": -1.0}, ["no", "no", "no", "no"]),
        ({"SVRank": 0.1, "RankBoost": 0.0}, ["open", "open", "no", "no"]),
        ({"RankBoost_msd": 1.0, "RankBoost_m1d": -1.0}, ["open", "yes", "yes", "no"]),
    ],
)
def test_magnitudes(gaps, expected):
    judged = tables.magnitude_claims("Films", found(**gaps))
    assert verdicts_of(judged) == expected


@pytest.mark.parametrize(
    ("gap", "expected"), [(1.0, "yes"), (0.0, "open"), (0.03, "yes"), (-1.0, "no")]
)
def test_misrankings_are_comparable_if_not_worse_by_much(gap, expected):
    assert verdicts_of([tables.misranking_claim("Films", found(RankBoost=gap))]) == [expected]


def test_one_repetition_leaves_everything_open():
    def one(ranker, measure):
        return np.array([1.0 if ranker == "MPRank" else 9.0])

    judged = [*tables.magnitude_claims("Films", {"Films": one})]
    judged.append(tables.misranking_claim("Films", {"Films": one}))
    assert verdicts_of(judged) == ["open"] * 5


@pytest.mark.parametrize(
    ("group", "expected"), [("Books", ["yes"] * 4), (BOOKS_SUBSET, ["not tried"] * 4)]
)
def test_books_are_judged_if_they_are_the_papers(group, expected):
    unit = {"group": group}
    [of] = found(SVRank=0.05, RankBoost=1.0).values()
    for ranker in rankers.RANKERS:
        # A reviewer without a pair has no value.
        unit[ranker] = {which: [None, *of(ranker, which)] for which in ("msd", "m1d")}
    assert verdicts_of(tables._book_claims(unit)) == expected


def time_repetitions(small, large, svrank):
    def at(passes, own):
        return {"on-line, gradient": passes, "SVRank": own}

    first, last = map(str, (QUICK.sizes[0], QUICK.sizes[-1]))
    return [{"iterations": {first: at(small, 1), last: at(large, svrank)}}]


@pytest.mark.parametrize(
    ("passes", "expected"),
    [
        ((20, 10, 30), ["yes", "yes", "yes"]),
        ((20, 30, 10), ["yes", "no", "no"]),
        ((10, 30, 10), ["no", "no", "no"]),
    ],
)
def test_time_is_judged_by_multiplications(passes, expected):
    # Of 40 films a decomposition takes as many as 13.3 passes, of 80 as 26.7.
    assert (QUICK.sizes[0], QUICK.sizes[-1]) == (40, 80)
    judged = list(figure_1._time_claims(QUICK, time_repetitions(*passes)))
    assert verdicts_of(judged) == expected
    assert all("multiplications decide" in each.found for each in judged)


@pytest.mark.parametrize(
    ("rounds", "n_units", "expected"),
    [(5, 2, "yes"), (120, 2, "open"), (None, 2, "no"), (5, 1, "open")],
)
def test_rounds_are_those_of_the_constant_step(rounds, n_units, expected):
    config = figure_1.Config(**{**asdict(QUICK), "online_rounds": 200})
    excess = np.ones(200)
    if rounds is not None:
        excess[rounds - 1 :] = 0.0
    sweeps = {
        "gradient": {"excess": excess, "msd": [1.0]},
        # Were the fastest taken, all were "yes".
        "coordinate": {"excess": np.zeros(200)},
        "gradient, a tenth of the step": {"excess": np.ones(200)},
        "batch": 1.0,
    }
    claim = figure_1._claim(config, [{"sweeps": {"1": sweeps}}] * n_units)
    assert verdicts_of([claim]) == [expected]


def left_out_repetitions(off, rises, n_units=3):
    error = np.array([[1.0, 2.0], [3.0, 4.0]])
    estimate = (1.0 + off) * (error if rises else error[::-1, ::-1])
    rest = {"one": 1.0, "best": 1.0, "own": 1.0}
    return [
        {"estimate": (1.0 + each / 10) * estimate, "error": error, **rest}
        for each in STEADY[:n_units]
    ]


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (left_out_repetitions(0.0, rises=True), "yes"),
        (left_out_repetitions(0.5, rises=True), "in part"),
        (left_out_repetitions(0.5, rises=False), "no"),
        (left_out_repetitions(0.0, rises=True, n_units=1), "open"),
    ],
)
def test_estimates_by_leaving_out(units, expected):
    assert verdicts_of([left_out._claim(units)]) == [expected]


def test_choices_at_an_end_of_the_grid_are_named():
    chosen = rankers.Chosen(0.03, 1e4, 3.0, 0.3, 10, 0.5, 40, 80, True, 1.0)
    inside = rankers.Chosen(0.1, 100, 3.0, 0.1, 30, 0.5, 80, 80, False, 1.0)
    text = tables.choices_text(QUICK, [asdict(chosen), asdict(inside)])
    end = text.split("at an end of the grid: ")[1]
    assert end == (
        "MPRank's gamma, least (0.03), 1 of 2, MPRank's C, greatest (10000), 1 of 2, "
        "SVRank's gamma, greatest (0.3), 1 of 2, SVRank's C, least (10), 1 of 2, "
        "RankBoost's rounds, most (80), 1 of 2"
    )
    assert "grid" not in tables.choices_text(QUICK, [{**asdict(inside), "n_rounds": 40}])
