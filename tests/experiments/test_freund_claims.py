"""Verdicts on what the RankBoost paper says, with synthetic repetitions."""

import numpy as np
import pytest

from peckorder import experiments
from peckorder.experiments.freund_2003 import (
    chance,
    figures,
    film_claims,
    films,
    ideas,
    learners,
    lists,
)
from support.outcomes import verdicts_of

QUICK = experiments.find("freund-2003").presets["quick"]
NAMES = (*films.PRINTED, films.MEAN, films.CONSTANT, films.PLAIN)
NOISE = (-0.001, 0.0, 0.001)
N_PLACES = 3
assert len(QUICK.sizes) == len(QUICK.bins) == N_PLACES


def one_repetition(better, noise=0.0):
    """A repetition in which a ranker is so much better at each place than 0.4."""
    found = {}
    for name in NAMES:
        gain = np.broadcast_to(better.get(name, 0.0), N_PLACES)
        # Noise of RankBoost alone, so that differences are spread.
        gain = gain + noise * (name == films.BOOST)
        found[name] = {
            which: (0.4 - gain if which == "disagreement" else 0.4 + gain).tolist()
            for which in films.MEASURES
        }
    return {"rankers": found}


def repetitions_of(better, n_repetitions=3):
    return [one_repetition(better, noise) for noise in NOISE[:n_repetitions]]


def verdict_on(claims, words):
    """Return the verdict of the claim with these words, judged with the others."""
    claims = list(claims)
    [found] = [i for i, claim in enumerate(claims) if words in claim.text]
    return verdicts_of(claims)[found]


def verdicts_on(claims, *words):
    claims = list(claims)
    return [verdict_on(claims, each) for each in words]


AHEAD = {films.BOOST: [0.1, 0.15, 0.2]}
BEHIND = {films.BOOST: [-0.1, -0.15, -0.2]}


@pytest.mark.parametrize(
    ("better", "n_repetitions", "expected"),
    [
        (AHEAD, 3, ["yes", "yes", "yes", "yes", "yes"]),
        (BEHIND, 3, ["no", "no", "no", "no", "no"]),
        ({}, 3, ["open"] * 5),
        (AHEAD, 1, ["open"] * 5),
        # Ahead of one of the two rivals, and of itself without .cum at one place.
        (
            {films.REGRESSION: -0.1, films.PLAIN: [0.0, 0.0, -0.1]},
            3,
            ["yes", "open", "open", "open", "in part"],
        ),
    ],
)
def test_more_features(better, n_repetitions, expected):
    found = film_claims.claims_on_sizes(QUICK, repetitions_of(better, n_repetitions), 2)
    words = (
        '"clearly outperformed" regression',
        '"clearly outperformed" nearest neighbour',
        "greater than 200",
        "best able to improve",
        "WeakLearn.3.cum",
    )
    assert verdicts_on(found, *words) == expected


@pytest.mark.parametrize(
    ("similarity", "close", "degraded"),
    [
        ([0.0, 0.1, 0.0], "yes", "yes"),
        # Close is not ahead: better by much is not close either.
        ([0.3, 0.0, 0.1], "in part", "no"),
        ([0.3, 0.3, 0.3], "no", "open"),
    ],
)
def test_vector_similarity_at_few_features_and_at_more(similarity, close, degraded):
    assert QUICK.sizes == (10, 20, 40)
    repetitions = repetitions_of({films.BOOST: [0.0, 0.0, 0.0], films.SIMILARITY: similarity})
    for each, noise in zip(repetitions, NOISE, strict=True):
        for values in each["rankers"][films.SIMILARITY].values():
            values[2] += noise
    found = list(film_claims.claims_on_sizes(QUICK, repetitions, 2))
    if similarity == [0.0, 0.1, 0.0]:
        close = "in part"  # Of the two sizes up to 20 the second is not close.
    assert verdict_on(found, "very close") == close
    assert verdict_on(found, "degraded when moving") == degraded


