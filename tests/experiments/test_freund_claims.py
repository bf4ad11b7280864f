"""Verdicts on what the RankBoost paper says, with synthetic repetitions."""

import numpy as np
import pytest

from peckorder import experiments
from peckorder.experiments.framework.statistics import not_behind
from peckorder.experiments.freund_2003 import chance, figures, films, learners, lists

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


def assert_verdicts(claims, expected):
    assert [claim.holds for claim in claims] == expected


AHEAD = {films.BOOST: [0.1, 0.15, 0.2]}
BEHIND = {films.BOOST: [-0.1, -0.15, -0.2]}


@pytest.mark.parametrize(
    ("better", "n_repetitions", "expected"),
    [
        (AHEAD, 3, ["yes", "yes", "yes", "yes"]),
        (BEHIND, 3, ["no", "no", "no", "no"]),
        ({}, 3, ["open"] * 4),
        (AHEAD, 1, ["open"] * 4),
        # Ahead of one of the two rivals, and of itself without .cum at one place.
        (
            {films.REGRESSION: -0.1, films.PLAIN: [0.0, 0.0, -0.1]},
            3,
            ["in part", "open", "open", "in part"],
        ),
    ],
)
def test_more_features(better, n_repetitions, expected):
    rivals, large, _, gains, cum = figures._claims_on_sizes(
        QUICK, repetitions_of(better, n_repetitions), 2
    )
    assert_verdicts([rivals, large, gains, cum], expected)
    assert "above 20 features" in large.found


@pytest.mark.parametrize(
    ("nearest", "regression", "expected"),
    [(-0.1, -0.08, "yes"), (0.1, -0.08, "in part"), (0.1, 0.1, "no")],
)
def test_near_chance(nearest, regression, expected):
    better = {films.NEAREST: nearest, films.REGRESSION: regression}
    repetitions = repetitions_of({**better, films.CONSTANT: 0.0})
    claim = figures._claims_on_sizes(QUICK, repetitions, 2)[2]
    assert claim.holds == expected


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
    claim, _ = figures._claims_on_feedback(QUICK, repetitions_of(better, n_repetitions))
    assert claim.holds == expected


@pytest.mark.parametrize(
    ("fall", "rise", "expected"),
    [(0.1, 0.1, "yes"), (0.1, -0.1, "in part"), (-0.1, -0.1, "no"), (0.0, 0.0, "open")],
)
def test_denser_feedback(fall, rise, expected):
    repetitions = repetitions_of({})
    for each, noise in zip(repetitions, NOISE, strict=True):
        ours = each["rankers"][films.BOOST]
        ours["AP"] = ours["coverage"] = [0.5, 0.1, 0.5 - fall + noise]
        ours["disagreement"] = [0.5, 0.1, 0.5 - rise + noise]
    _, claim = figures._claims_on_feedback(QUICK, repetitions)
    assert claim.holds == expected


@pytest.mark.parametrize(
    ("good", "guessing", "expected"),
    [
        # The last step of chance rises: from the first to the last it falls.
        ((0.3, 0.2, 0.1), (0.5, 0.2, 0.3), "yes"),
        ((0.3, 0.2, 0.1), (0.3, 0.5, 0.4), "in part"),
        ((0.2, 0.3, 0.1), (0.5, 0.2, 0.3), "in part"),
        ((0.1, 0.2, 0.3), (0.3, 0.5, 0.4), "no"),
        ((0.1, 0.1, 0.1), (0.3, 0.5, 0.3), "open"),
    ],
)
def test_chance_is_judged_from_first_to_last(good, guessing, expected):
    bins = [
        {"good": one, **dict.fromkeys(chance.TOP, other)}
        for one, other in zip(good, guessing, strict=True)
    ]
    assert chance._claim_on_chance(bins).holds == expected


