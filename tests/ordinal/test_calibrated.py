"""Probabilities of ordered classes: the most likely, in order, and right where it counts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import peckorder.io
from peckorder import (
    AggregatePRank,
    CalibratedOrdinal,
    MPRank,
    MulticlassPerceptron,
    PRank,
    RankBoost,
    SVRank,
)
from peckorder._base import shares_of
from peckorder.exceptions import DataError, ModelFileError
from peckorder.ordinal.calibrated import fit_odds
from support.damaged_files import closed, opened
from support.helpers import exactly

THRESHOLDS = np.array([-2.0, -0.5, 1.0, 2.5])


def rows_with_odds(n, seed=0):
    """Return rows whose classes have proportional odds, and the probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    odds = X @ [2.0, -1.0, 0.5]
    shares = shares_of(odds[:, None] - THRESHOLDS)
    level = (rng.random(n)[:, None] > np.cumsum(shares, axis=1)).sum(axis=1)
    return X, level, shares


def log_loss(shares, level):
    return -float(np.log(np.maximum(shares[np.arange(len(level)), level], 1e-15)).mean())


def slow_loss(parameters, scores, levels, k, weight):
    """Minus the logarithm of the likelihood, with the weight of one row for all classes."""
    mean = np.average(scores, weights=weight)
    spread = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    slope, thresholds = parameters[0], np.concatenate([[-np.inf], parameters[1:], [np.inf]])
    rows = [((s - mean) / spread, y, w) for s, y, w in zip(scores, levels, weight, strict=True)]
    rows += [(sign, y, 0.5 / k) for sign in (-1.0, 1.0) for y in range(k)]
    loss = 0.0
    for z, y, w in rows:
        share = expit(thresholds[y + 1] - slope * z) - expit(thresholds[y] - slope * z)
        loss -= w * np.log(share) if share > 0 else np.inf
    return loss


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.integers(4, 25), st.integers(0, 2**32 - 1), st.booleans())
def test_no_other_odds_are_more_likely(k, n, seed, is_weighted):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 5, n) * 0.7 + 3.0
    levels = np.clip(np.round(scores - 3 + 2 * rng.normal(size=n)), 0, k - 1).astype(int)
    weight = rng.integers(0, 3, n).astype(float) if is_weighted else np.ones(n)
    weight[0] = 1.0
    found = fit_odds(scores, levels, k, weight)
    assert found.slope >= 0.0
    assert (np.diff(found.thresholds) > 0.0).all()
    mean = np.average(scores, weights=weight)
    spread = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    if spread < 1e-9:
        assert found.slope == 0.0
        return
    assert found.center == pytest.approx(mean)
    mine = np.append(found.slope * spread, found.thresholds)
    arguments = (scores, levels, k, weight)
    reached = slow_loss(mine, *arguments)
    bounds = [(0.0, None)] + [(None, None)] * (k - 1)
    best = minimize(slow_loss, mine, arguments, method="Nelder-Mead", bounds=bounds).fun
    assert reached <= best + 1e-7 * (1.0 + abs(best))
    for _ in range(20):
        other = mine + 0.05 * rng.normal(size=k)
        other[0] = max(other[0], 0.0)
        if (np.diff(other[1:]) > 0).all():
            assert slow_loss(other, *arguments) >= reached - 1e-9


def test_shares_are_right_to_the_last_digits_in_both_tails():
    odds = np.array([-800.0, -40.0, 0.0, 40.0, 800.0])
    shares = shares_of(odds[:, None] - np.array([-1.0, 1.0]))
    assert (shares >= 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(shares[:, ::-1], shares[::-1], rtol=1e-14)
    exact = np.exp(-40.0) * (np.exp(1.0) - np.exp(-1.0))
    np.testing.assert_allclose(shares[[1, 3], 1], exact, rtol=1e-12)


def test_odds_of_many_rows_are_found():
    X, level, shares = rows_with_odds(20_000)
    odds = X @ [2.0, -1.0, 0.5]
    found = fit_odds(odds, level, 5)
    assert found.slope == pytest.approx(1.0, abs=0.03)
    thresholds = found.thresholds + found.slope * found.center
    np.testing.assert_allclose(thresholds, THRESHOLDS, atol=0.08)
    mine = shares_of(found.slope * (odds - found.center)[:, None] - found.thresholds)
    assert np.abs(mine - shares).max() < 0.02


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1.0, 1e6, 1e200])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_units_of_scores_do_not_matter(scale, shift):
    X, level, _ = rows_with_odds(500)
    odds = X @ [2.0, -1.0, 0.5]
    usual, other = fit_odds(odds, level, 5), fit_odds((odds + shift) * scale, level, 5)
    np.testing.assert_allclose(other.thresholds, usual.thresholds, rtol=1e-6)
    assert other.slope * scale == pytest.approx(usual.slope, rel=1e-6)