@pytest.mark.parametrize(
    ("nearest", "regression", "expected"),
    [
        (-0.1, -0.08, ["yes", "no", "no", "yes", "yes"]),
        (0.1, -0.08, ["no", "no", "no", "yes", "yes"]),
        (0.1, 0.1, ["no", "yes", "yes", "no", "no"]),
    ],
)
def test_near_chance(nearest, regression, expected):
    better = {films.NEAREST: nearest, films.REGRESSION: regression}
    repetitions = repetitions_of({**better, films.CONSTANT: 0.0})
    found = film_claims.claims_on_sizes(QUICK, repetitions, 2)
    words = (
        "nearest neighbour is worse than random guessing on PROT",
        "regression is better than random guessing on PROT",
        "regression is better than random guessing on coverage",
        "regression is worse than random guessing on AP",
        "little better",
    )
    assert verdicts_on(found, *words) == expected


@pytest.mark.parametrize(
    ("nearest", "expected"),
    [
        ([-0.1, -0.2, -0.3], ["yes", "yes"]),
        ([-0.1, 0.1, -0.1], ["in part", "open"]),
        ([0.1, 0.2, 0.3], ["no", "no"]),
    ],
)
def test_nearest_neighbour_and_the_density_of_features(nearest, expected):
    repetitions = repetitions_of({films.NEAREST: nearest, films.CONSTANT: 0.0})
    found = film_claims.claims_on_densities(repetitions, slice(None))
    words = ("continued to perform worse", "degraded as feature density")
    assert verdicts_on(found, *words) == expected


@pytest.mark.parametrize(
    ("better", "expected"),
    [
        (AHEAD, ["yes", "yes"]),
        # Another is the winner, and gains most.
        ({films.BOOST: 0.1, films.REGRESSION: [0.0, 0.2, 0.3]}, ["in part", "no"]),
        (BEHIND, ["no", "no"]),
    ],
)
def test_the_winner_by_density(better, expected):
    found = film_claims.claims_on_densities(repetitions_of(better), slice(None))
    assert verdicts_on(found, "winner again", "best able") == expected


LOVED = {films.SIMILARITY: [0.2, 0.2, -0.2]}


@pytest.mark.parametrize(
    ("better", "n_repetitions", "expected"),
    [
        (LOVED, 3, "yes"),
        ({films.SIMILARITY: [0.2, -0.2, 0.0]}, 3, "in part"),
        ({films.SIMILARITY: -0.2}, 3, "no"),
        # Before RankBoost, but not before regression.
        ({**LOVED, films.REGRESSION: 0.3}, 3, "no"),
        ({films.NEAREST: -0.1, films.REGRESSION: -0.1}, 3, "open"),
        (LOVED, 1, "open"),
    ],
)
def test_few_films_are_for_vector_similarity(better, n_repetitions, expected):
    assert [high <= 40 for _, high in QUICK.bins] == [True, True, False]
    found = film_claims.claims_on_feedback(QUICK, repetitions_of(better, n_repetitions))
    assert verdict_on(found, "is at most 40") == expected


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        ([0.0, 0.0, 0.0], ["yes", "yes"]),
        ([0.1, 0.1, 0.0], ["no", "yes"]),
        ([0.0, 0.1, 0.1], ["in part", "no"]),
    ],
)
def test_alike_in_coverage_and_to_nearest_neighbour(similarity, expected):
    repetitions = repetitions_of({films.SIMILARITY: similarity})
    found = film_claims.claims_on_feedback(QUICK, repetitions)
    assert verdicts_on(found, "same coverage", "of over 100") == expected


def test_prot_may_differ_from_nearest_neighbours():
    repetitions = repetitions_of({})
    for each in repetitions:
        each["rankers"][films.SIMILARITY]["PROT"] = [0.9] * N_PLACES
    found = list(film_claims.claims_on_feedback(QUICK, repetitions))
    assert verdict_on(found, "of over 100") == "yes"
    for each in repetitions:
        each["rankers"][films.SIMILARITY]["AP"] = [0.9] * N_PLACES
    assert (
        verdict_on(film_claims.claims_on_feedback(QUICK, repetitions), "of over 100") == "in part"
    )


ALL_FOUR = "all four algorithms on coverage and AP"


