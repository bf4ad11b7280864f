"""MPRank and MPRankCV: what they equal, what they take, and how they end."""

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from peckorder import MPRank, MPRankCV

SOLVERS = ["auto", "cholesky", "eigh", "cg", "coordinate", "gradient"]


def make(n=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + rng.normal(size=n)


def chooses_another_c(estimator):
    if isinstance(estimator, MPRankCV) and len(estimator.Cs) > 1:
        reason = "copies of a row stay where it is left out, so that another C is best"
        return {
            "check_sample_weight_equivalence_on_dense_data": reason,
            "check_sample_weight_equivalence_on_sparse_data": reason,
        }
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        MPRank(solver="eigh"),
        MPRank(solver="cg", tol=1e-20),
        MPRank(kernel="rbf"),
        MPRank(kernel="poly", solver="eigh"),
        MPRank(kernel="rbf", solver="coordinate", tol=1e-20),
        MPRank(kernel="rbf", solver="gradient", tol=1e-20),
        MPRank(kernel="precomputed"),
        MPRankCV(),
        MPRankCV(Cs=[1.0]),
        MPRankCV(Cs=[1.0], kernel="rbf"),
    ],
    expected_failed_checks=chooses_another_c,
)
def test_obeys_scikit_learn(estimator, check):
    assert check(estimator) is None


def test_is_ridge_regression_with_a_free_constant():
    X, y = make()
    C = 3.0
    ridge = Ridge(alpha=len(y) / (2 * C)).fit(X, y)
    model = MPRank(C=C).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X))


def test_is_kernel_ridge_regression_with_a_free_constant():
    X, y = make()
    n, C = len(y), 3.0
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    J = np.eye(n) - 1 / n
    other = KernelRidge(alpha=n / (2 * C), kernel="precomputed").fit(J @ K @ J, J @ y)
    model = MPRank(C=C, kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, other.dual_coef_)
    border = np.block([[K + n / (2 * C) * np.eye(n), np.ones((n, 1))],
                       [np.ones((1, n)), np.zeros((1, 1))]])  # fmt: skip
    solved = np.linalg.solve(border, np.append(y, 0.0))
    np.testing.assert_allclose(model.dual_coef_, solved[:-1])
    np.testing.assert_allclose(model.intercept_, solved[-1])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(12, 4), (6, 30)])
def test_sparse_and_dense_rows_give_one_model(solver, shape):
    X, y = make(*shape)
    X[X < 0.3] = 0.0
    qid = np.arange(len(y)) % 3
    model = MPRank(C=0.5, solver=solver, tol=1e-20, max_iter=10_000)
    dense = copy.deepcopy(model).fit(X, y, qid=qid).coef_
    np.testing.assert_allclose(model.fit(sparse.csr_array(X), y, qid=qid).coef_, dense)


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_a_kernel_may_be_named_called_or_given(kernel):
    X, y = make()
    named = MPRank(kernel=kernel, gamma=0.2, degree=3, coef0=0.5).fit(X, y)

    def function(X, Z):
        products = X @ Z.T
        if kernel == "poly":
            return (0.2 * products + 0.5) ** 3
        squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * products
        return np.exp(-0.2 * squares)

    called = MPRank(kernel=function).fit(X, y)
    given = MPRank(kernel="precomputed").fit(function(X, X), y)
    expected = named.predict(X[:7])
    np.testing.assert_allclose(called.predict(X[:7]), expected)
    np.testing.assert_allclose(given.predict(function(X[:7], X)), expected)
    np.testing.assert_allclose(named.predict(sparse.csr_array(X[:7])), expected)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_rows_without_weight_are_as_if_not_given(kernel):
    X, y = make(20)
    weight = np.ones(20)
    weight[[0, 5, 19]] = 0.0
    some = weight > 0
    square = X @ X.T
    rows = square if kernel == "precomputed" else X
    model = MPRank(kernel=kernel).fit(rows, y, sample_weight=weight)
    less = square[np.ix_(some, some)] if kernel == "precomputed" else X[some]
    without = MPRank(kernel=kernel).fit(less, y[some])
    np.testing.assert_allclose(model.dual_coef_[some], without.dual_coef_)
    assert not model.dual_coef_[~some].any()
    errors = model.leave_pair_out_error(), without.leave_pair_out_error()
    assert errors[0] == pytest.approx(errors[1])
    assert np.isnan(model.leave_one_out_predictions()[~some]).all()
    assert len(model.predict(rows)) == 20


def test_kernels_need_not_be_kept(monkeypatch):
    X, y = make(50)
    qid = np.arange(50) % 4
    kept = MPRank(kernel="rbf", C=10.0).fit(X, y, qid=qid)
    monkeypatch.setattr("peckorder.magnitude.mprank_solver.solve.STORED_ROWS", 10)
    monkeypatch.setattr("peckorder.magnitude.mprank_solver.kernel_matrix._TILE", 7)
    model = MPRank(kernel="rbf", C=10.0, solver="cg", tol=1e-22)
    model.fit(X, y, qid=qid)
    np.testing.assert_allclose(model.dual_coef_, kept.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), kept.predict(X), atol=1e-8)