EXTREME = {
    "separated": (np.arange(12.0), np.arange(12) // 4),
    "two classes, separated": (np.arange(8.0), np.arange(8) // 4),
    "the wrong way round": (-np.arange(12.0), np.arange(12) // 4),
    "one score": (np.full(12, 0.1), np.arange(12) % 3),
    "one class": (np.arange(6.0), np.full(6, 1)),
    "a class without rows": (np.arange(12.0), np.arange(12) // 6 * 2),
    "one row": (np.ones(1), np.array([2])),
    "a row far away": (np.append(np.arange(11.0), 1e12), np.arange(12) // 4),
    "tiny differences": (1.0 + 1e-15 * np.arange(12), np.arange(12) // 4),
    "denormal scores": (5e-324 * np.arange(12), np.arange(12) // 4),
}


@pytest.mark.parametrize(("scores", "levels"), EXTREME.values(), ids=EXTREME)
def test_thresholds_are_finite_and_in_order_whatever_the_scores(scores, levels):
    found = fit_odds(scores, levels, 3)
    assert np.isfinite([found.slope, found.center, *found.thresholds]).all()
    assert found.slope >= 0.0
    assert (np.diff(found.thresholds) > 0.0).all()
    shares = shares_of(found.slope * (scores - found.center)[:, None] - found.thresholds)
    assert (shares > 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


RANKERS = [
    PRank(max_iter=5, unit_norm=False),
    AggregatePRank(n_estimators=20, unit_norm=False, random_state=0),
    AggregatePRank(n_estimators=20, aggregate="voted", unit_norm=False, random_state=0),
    MPRank(C=10.0),
    SVRank(C=10.0),
    RankBoost(n_rounds=60),
    Ridge(),
    make_pipeline(StandardScaler(), MPRank()),
    make_pipeline(StandardScaler(), PRank(unit_norm=False)),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_probabilities_are_calibrated(ranker):
    X, level, shares = rows_with_odds(3000)
    names = np.array(["a", "b", "c", "d", "e"])
    model = CalibratedOrdinal(ranker, classes=names).fit(X[:1000], names[level[:1000]])
    found, truth = model.predict_proba(X[1000:]), level[1000:]
    assert found.shape == (2000, 5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    # Among rows with a probability near p of a class or one below, a share near p is there.
    for r in range(4):
        below = found[:, : r + 1].sum(axis=1)
        for low in (0.05, 0.25, 0.5, 0.75):
            rows = (below >= low) & (below < low + 0.2)
            if rows.sum() > 80:
                assert (truth[rows] <= r).mean() == pytest.approx(below[rows].mean(), abs=0.12)
    constant = np.bincount(level[:1000], minlength=5) / 1000
    one_hot = np.eye(5)[np.searchsorted(names, model.predict(X[1000:]))]
    assert log_loss(found, truth) < log_loss(np.tile(constant, (2000, 1)), truth) - 0.2
    assert log_loss(found, truth) < log_loss(one_hot, truth)
    if isinstance(ranker, MPRank | Ridge):
        # They find the score itself.
        assert log_loss(found, truth) < log_loss(shares[1000:], truth) + 0.03
    # The class of least expected rank loss.
    steps = np.abs(np.arange(5)[:, None] - np.arange(5)) @ found.T
    assert (names[steps.argmin(axis=0)] == model.predict(X[1000:])).all()


def test_they_are_better_than_votes():
    X, level, _ = rows_with_odds(3000)
    votes = AggregatePRank(unit_norm=False, random_state=0).fit(X[:1000], level[:1000])
    model = CalibratedOrdinal(votes).fit(X[:1000], level[:1000])
    loss = [log_loss(m.predict_proba(X[1000:]), level[1000:]) for m in (model, votes)]
    assert loss[0] < loss[1] - 0.5


def test_prefit_learns_nothing_but_the_odds():
    X, level, _ = rows_with_odds(2000)
    ranker = MPRank().fit(X[:1000], level[:1000])
    model = CalibratedOrdinal(ranker, cv="prefit").fit(X[1000:], level[1000:])
    assert model.estimator_ is ranker
    odds = fit_odds(ranker.predict(X[1000:]), level[1000:], 5)
    assert (model.slope_, model.center_) == (odds.slope, odds.center)
    words = ["e", "d", "c", "b", "a"]
    named = PRank(classes=words).fit(X[:1000], np.array(words)[level[:1000]])
    model = CalibratedOrdinal(named, cv="prefit").fit(X[1000:], np.array(words)[level[1000:]])
    assert model.classes_.tolist() == words


def test_left_out_scores_are_those_of_the_folds():
    X, level, _ = rows_with_odds(200)
    folds = KFold(4, shuffle=True, random_state=1)
    model = CalibratedOrdinal(MPRank(), cv=folds).fit(X, level)
    scores = np.empty(200)
    for train, test in folds.split(X):
        scores[test] = MPRank().fit(X[train], level[train]).predict(X[test])
    odds = fit_odds(scores, level, 5)
    np.testing.assert_array_equal(model.thresholds_, odds.thresholds)
    np.testing.assert_array_equal(model.estimator_.coef_, MPRank().fit(X, level).coef_)


def test_weights_and_groups_reach_fits_and_folds():
    X, level, _ = rows_with_odds(300)
    weight = np.where(np.arange(300) < 150, 1.0, 0.0)
    model = CalibratedOrdinal(MPRank(), cv=2).fit(X, level, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_.coef_, MPRank().fit(X[:150], level[:150]).coef_)
    groups = np.arange(300) // 100
    grouped = CalibratedOrdinal(MPRank(), cv=GroupKFold(3)).fit(X, level, groups=groups)
    assert not np.array_equal(grouped.thresholds_, model.thresholds_)


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1e6, 1e300])
def test_the_scale_of_weights_does_not_matter(scale):
    X, level, _ = rows_with_odds(200)
    weight = np.arange(200) % 3 + 0.0
    ranker = RankBoost(n_rounds=5)
    usual = CalibratedOrdinal(ranker, cv=3).fit(X, level, sample_weight=weight)
    model = CalibratedOrdinal(ranker, cv=3).fit(X, level, sample_weight=scale * weight)
    np.testing.assert_allclose(model.predict_proba(X), usual.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_matrix, np.asfortranarray])
def test_forms_of_rows(form):
    X, level, _ = rows_with_odds(200)
    usual = CalibratedOrdinal(MPRank()).fit(X, level).predict_proba(X)
    model = CalibratedOrdinal(MPRank()).fit(form(X), level)
    np.testing.assert_allclose(model.predict_proba(form(X)), usual, atol=1e-6)


def test_frames_and_precomputed_kernels():
    X, level, _ = rows_with_odds(200)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = CalibratedOrdinal(MPRank()).fit(frame, pd.Series(level))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    usual = CalibratedOrdinal(MPRank()).fit(X, level)
    np.testing.assert_array_equal(model.predict_proba(frame), usual.predict_proba(X))
    K = X @ X.T
    kernel = CalibratedOrdinal(MPRank(kernel="precomputed")).fit(K, level)
    np.testing.assert_allclose(kernel.predict_proba(K), usual.predict_proba(X), atol=1e-4)


def test_a_class_that_no_row_has_is_possible():
    X, level, _ = rows_with_odds(300)
    labels = np.where(level >= 3, level + 1, level)
    model = CalibratedOrdinal(PRank(), classes=list(range(6))).fit(X, labels)
    found = model.predict_proba(X)
    assert (found[:, 3] > 0).all()
    assert found[:, 3].mean() < 0.01


def test_it_works_under_cross_validation():
    X, level, _ = rows_with_odds(300)
    model = make_pipeline(StandardScaler(), CalibratedOrdinal(MPRank(), classes=list(range(5))))
    assert all(-1.0 < score < 0.0 for score in cross_val_score(model, X, level, cv=3))


X, LEVEL, _ = rows_with_odds(60)
NO_SCORE = "estimator must have one score per row; got "
REFUSED = {
    "no estimator": (
        lambda: CalibratedOrdinal(3).fit(X, LEVEL),
        "estimator must be an estimator with fit and predict; got 3.",
    ),
    "one fold": (
        lambda: CalibratedOrdinal(MPRank(), cv=1).fit(X, LEVEL),
        "cv must be an integer >= 2, 'prefit', or a splitter of scikit-learn; got 1.",
    ),
    "no word": (
        lambda: CalibratedOrdinal(MPRank(), cv="prefitted").fit(X, LEVEL),
        "cv must be an integer >= 2, 'prefit', or a splitter of scikit-learn; got 'prefitted'.",
    ),
    "one class": (
        lambda: CalibratedOrdinal(MPRank()).fit(X, np.ones(60)),
        "y must hold at least two classes; got one class, [1.0].",
    ),
    "an unknown class": (
        lambda: CalibratedOrdinal(MPRank(), classes=[0, 1]).fit(X, LEVEL),
        "y must be one of the classes [0, 1]; got",
    ),
    "scores per class": (
        lambda: CalibratedOrdinal(MulticlassPerceptron()).fit(X, LEVEL),
        NO_SCORE + "MulticlassPerceptron, whose decision_function returns 2 dimensions",
    ),
    "a classifier": (
        lambda: CalibratedOrdinal(LogisticRegression()).fit(X, LEVEL),
        NO_SCORE + "LogisticRegression, whose decision_function returns 2 dimensions",
    ),
    "queries": (
        lambda: CalibratedOrdinal(MPRank()).fit(X, LEVEL, qid=LEVEL),
        "qid must be left out of fit, which does not take it here; got one.",
    ),
    "an offset": (
        lambda: CalibratedOrdinal(MPRank()).fit(X, LEVEL, offset=LEVEL),
        "offset must be left out of fit, which does not take it here; got one.",
    ),
    "weights of what takes none": (
        lambda: CalibratedOrdinal(PRank()).fit(X, LEVEL, sample_weight=LEVEL),
        "sample_weight must be left out of fit, which does not take it here; got one.",
    ),
    "rows in no fold": (
        lambda: CalibratedOrdinal(MPRank(), cv=Half()).fit(X, LEVEL),
        "cv must leave every row out; got row 30 in no fold.",
    ),
    "one row": (
        lambda: CalibratedOrdinal(MPRank(), classes=[0, 1]).fit(X[:1], [1]),
        "X must have two rows at least, so that one can be left out; got 1.",
    ),
}


class Half:
    """Leaves half of the rows out, and the others never."""

    def split(self, X, y=None, groups=None):
        yield np.arange(30, 60), np.arange(30)


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(call, sentence):
    with pytest.raises((DataError, ValueError, TypeError)) as error:
        call()
    assert sentence in str(error.value)


def test_a_model_of_another_package_is_not_saved():
    model = CalibratedOrdinal(Ridge()).fit(X, LEVEL)
    with pytest.raises(TypeError, match="estimator must be"):
        model.to_bytes()


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("slope", -1.0, "slope must be a finite number >= 0"),
        ("center", {"float": "nan"}, "center must be a finite number"),
        ("classes", None, "state.classes must be an object"),
    ],
)
def test_damaged_files(name, value, what):
    header, parts = opened(CalibratedOrdinal(MPRank()).fit(X, LEVEL).to_bytes())
    header["state"][name] = value
    with pytest.raises(ModelFileError, match=what):
        peckorder.io.from_bytes(closed(header, parts))


def test_damaged_thresholds():
    model = CalibratedOrdinal(MPRank()).fit(X, LEVEL)
    header, parts = opened(model.to_bytes())
    number = header["state"]["thresholds"]["array"]
    parts[number] = model.thresholds_[[1, 0, 2, 3]].tobytes()
    sentence = "thresholds must be strictly ascending"
    with pytest.raises(ModelFileError, match=sentence):
        peckorder.io.from_bytes(closed(header, parts))
    assert exactly(sentence)
