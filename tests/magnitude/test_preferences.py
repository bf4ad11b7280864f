"""MPRank of preferences: one equation per pair, however it is solved."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from peckorder import MPRank, Preferences
from peckorder.exceptions import DataError
from support import slow_pairs
from support.helpers import refuses
from support.slow_pairs import kernels, problems

SOLVERS = ["auto", "cholesky", "eigh", "cg"]


def slow_scores(model, X, pairs, Z):
    """Return coefficients of rows, scores of Z, and the objective, by listing pairs."""
    K = kernels(model, X, X)
    factor = model.C / slow_pairs.normaliser(pairs)
    a = slow_pairs.fit(K, pairs, factor)
    return a, kernels(model, Z, X) @ a, slow_pairs.objective(K, pairs, factor, a)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("solver", SOLVERS)
@given(problems(), st.sampled_from([0.01, 1.0, 100.0]))
def test_equals_one_equation_per_pair(kernel, solver, problem, C):
    X, feedback, more = problem
    model = MPRank(C=C, kernel=kernel, gamma=0.05, solver=solver, tol=1e-26)
    is_given = kernel == "precomputed"
    rows = kernels(MPRank(kernel="rbf", gamma=0.05), X, X) if is_given else X
    pairs = list(slow_pairs.listed(feedback, **more))
    twin = MPRank(C=C, kernel="rbf" if is_given else kernel, gamma=0.05)
    a, scores, objective = slow_scores(twin, X, pairs, X)
    model.fit(rows, feedback, **more)
    # Scores far from zero have lost digits; their differences have not.
    size = max(1.0, np.abs(a).max())
    np.testing.assert_allclose(model.dual_coef_, a, atol=1e-8 * size)
    found = model.predict(rows, offset=np.zeros(len(X)))
    np.testing.assert_allclose(np.subtract.outer(found, found),
                               np.subtract.outer(scores, scores), atol=1e-7)  # fmt: skip
    assert model.objective_ == pytest.approx(objective, rel=1e-8, abs=1e-10)
    assert model.dual_gap_ <= 1e-8 * max(objective, 1.0)
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("solver", ["cholesky", "eigh", "cg"])
@pytest.mark.parametrize("shape", [(14, 3), (6, 15)])
@pytest.mark.parametrize("sizes", [None, [3, 3], [6, 2, 4]])
def test_labels_as_pairs_give_the_model_of_labels(kernel, solver, shape, sizes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.integers(0, 4, size=shape[0])
    qid = None if sizes is None else np.repeat(np.arange(len(sizes)), sizes).tolist()
    qid = None if qid is None else (qid + [9] * len(X))[: len(X)]
    parameters = {"C": 3.0, "kernel": kernel, "gamma": 0.1, "solver": solver, "tol": 1e-26}
    expected = MPRank(**parameters).fit(X, y, qid=qid)
    found = MPRank(**parameters).fit(X, Preferences.from_labels(y, qid))
    np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, atol=1e-11)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-11)
    apart = expected.predict(X) - found.predict(X)
    np.testing.assert_allclose(apart, expected.intercept_, atol=1e-11)


def test_the_objective_does_not_depend_on_the_unit_of_weights():
    X = np.random.default_rng(0).normal(size=(6, 2))
    pairs = Preferences([0, 1, 2, 4], [1, 2, 0, 5], weight=[1, 2, 3, 4], size=[1, 0, 2, 3])
    expected = MPRank().fit(X, pairs).coef_
    for unit in (1e-200, 1e-3, 1e200):
        np.testing.assert_allclose(MPRank().fit(X, unit * pairs).coef_, expected)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_pair_given_twice_weighs_twice(kernel):
    X = np.random.default_rng(0).normal(size=(5, 2))
    twice = Preferences([0, 0, 1, 2], [1, 1, 2, 3], size=[2, 2, 1, 1])
    once = Preferences([0, 1, 2], [1, 2, 3], weight=[2, 1, 1], size=[2, 1, 1])
    model = MPRank(kernel=kernel).fit(X, once)
    np.testing.assert_allclose(
        MPRank(kernel=kernel).fit(X, twice).dual_coef_, model.dual_coef_, atol=1e-14
    )


def test_grades_and_pairs_may_be_added():
    X = np.random.default_rng(0).normal(size=(5, 2))
    both = Preferences.from_grades([0, 1, 2, 2, 0]) + Preferences([3, 1], [4, 0], size=[5, 2])
    pairs = list(slow_pairs.listed(both))
    model = MPRank(C=2.0).fit(X, both)
    a = slow_pairs.fit(X @ X.T, pairs, 2.0 / slow_pairs.normaliser(pairs))
    np.testing.assert_allclose(model.dual_coef_, a)
    assert model.score(X, both) == 1.0 - np.mean(
        [0.0 if model.predict(X)[b] > model.predict(X)[w] else 1.0 for b, w, _, _ in pairs]
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_rows_in_no_pair_are_as_if_not_given(kernel):
    X = np.random.default_rng(0).normal(size=(9, 3))
    rows = X @ X.T if kernel == "precomputed" else X
    pairs = Preferences([1, 5, 8, 3], [5, 8, 1, 0], weight=[1, 2, 1, 0], size=[1, 2, 3, 4])
    model = MPRank(kernel=kernel, gamma=0.3).fit(rows, pairs)
    used = [1, 5, 8]
    some = X[used] @ X[used].T if kernel == "precomputed" else X[used]
    other = MPRank(kernel=kernel, gamma=0.3).fit(some, pairs.restrict(used))
    np.testing.assert_allclose(model.dual_coef_[used], other.dual_coef_)
    assert not np.delete(model.dual_coef_, used).any()
    assert len(model.predict(rows)) == 9


@pytest.mark.parametrize(
    "form", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_pairs", [30, 600])
@pytest.mark.parametrize("solver", ["auto", "cg"])
def test_rows_in_any_form_give_one_model(form, dtype, n_pairs, solver):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(60, 5)) + 1000.0).astype(dtype)
    X.flags.writeable = False
    better = rng.integers(0, 60, n_pairs)
    worse = (better + rng.integers(1, 60, n_pairs)) % 60
    pairs = Preferences(better, worse, rng.uniform(0.1, 2.0, n_pairs), rng.uniform(0, 3, n_pairs))
    near = X.astype(np.float64) - 1000.0
    listed = list(slow_pairs.listed(pairs))
    a = slow_pairs.fit(near @ near.T, listed, 5.0 / slow_pairs.normaliser(listed))
    model = MPRank(C=5.0, solver=solver, tol=1e-24).fit(form(X), pairs)
    np.testing.assert_allclose(model.coef_, near.T @ a, rtol=1e-6 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_items_without_features_are_their_own_indicators(solver):
    rng = np.random.default_rng(0)
    better = rng.integers(0, 40, 200)
    worse = (better + rng.integers(1, 40, 200)) % 40
    pairs = Preferences(better, worse, size=rng.uniform(0, 3, 200))
    listed = list(slow_pairs.listed(pairs))
    expected = slow_pairs.fit(np.eye(40), listed, 10.0 / slow_pairs.normaliser(listed))
    for form in (np.eye(40), sparse.eye_array(40, format="csr")):
        model = MPRank(C=10.0, solver=solver, tol=1e-24).fit(form, pairs)
        np.testing.assert_allclose(model.coef_, expected, atol=1e-9)
        assert abs(model.coef_.sum()) < 1e-9


def test_collinear_features_share_a_coefficient_however_large_C_is():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    X = np.column_stack([x, 2.0 * x, rng.normal(size=30)])
    pairs = Preferences.from_labels(x + X[:, 2])
    coef = MPRank(C=1e14).fit(X, pairs).coef_
    np.testing.assert_allclose(coef, [0.2, 0.4, 1.0], rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_pairs_of_size_zero_give_equal_scores(kernel):
    X = np.random.default_rng(0).normal(size=(4, 2))
    model = MPRank(kernel=kernel).fit(X, Preferences([0, 1], [1, 2], size=[0, 0]))
    assert not model.predict(X).any()
    assert model.objective_ == 0.0


@pytest.mark.parametrize("solver", ["auto", "cg"])
def test_memory_is_linear_in_pairs_and_rows(solver):
    rng = np.random.default_rng(0)
    n, n_pairs = 20_000, 100_000
    X = rng.normal(size=(n, 4))
    better = rng.integers(0, n, n_pairs)
    pairs = Preferences(better, (better + 1 + rng.integers(0, n - 1, n_pairs)) % n)
    MPRank(solver=solver).fit(X, pairs)
    tracemalloc.start()
    MPRank(solver=solver).fit(X, pairs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500 * n_pairs


def test_the_model_does_not_change_with_the_users_rows():
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = MPRank(kernel="rbf").fit(X, Preferences([0, 1], [1, 2]))
    Z = X.copy()
    before = model.predict(Z)
    X[:] = 0.0
    np.testing.assert_array_equal(model.predict(Z), before)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_pairs", [30, 3000])
def test_blocks_of_any_size_give_one_model(form, n_pairs, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((700, 5)) < 0.5, 0.0, rng.normal(size=(700, 5)) + 3.0)
    better = rng.integers(0, 700, n_pairs)
    worse = (better + rng.integers(1, 700, n_pairs)) % 700
    pairs = Preferences(better, worse, size=rng.uniform(0, 3, n_pairs))
    expected = MPRank(C=1e3).fit(X, pairs).coef_
    monkeypatch.setattr("peckorder.magnitude.mprank_solver.pairs._ENTRIES", 1)
    for solver in ("cholesky", "cg"):
        model = MPRank(C=1e3, solver=solver, tol=1e-24).fit(form(X), pairs)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_kernels_need_not_be_kept(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    rows = X @ X.T if kernel == "precomputed" else X
    better = rng.integers(0, 50, 120)
    pairs = Preferences(better, (better + rng.integers(1, 50, 120)) % 50)
    expected = MPRank(kernel=kernel).fit(rows, pairs).predict(rows)
    monkeypatch.setattr("peckorder.magnitude.mprank_solver.pair_solve.STORED_ROWS", 10)
    monkeypatch.setattr("peckorder.magnitude.mprank_solver.kernel_matrix._TILE", 7)
    model = MPRank(kernel=kernel, solver="cg", tol=1e-24).fit(rows, pairs)
    np.testing.assert_allclose(model.predict(rows), expected, atol=1e-9)


@pytest.mark.parametrize("solver", ["cholesky", "eigh", "cg"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 1e8])
def test_kernels_with_negative_eigenvalues_are_refused(solver, C):
    K = ROWS @ ROWS.T
    model = MPRank(kernel="precomputed", solver=solver, C=C)
    before = dict(vars(model))
    for matrix in (-K, K - 3.0 * np.eye(4))[: 1 if C <= 1.0 else 2]:
        with pytest.raises(DataError, match=r"^MPRank: kernel must be positive semidefinite"):
            model.fit(matrix, PAIRS + Preferences([3], [0]))
        assert vars(model) == before


PAIRS = Preferences([0, 1], [1, 2])
ROWS = np.random.default_rng(0).normal(size=(4, 2))


@pytest.mark.parametrize(
    ("parameters", "arguments", "sentence"),
    [
        (
            {"solver": "coordinate"},
            {},
            "MPRank: solver must be 'auto', 'cholesky', 'eigh' or 'cg' with Preferences; got "
            "'coordinate', which sweeps over rows that have labels.",
        ),
        (
            {"solver": "gradient"},
            {},
            "MPRank: solver must be 'auto', 'cholesky', 'eigh' or 'cg' with Preferences; got "
            "'gradient', which sweeps over rows that have labels.",
        ),
        (
            {},
            {"qid": [0, 0, 1, 1]},
            "MPRank: qid must be left out with Preferences, which know no queries; got one.",
        ),
        (
            {},
            {"y": Preferences([0], [9])},
            "MPRank: y must be preferences among the 4 rows of X; got row 9.",
        ),
        (
            {},
            {"y": Preferences([0], [1], weight=[0])},
            "MPRank: y must be at least one pair with a weight > 0; got weights of zero only.",
        ),
        (
            {},
            {"sample_weight": [1, 0, 1, 1]},
            "MPRank: sample_weight must be > 0 for both rows of some pair; got zero.",
        ),
        (
            {},
            {"y": Preferences([0], [1], size=[1e200])},
            "MPRank: X and y must be small enough for their squares to be finite; got an "
            "objective that is not.",
        ),
        (
            {"kernel": "rbf"},
            {"y": Preferences([0, 1], [1, 2], weight=[1e-30, 1])},
            "MPRank: weight must be within a factor of 1e14 or so in connected pairs, so that "
            "sums show all; got 1e-30 times the largest. Or use solver='cg', or features fewer "
            "than rows.",
        ),
    ],
)
def test_is_refused_in_one_sentence(parameters, arguments, sentence):
    model = MPRank(**parameters)
    before = dict(vars(model))
    with refuses(sentence):
        model.fit(ROWS, **{"y": PAIRS} | arguments)
    assert vars(model) == before