def idea_repetitions(better, n_repetitions=3):
    names = (
        *(films.BOOST, films.SIMILARITY, films.NEAREST, films.REGRESSION),
        *(learners.HYBRID, learners.NORMALISED),
        *(f"{k} nearest" for k in learners.COUNTS),
    )
    two = (learners.ADABOOST, learners.BIPARTITE, learners.BIPARTITE_PLAIN)

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
            {films.BOOST: 0.1, learners.HYBRID: 0.2, learners.ADABOOST: -0.1},
            3,
            ["yes", "yes", "yes", "yes"],
        ),
        (
            {films.BOOST: -0.1, learners.HYBRID: -0.2, learners.ADABOOST: 0.1},
            3,
            ["no", "no", "no", "no"],
        ),
        (
            {"5 nearest": -0.1, learners.HYBRID: 0.1, films.SIMILARITY: 0.2},
            3,
            ["in part", "open", "in part", "open"],
        ),
        ({films.BOOST: 0.1, learners.ADABOOST: -0.1}, 1, ["open"] * 4),
    ],
)
def test_ideas(better, n_repetitions, expected):
    assert_verdicts(learners._claims(*idea_repetitions(better, n_repetitions)), expected)


def learner_repetitions(train, test, n_repetitions=3):
    """Errors of the four after the best round and after the last."""
    return [
        {
            "learners": {
                name: {
                    "train": [1.0, train[i]],
                    "test": [test[i] - rise, test[i] + noise * (i % 3 == 0)],
                }
                for i, (name, rise) in enumerate(
                    zip(learners.LEARNERS, (0.05, 0.05, 0.0, 0.0), strict=True)
                )
            }
        }
        for noise in (-1e-4, 0.0, 1e-4)[:n_repetitions]
    ]


@pytest.mark.parametrize(
    ("train", "test", "n_repetitions", "expected"),
    [
        ((0.1, 0.2, 0.3, 0.4), (0.4, 0.4, 0.3, 0.3), 3, ["yes", "yes", "yes"]),
        ((0.1, 0.3, 0.2, 0.4), (0.4, 0.3, 0.3, 0.4), 3, ["in part", "in part", "no"]),
        ((0.4, 0.3, 0.2, 0.1), (0.3, 0.3, 0.4, 0.4), 3, ["no", "in part", "yes"]),
        ((0.1, 0.2, 0.3, 0.4), (0.4, 0.4, 0.3, 0.3), 1, ["open"] * 3),
    ],
)
def test_weak_learners(train, test, n_repetitions, expected):
    repetitions = learner_repetitions(train, test, n_repetitions)
    assert_verdicts(learners.learner_claims(repetitions, "synthetic"), expected)


def test_methods_that_may_differ_are_open():
    repetitions = learner_repetitions((0.1,) * 4, (0.4,) * 4)
    for each, apart in zip(repetitions, (-0.02, 0.0, 0.02), strict=True):
        each["learners"]["WeakLearn.2.cum"]["test"][-1] += apart
    assert learners.learner_claims(repetitions, "synthetic")[2].holds == "open"


@pytest.mark.parametrize(
    ("lead", "half", "rank", "expected"),
    [
        (1.0, 2.0, 0.0, "yes"),
        (-1.0, 0.5, 0.0, "yes"),
        (0.0, 15.0, 0.0, "in part"),
        (0.0, 15.0, -0.5, "open"),
        (-9.0, 5.0, -0.5, "no"),
        (-9.0, 5.0, 0.5, "in part"),
    ],
)
def test_as_good_as_the_best_list_needs_a_margin(lead, half, rank, expected):
    repetitions = [{"lead": [lead] * 6, "lead half": [half] * 6, "rank lead": [rank, 0.1]}]
    claim = lists._claim_on_lists("synthetic", repetitions)
    assert claim.holds == expected
    assert "2 % of queries and 0.5 of a rank" in claim.found


def test_an_interval_that_is_not_known_is_open():
    assert not_behind(1.0, float("nan"), 2.0) == 0


def test_tallies_and_draws():
    found = figures.tally(np.array([1, 1, 0, -1]))
    assert found == "better in 2, open in 1, worse in 1 of 4"
    assert figures.drawn([{"targets": 3}] * 2) == "2 draws of 3 targets"
    assert figures.drawn([{"targets": 3}, {"targets": 1}]) == "2 draws of 1 to 3 targets"
