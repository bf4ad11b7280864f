"""What SVRank refuses, in one sentence, and without a change."""

import numpy as np
import pytest
from scipy import sparse

from peckorder import SVRank
from peckorder.exceptions import DataError
from support.helpers import refuses

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.standard_t(3, size=40)
LOSSES = [(1, "svr"), (2, "svr"), (1, "hmpc"), (2, "hmpc")]
POSITIVE, AT_LEAST_ZERO = "must be a finite number > 0", "must be a finite number >= 0"
LOSS = "loss must be one of 'svr', 'hmpc'; got"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("C", 0, f"C {POSITIVE}; got 0."),
        ("C", 10**400, f"C {POSITIVE}; got {10**400}."),
        ("C", np.inf, f"C {POSITIVE}; got inf."),
        ("C", True, f"C {POSITIVE}; got True."),
        ("tol", 0, f"tol {POSITIVE}; got 0."),
        ("tol", -1.0, f"tol {POSITIVE}; got -1.0."),
        ("tol", np.nan, f"tol {POSITIVE}; got nan."),
        ("epsilon", -0.1, f"epsilon {AT_LEAST_ZERO}; got -0.1."),
        ("epsilon", -1e-300, f"epsilon {AT_LEAST_ZERO}; got -1e-300."),
        ("epsilon", 10**400, f"epsilon {AT_LEAST_ZERO}; got {10**400}."),
        ("top_weight", -1, f"top_weight {AT_LEAST_ZERO}; got -1."),
        ("top_weight", None, f"top_weight {AT_LEAST_ZERO}; got None."),
        ("max_iter", 0, "max_iter must be an integer >= 1; got 0."),
        ("max_iter", 2.0, "max_iter must be an integer >= 1; got 2.0."),
        ("power", 3, "power must be 1 or 2; got 3."),
        ("power", True, "power must be 1 or 2; got True."),
        ("gamma", 0, "gamma must be None or a finite number > 0; got 0."),
        (
            "loss",
            "hr",
            f"{LOSS} 'hr'. Equal scores cost nothing by 'hr': its minimum is always zero, at "
            "w = 0.",
        ),
        ("loss", "mp", f"{LOSS} 'mp'. 'mp' is 'svr' with epsilon=0."),
        ("loss", "hinge", f"{LOSS} 'hinge'."),
    ],
    ids=lambda value: str(value)[:20],
)
def test_parameters_are_refused_before_any_work(name, value, sentence):
    model = SVRank().fit(X, Y)
    before = dict(vars(model.set_params(**{name: value})))
    with refuses(f"SVRank: {sentence}"):
        model.fit("no rows at all", None)
    assert vars(model) == before


@pytest.mark.parametrize(
    ("kernel", "rows", "sentence"),
    [
        (
            "precomputed",
            X,
            "X must be square with kernel='precomputed', one column per row; got 40 "
            "rows and 3 columns.",
        ),
        (
            "precomputed",
            np.arange(1600.0).reshape(40, 40),
            "X must be symmetric, the kernels of rows among themselves; got entries "
            "that differ by 1521.0 from those of the transpose.",
        ),
        (
            "precomputed",
            -np.eye(40),
            "kernel must be positive semidefinite, up to rounding and a constant; got "
            "one with the eigenvalue -1.0 on these rows.",
        ),
        (
            "linear",
            1e200 * X,
            "X and y must be small enough for their squares to be finite; got an "
            "objective that is not.",
        ),
    ],
)
@pytest.mark.parametrize("power", [1, 2])
def test_rows_are_refused(kernel, rows, sentence, power):
    model = SVRank(kernel=kernel, power=power)
    before = dict(vars(model))
    with refuses(f"SVRank: {sentence}", DataError):
        model.fit(rows, Y)
    assert vars(model) == before


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"y": Y[:5]}, "y must be one number per row, 40 in all; got 5."),
        (
            {"sample_weight": np.zeros(40)},
            "sample_weight must be > 0 for some row; got zero for all (there must be "
            "at least one non-zero sample weight).",
        ),
        ({"sample_weight": -np.ones(40)}, "sample_weight must be >= 0; got -1.0 in row 0."),
        ({"qid": [1, 2]}, "qid must be one value per row, 40 in all; got 2."),
        ({"offset": np.full(40, np.nan)}, "offset must be finite; got nan in row 0."),
    ],
)
def test_columns_are_refused(data, sentence):
    model = SVRank().fit(X, Y)
    before = dict(vars(model))
    with refuses(f"SVRank: {sentence}", DataError):
        model.fit(X, **({"y": Y} | data))
    assert vars(model) == before


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused(value):
    rows = X.copy()
    rows[3, 1] = value
    for given in (rows, sparse.csr_array(rows)):
        with pytest.raises(ValueError, match=r"^Input X contains"):
            SVRank().fit(given, Y)


@pytest.mark.parametrize(("power", "loss"), LOSSES)
def test_a_c_without_finite_squares_is_refused(power, loss):
    with refuses("SVRank: C must be small enough for squares to be finite; got 1e+300.", DataError):
        SVRank(C=1e300, power=power, loss=loss).fit(X, Y)
