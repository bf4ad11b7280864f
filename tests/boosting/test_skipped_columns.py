"""Columns that are left out of a round would not have been chosen."""

from math import inf

import numpy as np
import pytest

from peckorder import Preferences, RankBoost
from peckorder._core.threads import Team
from peckorder.boosting import run_rounds, thresholds
from peckorder.boosting.compiled import rounds
from peckorder.boosting.compiled.pairs import UNIT
from peckorder.boosting.distribution import make_distribution


def without_ceilings(monkeypatch):
    """Have every column looked at in every round."""
    search = thresholds.Thresholds._search

    def search_all(self, potentials, drift_so_far):
        self.ceilings[:] = inf
        return search(self, potentials, drift_so_far)

    monkeypatch.setattr(run_rounds, "has_compiled_loop", lambda _: False)
    monkeypatch.setattr(thresholds.Thresholds, "_search", search_all)


def drawn(seed):
    """Draw few values and short queries: many rankings are equally good."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    X = rng.integers(0, 5, (n, 12)).astype(float)
    X[rng.random(X.shape) < rng.choice([0.0, 0.3])] = np.nan
    y, qid = rng.integers(0, 3, n), rng.integers(0, n // 8, n)
    options = {
        "learning_rate": float(rng.choice([1.0, 0.3, 0.05])),
        "cumulative": bool(rng.integers(2)),
        "default": rng.choice([None, 0, 1]),
        "max_bins": rng.choice([None, 255]),
    }
    return X, y, qid, options


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("alpha", ["approximate", "numeric"])
def test_the_rounds_are_those_of_a_search_that_leaves_out_nothing(seed, alpha, monkeypatch):
    X, y, qid, options = drawn(seed)
    model = RankBoost(n_rounds=60, alpha=alpha, n_jobs=1, **options)
    chosen = model.fit(X, y, qid=qid).weak_rankers_
    without_ceilings(monkeypatch)
    assert chosen.tolist() == model.fit(X, y, qid=qid).weak_rankers_.tolist()


def test_the_second_search_of_a_round_finds_what_is_as_good_but_earlier(monkeypatch):
    """It goes on from ceilings that were rounded in the first one."""
    X = [
        [4, 3, 0, 1, 3, 1],
        [4, 4, 4, 4, 4, 4],
        [4, 0, 0, 1, 4, 3],
        [4, 3, 1, 4, 3, 1],
        [0, 3, 1, 3, 0, 1],
        [4, 4, 4, 4, 4, 4],
        [7, 0, 0, 2, 3, 0],
        [0, 4, 4, 3, 1, 4],
    ]
    y, qid = [0, 0, 0, 1, 0, 1, 0, 1], [1, 0, 1, 1, 1, 1, 0, 0]
    how = {"cumulative": True, "learning_rate": 1.5, "smoothing": 0.5}
    model = RankBoost(n_rounds=6, alpha="numeric", n_jobs=1, **how)
    last = model.fit(X, y, qid=qid).weak_rankers_[-1]
    assert (last["feature"], last["threshold"]) == (2, 0.0)


def test_potentials_of_a_query_without_a_pair_are_zero_whatever_the_scores():
    preferences = Preferences.from_grades([0, 1, 0, 0], [0, 0, 1, 1])
    preferences = preferences + Preferences([2, 3], [4, 5])
    for height in (300.0, 699.0, 710.0, 5000.0):
        scores = [0.0, height, 10.0, 10.0, 10.0 - height, 10.0 - 2 * height]
        team = Team(1)
        moved = make_distribution(
            preferences, None, 6, equal_queries=False, one_graded=False, team=team
        )
        moved.move(np.array(scores))
        expected = [-0.5, 0.5, 0.5, 0.0, -0.5, 0.0]
        assert (moved.potentials / UNIT).round(9).tolist() == expected


@pytest.mark.parametrize("total_drift", [0.0, 1.0, 2.0**61, 2.0**70])
@pytest.mark.parametrize("moved", [0, 1, 10**9, 2**60])
def test_the_total_drift_never_grows_by_less_than_the_move(total_drift, moved):
    grown = rounds.add_drift(total_drift, moved, 6)
    assert int(grown) - int(total_drift) >= moved