def test_single_precision_costs_little():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40_000, 20)) + 5.0).astype(np.float32)
    y = X @ rng.normal(size=20) + rng.normal(size=40_000)
    qid = np.arange(40_000) // 40
    for q in (None, qid):
        single = MPRank(C=100.0).fit(X, y, qid=q).coef_
        double = MPRank(C=100.0).fit(X.astype(np.float64), y, qid=q).coef_
        np.testing.assert_allclose(single, double, rtol=1e-6, atol=1e-6)


def test_nothing_is_learnt_from_constant_labels():
    X, _ = make()
    for kernel in ("linear", "rbf"):
        for solver in SOLVERS:
            model = MPRank(kernel=kernel, solver=solver).fit(X, np.full(30, 2.5))
            assert not model.dual_coef_.any()
            assert model.intercept_ == 2.5
            assert model.objective_ == model.dual_gap_ == 0.0


def test_nothing_is_learnt_from_queries_of_one_row():
    X, y = make()
    model = MPRank().fit(X, y, qid=np.arange(30))
    assert not model.coef_.any()
    assert model.intercept_ == pytest.approx(y.mean())


@pytest.mark.parametrize("solver", ["cholesky", "eigh"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e6, 1e12])
def test_repeated_rows_and_features_are_accepted(solver, kernel, C):
    X, y = make(12, 3)
    X = np.hstack([X, X[:, :1]])
    X = np.vstack([X, X])
    y = np.append(y, y + 1.0)
    model = MPRank(C=C, kernel=kernel, solver=solver).fit(X, y)
    scores = model.predict(X)
    np.testing.assert_allclose(scores[:12], scores[12:], atol=1e-6)
    if C == 1e12 and kernel == "linear":
        best = np.linalg.lstsq(np.c_[X, np.ones(24)], y)[0]
        np.testing.assert_allclose(scores, np.c_[X, np.ones(24)] @ best, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e3, 1e8, 1e12])
def test_pairs_are_left_out_soundly_for_every_c(kernel, C):
    rng = np.random.default_rng(1)
    n = 9
    # Kernels whose centred spectrum is known: Q diag(s) Q'.
    Q = np.linalg.qr(np.c_[np.ones(n), rng.normal(size=(n, n - 1))])[0][:, 1:]
    s = np.array([5.0, 3.0, 2.0, 1.0] + [0.0 if kernel == "linear" else 0.5] * (n - 5))
    y = rng.normal(size=n)
    ridge = (n - 2) / (2 * C)
    G = (Q * (ridge / (s + ridge))) @ Q.T
    e = G @ y
    total = 0.0
    for i in range(n):
        for j in range(i):
            r = np.linalg.solve(G[np.ix_([i, j], [i, j])], e[[i, j]])
            total += (r[1] - r[0]) ** 2
    expected = total / (n * (n - 1) / 2)
    if kernel == "linear":
        model = MPRank(C=C).fit(Q[:, :4] * np.sqrt(s[:4]), y)
    else:
        model = MPRank(C=C, kernel="precomputed").fit((Q * s) @ Q.T, y)
    assert model.leave_pair_out_error() == pytest.approx(expected, rel=1e-7)


def test_a_decomposition_by_features_is_not_used_where_it_is_imprecise():
    X, y = make(40, 3)
    model = MPRank(C=5.0).fit(X, y)
    long = MPRank(C=5.0, kernel="precomputed").fit(X @ X.T, y)
    for cost in ("squared", "absolute", "misranking"):
        found = model.leave_pair_out_error(cost)
        assert found == pytest.approx(long.leave_pair_out_error(cost))
    np.testing.assert_allclose(model.leave_one_out_predictions(), long.leave_one_out_predictions())
    X, y = make(16, 3)
    X[:, 2] = 0.0
    X[0, 2] = 1e3  # a row with a feature of its own: almost nothing is left of it
    total = 0.0
    for i, j in combinations(range(16), 2):
        rest = [k for k in range(16) if k not in (i, j)]
        h = MPRank(C=1e4).fit(X[rest], y[rest]).predict(X)
        total += ((h[j] - h[i]) - (y[j] - y[i])) ** 2
    found = MPRank(C=1e4).fit(X, y).leave_pair_out_error()
    assert found == pytest.approx(total / 120, rel=1e-7)


