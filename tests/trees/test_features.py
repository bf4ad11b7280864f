"""Columns of users as numbers for trees: categories, constraints, names."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator

from peckorder.exceptions import DataError
from peckorder.storage.format import Damaged, Node, pack
from peckorder.trees.features import FEATURE_RULES, FEATURES, TreeFeatures
from support.helpers import refuses

COLORS = ["red", "green", None, "blue", "red", "green"]
SIZES = [1.0, 2.0, np.nan, 4.0, 5.0, 6.0]
PANDAS = pd.DataFrame({"size": SIZES, "color": pd.Categorical(COLORS)})
POLARS = pl.DataFrame({"size": SIZES, "color": pl.Series(COLORS, dtype=pl.Categorical)})
ENUM = POLARS.with_columns(
    pl.Series("color", COLORS, dtype=pl.Enum(["violet", "red", "blue", "green"]))
)
# Blue, green and red, in the order of their names.
BINS = [2.0, 1.0, np.nan, 0.0, 2.0, 1.0]


class Model(BaseEstimator):
    """An estimator to keep the names of columns."""


def learnt(X, categorical="from_dtype", monotonic=None, **options):
    model = Model()
    features, matrix = TreeFeatures.learnt(model, X, categorical, monotonic, **options)
    return model, features, matrix


def dense(matrix):
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


@pytest.mark.parametrize("frame", [PANDAS, POLARS, ENUM], ids=["pandas", "polars", "enum"])
def test_categories_of_frames_are_known_by_their_type(frame):
    model, features, matrix = learnt(frame)
    assert_array_equal(matrix, np.c_[SIZES, BINS])
    assert_array_equal(features.is_category, [False, True])
    assert_array_equal(features.matrix(model, frame), matrix)
    for other in (PANDAS, POLARS, ENUM):
        assert_array_equal(features.matrix(model, other), matrix)


@pytest.mark.parametrize("how", [["color"], [1], [-1], [False, True], np.array([1])], ids=repr)
def test_texts_may_be_named_as_categories(how):
    for frame in (
        pd.DataFrame({"size": SIZES, "color": COLORS}),
        pd.DataFrame({"size": SIZES, "color": np.array(COLORS, dtype=object)}),
        pl.DataFrame({"size": SIZES, "color": COLORS}),
    ):
        assert_array_equal(learnt(frame, how)[2], np.c_[SIZES, BINS])
    if how != ["color"]:
        cells = np.array([SIZES, COLORS], dtype=object).T
        assert_array_equal(learnt(cells, how)[2], np.c_[SIZES, BINS])


def test_levels_that_are_new_count_as_missing():
    model, features, _ = learnt(PANDAS)
    new = pd.DataFrame({"size": [1.0, 1.0], "color": pd.Categorical(["pink", "red"])})
    assert_array_equal(features.matrix(model, new)[:, 1], [np.nan, 2.0])
    gone = PANDAS.assign(color=pd.Categorical([None] * 6))
    assert np.isnan(features.matrix(model, gone)[:, 1]).all()
    assert np.isnan(learnt(gone)[2][:, 1]).all()
    assert np.isnan(features.matrix(model, gone.assign(color=np.nan))[:, 1]).all()
    only = learnt(gone)
    assert np.isnan(only[1].matrix(only[0], PANDAS)[:, 1]).all()


def test_categories_may_be_any_numbers():
    X = np.array([[-7.5, 1.0], [0.0, 2.0], [1e30, 3.0], [np.nan, 4.0], [0.0, 5.0]])
    expected = [0.0, 1.0, 2.0, np.nan, 1.0]
    frames = [pd.DataFrame(X).set_axis(["a", "b"], axis=1), pl.DataFrame(X, schema=["a", "b"])]
    for x in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X), *frames):
        model, features, matrix = learnt(x, [0])
        assert_array_equal(dense(matrix)[:, 0], expected)
        assert_array_equal(dense(matrix)[:, 1], X[:, 1])
    single = X.astype(np.float32)
    assert learnt(single, [0])[2].dtype == np.float32
    model, features, _ = learnt(X, [0])
    assert_array_equal(features.matrix(model, [[3.0, 0.0], [-7.5, 0.0]])[:, 0], [np.nan, 0.0])


@given(seed=st.integers(0, 10**6), unstored=st.booleans())
def test_sparse_rows_are_the_dense_ones(seed, unstored):
    rng = np.random.default_rng(seed)
    X, new = rng.integers(-2, 3, (2, 12, 4)).astype(float)
    form = sparse.csr_array(X), sparse.csr_array(new)
    stored = [x if unstored else np.where(x == 0.0, np.nan, x) for x in (X, new)]
    categories = np.flatnonzero(rng.random(4) < 0.5).tolist()
    model, features, matrix = learnt(form[0], categories, unstored=unstored)
    other, same, expected = learnt(stored[0], categories, unstored=unstored)

    def filled(rows):
        values = np.full(rows.shape, 0.0 if unstored else np.nan)
        rows = rows.tocoo()
        values[rows.row, rows.col] = rows.data
        return values

    assert_array_equal(filled(matrix), expected)
    found = features.matrix(model, form[1], unstored=unstored)
    assert_array_equal(filled(found), same.matrix(other, stored[1], unstored=unstored))


def test_the_rarest_of_too_many_levels_count_as_one():
    values = np.concatenate([np.arange(300), np.arange(253)])
    texts = pd.DataFrame({"code": [f"{value:03}" for value in values]})
    for X in (values[:, np.newaxis].astype(float), texts):
        sentence = "has 300 categories; the 46 rarest of them count as one"
        with pytest.warns(UserWarning, match=sentence):
            _, features, matrix = learnt(X, [0])
        column = matrix[:, 0]
        assert_array_equal(column[:253], np.arange(253))
        assert_array_equal(column[254:300], np.full(46, 254))
        assert column[253] == 253
        assert features.levels[0].bins.max() == 254
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learnt(np.arange(255.0)[:, np.newaxis], [0])[2].max() == 254


def test_rows_are_copied_only_where_they_must_be():
    X = np.arange(6.0).reshape(3, 2)
    for x in (X, X.astype(np.float32)):
        model, features, matrix = learnt(x)
        assert matrix is x
        assert features.matrix(model, x) is x
    rows = sparse.csr_array(X)
    assert np.shares_memory(learnt(rows)[2].data, rows.data)
    before = X.copy()
    learnt(X, [0])
    assert_array_equal(X, before)


def test_masked_cells_are_missing():
    X = np.ma.masked_array([[1.0], [2.0], [1.0]], mask=[[0], [1], [0]])
    assert_array_equal(learnt(X)[2][:, 0], [1.0, np.nan, 1.0])


@pytest.mark.parametrize("monotonic", [[1, 0, -1], np.array([1, 0, -1]), {"a": 1, "c": -1}])
def test_constraints_by_position_or_name(monotonic):
    frame = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    assert_array_equal(learnt(frame, None, monotonic)[1].rises, [1, 0, -1])
    assert_array_equal(learnt(frame)[1].rises, [0, 0, 0])


FRAME = pd.DataFrame(np.eye(2), columns=["age", "cost"])
REFUSED = [
    (
        {"categorical": ["kost"]},
        "categorical_features must name columns of X; got 'kost'. Did you mean 'cost'?",
    ),
    (
        {"X": np.eye(2), "categorical": ["cost"]},
        "categorical_features must have names only where X has names of columns; got 'cost'.",
    ),
    (
        {"categorical": [2]},
        "categorical_features must be names of columns, or positions below 2; got 2.",
    ),
    (
        {"categorical": [0.5]},
        "categorical_features must be names of columns, or positions below 2; got 0.5.",
    ),
    (
        {"categorical": [True]},
        "categorical_features must have one True or False per column, 2 in all; got 1.",
    ),
    ({"monotonic": {"size": 1}}, "monotonic_cst must name columns of X; got 'size'."),
    ({"monotonic": [1]}, "monotonic_cst must have one number per column, 2 in all; got 1."),
    ({"monotonic": {"age": 2}}, "monotonic_cst must be 1, 0 or -1; got 2."),
    ({"monotonic": ["up", 0]}, "monotonic_cst must be 1, 0 or -1; got 'up'."),
    (
        {"categorical": ["cost"], "monotonic": {"cost": 1}},
        "monotonic_cst must be 0 for categories; got a constraint of column 'cost'.",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED)
def test_columns_that_are_not_there_are_refused(given, sentence):
    with refuses(sentence, ValueError):
        learnt(**({"X": FRAME} | given))


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("categorical_features", None, True),
        ("categorical_features", "from_dtype", True),
        ("categorical_features", np.array([True]), True),
        ("categorical_features", "color", False),
        ("categorical_features", 3, False),
        ("monotonic_cst", {"a": 1}, True),
        ("monotonic_cst", [1, 0], True),
        ("monotonic_cst", "a", False),
        ("monotonic_cst", 1, False),
    ],
)
def test_what_the_parameters_may_be(name, value, accepted):
    assert FEATURE_RULES[name].accepts(value) is accepted


def test_other_columns_are_refused_as_scikit_learn_does():
    model, features, _ = learnt(PANDAS)
    with pytest.raises(ValueError, match="in the same order"):
        features.matrix(model, PANDAS[["color", "size"]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        features.matrix(model, PANDAS.rename(columns={"size": "height"}))
    with pytest.raises(ValueError, match="column 'size' of X must be numbers; got the text 'tall'"):
        learnt(PANDAS.assign(size="tall"))
    with pytest.raises(ValueError, match="contains infinity"):
        learnt(PANDAS.assign(size=np.inf))
    with pytest.raises(ValueError, match="0 sample"):
        learnt(PANDAS[:0])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_numbers_are_no_texts():
    model, features, _ = learnt(PANDAS)
    with refuses("X must have categories in column 'color', as in training; got 3.0.", DataError):
        features.matrix(model, np.array([[1.0, np.nan], [1.0, 3.0]]))
    model, features, _ = learnt(FRAME, ["cost"])
    with refuses("X must have numbers in column 'cost', as in training; got 'a'.", DataError):
        features.matrix(model, FRAME.assign(cost="a"))


def stored(features):
    arrays = []
    header = pack(FEATURES.write(features), arrays)
    return header, arrays


def read(header, arrays, n_features=2):
    node = Node.of(header, arrays)
    node.sizes["features"] = n_features
    found = TreeFeatures(**FEATURES.read(node))
    node.close()
    return found


@pytest.mark.parametrize("categorical", ["from_dtype", [0], None], ids=repr)
def test_they_are_stored(categorical):
    frame = PANDAS if categorical == "from_dtype" else FRAME
    model, features, matrix = learnt(frame, categorical)
    assert_array_equal(read(*stored(features)).matrix(model, frame), matrix)


@pytest.mark.parametrize(
    ("bins", "labels", "column"),
    [([0, 255], [1.0, 2.0], 0), ([0, 1], [2.0, 1.0], 0), ([0, 1], [1.0, np.nan], 0),
     ([0, 1], [1.0, 2.0], 2), ([0], [1.0, 2.0], 0)],
)  # fmt: skip
def test_damaged_ones_are_refused(bins, labels, column):
    arrays = []
    level = {"column": column, "labels": {"kind": "numbers", "numbers": np.array(labels)}}
    level["bins"] = np.array(bins)
    header = pack({"levels": [level], "rises": np.zeros(2, dtype=np.int64)}, arrays)
    with pytest.raises(Damaged):
        read(header, arrays)
