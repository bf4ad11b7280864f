"""SVRank: golden cases, its relatives, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

from peckorder import MPRank, SVRank

CASES = json.loads((Path(__file__).parents[1] / "golden/svrank.json").read_text())
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.standard_t(3, size=40)
QID = RNG.integers(0, 4, 40)
POWERS_AND_LOSSES = [(1, "svr"), (2, "svr"), (1, "hmpc"), (2, "hmpc")]


@pytest.mark.parametrize("case", CASES["cases"])
@pytest.mark.parametrize("power", [1, 2])
def test_golden(case, power):
    expected = case[f"n{power}"]
    model = SVRank(C=case["C"], epsilon=case["eps"], power=power, tol=1e-17)
    model.set_params(tol=1e-12 if power == 1 else 1e-17).fit(case["X"], case["y"])
    assert model.objective_ == pytest.approx(expected["F"], rel=0, abs=expected["tol_F"])
    np.testing.assert_allclose(model.coef_, expected["w"], rtol=0, atol=expected["tol_w"])
    assert 0.0 <= model.dual_gap_ <= 1e-11 * expected["F"]


@pytest.mark.parametrize("C", [1.0, 50.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_equals_a_regression_on_all_pairs(C, epsilon):
    rows, y, m = X[:30], Y[:30], 30
    i, j = np.nonzero(~np.eye(m, dtype=bool))
    pairs = SVR(kernel="linear", C=C / (2 * m * m), epsilon=epsilon, tol=1e-10)
    pairs.fit(rows[j] - rows[i], y[j] - y[i])
    model = SVRank(C=C, epsilon=epsilon, tol=1e-10).fit(rows, y)
    np.testing.assert_allclose(model.coef_, pairs.coef_[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("power", "loss"), POWERS_AND_LOSSES)
def test_all_forms_of_rows_are_one(power, loss):
    settings = {"C": 20.0, "power": power, "loss": loss, "tol": 1e-11}
    linear = SVRank(**settings).fit(X, Y, qid=QID)
    K = X @ X.T
    for kernel, rows in {
        "linear": sparse.csr_array(X),
        "precomputed": K,
        (lambda a, b: a @ b.T): X,
    }.items():
        model = SVRank(kernel=kernel, **settings).fit(rows, Y, qid=QID)
        assert model.objective_ == pytest.approx(linear.objective_, rel=1e-10)
        np.testing.assert_allclose(model.predict(rows), linear.predict(X), atol=1e-4)
        if kernel != "linear":
            assert not hasattr(model, "coef_")
            sums = np.bincount(QID, model.dual_coef_)
            np.testing.assert_allclose(sums, 0.0, atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_squares_without_a_band_are_mprank(kernel):
    weight, offset = RNG.random(40), RNG.normal(size=40)
    data = {"qid": QID, "sample_weight": weight, "offset": offset}
    model = SVRank(C=30.0, epsilon=0, power=2, kernel=kernel, tol=1e-16)
    model.fit(X, Y, **data)
    expected = MPRank(C=30.0, kernel=kernel).fit(X, Y, **data)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-12)
    assert model.intercept_ == pytest.approx(expected.intercept_, rel=1e-6)
    np.testing.assert_allclose(
        model.predict(X, offset=offset), expected.predict(X, offset=offset), atol=1e-6
    )


@pytest.mark.parametrize(("power", "loss"), POWERS_AND_LOSSES)
def test_data_without_pairs(power, loss):
    model = SVRank(power=power, loss=loss)
    for labels, qid in ([np.full(40, 3.0), None], [Y, np.arange(40)]):
        model.fit(X, labels, qid=qid)
        assert model.objective_ == model.dual_gap_ == 0.0
        np.testing.assert_array_equal(model.coef_, 0.0)
        assert model.intercept_ == pytest.approx(labels.mean())
        assert model.n_iter_ == 1


def test_rows_without_weight_are_ignored():
    weight = np.where(np.arange(40) < 30, 1.0, 0.0)
    model = SVRank(kernel="rbf").fit(X, Y, sample_weight=weight)
    without = SVRank(kernel="rbf").fit(X[:30], Y[:30])
    np.testing.assert_array_equal(model.dual_coef_[30:], 0.0)
    np.testing.assert_allclose(model.predict(X), without.predict(X), rtol=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_a_fit_that_has_not_converged_causes_a_warning(power):
    model = SVRank(C=100.0, power=power, max_iter=2, tol=1e-9)
    sentence = (
        r"^SVRank: not converged after 2 iterations: the objective .* may be .* above "
        r"its minimum. Raise max_iter \(now 2\) or tol \(now 1e-09\)\.$"
    )
    with pytest.warns(ConvergenceWarning, match=sentence) as caught:
        model.fit(X, Y)
    assert caught[0].filename == __file__
    best = SVRank(C=100.0, power=power, tol=1e-12).fit(X, Y).objective_
    assert best <= model.objective_ <= best + model.dual_gap_


def test_leaves_no_pairs_out():
    assert not hasattr(SVRank, "leave_pair_out_error")
    assert not hasattr(SVRank, "leave_one_out_predictions")