@pytest.mark.parametrize(
    ("fall", "rise", "expected"),
    [
        (0.1, 0.1, ["yes", "yes", "yes", "in part", "in part", "yes"]),
        (-0.1, -0.1, ["no", "no", "no", "in part", "in part", "no"]),
        (0.0, 0.0, ["open"] * 6),
    ],
)
def test_denser_feedback(fall, rise, expected):
    repetitions = repetitions_of({})
    for each, noise in zip(repetitions, NOISE, strict=True):
        for name in films.PRINTED:
            ours = each["rankers"][name]
            ours["AP"] = ours["coverage"] = [0.5, 0.1, 0.5 - fall + noise]
            others = name != films.BOOST
            ours["PROT"] = [0.5, 0.1, 0.5 + (-fall if others else rise) + noise]
            # Regression and nearest neighbour fall, the others rise.
            sign = -1 if name in (films.REGRESSION, films.NEAREST) else 1
            third = 0.5 - sign * rise + noise
            ours["disagreement"] = [0.5, (0.5 + third) / 2, third]
    found = film_claims.claims_on_feedback(QUICK, repetitions)
    words = (
        ALL_FOUR,
        "degrades vector similarity, nearest neighbour and regression on PROT",
        "able to improve PROT",
        "RankBoost and nearest neighbour do better",
        "regression and vector similarity do not do better",
        "consistently improves",
    )
    assert verdicts_on(found, *words) == expected


def test_one_of_the_four_that_is_not_degraded_is_enough():
    repetitions = repetitions_of({})
    for each, noise in zip(repetitions, NOISE, strict=True):
        for name in films.PRINTED:
            fall = -0.1 if name == films.REGRESSION else 0.1
            ours = each["rankers"][name]
            ours["AP"] = ours["coverage"] = [0.5, 0.1, 0.5 - fall + noise]
    claims = film_claims.claims_on_feedback(QUICK, repetitions)
    assert verdict_on(claims, ALL_FOUR) == "in part"


@pytest.mark.parametrize(
    ("good", "guessing", "expected"),
    [
        # The last step of chance rises: from the first to the last it falls.
        ((0.3, 0.2, 0.1), (0.5, 0.2, 0.3), ["yes", "yes"]),
        ((0.3, 0.2, 0.1), (0.3, 0.5, 0.4), ["yes", "no"]),
        ((0.2, 0.3, 0.1), (0.5, 0.2, 0.3), ["in part", "yes"]),
        ((0.1, 0.2, 0.3), (0.3, 0.5, 0.4), ["no", "no"]),
        ((0.1, 0.1, 0.1), (0.3, 0.5, 0.3), ["open", "open"]),
    ],
)
def test_chance_is_judged_from_first_to_last(good, guessing, expected):
    bins = [
        {"good": one, **dict.fromkeys(chance.TOP, other)}
        for one, other in zip(good, guessing, strict=True)
    ]
    assert verdicts_of(chance._claims_on_chance(bins)) == expected


def idea_repetitions(better, n_repetitions=3):
    names = (
        *(films.BOOST, films.SIMILARITY, films.NEAREST, films.REGRESSION),
        *(ideas.HYBRID, ideas.NORMALISED),
        *(f"{k} nearest" for k in ideas.COUNTS),
    )
    two = (ideas.ADABOOST, ideas.BIPARTITE, ideas.BIPARTITE_PLAIN)

    def made(wanted, noise):
        found = {
            name: {"disagreement": [0.4 - better.get(name, 0.0) + noise * (i % 2)]}
            for i, name in enumerate(wanted)
        }
        return {"rankers": found}

    return (
        [{**made(names, noise), "chosen": 0.1} for noise in NOISE[:n_repetitions]],
        [made(two, noise) for noise in NOISE[:n_repetitions]],
    )


@pytest.mark.parametrize(
    ("better", "n_repetitions", "expected"),
    [
        (
            {films.BOOST: 0.1, ideas.HYBRID: 0.2, ideas.ADABOOST: -0.1},
            3,
            ["yes", "yes", "yes", "yes"],
        ),
        ({films.BOOST: -0.1, ideas.HYBRID: -0.2, ideas.ADABOOST: 0.1}, 3, ["no", "no", "no", "no"]),
        (
            {"5 nearest": -0.1, ideas.HYBRID: 0.1, films.SIMILARITY: 0.2},
            3,
            ["in part", "open", "in part", "open"],
        ),
        ({films.BOOST: 0.1, ideas.ADABOOST: -0.1}, 1, ["open"] * 4),
    ],
)
def test_ideas(better, n_repetitions, expected):
    assert verdicts_of(ideas.claims_on_ideas(*idea_repetitions(better, n_repetitions))) == expected


