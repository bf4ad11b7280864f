"""MPRank with a kernel, row by row: the paper's on-line version, without kernel matrices."""

import copy
import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from peckorder import MPRank, Preferences
from peckorder.exceptions import DataError
from peckorder.magnitude.mprank_solver import kernel_stream
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram
from support.helpers import exactly


def kernel(x, z):
    return float(np.exp(-0.5 * ((x - z) ** 2).sum()))


def centred(K, y, weight):
    """Kernels and labels less their weighted means, by definition."""
    share = weight / weight.sum()
    n = len(y)
    K_centred = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            K_centred[i, j] = K[i, j] - share @ K[i] - share @ K[j] + share @ K @ share
    return K_centred, y - share @ y


def visited(K, y, weight, alpha, i, C, step):
    """Change one coefficient by the paper's update; None for the step of least cost."""
    inner, target = centred(K, y, weight)
    ridge = weight.sum() / (2 * C * weight)
    share = weight / weight.max()
    curvatures = inner.diagonal() + ridge
    eta = 1 / (2 * curvatures[i])
    if step is not None:
        eta = (step or 1 / (2 * share * curvatures).max()) * share[i]
    alpha[i] += eta * (2 * (target[i] - inner[i] @ alpha) - 2 * ridge[i] * alpha[i])


def on_line(X, y, weight, cuts, passes, C, step):
    """The paper's on-line version with all kernels in memory: coefficients at the end."""
    alpha, K = np.zeros(0), np.zeros((0, 0))
    for start, end in pairwise(cuts):
        for i in range(start, end):
            K = np.array([[kernel(x, z) for z in X[: i + 1]] for x in X[: i + 1]])
            alpha = np.append(alpha, 0.0)
            visited(K, y[: i + 1], weight[: i + 1], alpha, i, C, step)
        for _ in range(passes - 1):
            for i in range(end):
                visited(K, y[:end], weight[:end], alpha, i, C, step)
    return alpha - alpha.sum() * weight / weight.sum(), K


def data(rng, n, d=3):
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    passes=st.integers(1, 3),
    C=st.sampled_from([0.1, 10.0, 1000.0]),
    step=st.sampled_from([None, 0.0, 0.01]),
    has_weight=st.booleans(),
    tile=st.sampled_from([1, kernel_stream._TILE]),
)
def test_rows_are_visited_one_by_one(seed, sizes, passes, C, step, has_weight, tile):
    rng = np.random.default_rng(seed)
    cuts = np.cumsum([0, *sizes])
    X, y = data(rng, cuts[-1])
    weight = rng.uniform(0.1, 5.0, cuts[-1]) if has_weight else np.ones(cuts[-1])
    solver = {} if step is None else {"solver": "gradient", "step": step or None}
    # No pass is the last for its gap.
    model = MPRank(kernel="rbf", gamma=0.5, C=C, max_iter=passes, tol=1e-300, **solver)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_stream, "_TILE", tile)
        patch.setattr(kernel_stream, "_FEWEST_ROWS", 2 if tile == 1 else 16)
        for k in range(len(sizes)):
            rows = slice(cuts[k], cuts[k + 1])
            given = weight[rows] if has_weight else None
            model.partial_fit(X[rows], y[rows], sample_weight=given)
    wanted, K = on_line(X, y, weight, cuts, passes, C, step)
    scale = np.abs(wanted).max(initial=1e-12)
    assert_allclose(model.dual_coef_, wanted, rtol=1e-7, atol=1e-9 * scale)
    assert abs(model.dual_coef_.sum()) < 1e-9 * scale * len(wanted)
    h = K @ wanted
    share = weight / weight.sum()
    assert_allclose(model.predict(X), h + share @ (y - h), rtol=1e-7, atol=1e-8)
    # The objective and the gap of the coefficients that are there.
    off = (h - share @ h) - (y - share @ y)
    cost = wanted @ h + 2 * C / weight.sum() * (weight @ off**2)
    assert model.objective_ == pytest.approx(cost, rel=1e-7, abs=1e-9)
    # Where nothing is left to do, no pass is made.
    assert model.n_iter_ == (passes if model.dual_gap_ else 1)


def rbf_of_user(X, Z):
    return np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2))


