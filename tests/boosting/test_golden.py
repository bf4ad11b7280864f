"""RankBoost runs the golden cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from peckorder import Preferences, RankBoost
from peckorder.exceptions import DataError
from support import rankboost_oracle
from support.helpers import exactly, raises_unchanged

pytestmark = pytest.mark.jit_off

CASES = range(7)
METHODS = {1: "numeric", 2: "analytic", 3: "approximate"}
every_method = pytest.mark.parametrize("alpha", METHODS.values())


def rows_of(case):
    return np.array(case["features"], dtype=float)


def feedback_of(case):
    """Return y and qid."""
    if "pairs" in case:
        worse, better, weight = zip(*case["pairs"], strict=True)
        return Preferences(better, worse, weight), None
    return case["grade"], case.get("query")


def pairs_of(case):
    if "pairs" in case:
        return [tuple(pair) for pair in case["pairs"]]
    return rankboost_oracle.pairs_of(case["grade"], case.get("query"))


def fitted(case, **options):
    options = {
        "n_rounds": case["T"],
        "alpha": METHODS[case.get("method", 3)],
        "cumulative": case.get("cum", False),
        "smoothing": case["eps"],
    } | options
    y, qid = feedback_of(case)
    return RankBoost(**options).fit(rows_of(case), y, qid=qid)


def ranking(X, feature, threshold, default):
    column = X[:, feature]
    return np.where(np.isnan(column), default, (column > threshold).astype(float))


def assert_same_rounds(model, case):
    """Compare rounds; a ranking may stand for its complement, with alpha negated."""
    X = rows_of(case)
    assert model.n_rounds_ == len(case["rounds"])
    for ours, theirs in zip(model.weak_rankers_.tolist(), case["rounds"], strict=True):
        *weak, alpha = ours
        h = ranking(X, *weak)
        sign = 1 if h.tolist() == theirs["h"] else -1
        assert_array_equal(h if sign == 1 else 1 - h, theirs["h"])
        assert_allclose(sign * alpha, theirs["alpha"], rtol=0, atol=1e-12)
    Z = [one["Z"] for one in case["rounds"]]
    assert_allclose(model.bounds_[1:] / model.bounds_[:-1], Z, rtol=0, atol=1e-13)
    assert model.bounds_[0] == 1.0


def centred(scores, rows):
    return (scores - scores[rows].mean())[rows]


def assert_same_scores(model, case):
    rows = case["feedback_items"]
    expected = np.array(case["H_centred_on_feedback_items"])[rows]
    found = centred(model.predict(rows_of(case)), rows)
    assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.fixture(params=CASES, ids=lambda i: f"case{i}")
def case(request, golden):
    return golden("rankboost")["cases"][request.param]


@pytest.fixture
def edge(golden):
    return golden("rankboost")["edge"]


def test_runs_the_golden_rounds(case):
    assert_same_rounds(fitted(case), case)


def test_ends_at_the_golden_scores(case):
    assert_same_scores(fitted(case), case)


def test_ends_with_the_golden_weights_of_pairs(case):
    H, pairs = fitted(case).predict(rows_of(case)), pairs_of(case)
    left = np.array([w * np.exp(H[a] - H[b]) for a, b, w in pairs])
    assert_allclose(left / left.sum(), case["D_final"], rtol=0, atol=1e-12)


def test_bounds_the_golden_losses(case):
    model, pairs = fitted(case), pairs_of(case)
    assert_allclose(model.bounds_[-1], case["prod_Z"], rtol=0, atol=1e-13)
    # Equal sums of alphas in another order differ in the last bits.
    H = np.round(model.predict(rows_of(case)), 9)
    loss = rankboost_oracle.ranking_loss(pairs, H)
    assert_allclose(loss, case["rloss_ties_1"], rtol=0, atol=1e-14)
    half = rankboost_oracle.ranking_loss(pairs, H, tied=0.5)
    assert_allclose(half, case["rloss_ties_half"], rtol=0, atol=1e-14)
    assert loss <= model.bounds_[-1]


def test_explicit_pairs_run_the_golden_rounds_too(case):
    assert_same_rounds(fitted(case | {"pairs": pairs_of(case)}), case)


def test_smoothing_tames_a_perfect_feature(edge):
    case = edge["perfect_feature"]
    model = fitted(case)
    assert_allclose(model.weak_rankers_["alpha"], case["alpha"], rtol=0, atol=1e-12)
    assert_allclose(model.bounds_, np.cumprod([1, *case["Z"]]), rtol=1e-12)
    expected = np.array(case["H"])
    found = model.predict(rows_of(case))
    assert_allclose(centred(found, range(4)), centred(expected, range(4)), atol=1e-12)


@every_method
def test_all_methods_end_alike_on_a_perfect_feature(edge, alpha):
    case = edge["perfect_feature"]
    model = fitted(case, alpha=alpha)
    assert_allclose(model.weak_rankers_["alpha"][0], case["alpha"][0], rtol=1e-13)


@every_method
def test_a_perfect_feature_needs_smoothing(edge, alpha):
    case = edge["perfect_feature"]
    model = RankBoost(smoothing=0, alpha=alpha)
    sentence = "RankBoost: smoothing must be > 0 where a weak ranking errs on no pair; got 0."
    with raises_unchanged(model, DataError, sentence):
        model.fit(rows_of(case), case["grade"])


NOTHING_TOLD = (
    "RankBoost: no weak ranking separates the rows of a pair, so that all scores are "
    "equal. Do all features abstain? If they fall with relevance, set cumulative=False."
)


@pytest.mark.parametrize(
    ("alpha", "weak"),
    [
        *((alpha, "threshold") for alpha in METHODS.values()),
        ("approximate", "feature"),
        ("numeric", "feature"),
    ],
)
@pytest.mark.parametrize("cumulative", [True, False])
def test_a_constant_comes_of_features_that_abstain(edge, alpha, weak, cumulative):
    case = edge["all_abstain"]
    model = RankBoost(alpha=alpha, weak=weak, cumulative=cumulative)
    with pytest.warns(ConvergenceWarning, match=exactly(NOTHING_TOLD)):
        model.fit(rows_of(case), case["grade"])
    assert model.n_rounds_ == case["rounds"]
    assert model.predict(rows_of(case)).tolist() == case["H"]
    assert model.bounds_.tolist() == [1.0]
    assert model.feature_importances_.tolist() == [0.0]


@every_method
def test_no_pairs_are_refused(edge, alpha):
    case = edge["no_crucial_pairs"]
    assert case["expected"] == "error"
    model = RankBoost(alpha=alpha)
    sentence = (
        "RankBoost: y must contain two rows of one query with different "
        "grades and positive weights; got 1 of 1 queries "
        "with one grade only."
    )
    with raises_unchanged(model, DataError, sentence):
        model.fit([[1.0], [2.0], [3.0]], case["grade"])


def test_a_default_that_is_given_is_kept(edge):
    case = edge["qdef0"]
    model = fitted(case, default=0)
    assert_same_rounds(model, case)
    assert_same_scores(model, case)
    assert set(model.weak_rankers_["default"].tolist()) == {0.0}
    theta = [float(one["theta"]) for one in case["rounds"]]
    assert model.weak_rankers_["threshold"].tolist() == theta