def errors(train, test, flat=0.0, n_repetitions=3):
    """Errors of the four weak learners: at the third of the judged rounds, and before.

    Without .cum the test error rises by 0.05 from the second to the third; the train
    error falls by `flat` from the first two.
    """
    noise = np.array([-1e-4, 0.0, 1e-4])[:n_repetitions]

    def after(name, half, i):
        k = list(learners.LEARNERS).index(name)
        if half == "train":
            return train[k] + flat * (i < 2) + 0.0 * noise
        return test[k] - 0.05 * (k < 2) * (i < 2) + noise * (k % 3 == 0)

    return after


WORDS = ("lowest train error", "lowest test error", "resisted overfitting", "nearly identical")


@pytest.mark.parametrize(
    ("train", "test", "n_repetitions", "expected"),
    [
        ((0.1, 0.2, 0.3, 0.3), (0.4, 0.4, 0.3, 0.3), 3, ["yes", "yes", "yes", "yes"]),
        ((0.1, 0.3, 0.2, 0.4), (0.4, 0.3, 0.2, 0.4), 3, ["in part", "in part", "yes", "no"]),
        ((0.4, 0.3, 0.2, 0.1), (0.3, 0.3, 0.4, 0.4), 3, ["no", "no", "yes", "in part"]),
        ((0.1, 0.2, 0.3, 0.3), (0.4, 0.4, 0.3, 0.3), 1, ["open"] * 4),
    ],
)
def test_weak_learners(train, test, n_repetitions, expected):
    found = learners.learner_claims(errors(train, test, 0.0, n_repetitions), "synthetic")
    assert verdicts_on(found, *WORDS) == expected


def test_methods_that_may_differ_are_open():
    steady = errors((0.1,) * 4, (0.4,) * 4)

    def after(name, half, i):
        apart = np.array([-0.02, 0.0, 0.02]) * (name == "WeakLearn.2.cum")
        return steady(name, half, i) + apart

    assert verdict_on(learners.learner_claims(after, "synthetic"), "nearly identical") == "open"


@pytest.mark.parametrize(("flat", "expected"), [(0.01, "yes"), (0.2, "no")])
def test_a_flat_training_error_has_fallen_before(flat, expected):
    after = errors((0.1,) * 4, (0.4,) * 4, flat)
    found = learners.flat_claims(after, "synthetic")
    assert verdicts_of(found) == [expected, expected]


def leads(lead, spread, rank, n_queries=200):
    """One partition: by how much RankBoost is ahead in each query, in % and in ranks."""
    noise = np.tile([-1.0, 1.0], n_queries // 2)
    at_top = (lead + spread * noise) / 100
    return [{"lead": [*[at_top.tolist()] * 6, (rank + 0.5 * noise).tolist()]}]


@pytest.mark.parametrize(
    ("lead", "spread", "rank", "expected"),
    [
        (1.0, 10.0, 0.0, "yes"),
        (-1.0, 2.0, 0.0, "yes"),
        (0.0, 100.0, 0.0, "in part"),
        (0.0, 100.0, -0.5, "open"),
        (-9.0, 10.0, -0.5, "no"),
        (-9.0, 10.0, 0.5, "in part"),
    ],
)
def test_as_good_as_the_best_list_needs_a_margin(lead, spread, rank, expected):
    claims = list(lists._claims_on_lists("synthetic", leads(lead, spread, rank)))
    assert verdict_on(claims, "closely tracked") == expected
    assert "2 % of queries and 0.5 of a rank" in claims[0].found


@pytest.mark.parametrize(("lead", "expected"), [(5.0, "yes"), (0.0, "open"), (-5.0, "no")])
def test_better_than_the_best_list_needs_none(lead, expected):
    found = lists._claims_on_lists("synthetic", leads(lead, 10.0, 0.0))
    assert verdict_on(found, "k = 20, 30") == expected


def test_partitions_of_the_same_queries_are_no_more_queries():
    one = leads(1.0, 10.0, 0.0)
    once, thrice = (list(lists._claims_on_lists("x", units)) for units in (one, one * 3))
    for few, many in zip(once, thrice, strict=True):
        for ours, theirs in zip(few.comparisons, many.comparisons, strict=True):
            assert ours.p == pytest.approx(theirs.p, rel=1e-6)


def test_draws():
    assert figures.drawn([{"targets": 3}] * 2) == "2 draws of 3 targets"
    assert figures.drawn([{"targets": 3}, {"targets": 1}]) == "2 draws of 1 to 3 targets"
