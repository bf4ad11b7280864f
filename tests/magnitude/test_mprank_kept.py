"""A fitted MPRank is what it was, whatever becomes of the arrays it was fitted on."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel

from peckorder import MPRank, MPRankCV, SVRank
from peckorder.magnitude.mprank_solver import solve

KERNELS = ["linear", "rbf", "poly", "precomputed", laplacian_kernel]


def make(kernel, dtype=np.float64, n=12):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y, weight = X @ [1.0, 2.0, 3.0] + rng.normal(size=n), rng.random(n) + 0.5
    rows = X @ X.T if kernel == "precomputed" else X
    return np.ascontiguousarray(rows, dtype=dtype), y, weight


def spoil(*arrays):
    for array in arrays:
        values = array.data if sparse.issparse(array) else array
        values[:] = 7.0


def answers_of(model, rows):
    answers = [model.predict(rows)]
    if hasattr(model, "leave_pair_out_error"):
        costs = ("squared", "misranking")
        answers += [model.leave_pair_out_error(cost, keep="C_prime") for cost in costs]
        answers.append(model.leave_one_out_predictions(keep="C_prime"))
    return answers


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("has_weights", [False, True])
def test_arrays_may_change_after_a_fit(kernel, form, dtype, has_weights):
    X, y, weight = make(kernel, dtype)
    new = form(X[:5].copy())
    for model in (
        MPRank(kernel=kernel),
        MPRankCV(Cs=[1.0], kernel=kernel, keep="C_prime"),
        SVRank(kernel=kernel),
    ):
        rows, labels, weights = form(X.copy()), y.copy(), weight.copy()
        given = {"sample_weight": weights} if has_weights else {}
        model.fit(rows, labels, **given)
        before = answers_of(model, new)
        spoil(rows, labels, weights)
        after = answers_of(model, new)
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_arrays_may_change_between_a_fit_and_a_partial_fit(form, has_weights):
    X, y, weight = make("linear")
    rows, labels, weights = form(X[:8].copy()), y[:8].copy(), weight[:8].copy()
    given = {"sample_weight": weights} if has_weights else {}
    model = MPRank().fit(rows, labels, **given)
    spoil(rows, labels, weights)
    given = {"sample_weight": weight[8:]} if has_weights else {}
    model.partial_fit(form(X[8:]), y[8:], **given)
    whole = MPRank().fit(X, y, sample_weight=weight if has_weights else None)
    np.testing.assert_allclose(model.coef_, whole.coef_)


def test_frames_may_change_after_a_fit():
    X, y, _ = make("linear")
    one_column = pd.DataFrame({"a": X[:, 0].copy()})
    model = MPRank().fit(one_column, y)
    before = model.leave_pair_out_error()
    one_column.loc[:, "a"] = 0.0
    assert model.leave_pair_out_error() == before


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_that_nobody_else_has_are_not_copied(kernel):
    X, y, _ = make(kernel)
    model = MPRank(kernel=kernel)
    copies = []
    original = type(model)._training_rows

    def watched(self, given, gamma):
        sample = original(self, given, gamma)
        copies.append(sample)
        return sample

    model._training_rows = watched.__get__(model)
    model.fit(X.tolist(), y)
    assert model._training is copies[-1]
    if kernel in ("linear", "precomputed"):  # others have looked at rows already
        assert model.fit(X, y)._training is not copies[-1]


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_large_rows_are_not_copied_and_refused_once_they_have_changed(kernel, monkeypatch):
    monkeypatch.setattr(solve, "_LARGE", 0)
    X, y, _ = make(kernel)
    model = MPRank(kernel=kernel).fit(X, y)
    kept = model._training.rows
    assert np.shares_memory(kept if kernel == "linear" else kept.X, X)
    before = model.leave_pair_out_error()
    assert model.leave_pair_out_error() == before
    X[:] = X[::-1, ::-1].copy()
    expected = r"^MPRank: X must be as it was when fitted, .* Fit again\.$"
    for ask in (model.leave_pair_out_error, model.leave_one_out_predictions):
        with pytest.raises(ValueError, match=expected):
            ask()
    if kernel == "linear":
        with pytest.raises(ValueError, match=expected):
            model.partial_fit(X, y)