FORMS = {
    "dense": ({"kernel": "rbf", "gamma": 0.5}, np.asarray),
    "sparse": ({"kernel": "rbf", "gamma": 0.5}, sparse.csr_array),
    "polynomial": ({"kernel": "poly", "gamma": 0.3}, np.asarray),
    "function": ({"kernel": rbf_of_user}, np.asarray),
    "single": ({"kernel": "rbf", "gamma": 0.5}, lambda X: np.asfortranarray(X, dtype=np.float32)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("begins", ["partial_fit", "fit"])
def test_passes_lead_to_the_solution_of_fit(form, begins):
    rng = np.random.default_rng(1)
    X, y = data(rng, 60)
    X = X.astype(np.float32).astype(float)
    settings, as_form = FORMS[form]
    weight, offset = rng.uniform(0.1, 3.0, 60), rng.normal(size=60)
    weight[[3, 40]] = 0.0
    whole = MPRank(C=20.0, **settings).fit(as_form(X), y, sample_weight=weight, offset=offset)
    model = MPRank(C=20.0, tol=1e-14, max_iter=5000, **settings)
    for k, rows in enumerate((slice(0, 25), slice(25, 26), slice(26, 60))):
        learn = getattr(model, begins) if k == 0 else model.partial_fit
        learn(as_form(X[rows]), y[rows], sample_weight=weight[rows], offset=offset[rows])
    new = as_form(data(rng, 20)[0])
    zeros = np.zeros(20)
    found, wanted = (m.predict(new, offset=zeros) for m in (model, whole))
    assert_allclose(found, wanted, atol=1e-6)
    assert 0.0 <= model.objective_ - whole.objective_ + 1e-12 <= model.dual_gap_ + 2e-12
    is_row = weight > 0
    assert_allclose(model.dual_coef_, whole.dual_coef_[is_row], atol=1e-6)
    # Rows can be left out, as after fit, and kernels are never stored.
    error = model.leave_pair_out_error()
    assert error == pytest.approx(whole.leave_pair_out_error(), rel=1e-9)
    left = model.leave_one_out_predictions()
    assert_allclose(left, whole.leave_one_out_predictions()[is_row], atol=1e-9)


def test_one_visit_per_row_is_near_and_passes_come_nearer():
    rng = np.random.default_rng(2)
    X, y = data(rng, 200)
    whole = MPRank(C=100.0, kernel="rbf").fit(X, y)
    model = MPRank(C=100.0, kernel="rbf", max_iter=1)
    for i in range(199):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    gaps = []
    for passes in (1, 5, 50):
        last = copy.deepcopy(model).set_params(max_iter=passes, stopping="relative", tol=1e-300)
        if passes == 1:
            last.partial_fit(X[199:], y[199:])
        else:
            with pytest.warns(ConvergenceWarning, match=f"not converged after {passes} it"):
                last.partial_fit(X[199:], y[199:])
        gaps.append(last.objective_ - whole.objective_)
        assert last.dual_gap_ >= gaps[-1]
        share = np.var(last.predict(X) - whole.predict(X)) / np.var(y)
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2] > 0
    assert share < 1e-5


def test_no_matrix_of_kernels_is_formed(monkeypatch):
    def refuse(gram):
        raise AssertionError("a matrix of kernels")

    monkeypatch.setattr(Gram, "dense_matrix", refuse)
    rng = np.random.default_rng(3)
    X, y = data(rng, 4000)
    model = MPRank(kernel="rbf", max_iter=1, gamma=1.0)
    model.partial_fit(X[:10], y[:10])  # which compiles
    tracemalloc.start()
    try:
        model.partial_fit(X[10:], y[10:])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The kernels of all would be 128 MB.
    assert peak < 20e6


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_as_the_model_does(again):
    rng = np.random.default_rng(4)
    X, y = data(rng, 30)
    model = MPRank(kernel="rbf", max_iter=1).partial_fit(X[:20], y[:20])
    other = again(model)
    answers = [m.partial_fit(X[20:], y[20:]).predict(X) for m in (model, other)]
    assert_array_equal(answers[0], answers[1])


def test_constant_labels_and_one_row_have_no_order():
    model = MPRank(kernel="rbf").partial_fit([[1.0]], [3.0])
    assert model.predict([[0.0], [5.0]]).tolist() == [3.0, 3.0]
    model.partial_fit([[2.0], [4.0]], [3.0, 3.0])
    assert model.predict([[0.0], [5.0]]).tolist() == [3.0, 3.0]
    assert model.dual_coef_.tolist() == [0.0, 0.0, 0.0]


def signed(X, Z):
    return -(X @ Z.T)


X3, Y3 = [[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0]


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: MPRank(kernel="rbf").partial_fit(X3, Y3, qid=[1, 1, 1]),
            DataError,
            "qid must be None for partial_fit with a kernel, which compares all rows ever given; "
            "got another.",
        ),
        (
            lambda: MPRank(kernel="rbf").partial_fit(X3, Preferences([0], [1])),
            DataError,
            "y must be labels for partial_fit with a kernel; got Preferences.",
        ),
        (
            lambda: MPRank().partial_fit(X3, Y3).set_params(kernel="rbf").partial_fit(X3, Y3),
            DataError,
            "partial_fit must be called on a new model, or one of the rows of one query with this "
            "kernel; got another.",
        ),
        (
            lambda: MPRank(kernel="rbf").fit(X3, Y3, qid=[1, 1, 2]).partial_fit(X3, Y3),
            DataError,
            "partial_fit must be called on a new model, or one of the rows of one query with this "
            "kernel; got another.",
        ),
        (
            lambda: (
                MPRank(kernel="rbf").partial_fit(X3, Y3).set_params(gamma=9).partial_fit(X3, Y3)
            ),
            DataError,
            "partial_fit must be called on a new model, or one of the rows of one query with this "
            "kernel; got another.",
        ),
        (
            lambda: MPRank(kernel="rbf").fit(X3, Y3).set_params(kernel="poly").partial_fit(X3, Y3),
            DataError,
            "partial_fit must be called on a new model, or one of the rows of one query with this "
            "kernel; got another.",
        ),
        (
            lambda: MPRank(kernel="rbf", solver="gradient", step=9e9).partial_fit(X3, Y3),
            ValueError,
            "step must be shorter to converge, None for a safe one; got 9000000000.0.",
        ),
    ],
)
def test_refusals(call, error, sentence):
    with pytest.raises(error, match=exactly(f"MPRank: {sentence}")):
        call()


def test_a_kernel_that_is_none_is_refused():
    model = MPRank(kernel=signed, C=1e6)
    with pytest.raises(DataError, match="MPRank: kernel must be positive semidefinite, up to"):
        model.partial_fit(np.array(X3) * 10, Y3)
    assert not hasattr(model, "n_iter_")
