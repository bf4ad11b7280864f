"""What boosted trees make of any input: a sensible model, or one sentence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from peckorder import OrdinalBoost, RankBoost
from peckorder.exceptions import DataError

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).astype(np.float32).astype(np.float64)
Y = np.digitize(X[:, 0] + RNG.normal(size=N), [-0.5, 0.5])
NAMED = pd.DataFrame(X, columns=["a", "b", "c"])
OPTIONS = {"n_rounds": 4, "min_samples_leaf": 5, "max_features": 1.0, "random_state": 0}
both = pytest.mark.parametrize("kind", [RankBoost, OrdinalBoost])


def fitted(kind, X=X, y=Y, weight=None, **options):
    """Return a model; RankBoost gets six queries."""
    own = {"weak": "tree"} if kind is RankBoost else {"odds": "free"}
    data = {"qid": np.arange(len(y)) * 6 // len(y)} if kind is RankBoost else {}
    return kind(**OPTIONS | own | options).fit(X, y, sample_weight=weight, **data)


def shown(model, X):
    return model.predict_proba(X) if isinstance(model, OrdinalBoost) else model.predict(X)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "long double": lambda X: X.astype(np.longdouble),
    "big endian": lambda X: X.astype(">f8"),
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": read_only,
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_array,
    "COO matrix": sparse.coo_matrix,
    "a constant column more": lambda X: np.c_[X, np.full(len(X), 7.0)],
    "an empty column more": lambda X: np.c_[X, np.full(len(X), np.nan)],
    "huge": lambda X: X * 2.0**1000,
    "tiny": lambda X: X * 2.0**-1000,
}


@both
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_form_of_rows_does_not_matter(kind, form):
    expected = shown(fitted(kind), X)
    assert np.ptp(expected, axis=0).min() > 0.0
    assert_array_equal(shown(fitted(kind, form(X)), form(X)), expected)


NOTHING_TO_DIVIDE = {
    "rows alike": (np.ones((N, 3)), {}),
    "no value": (np.full((N, 3), np.nan), {}),
    "nothing stored": (sparse.csr_array((N, 3)), {}),
    "one leaf": (X, {"min_samples_leaf": N - 1}),
    "leaves larger than anything": (X, {"min_samples_leaf": 10**9}),
}


@both
@pytest.mark.parametrize(("rows", "options"), NOTHING_TO_DIVIDE.values(), ids=NOTHING_TO_DIVIDE)
def test_rows_that_are_not_divided_are_level(kind, rows, options):
    with warnings.catch_warnings():
        # RankBoost warns that all scores are equal.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(kind, rows, **options)
    assert np.ptp(shown(model, X), axis=0).max() == 0.0
    assert np.isfinite(shown(model, X)).all()


FINITE = {
    "the largest numbers": (np.where(X > 0, 1.7e308, -1.0), {}),
    "the smallest numbers": (np.where(X > 0, 5e-324, -5e-324), {}),
    "integers": ((10 * X).astype(np.int64), {}),
    "booleans": (X > 0, {}),
    "gaps": (np.where(X > 1, np.nan, X), {}),
    "gaps in sparse rows": (sparse.csr_array(np.where(X > 1, np.nan, X)), {}),
    "more leaves than rows": (X, {"max_leaf_nodes": 10**6}),
    "a depth without end": (X, {"max_depth": 10**9}),
    "two bins": (X, {"max_bins": 2}),
    "two rows per query": (X[:12], {"min_samples_leaf": 1, "y": np.arange(12) % 2}),
    "a class of weight zero": (X, {"weight": (Y != 1).astype(float)}),
    "the smallest weights": (X, {"weight": np.full(N, 5e-324)}),
}


@both
@pytest.mark.parametrize(("rows", "options"), FINITE.values(), ids=FINITE)
def test_anything_finite_is_learnt_from(kind, rows, options):
    model = fitted(kind, rows, **options)
    for new in (rows, np.full((1, 3), np.nan), np.full((1, 3), -1e300)):
        assert np.isfinite(shown(model, new)).all()


@both
def test_categories_that_did_not_occur_are_missing_ones(kind):
    rows = np.c_[np.tile(np.arange(300.0), 2), RNG.normal(size=600)]
    y = (rows[:, 0] % 3).astype(int)
    sentence = "column 0 has 300 categories; the 46 rarest of them count as one."
    with pytest.warns(UserWarning, match=f"{kind.__name__}: {sentence}"):
        model = fitted(kind, rows, y, categorical_features=[0])
    new = np.array([[299.0, 0.0], [298.0, 0.0], [1000.0, 0.0], [np.nan, 0.0], [-1.0, 0.0]])
    scores = shown(model, new)
    assert_array_equal(scores[0], scores[1])
    assert_array_equal(scores[[2, 4]], scores[[3, 3]])


REFUSED = {
    "infinity": ({"X": np.where(X > 2, np.inf, X)}, "Input X contains infinity"),
    "too large for float32": (
        {"X": np.where(X > 2, -np.inf, X).astype(np.float32)}, "Input X contains infinity",
    ),
    "no rows": ({"X": X[:0], "y": Y[:0]}, "Found array with 0 sample(s)"),
    "no columns": ({"X": X[:, :0]}, "Found array with 0 feature(s)"),
    "texts": ({"X": np.full((N, 3), "a", dtype=object)}, "could not convert string to float"),
    "complex numbers": ({"X": X + 1j}, "Complex data not supported"),
    "a single column as a vector": ({"X": X[:, 0]}, "Expected 2D array, got 1D array"),
    "labels that are missing": ({"y": np.where(Y == 0, np.nan, Y)}, "got nan in row"),
    "infinite labels": ({"y": np.where(Y == 0, np.inf, Y)}, "got inf in row"),
    "one class": ({"y": np.zeros(N)}, ": y must "),
    "one row": ({"X": X[:1], "y": Y[:1]}, ": y must "),
    "weights of zero": ({"weight": np.zeros(N)}, "got every weight zero."),
    "weights below zero": ({"weight": -np.ones(N)}, "sample_weight must be >= 0; got -1.0 in row"),
    "weights that are missing": (
        {"weight": np.full(N, np.nan)}, "sample_weight must be finite; got nan in row 0.",
    ),
    "one leaf": ({"max_leaf_nodes": 1}, "max_leaf_nodes must be an integer >= 2; got 1."),
    "a constraint by name without names": (
        {"monotonic_cst": {"a": 1}},
        "monotonic_cst must have names only where X has names of columns; got 'a'.",
    ),
    "a constraint that names no column": (
        {"X": NAMED, "monotonic_cst": {"z": 1}},
        "monotonic_cst must name columns of X; got 'z'.",
    ),
    "too few constraints": (
        {"monotonic_cst": [1]}, "monotonic_cst must have one number per column, 3 in all; got 1.",
    ),
    "a constraint that is none": (
        {"monotonic_cst": [np.nan, 0, 0]}, "monotonic_cst must be 1, 0 or -1; got nan.",
    ),
    "a constraint of categories": (
        {"monotonic_cst": [1, 0, 0], "categorical_features": [0]},
        "monotonic_cst must be 0 for categories; got a constraint of column 0.",
    ),
    "categories in no column": (
        {"categorical_features": [5]},
        "categorical_features must be names of columns, or positions below 3; got 5.",
    ),
}  # fmt: skip


@both
@pytest.mark.parametrize(("given", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_learnt_is_refused(kind, given, sentence):
    with pytest.raises((ValueError, DataError)) as caught:
        fitted(kind, **given)
    assert sentence in str(caught.value)


@both
def test_rows_to_be_scored_are_checked_too(kind):
    model = fitted(kind)
    for new, sentence in (
        (np.full((1, 3), np.inf), "Input X contains infinity"),
        (X[:, :2], f"X has 2 features, but {kind.__name__} is expecting 3"),
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            shown(model, new)
        assert sentence in str(caught.value)
