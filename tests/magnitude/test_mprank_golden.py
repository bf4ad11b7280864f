"""MPRank equals the cases worked out by brute force."""

import json
from pathlib import Path

import numpy as np
import pytest

from peckorder import MPRank, MPRankCV
from peckorder.magnitude.mprank_solver.iterative import Limits, sweeps
from peckorder.magnitude.mprank_solver.kernel_matrix import DenseKernelMatrix
from peckorder.magnitude.mprank_solver.rows import QueryWeights

TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}
ALL = json.loads((Path(__file__).parents[1] / "golden/mprank.json").read_text())
CASES = ALL["cases"]
KERNEL_CASES = [case for case in CASES if "rbf" in case]
DIRECT = ["auto", "cholesky", "eigh"]
ITERATIVE = ["cg", "coordinate", "gradient"]


def assert_close(a, b, **tolerance):
    np.testing.assert_allclose(a, b, **(TOLERANCE | tolerance))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("solver", DIRECT + ITERATIVE)
def test_linear(case, solver):
    loose = {} if solver in DIRECT else {"rtol": 1e-6, "atol": 1e-6}
    model = MPRank(C=case["C"], solver=solver, tol=1e-18, max_iter=100_000)
    model.fit(case["X"], case["y"])
    expected = case["linear"]
    assert_close(model.coef_, expected["w"], **loose)
    assert_close(model.dual_coef_, expected["alpha"], **loose)
    assert_close(model.intercept_, expected["intercept"], **loose)
    if "objective" in expected:
        assert_close(model.objective_, expected["objective"])
        scores = model.predict(case["X_test"]) - model.intercept_
        assert_close(scores, expected["test"], **loose)


@pytest.mark.parametrize("case", KERNEL_CASES)
@pytest.mark.parametrize("solver", DIRECT + ITERATIVE)
def test_rbf(case, solver):
    loose = {} if solver in DIRECT else {"rtol": 1e-6, "atol": 1e-6}
    model = MPRank(
        C=case["C"],
        kernel="rbf",
        gamma=case["rbf_gamma"],
        solver=solver,
        tol=1e-18,
        max_iter=100_000,
    ).fit(case["X"], case["y"])
    expected = case["rbf"]
    assert_close(model.dual_coef_, expected["alpha"], **loose)
    assert_close(model.intercept_, expected["intercept"], **loose)
    assert_close(model.objective_, expected["objective"])
    assert_close(model.predict(case["X_test"]) - model.intercept_, expected["test"], **loose)
    assert_close(model.predict(case["X"]) - model.intercept_, expected["h_train"], **loose)


@pytest.mark.parametrize("case", KERNEL_CASES)
def test_three_passes_of_the_papers_own_iteration(case):
    X, y = np.array(case["X"]), np.array(case["y"])
    weights = QueryWeights.of(np.zeros(len(y), dtype=int), None)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-case["rbf_gamma"] * distances)
    K = DenseKernelMatrix(K, weights).centred_matrix()
    ridge, limits = weights.ridge(case["C"]), Limits(1e-300, 3)
    expected = case["rbf"]
    eta = np.full(len(y), expected["cyclic_3_passes"]["eta"])
    target = y - y.mean()
    found = sweeps(K, target, ridge, eta, limits, by_gap=True)
    assert_close(found.x, expected["cyclic_3_passes"]["alpha"])
    exact = 0.5 / (K.diagonal() + ridge)
    found = sweeps(K, target, ridge, exact, limits, by_gap=True)
    assert_close(found.x, expected["exact_coordinate_3_passes"])


@pytest.mark.parametrize("case", KERNEL_CASES)
def test_pairs_and_rows_left_out(case):
    expected, gamma = case["rbf"], case["rbf_gamma"]
    model = MPRank(C=case["C"], kernel="rbf", gamma=gamma).fit(case["X"], case["y"])
    assert_close(model.leave_pair_out_error(), expected["lpo_same_C"])
    assert_close(model.leave_pair_out_error(keep="C_prime"), expected["lpo_same_Cprime"])
    if expected.get("lpo_paper_approx") is not None:
        printed = model.leave_pair_out_error(keep="C_prime", method="paper")
        assert_close(printed, expected["lpo_paper_approx"])
    residuals = np.array(case["y"]) - model.leave_one_out_predictions()
    assert_close(residuals, expected["loo_point_residuals_same_C"])


@pytest.mark.parametrize("case", KERNEL_CASES)
def test_errors_along_a_path(case):
    expected = case["rbf"]
    model = MPRankCV(Cs=expected["path_C"], gammas=[case["rbf_gamma"]], kernel="rbf")
    model.fit(case["X"], case["y"])
    assert_close(model.errors_[0], expected["path_lpo_same_C"])
    best = int(np.argmin(model.errors_))
    assert expected["path_C"][best] == model.C_
    assert model.gamma_ == case["rbf_gamma"]