def test_a_search_chooses_by_leave_pair_out_errors():
    X, y = make(25)
    Cs, gammas = [0.1, 10.0, 1000.0], [0.01, 0.3]
    for cost in ("squared", "absolute", "misranking"):
        model = MPRankCV(Cs=Cs, gammas=gammas, kernel="rbf", cost=cost).fit(X, y)
        for i, gamma in enumerate(gammas):
            for j, C in enumerate(Cs):
                one = MPRank(C=C, kernel="rbf", gamma=gamma).fit(X, y)
                expected = one.leave_pair_out_error(cost)
                assert model.errors_[i, j] == pytest.approx(expected)
        i, j = np.unravel_index(np.argmin(model.errors_), (2, 3))
        assert (model.gamma_, model.C_) == (gammas[i], Cs[j])
        best = MPRank(C=model.C_, kernel="rbf", gamma=model.gamma_).fit(X, y)
        np.testing.assert_allclose(model.predict(X), best.predict(X))


@pytest.mark.parametrize(("n", "most"), [(80, 0.03), (320, 0.005)])
def test_the_diagonal_is_a_fair_approximation(n, most):
    X, y = make(n)
    for kernel in ("linear", "rbf"):
        exact = MPRankCV(Cs=[1.0, 20.0], kernel=kernel).fit(X, y).errors_
        rough = MPRankCV(Cs=[1.0, 20.0], kernel=kernel, method="diagonal").fit(X, y)
        np.testing.assert_allclose(rough.errors_, exact, rtol=most)


def test_a_search_within_queries():
    X, y = make(40)
    qid = np.repeat(np.arange(8), 5)
    model = MPRankCV(cost="misranking").fit(X, y, qid=qid)
    one = MPRank(C=model.C_).fit(X, y, qid=qid)
    expected = one.leave_pair_out_error("misranking", keep="C_prime")
    assert model.errors_.min() == pytest.approx(expected)
    assert model.leave_pair_out_error("misranking", "C_prime") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("data", "keep"),
    [
        ({}, "C"),
        ({"qid": np.ones(40)}, "C"),
        ({"sample_weight": np.full(40, 3.0)}, "C"),
        ({"qid": np.arange(40) % 4}, "C_prime"),
        ({"sample_weight": np.arange(40) % 3 + 1.0}, "C_prime"),
        ({"qid": np.arange(40) % 4, "sample_weight": np.arange(40) % 3}, "C_prime"),
    ],
    ids=str,
)
def test_what_is_kept_follows_from_queries_and_weights(data, keep):
    X, y = make(40)
    found, expected = (MPRankCV(keep=k).fit(X, y, **data) for k in ("auto", keep))
    np.testing.assert_array_equal(found.errors_, expected.errors_)
    assert MPRankCV().keep == "auto"
    model = MPRank().fit(X, y, **data)
    assert model.leave_pair_out_error() == model.leave_pair_out_error(keep=keep)
    rows = model.leave_one_out_predictions(), model.leave_one_out_predictions(keep=keep)
    np.testing.assert_array_equal(*rows)


def test_a_fit_that_has_not_converged_causes_a_warning():
    X, y = make()
    sentence = r"MPRank: not converged after 2 iterations: .* max_iter \(now 2\) or tol"
    for solver in ("cg", "coordinate", "gradient"):
        with pytest.warns(ConvergenceWarning, match=sentence):
            model = MPRank(C=1e4, kernel="rbf", solver=solver, max_iter=2).fit(X, y)
        least = MPRank(C=1e4, kernel="rbf").fit(X, y).objective_
        assert least <= model.objective_ <= least + model.dual_gap_ * (1 + 1e-9)


def test_the_papers_rule_ends_earlier():
    X, y = make()
    model = MPRank(C=1e3, kernel="rbf", solver="gradient", tol=1e-4, max_iter=10**5)
    by_gap = copy.deepcopy(model).set_params(tol=1e-10).fit(X, y)
    by_change = model.set_params(stopping="relative").fit(X, y)
    assert by_change.n_iter_ < by_gap.n_iter_
    assert by_change.dual_gap_ > by_gap.dual_gap_


def test_a_copy_predicts_the_same():
    X, y = make()
    for kernel in ("linear", "rbf", laplacian_kernel):
        model = MPRank(kernel=kernel).fit(X, y)
        other = pickle.loads(pickle.dumps(model))
        assert np.array_equal(other.predict(X), model.predict(X))
    small = len(pickle.dumps(MPRank().fit(*make(5000))))
    assert small < 5000 * 8 * 4


def test_a_copy_of_a_model_of_a_derived_class_of_matrices():
    class Rows(sparse.csr_matrix):
        pass

    model = MPRank(kernel="rbf").fit(Rows(np.eye(40)), np.arange(40.0))
    other = pickle.loads(pickle.dumps(model))
    assert np.array_equal(other.predict(np.eye(40)), model.predict(np.eye(40)))


def test_learns_on_top_of_an_offset():
    X, y = make()
    offset = 2.0 * X[:, 0]
    model = MPRank(C=10.0).fit(X, y, offset=offset)
    plain = MPRank(C=10.0).fit(X, y - offset)
    np.testing.assert_allclose(model.predict(X, offset=offset),
                               plain.predict(X) + offset)  # fmt: skip
    with pytest.warns(UserWarning, match="fitted with an offset"):
        model.predict(X)
