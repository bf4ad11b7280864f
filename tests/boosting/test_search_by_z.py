"""What the search for the least Z looks at, and the weights that it sums up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import Preferences, RankBoost
from peckorder._core.threads import Team
from peckorder.boosting.columns import cut_columns
from peckorder.boosting.compiled.pairs import DOWN, UP, update_scores
from peckorder.boosting.compiled.search_by_r import LEARNT, Settings
from peckorder.boosting.compiled.search_by_z import SAFE
from peckorder.boosting.distribution import make_distribution
from peckorder.boosting.run_rounds import Booster
from peckorder.boosting.thresholds import CandidateTable, PairWeights, ThresholdsByZ
from peckorder.boosting.weak_learners import AlphaRule
from support import rankboost_oracle

every_kind = pytest.mark.parametrize("kind", ["unit", "gap", "exponential"])


def at(scores, preferences, weight=None):
    """Return the distribution that is left at some scores."""
    with Team(1) as team:
        found = make_distribution(
            preferences, weight, len(scores), equal_queries=False, one_graded=True, team=team
        )
        found.move(np.array(scores, dtype=float))
    return found


@pytest.mark.jit_off
@every_kind
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [0.0, 1.0, 590.0, 610.0, 1299.0])
def test_factors_of_rows_make_the_weights_of_pairs(kind, weighted, width):
    # Some widths are given to other formulas than others.
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 4, 14), rng.integers(0, 2, 14)
    scores = width * rng.permutation(np.linspace(-0.5, 0.5, 14)) + 7.0
    weight = rng.uniform(0.2, 3.0, 14) if weighted else None
    found = at(scores, Preferences.from_grades(y, qid, weight=kind), weight)
    weights = PairWeights(found)
    weights.weigh(found)
    level_of, _, _, utility, masses, others = weights.arrays[:6]
    lower, higher = np.zeros(14), np.zeros(14)
    for a, b, w in rankboost_oracle.pairs_of(y, qid, gap=kind, sample_weight=weight):
        share = np.exp(np.log(w) + scores[a] - scores[b] - found.log_total)
        levels = level_of[b], level_of[a]
        step = 1.0 if kind == "unit" else utility[levels[0]] - utility[levels[1]]
        product = masses[a, DOWN] * masses[b, UP] * step
        assert_allclose(product, share, rtol=1e-12, atol=1e-300)
        lower[b] += share
        higher[a] += share
    up, down = masses[:, UP], masses[:, DOWN]
    sums = others[level_of]
    assert_allclose(up * sums[:, DOWN], lower, rtol=1e-12, atol=1e-300)
    assert_allclose(down * sums[:, UP], higher, rtol=1e-12, atol=1e-300)


@pytest.mark.jit_off
def test_the_change_of_scores_is_that_of_their_differences():
    before, scores = np.array([3.0, -1.0, 0.5]), np.array([2.0, 1.0, 0.5])
    assert update_scores(scores, before) == 3.0
    assert_array_equal(before, scores)
    assert update_scores(scores, before) == 0.0


class Counting(ThresholdsByZ):
    """A search that notes which features it scans in each round."""

    def __post_init__(self):
        super().__post_init__()
        self.scanned = []

    def _scan(self, weights, n_rows):
        shares = self._columns.shares
        shares *= 0.999  # so that those which are renewed differ
        best = super()._scan(weights, n_rows)
        self.scanned.append(np.flatnonzero(shares == SAFE).tolist())
        return best


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("max_bins", [None, 255])
def test_most_columns_are_left_out_of_most_rounds(sort, max_bins):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 30))
    slope = np.append([1.0, 0.9, 0.8], np.full(27, 0.05))
    score = X @ slope + rng.standard_normal(2000)
    y = np.searchsorted(np.quantile(score, [0.5, 0.75, 0.9, 0.97]), score)
    qid = np.repeat(np.arange(20), 100)
    D = at(np.zeros(2000), Preferences.from_grades(y, qid))
    with Team(1) as team:
        columns = cut_columns(
            X, np.arange(2000), unstored=True, max_bins=max_bins, team=team, sort=sort
        )
        candidates = CandidateTable(30, Settings(LEARNT, True, 1.0, 1e-6))
        learner = Counting(*columns, candidates, team)
        Booster(D, [learner], AlphaRule("analytic", 1e-6, 1.0), 8).boost()
    n_scanned = [len(features) for features in learner.scanned]
    assert len(n_scanned) == 8
    assert min(n_scanned) >= 1
    assert sum(n_scanned) <= 8 * 30 // 3
    # At first three strong ones hide all others.
    assert learner.scanned[0] == [0, 1, 2]


def test_a_ranking_that_errs_nowhere_is_found_among_many_columns():
    rng = np.random.default_rng(1)
    y, qid = rng.integers(0, 3, 300), np.repeat(np.arange(10), 30)
    X = rng.standard_normal((300, 20))
    X[:, 13] = y >= 2
    X[:, 17] = y >= 1
    D = at(np.zeros(300), Preferences.from_grades(y, qid))
    with Team(1) as team:
        columns = cut_columns(X, np.arange(300), unstored=True, max_bins=None, team=team, sort=True)
        candidates = CandidateTable(20, Settings(LEARNT, True, 1.0, 1e-6))
        learner = ThresholdsByZ(*columns, candidates, team)
        weak = learner.choose(D)
    # Its 1 - Z is all that it ranks: W- is p, W+ nothing.
    pairs = rankboost_oracle.pairs_of(y, qid)
    right = sum(X[b, weak.feature] > X[a, weak.feature] for a, b, _ in pairs)
    assert weak.feature in {13, 17}
    assert_allclose(weak.gain, right / len(pairs), rtol=1e-11)


def test_what_has_been_taken_too_far_is_taken_back_before_a_weaker_ranking():
    y = np.repeat([0, 1], 10)
    strong, weak = y.copy(), np.zeros(20)
    strong[[0, 1, 10, 11]] ^= 1
    weak[[10, 12, 14, 16, 0, 2, 4]] = 1
    X = np.column_stack([strong, weak])
    model = RankBoost(alpha="analytic", learning_rate=1.6, n_rounds=3).fit(X, y)
    assert model.weak_rankers_["feature"].tolist() == [0, 0, 0]
    assert np.sign(model.weak_rankers_["alpha"]).tolist() == [1, -1, 1]
