"""Columns cut into groups: whatever their form, the same thresholds are found."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import RankBoost
from peckorder._core.threads import Team
from peckorder.boosting import columns
from peckorder.boosting.columns import cut_columns
from peckorder.boosting.compiled.pairs import UNIT
from peckorder.boosting.compiled.search_by_r import LEARNT, Settings
from peckorder.boosting.thresholds import CandidateTable, Thresholds
from support import rankboost_oracle

ALPHAS = ["approximate", "analytic", "numeric"]
every_alpha = pytest.mark.parametrize("alpha", ALPHAS)
every_seed = pytest.mark.parametrize("seed", range(6))
BINS = [None, 2, 3, 7, 255]
every_limit = pytest.mark.parametrize("max_bins", BINS)


def unstored_zeros(X):
    """Return X in CSR form, its zeros not stored, its NaN stored."""
    rows, column = np.nonzero(X)
    return sparse.csr_array((X[rows, column], (rows, column)), shape=X.shape)


def unstored_gaps(X):
    """Return X in CSR form, its zeros stored, its NaN not stored."""
    rows, column = np.nonzero(~np.isnan(X))
    return sparse.csr_array((X[rows, column], (rows, column)), shape=X.shape)


# How X is given, whether short columns are binned, and what is not stored.
FORMS = {
    "sorted": (np.asarray, 10**9, True),
    "binned": (np.asarray, 0, True),
    "zeros not stored": (unstored_zeros, 0, True),
    "gaps not stored": (unstored_gaps, 0, False),
}


@pytest.fixture(params=FORMS)
def form(request, monkeypatch):
    make, short, unstored = FORMS[request.param]
    monkeypatch.setattr(columns, "_SHORT", short)
    return make, unstored


def few_values(rng, n, d=4):
    X = rng.integers(-2, 3, (n, d)).astype(float)
    X[rng.random((n, d)) < rng.choice([0.0, 0.3], d)] = np.nan
    X[:, rng.random(d) < 0.1] = np.nan  # nothing at all
    return X


def learner(X, rows, form, *, default=None, cumulative=False, max_bins=None):
    make, unstored = form
    team = Team(1)
    rule = LEARNT if default is None else default
    candidates = CandidateTable(X.shape[1], Settings(rule, cumulative, 1.0, 0.1))
    cut = cut_columns(make(X), rows, unstored=unstored, max_bins=max_bins, team=team)
    return Thresholds(*cut, candidates, team)


def potentials(rng, n):
    """Draw small multiples of a large number, of which many sums are equal."""
    drawn = rng.integers(-3, 4, n)
    drawn[-1] -= drawn.sum()
    return drawn * 2**52


def every_ranking(X, rows, default):
    """List features, thresholds, defaults and values, in the order of preference."""
    for feature in range(X.shape[1]):
        column = X[rows, feature]
        is_gap = np.isnan(column)
        thresholds = [*sorted({*column[~is_gap].tolist()}, reverse=True), -np.inf]
        learnt = (0, 1) if is_gap.any() else (0,)
        for threshold in thresholds:
            for q in learnt if default is None else (default,):
                h = np.where(is_gap, q, column > threshold).astype(np.int64)
                yield feature, threshold, q, h


@every_seed
@pytest.mark.parametrize("default", [None, 0, 1])
@pytest.mark.parametrize("cumulative", [False, True])
def test_the_first_of_the_best_thresholds_is_chosen(seed, default, cumulative, form):
    rng = np.random.default_rng(seed)
    X = few_values(rng, 40)
    rows = rng.permutation(40)[:25]
    search = learner(X, rows, form, default=default, cumulative=cumulative)
    pi, total_drift = np.zeros(25, dtype=np.int64), 0.0
    for _ in range(5):
        before, pi = pi, potentials(rng, 25)
        total_drift += float(np.maximum(pi - before, 0).sum())
        allowed = [
            (feature, threshold, q, h, int(h @ pi))
            for feature, threshold, q, h in every_ranking(X, rows, default)
            if not cumulative or h @ pi > 0
        ]
        feature, threshold, q, h, r = max(allowed, key=lambda one: abs(one[4]))
        weak = search.choose(SimpleNamespace(potentials=pi, noise=1e-14, total_drift=[total_drift]))
        found = weak.feature, weak.threshold, weak.default, weak.r
        assert found == (feature, threshold, q, r / UNIT)
        assert_array_equal(weak.values, h)


@pytest.mark.parametrize("cumulative", [False, True])
def test_potentials_of_zero_are_of_no_use(cumulative, form):
    X, rows = few_values(np.random.default_rng(0), 30), np.arange(30)
    search = learner(X, rows, form, cumulative=cumulative)
    nothing = SimpleNamespace(
        potentials=np.zeros(30, dtype=np.int64), noise=1e-14, total_drift=[0.0]
    )
    assert search.choose(nothing) is None


def graded(seed, n, d=9, share=0.2):
    """Draw rows of which some columns have few values, others many."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, ::3] = np.round(X[:, ::3]) + 0.0  # no -0.0
    X[:, 1::3] = np.maximum(X[:, 1::3], 0.0)
    X[rng.random((n, d)) < share * (np.arange(d) % 2)] = np.nan
    y = (np.nansum(X, axis=1) + rng.standard_normal(n) > 0) + rng.integers(0, 2, n)
    return X, y, rng.integers(0, n // 20, n)


def learnt(form, X, y, qid, **options):
    make, unstored = form
    missing = "zero" if unstored else "abstain"
    model = RankBoost(n_rounds=15, missing=missing, **options)
    return model.fit(make(X), y, qid=qid)


@every_alpha
@every_limit
def test_every_form_of_columns_teaches_the_same(alpha, max_bins, form, monkeypatch):
    X, y, qid = graded(1, 400)
    model = learnt(form, X, y, qid, alpha=alpha, max_bins=max_bins)
    monkeypatch.setattr(columns, "_SHORT", 10**9)
    expected = RankBoost(n_rounds=15, alpha=alpha, max_bins=max_bins)
    expected.fit(X, y, qid=qid)
    assert model.weak_rankers_.tobytes() == expected.weak_rankers_.tobytes()
    assert model.bounds_.tobytes() == expected.bounds_.tobytes()


@pytest.mark.parametrize("max_bins", [None, 20])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_long_columns_teach_what_short_ones_do(max_bins, kind, monkeypatch):
    X, y, qid = graded(2, 1500)
    X = X.astype(kind)
    options = {"n_rounds": 30, "max_bins": max_bins, "cumulative": False}
    long = RankBoost(**options).fit(X, y, qid=qid)
    monkeypatch.setattr(columns, "_SHORT", 10**9)
    short = RankBoost(**options).fit(X, y, qid=qid)
    assert long.weak_rankers_.tobytes() == short.weak_rankers_.tobytes()
    # All kinds of columns have been of use.
    assert len(set(long.weak_rankers_["feature"] % 3)) == 3


def test_columns_of_many_values_are_sorted_and_others_binned(monkeypatch):
    monkeypatch.setattr(columns, "_SHORT", 0)
    n = 600
    X = np.stack([np.arange(n) % k for k in (2, 255, 256, n)], axis=1).astype(float)
    X[::7, 1] = np.nan
    options = {"unstored": True, "team": Team(1)}
    binned, others = cut_columns(X, np.arange(n), max_bins=None, **options)
    assert (binned.features.tolist(), others.features.tolist()) == ([0, 1], [2, 3])
    binned, others = cut_columns(X, np.arange(n), max_bins=255, **options)
    assert (binned.features.tolist(), others.features.tolist()) == ([0, 1, 2, 3], [])
    binned, others = cut_columns(X, np.arange(n), max_bins=9, sort=True, **options)
    assert (binned.features.tolist(), others.features.tolist()) == ([], [0, 1, 2, 3])


def groups_of(X, form, max_bins):
    """Return the values of the groups of each column."""
    make, unstored = form
    options = {"unstored": unstored, "max_bins": max_bins, "team": Team(1)}
    found = {}
    for part in cut_columns(make(X), np.arange(len(X)), **options):
        for c, feature in enumerate(part.features.tolist()):
            found[feature] = part.values[part.groups[c] : part.groups[c + 1]].tolist()
    return [found[feature] for feature in range(X.shape[1])]


def quantiles(column, most):
    """Return the distinct values, or as many quantiles, the largest first."""
    column = np.sort(column[~np.isnan(column)])
    distinct = np.unique(column)
    if most is not None and len(distinct) > most:
        places = [-(-k * len(column) // most) - 1 for k in range(1, most + 1)]
        distinct = np.unique(column[places])
    return distinct[::-1].tolist()


@every_limit
@every_seed
def test_groups_end_at_quantiles(max_bins, seed, form):
    X, *_ = graded(seed, 300, share=0.5)
    assert groups_of(X, form, max_bins) == [quantiles(c, max_bins) for c in X.T]


@pytest.mark.parametrize("max_bins", [2, 10, 255])
def test_groups_are_as_equal_as_they_can_be(max_bins, form):
    X = np.random.default_rng(0).standard_normal((1001, 2))
    for values, column in zip(groups_of(X, form, max_bins), X.T, strict=True):
        assert len(values) == max_bins
        edges = [-np.inf, *values[::-1]]
        sizes = np.histogram(column, np.nextafter(edges, np.inf))[0]
        assert sizes.sum() == 1001
        assert sizes.max() - sizes.min() <= 1


@every_alpha
@pytest.mark.parametrize("max_bins", [2, 5])
def test_no_more_thresholds_than_asked_for(alpha, max_bins, form):
    X, y, qid = graded(3, 400)
    model = learnt(form, X, y, qid, alpha=alpha, max_bins=max_bins, cumulative=False)
    for feature in range(X.shape[1]):
        used = model.weak_rankers_[model.weak_rankers_["feature"] == feature]
        thresholds = set(used["threshold"].tolist())
        assert thresholds <= {*quantiles(X[:, feature], max_bins), -np.inf}
        assert len(thresholds - {-np.inf}) <= max_bins


@every_alpha
@every_seed
def test_few_thresholds_are_the_oracles(alpha, seed, form):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    y, qid, weight = rng.integers(0, 3, 24), rng.integers(0, 3, 24), rng.random(24)
    pairs = rankboost_oracle.pairs_of(y, qid, sample_weight=weight)
    rows = rankboost_oracle.feedback_of(pairs)
    options = {"alpha": alpha, "n_rounds": 5, "smoothing": 0.1}
    cuts = [quantiles(column[rows], 4) for column in X.T]
    oracle = rankboost_oracle.boost(X.tolist(), pairs, thresholds=cuts, **options)
    assert oracle.closest > 1e-9  # else rounding would decide
    make, unstored = form
    missing = "zero" if unstored else "abstain"
    model = RankBoost(max_bins=4, cumulative=False, missing=missing, **options)
    model.fit(make(X), y, qid=qid, sample_weight=weight)
    assert_allclose(model.bounds_, oracle.bounds, rtol=1e-12)
    assert_array_equal(model.weak_rankers_["feature"], [w.feature for w in oracle.rounds])


def test_columns_of_nothing_are_never_chosen(form):
    X = np.full((30, 3), np.nan)
    X[:, 1] = np.arange(30)
    model = learnt(form, X, np.arange(30) % 2, None, cumulative=False)
    assert set(model.weak_rankers_["feature"].tolist()) == {1}
    assert groups_of(X, form, None)[0] == []
