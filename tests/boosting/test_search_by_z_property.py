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
from peckorder.boosting.columns import sorted as columns
from peckorder.boosting.pairs.from_feedback import distribution, feedback_rows
from peckorder.boosting.solver.rounds import Boosted, Steps, boost
from peckorder.boosting.weak.thresholds import Account
from peckorder.boosting.weak.thresholds_by_z import LeastZ
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


class Watched(LeastZ):
    """The search, with an enumeration of what it chooses from.

    `seen` has, of each choice, what was found, the limits of all columns, and what
    1 - Z they have at most.
    """

    def choose(self, distribution):
        """Choose, and enumerate."""
        weak = super().choose(distribution)
        n_columns = len(self._features)
        most = [self.most(column, distribution) for column in range(n_columns)]
        gain = 0.0 if weak is None else weak.gain
        self.seen.append((gain, self._limits.copy(), np.array(most)))
        return weak

    def most(self, column, distribution):
        """Return the largest 1 - Z of what may be chosen of a column."""
        D = weights_of(self.pairs, distribution.scores.tolist())
        feature, values = int(self._features[column]), np.empty(len(self._scores))
        n_cuts = self._cut_starts[column + 1] - self._cut_starts[column]
        learnt = (0, 1) if self._abstains[column] else (0,)
        most = 0.0
        for cut in range(n_cuts):
            for q in learnt if self.default is None else (self.default,):
                self._rank(feature, cut, q, values)
                sums = rankboost_oracle.sums_of(self.pairs, D, values.tolist())
                if self.may_choose(feature, cut, q, sums):
                    gain = (sqrt(sums.right) - sqrt(sums.wrong)) ** 2
                    most = max(most, gain)
        return most

    def may_choose(self, feature, cut, q, sums):
        """Tell whether the rule of sums that stay positive lets a candidate in."""
        account, half = self.account, self.account.smoothing / 2
        if not account.cumulative or sums.right > sums.wrong:
            return True
        heads, cuts, defaults, following = account.lists
        place = heads[feature]
        while place >= 0 and (cuts[place], defaults[place]) != (cut, q):
            place = following[place]
        if place < 0:
            return False
        return sums.right + half > account.ratios[place] * (sums.wrong + half)


class Thorough(LeastZ):
    """The search, without leaving anything out."""

    def _limit(self, potentials):
        self._limits[:] = inf


def weights_of(pairs, scores):
    """Return D, pair by pair."""
    log_total = rankboost_oracle.potentials(pairs, scores)[1]
    exponents = [np.log(w) + scores[a] - scores[b] - log_total for a, b, w in pairs]
    return np.exp(exponents).tolist()


def boosted(problem, form="sorted", kind=LeastZ, n_threads=1, max_bins=None):
    """Return the rounds of a run on columns of a form, and what was seen meanwhile."""
    X, preferences, weight, how = problem
    rows = feedback_rows(preferences, weight)
    kept = preferences.restrict(rows)
    if form in {"abstaining", "zeros"}:
        # What is not stored abstains, or is zero.
        stored = np.nonzero(X if form == "zeros" else ~np.isnan(X))
        X = sparse.csr_array((X[stored], stored), shape=X.shape)
    account = Account(X.shape[1], how["rate"], 0.01, how["cumulative"])
    with Team(n_threads) as team, patch.object(columns, "_SHORT", 0):
        cut = columns.cut_columns(
            X,
            rows,
            unstored=form == "zeros",
            max_bins=max_bins,
            team=team,
            sort=form == "sorted",
        )
        assert len(cut[form != "binned"].features) == X.shape[1]
        D = distribution(
            kept,
            weight[rows],
            len(rows),
            equal_queries=False,
            one_graded=True,
            team=team,
        )
        D.move(np.zeros(len(rows)))
        learner = kind(*cut, account, how["default"], team)
        better, worse, of_pair = kept.pairs()
        of_pair = of_pair * weight[rows[better]] * weight[rows[worse]]
        learner.pairs = list(zip(worse, better, of_pair, strict=True))
        learner.seen = []
        run = Boosted([0.0])
        steps = Steps("analytic", 0.01, how["rate"])
        boost(run, D, [learner], steps, how["n_rounds"], None)
    return run.rounds, learner.seen


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
            boosted(problem, form, n_threads=n_threads, max_bins=max_bins)
            for form in FORMS
        )
    assert len(one[0]) <= problem[-1]["n_rounds"]
    for other in others:
        assert other == one
