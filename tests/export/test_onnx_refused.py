"""What cannot be written as an ONNX graph, and what is said of it."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeRegressor

from peckorder import AggregatePRank, MPRank, MPRankCV, OrdinalBoost, PRank, RankBoost, SVRank
from peckorder.exceptions import MissingExtraError
from peckorder.export import to_onnx
from support.helpers import exactly

rng = np.random.default_rng(0)
X, LEVEL = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
EXPORTABLE = (
    "to_onnx: model must be a WidrowHoff, a MulticlassPerceptron, a PRank, MPRank, "
    "MPRankCV or SVRank with kernel='linear' (of PRank the averaged or last rule, "
    "without a budget), a RankBoost on thresholds, features or trees of numbers, or an "
    "OrdinalBoost on numbers; got {}."
)


def products(A, B):
    return A @ B.T


class Derived(PRank):
    """A subclass, which may predict by any rule."""


REFUSED = [
    (PRank(rule="voted"), ValueError, "PRank with rule='voted'"),
    (PRank(kernel="rbf"), ValueError, "PRank with kernel='rbf'"),
    (PRank(kernel="poly"), ValueError, "PRank with kernel='poly'"),
    (PRank(kernel=products), ValueError, f"PRank with kernel={products!r}"),
    (PRank(budget=5), ValueError, "PRank with budget=5"),
    (MPRank(kernel="rbf"), ValueError, "MPRank with kernel='rbf'"),
    (MPRankCV(kernel="poly"), ValueError, "MPRankCV with kernel='poly'"),
    (SVRank(kernel=products), ValueError, f"SVRank with kernel={products!r}"),
    (
        RankBoost(n_rounds=2, weak=DecisionTreeRegressor(max_depth=1)),
        ValueError,
        "RankBoost with custom weak rankings",
    ),
    (
        RankBoost(weak="tree", min_samples_leaf=1, categorical_features=[0]),
        ValueError,
        "RankBoost with columns of categories",
    ),
    (
        OrdinalBoost(n_rounds=2, categorical_features=[0]),
        ValueError,
        "OrdinalBoost with columns of categories",
    ),
    (MPRank(kernel="precomputed"), ValueError, "MPRank with kernel='precomputed'"),
    (PRank, TypeError, "the class PRank"),
    (AggregatePRank(n_estimators=2), TypeError, "AggregatePRank"),
    (Derived(), TypeError, "Derived"),
    (DecisionTreeRegressor(), TypeError, "DecisionTreeRegressor"),
]


@pytest.mark.parametrize(("model", "error", "got"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_written(model, error, got):
    if not isinstance(model, type):
        is_kernel_matrix = getattr(model, "kernel", None) == "precomputed"
        model.fit(X @ X.T if is_kernel_matrix else X, LEVEL)
    with pytest.raises(error, match=exactly(EXPORTABLE.format(got))):
        to_onnx(model)


def test_a_single_class_has_no_scores():
    model = OrdinalBoost(classes=[1, 2]).fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match=exactly(EXPORTABLE.format("OrdinalBoost of one class"))):
        to_onnx(model)


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        to_onnx(PRank())


@pytest.mark.parametrize("dtype", [np.float16, int, None, "double trouble"])
def test_rows_are_float64_or_float32(dtype):
    sentence = f"to_onnx: dtype must be float64 or float32; got {dtype!r}."
    with pytest.raises(ValueError, match=exactly(sentence)):
        to_onnx(PRank().fit(X, LEVEL), dtype=dtype)


@pytest.mark.parametrize("classes", [[1, "two", 3.0], [b"a", b"b"], [2**63, 2**63 + 1]])
def test_classes_of_unknown_types(classes):
    y = [classes[place % 2] for place in LEVEL]
    sentence = (
        "to_onnx: classes_ must be strings, integers below 2**63, floats or booleans, "
        f"all of one kind; got {classes!r}."
    )
    model = PRank(classes=classes).fit(X, np.array(y, dtype=object))
    with pytest.raises(ValueError, match=exactly(sentence)):
        to_onnx(model)


def test_without_onnx(monkeypatch):
    model = PRank().fit(X, LEVEL)
    monkeypatch.setitem(sys.modules, "onnx", None)
    sentence = (
        "to_onnx: onnx must be installed to write its files; got none. Type "
        "pip install 'peckorder[onnx]'."
    )
    with pytest.raises(MissingExtraError, match=exactly(sentence)):
        to_onnx(model)
