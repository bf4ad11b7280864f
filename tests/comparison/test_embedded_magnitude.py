import numpy as np
import pytest

from peckorder import MPRank
from peckorder import comparison as compare
from peckorder.comparison import MAGNITUDE_RANKERS, PROBLEMS, Split
from peckorder.metrics import disagreement, mean_squared_difference

PROGRESSION = PROBLEMS[3]


class Given:
    """Predicts what it was given."""

    def __init__(self, scores):
        self.scores = np.asarray(scores)

    def predict(self, X):
        return self.scores


def split_of(y):
    X = np.zeros((len(y), 1))
    return Split(X, y, X, y)


def test_measures_are_those_of_a_fit_by_hand():
    ((_, contest),) = compare.run([PROGRESSION], {"MPRank": MPRank()}, repeats=2, seed=5)
    values = contest.best.values
    for k, seed in enumerate((5, 6)):
        split = PROGRESSION.draw(seed)
        scores = MPRank().fit(split.X_train, split.y_train).predict(split.X_test)
        loss = mean_squared_difference(split.y_test, scores)
        assert values["msd"][k] == loss
        assert values["disagreement"][k] == disagreement(split.y_test, scores)


def test_the_baseline_has_twice_the_variance_and_half_of_the_pairs():
    ((_, contest),) = compare.run([PROGRESSION], {"MPRank": MPRank()}, repeats=2)
    last = contest.results[-1]
    assert last.name == "(the same score for all)"
    variances = [PROGRESSION.draw(seed).y_test.var() for seed in (0, 1)]
    np.testing.assert_allclose(last.values["msd"], 2.0 * np.array(variances), rtol=1e-12)
    np.testing.assert_allclose(last.values["disagreement"], 0.5, rtol=1e-12)


def test_a_curve_begins_with_all_pairs_and_ends_with_the_distant_ones():
    rng = np.random.default_rng(0)
    y = np.round(rng.normal(size=40), 1)  # some are equal
    model, split = Given(y + rng.normal(size=40)), split_of(y)
    curve = PROGRESSION.follow(model, split)
    assert curve.shape == (10,)
    assert curve[0] == pytest.approx(disagreement(y, model.scores), rel=1e-12)
    pairs = [(i, j) for i in range(40) for j in range(40) if y[i] > y[j]]
    apart = sorted(pairs, key=lambda pair: y[pair[0]] - y[pair[1]])
    least = np.quantile([y[i] - y[j] for i, j in apart], 0.9)
    distant = [(i, j) for i, j in pairs if y[i] - y[j] >= least]
    wrong = np.mean([model.scores[i] < model.scores[j] for i, j in distant])
    assert curve[-1] == pytest.approx(wrong, rel=1e-12)


def test_equal_scores_are_half_wrong_in_a_curve():
    curve = PROGRESSION.follow(Given(np.zeros(5)), split_of(np.arange(5.0)))
    assert curve.tolist() == [0.5] * 10


@pytest.mark.parametrize("name", MAGNITUDE_RANKERS)
def test_every_ranker_beats_the_baseline(name):
    ranker = MAGNITUDE_RANKERS[name]
    ((_, contest),) = compare.run([PROGRESSION], {name: ranker}, repeats=2)
    assert contest.best.name == name
    assert contest.best.values["disagreement"].max() < 0.3
