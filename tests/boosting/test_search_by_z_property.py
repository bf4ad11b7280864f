"""The search for the least Z is an enumeration of all thresholds, whatever it skips."""

from math import inf, sqrt
from unittest.mock import patch

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_less
from scipy import sparse

from peckorder import Preferences
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder.boosting import columns
from peckorder.boosting.compiled.search_by_r import LEARNT, Settings, find_candidate
from peckorder.boosting.distribution import feedback_rows, make_distribution
from peckorder.boosting.run_rounds import Booster
from peckorder.boosting.thresholds import CandidateTable, ThresholdsByZ
from peckorder.boosting.weak_learners import AlphaRule
from support import rankboost_oracle

pytestmark = pytest.mark.jit_off

EXAMPLES = settings(max_examples=5 if numba.config.DISABLE_JIT else 40, deadline=None)
FORMS = ["sorted", "binned", "abstaining", "zeros"]
# Gains are compared in units of 2**-40.
CLOSE = 2.0**-39


@st.composite
def problems(draw):
    """Return X, pairs of some kind, and how to boost; all weights differ."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(4, 14)), draw(st.integers(1, 5))
    X = np.round(2.0 * rng.standard_normal((n, d)))
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    weight = rng.uniform(0.5, 2.0, n)
    y, qid = rng.integers(0, 4, n), rng.integers(0, draw(st.integers(1, 3)), n)
    better = rng.integers(0, n, 5)
    worse = (better + rng.integers(1, n, 5)) % n
    listed = Preferences(better, worse, rng.uniform(0.2, 3.0, 5))
    kind = draw(st.sampled_from(["unit", "gap", "exponential", "listed", "both"]))
    if kind == "listed":
        preferences = listed
    else:
        grading = "unit" if kind == "both" else kind
        preferences = Preferences.from_grades(y, qid, weight=grading)
        if kind == "both" or len(preferences.pairs()[0]) == 0:
            preferences = 0.5 * preferences + listed
    how = {
        "default": draw(st.sampled_from([None, 0, 1])),
        "cumulative": draw(st.booleans()),
        "rate": draw(st.sampled_from([1.0, 0.1, 1.6])),
        "n_rounds": draw(st.integers(1, 10)),
    }
    return X, preferences, weight, how


class Watched(ThresholdsByZ):
    """The search, with an enumeration of what it chooses from.

    `seen` has, of each choice, what was found, the limits of all columns, and what
    1 - Z they have at most.
    """

    def choose(self, distribution):
        """Choose, and enumerate."""
        weak = super().choose(distribution)
        n_columns = len(self._columns.features)
        most = [self.most(column, distribution) for column in range(n_columns)]
        gain = 0.0 if weak is None else weak.gain
        self.seen.append((gain, self._columns.limits.copy(), np.array(most)))
        return weak

    def most(self, column, distribution):
        """Return the largest 1 - Z of what may be chosen of a column."""
        D = rankboost_oracle.shares(self.pairs, distribution.scores.tolist())
        feature, values = (int(self._columns.features[column]), np.empty(len(self._scores)))
        n_cuts = np.diff(self._columns.cut_starts)[column]
        default = self.candidates.settings.default
        learnt = (0, 1) if self._columns.abstains[column] else (0,)
        most = 0.0
        for cut in range(n_cuts):
            for q in learnt if default == LEARNT else (default,):
                self._rank(feature, cut, q, values)
                sums = rankboost_oracle.sums_of(self.pairs, D, values.tolist())
                if self.may_choose(feature, cut, q, sums):
                    gain = (sqrt(sums.right) - sqrt(sums.wrong)) ** 2
                    most = max(most, gain)
        return most

    def may_choose(self, feature, cut, q, sums):
        """Return whether the rule of positive sums admits a candidate."""
        settings, arrays = self.candidates.settings, self.candidates.arrays
        if not settings.cumulative or sums.right > sums.wrong:
            return True
        half = settings.smoothing / 2
        p = find_candidate(feature, cut, q, arrays)
        return p >= 0 and sums.right + half > arrays.ratios[p] * (sums.wrong + half)


class Thorough(ThresholdsByZ):
    """The search, without leaving anything out."""

    def _limit(self, potentials):
        self._columns.limits[:] = inf


def boosted(problem, form="sorted", kind=ThresholdsByZ, n_threads=1, max_bins=None):
    """Return the rounds of a run on columns of a form, and what was seen meanwhile."""
    X, preferences, weight, how = problem
    rows = feedback_rows(preferences, weight)
    kept = preferences.restrict(rows)
    if form in {"abstaining", "zeros"}:
        # What is not stored abstains, or is zero.
        stored = np.nonzero(X if form == "zeros" else ~np.isnan(X))
        X = sparse.csr_array((X[stored], stored), shape=X.shape)
    default = LEARNT if how["default"] is None else how["default"]
    rules = Settings(default, how["cumulative"], how["rate"], 0.01)
    candidates = CandidateTable(X.shape[1], rules)
    with Team(n_threads) as team, patch.object(columns, "_SHORT", 0):
        cut = columns.cut_columns(
            X, rows, unstored=form == "zeros", max_bins=max_bins, team=team, sort=form == "sorted"
        )
        assert len(cut[form != "binned"].features) == X.shape[1]
        D = make_distribution(
            kept, weight[rows], len(rows), equal_queries=False, one_graded=True, team=team
        )
        D.move(np.zeros(len(rows)))
        learner = kind(*cut, candidates, team)
        better, worse, of_pair = kept.pairs()
        of_pair = of_pair * weight[rows[better]] * weight[rows[worse]]
        learner.pairs = list(zip(worse, better, of_pair, strict=True))
        learner.seen = []
        rule = AlphaRule("analytic", 0.01, how["rate"])
        booster = Booster(D, [learner], rule, how["n_rounds"])
        booster.boost()
    return booster.log.rounds, learner.seen


@EXAMPLES
@given(problems(), st.sampled_from(FORMS))
def test_no_column_has_more_than_its_limit_and_the_choice_is_the_best(problem, form):
    rounds, seen = boosted(problem, form, Watched)
    assert len(seen) >= len(rounds)
    for gain, limits, most in seen:
        assert_array_less(most, limits + CLOSE)
        assert abs(most.max() - gain) <= CLOSE


@EXAMPLES
@given(problems(), st.sampled_from(FORMS))
def test_what_is_left_out_changes_no_round(problem, form):
    assert boosted(problem, form) == boosted(problem, form, Thorough)


@EXAMPLES
@given(problems(), st.integers(1, 3), st.sampled_from([None, 2]))
def test_rounds_do_not_depend_on_how_columns_are_kept(problem, n_threads, max_bins):
    with patch.dict(MIN_ITEMS_PER_THREAD, entries=1):
        one, *others = (
            boosted(problem, form, n_threads=n_threads, max_bins=max_bins) for form in FORMS
        )
    assert len(one[0]) <= problem[-1]["n_rounds"]
    for other in others:
        assert other == one
