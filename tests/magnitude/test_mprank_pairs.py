"""MPRank equals the minimum over explicit pairs, and models retrained without some."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from peckorder import MPRank

KERNELS = {
    "linear": lambda X, Z: X @ Z.T,
    "rbf": lambda X, Z: np.exp(-0.3 * ((X[:, None] - Z[None]) ** 2).sum(axis=2)),
    "poly": lambda X, Z: (0.3 * X @ Z.T + 0.7) ** 3,
}


def by_pairs(K, target, qid, weight, C, normaliser=None):
    """Minimise a'Ka + C/P sum w_i w_j (e_j - e_i)^2 over coefficients a of rows.

    `normaliser` is P, that of these rows if it is None.
    """
    n = len(target)
    if normaliser is None:
        normaliser = sum(weight[qid == q].sum() ** 2 for q in np.unique(qid))
    laplacian = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if qid[i] == qid[j]:
                d = np.zeros(n)
                d[j] += 1.0
                d[i] -= 1.0
                laplacian += weight[i] * weight[j] * np.outer(d, d)
    laplacian *= C / normaliser
    # The gradient is K (a + L K a - L t) = 0.
    return np.linalg.solve(np.eye(n) + laplacian @ K, laplacian @ target)


def objective(K, a, target, qid, weight, C):
    e = K @ a - target
    same = qid[:, None] == qid[None]
    pairs = np.outer(weight, weight) * same * (e[:, None] - e[None]) ** 2
    masses = sum(weight[qid == q].sum() ** 2 for q in np.unique(qid))
    return a @ K @ a + C / masses * pairs.sum()


@st.composite
def problems(draw, least=1):
    n, d = draw(st.integers(least, 14)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d)) + draw(st.sampled_from([0.0, 3.0]))
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.5] = 0.0
    if draw(st.booleans()) and n > 1:
        X[0] = X[-1]
    y = draw(st.sampled_from([rng.normal(size=n), rng.integers(0, 3, n)]))
    qid = rng.integers(0, draw(st.integers(1, 4)), n)
    weight = draw(st.sampled_from([np.ones(n), rng.random(n) + 0.1]))
    offset = draw(st.sampled_from([np.zeros(n), rng.normal(size=n)]))
    C = draw(st.sampled_from([0.01, 1.0, 30.0, 1e3]))
    return X, y.astype(float), qid, weight, offset, C


SETTINGS = {"gamma": 0.3, "coef0": 0.7, "degree": 3}


@given(
    problems(),
    st.sampled_from(list(KERNELS)),
    st.sampled_from(["cholesky", "eigh", "cg"]),
    st.sampled_from([np.array, sparse.csr_array]),
)
def test_minimises_the_sum_over_pairs(problem, kernel, solver, form):
    X, y, qid, weight, offset, C = problem
    model = MPRank(C=C, kernel=kernel, solver=solver, tol=1e-20, max_iter=10_000, **SETTINGS)
    model.fit(form(X), y, qid=qid, sample_weight=weight, offset=offset)
    K = KERNELS[kernel](X, X)
    expected = by_pairs(K, y - offset, qid, weight, C)
    scores = model.predict(form(X), offset=np.zeros(len(X))) - model.intercept_
    np.testing.assert_allclose(scores, K @ expected, rtol=1e-6, atol=1e-6)
    least = objective(K, expected, y - offset, qid, weight, C)
    assert model.objective_ == pytest.approx(least, rel=1e-6, abs=1e-9)
    assert model.intercept_ == pytest.approx(
        np.average(y - offset - K @ expected, weights=weight), rel=1e-6, abs=1e-6
    )
    assert 0.0 <= model.dual_gap_ <= 1e-6 * (1.0 + least)
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_, X.T @ expected, rtol=1e-6, atol=1e-6)


@given(problems(), st.sampled_from(["coordinate", "gradient"]))
def test_sweeps_end_where_the_others_do(problem, solver):
    X, y, qid, weight, offset, C = problem
    given_ = {"qid": qid, "sample_weight": weight, "offset": offset}
    C = min(C, 1.0)
    direct = MPRank(C=C, kernel="rbf").fit(X, y, **given_)
    swept = MPRank(C=C, kernel="rbf", solver=solver, tol=1e-20, max_iter=10**5)
    swept.fit(X, y, **given_)
    np.testing.assert_allclose(swept.dual_coef_, direct.dual_coef_, atol=1e-7)


@given(problems(), st.integers(1, 13))
def test_a_stream_gives_the_batch_solution(problem, cut):
    X, y, _, weight, offset, C = problem
    whole = MPRank(C=C, solver="eigh")
    whole.fit(X, y, sample_weight=weight, offset=offset)
    stream = MPRank(C=C, solver="eigh")
    for some in (slice(0, cut), slice(cut, cut + 2), slice(cut + 2, None)):
        if len(y[some]):
            stream.partial_fit(X[some], y[some], sample_weight=weight[some], offset=offset[some])
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(stream.intercept_, whole.intercept_, atol=1e-8)
    np.testing.assert_allclose(stream.objective_, whole.objective_, atol=1e-8)


@given(problems())
def test_a_stream_of_queries_gives_the_batch_solution(problem):
    X, y, qid, weight, _, C = problem
    whole = MPRank(C=C).fit(X, y, qid=qid, sample_weight=weight)
    begun, stream = MPRank(C=C), MPRank(C=C)
    for q in np.unique(qid):
        some = qid == q
        more = {"qid": qid[some], "sample_weight": weight[some]}
        stream.partial_fit(X[some], y[some], **more)
        learn = begun.partial_fit if hasattr(begun, "coef_") else begun.fit
        learn(X[some], y[some], **more)
    for model in (stream, begun):
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model.intercept_, whole.intercept_, atol=1e-7)


def costs(kind, truth, predicted, size):
    """Return what a pair costs; what may be all rounding is tied."""
    if kind == "squared":
        return (truth - predicted) ** 2
    if kind == "absolute":
        return abs(truth - predicted)
    return float(abs(predicted) <= 1e-11 * size or truth * predicted < 0.0)


def retrained(K, y, qid, weight, offset, C, keep, cost):
    """Leave out pairs within queries one by one, and average their costs."""
    masses = sum(weight[qid == q].sum() ** 2 for q in np.unique(qid))
    total = mass = 0.0
    for i, j in combinations(range(len(y)), 2):
        truth = y[j] - y[i]
        if qid[i] != qid[j] or (cost == "misranking" and truth == 0):
            continue
        rest = [k for k in range(len(y)) if k not in (i, j)]
        if keep == "C":
            a = by_pairs(K[np.ix_(rest, rest)], (y - offset)[rest], qid[rest], weight[rest], C)
        else:
            a = same_rows(K, y - offset, qid, weight, C / masses, rest)
        h = K[:, rest] @ a + offset
        # Coefficients have the size of C times labels, whatever is left of them.
        size = 2.0 * C * np.abs(K[[i, j]][:, rest]).sum() * np.abs(y - offset).max()
        size += abs(offset[j] - offset[i])
        total += weight[i] * weight[j] * costs(cost, truth, h[j] - h[i], size)
        mass += weight[i] * weight[j]
    return total / mass if mass else np.nan


def same_rows(K, target, qid, weight, scale, rest):
    """Learn from some rows, each with the weight it has among all."""
    n = len(rest)
    v = np.array([2 * scale * weight[qid == qid[k]].sum() * weight[k] for k in rest])
    same = qid[rest][:, None] == qid[rest][None]
    centring = np.eye(n) - same * v[None] / (same @ v)[:, None]
    L = centring.T @ np.diag(v) @ centring
    return np.linalg.solve(np.eye(n) + L @ K[np.ix_(rest, rest)], L @ target[rest])


@given(
    problems(least=3),
    st.sampled_from(list(KERNELS)),
    st.sampled_from(["squared", "absolute", "misranking"]),
    st.sampled_from(["C", "C_prime"]),
)
def test_leaves_pairs_out_as_retraining_does(problem, kernel, cost, keep):
    X, y, qid, weight, offset, C = problem
    if keep == "C":
        qid, weight = np.zeros(len(y)), np.ones(len(y))
    model = MPRank(C=C, kernel=kernel, **SETTINGS)
    model.fit(X, y, qid=qid, sample_weight=weight, offset=offset)
    expected = retrained(KERNELS[kernel](X, X), y, qid, weight, offset, C, keep, cost)
    found = model.leave_pair_out_error(cost=cost, keep=keep)
    tolerance = {"rel": 1e-5, "abs": 1e-9}
    assert found == pytest.approx(expected, nan_ok=True, **tolerance)


@given(
    problems(least=3), st.sampled_from([1e-20, 1e-8, 1e-5, 1e-2]), st.sampled_from(["C", "C_prime"])
)
def test_small_scores_are_put_in_order_as_retraining_does(problem, scale, keep):
    X, y, qid, weight, offset, C = problem
    if keep == "C":
        qid, weight = np.zeros(len(y)), np.ones(len(y))
    offset = scale**2 * offset
    model = MPRank(C=C).fit(scale * X, y, qid=qid, sample_weight=weight, offset=offset)
    K = scale**2 * KERNELS["linear"](X, X)
    expected = retrained(K, y, qid, weight, offset, C, keep, "misranking")
    found = model.leave_pair_out_error(cost="misranking", keep=keep)
    assert found == pytest.approx(expected, nan_ok=True)


@given(problems(least=3), st.sampled_from(list(KERNELS)))
def test_leaves_rows_out_as_retraining_does(problem, kernel):
    X, y, qid, weight, offset, C = problem
    model = MPRank(C=C, kernel=kernel, **SETTINGS)
    model.fit(X, y, qid=qid, sample_weight=weight, offset=offset)
    found = model.leave_one_out_predictions(keep="C_prime")
    K = KERNELS[kernel](X, X)
    masses = sum(weight[qid == q].sum() ** 2 for q in np.unique(qid))
    for i in range(len(y)):
        rest = np.flatnonzero(np.arange(len(y)) != i)
        others = rest[qid[rest] == qid[i]]
        if len(others) == 0:
            assert np.isnan(found[i])
            continue
        a = same_rows(K, y - offset, qid, weight, C / masses, rest)
        h = K[:, rest] @ a + offset
        b = np.average((y - h)[others], weights=weight[others])
        assert found[i] == pytest.approx(h[i] + b, rel=1e-5, abs=1e-6)
