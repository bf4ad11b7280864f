"""Pandas and polars: labels with a declared order, columns with names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import peckorder
from peckorder import (
    AggregatePRank,
    CalibratedOrdinal,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    OrdinalBoost,
    PRank,
    RankBoost,
    SVRank,
    TableRanker,
    WidrowHoff,
    metrics,
)
from peckorder.exceptions import DataError
from support.helpers import exactly, raises_unchanged, real_data, same, shown

X, RANK = real_data(1, k=3)
SIZES = ["small", "medium", "large"]
WORDS = [SIZES[rank - 1] for rank in RANK]
ORDERED = pd.Categorical(WORDS, categories=SIZES, ordered=True)
ENUM = pl.Series(WORDS, dtype=pl.Enum(SIZES))
FRAMES = {
    "pandas": lambda X, names: pd.DataFrame(X, columns=names),
    "polars": lambda X, names: pl.DataFrame(X, schema=names),
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
every_order = pytest.mark.parametrize(
    "y", [ORDERED, pd.Series(ORDERED), pd.Series(ORDERED, index=RANK), ENUM]
)


@every_order
def test_a_declared_order_is_taken(y):
    model = PRank().fit(X, y)
    assert_array_equal(model.classes_, SIZES)
    named = PRank(classes=SIZES).fit(X, WORDS)
    assert same(shown(model, X), shown(named, X))


@every_order
def test_a_declared_order_serves_to_score(y):
    model = PRank().fit(X, RANK)
    assert PRank().fit(X, y).score(X, y) == model.score(X, RANK)


@every_order
def test_classes_may_not_contradict_a_declared_order(y):
    model = PRank(classes=SIZES[::-1])
    sentence = (
        "PRank: y must be in the order of the classes ['large', 'medium', 'small']; "
        "got categories in the order ['small', 'medium', 'large']."
    )
    with raises_unchanged(model, DataError, sentence):
        model.fit(X, y)


@pytest.mark.parametrize(
    "y",
    [
        pd.Categorical(WORDS, categories=["none", *SIZES, "huge"], ordered=True),
        pl.Series(WORDS, dtype=pl.Enum(["none", *SIZES, "huge"])),
    ],
    ids=["pandas", "polars"],
)
def test_declared_categories_that_do_not_occur_have_their_place(y):
    model = PRank().fit(X, y)
    assert_array_equal(model.classes_, ["none", *SIZES, "huge"])


def test_numbers_may_be_ordered_categories():
    y = pd.Categorical(RANK, categories=[3, 1, 2], ordered=True)
    assert_array_equal(PRank().fit(X, y).classes_, [3, 1, 2])


def test_intervals_may_be_ordered_categories():
    y = pd.cut(RANK, [0, 1, 2, 3])
    expected = y.categories[PRank().fit(X, RANK).predict(X) - 1]
    assert PRank().fit(X, y).predict(X).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(RANK),
        pd.Series(RANK, dtype="category"),
        pl.Series(RANK),
        pl.Series(RANK, dtype=pl.Int8),
        pd.DataFrame({"y": RANK})["y"],
    ],
    ids=["pandas", "numbers as categories", "polars", "int8", "column"],
)
def test_a_series_of_numbers_is_numbers(y):
    model = PRank().fit(X, y)
    assert_array_equal(model.predict(X), PRank().fit(X, RANK).predict(X))


@pytest.mark.parametrize(
    "y",
    [
        pd.Categorical(WORDS),
        pd.Series(WORDS, dtype="category"),
        pd.Series(WORDS),
        pl.Series(WORDS),
        pl.Series(WORDS, dtype=pl.Categorical),
    ],
    ids=["categorical", "category", "words", "polars", "polars categorical"],
)
def test_words_without_an_order_are_refused(y):
    sentence = (
        "PRank: y must be numbers, an ordered categorical, or labels whose order "
        "classes= gives; got ['large', 'medium', 'small']. Pass classes=[...] with "
        "the lowest first (the order of the alphabet is rarely meant)."
    )
    model = PRank()
    with raises_unchanged(model, DataError, sentence):
        model.fit(X, y)


@pytest.mark.parametrize(
    "y",
    [
        pd.Categorical(["small", None], categories=SIZES, ordered=True),
        pl.Series(["small", None], dtype=pl.Enum(SIZES)),
    ],
    ids=["pandas", "polars"],
)
def test_a_missing_category_is_refused(y):
    model = PRank()
    sentence = "PRank: y must be without missing labels; got None in row 1."
    with raises_unchanged(model, DataError, sentence):
        model.fit(X[:2], y)


@every_order
def test_losses_are_counted_along_a_declared_order(y):
    assert metrics.rank_loss(y, ["small"] * len(RANK)) == np.mean(RANK - 1)


@every_frame
def test_a_frame_is_its_values(frame):
    model = PRank().fit(frame(X, ["a", "b", "c"]), RANK)
    seen = shown(model, frame(X, ["a", "b", "c"]))
    assert_array_equal(seen.pop("feature_names_in_"), ["a", "b", "c"])
    assert same(seen, shown(PRank().fit(X, RANK), X))


@every_frame
def test_other_names_are_refused(frame):
    model = PRank().fit(frame(X, ["a", "b", "c"]), RANK)
    sentence = (
        "The feature names should match those that were passed during fit.\n"
        "Feature names unseen at fit time:\n- z\n"
        "Feature names seen at fit time, yet now missing:\n- c\n"
    )
    for method in (model.predict, lambda X: model.partial_fit(X, RANK)):
        with raises_unchanged(model, ValueError, sentence):
            method(frame(X, ["a", "b", "z"]))


@every_frame
def test_names_are_remembered_from_the_first_batch(frame):
    model = PRank().partial_fit(frame(X, ["a", "b", "c"]), RANK)
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])


ESTIMATORS = [
    PRank(),
    PRank(kernel="rbf"),
    AggregatePRank(n_estimators=3, random_state=0),
    WidrowHoff(),
    MulticlassPerceptron(),
    CalibratedOrdinal(PRank()),
    OrdinalBoost(n_rounds=3, random_state=0),
    RankBoost(n_rounds=3),
    RankBoost(n_rounds=3, weak="tree", random_state=0),
    MPRank(),
    MPRank(kernel="rbf"),
    MPRankCV(Cs=[1.0]),
    SVRank(),
    SVRank(kernel="rbf"),
    TableRanker(MPRank(), scale=False),
]
GAPS = np.where(np.abs(X) < 0.4, 0.0, X)
SPARSE = {
    "floats": pd.DataFrame(GAPS, columns=["a", "b", "c"]).astype(pd.SparseDtype(float, 0.0)),
    "integers": pd.DataFrame((GAPS > 0).astype(int), columns=["a", "b", "c"]).astype(
        pd.SparseDtype(int, 0)
    ),
    "booleans": pd.DataFrame(GAPS > 0, columns=["a", "b", "c"]).astype(pd.SparseDtype(bool, False)),
    # What is left out is not 0: scikit-learn makes no sparse matrix of such columns.
    "ones": pd.DataFrame(GAPS + 1, columns=["a", "b", "c"]).astype(pd.SparseDtype(float, 1.0)),
    "all but gaps": pd.DataFrame(GAPS, columns=["a", "b", "c"]).astype(
        pd.SparseDtype(float, np.nan)
    ),
}


def test_every_estimator_is_tried_with_sparse_columns():
    assert {type(e).__name__ for e in ESTIMATORS} == set(peckorder.estimators.__all__)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("kind", SPARSE)
def test_a_frame_of_sparse_columns_is_its_values(estimator, kind):
    frame = SPARSE[kind]
    values = frame.to_numpy().astype(float)
    dense = clone(estimator).fit(pd.DataFrame(values, columns=frame.columns), RANK)
    model = clone(estimator).fit(frame, RANK)
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    expected = dense.predict(pd.DataFrame(values, columns=frame.columns))
    np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_sparse_columns_are_refused_with_an_infinity(estimator):
    values = GAPS.copy()
    values[4, 1] = np.inf
    frame = pd.DataFrame(values, columns=["a", "b", "c"]).astype(pd.SparseDtype(float, 0.0))
    with pytest.raises(ValueError, match=r"[Ii]nfinity|infinite|inf in row 4"):
        clone(estimator).fit(frame, RANK)


def test_a_frame_with_a_missing_value_is_refused():
    frame = pd.DataFrame(X).mask(pd.DataFrame(X) == X[4, 1])
    with pytest.raises(ValueError, match=r"(?m)^Input X contains NaN\.$"):
        PRank().fit(frame, RANK)


def test_the_message_names_the_series_as_a_whole():
    sentence = "PRank: y must be one label per row; got 60 labels for 59 rows."
    with pytest.raises(ValueError, match=exactly(sentence)):
        PRank().fit(X[:-1], pd.Series(RANK))


def test_nullable_integers_stay_integers():
    y = pd.Series(RANK, dtype="Int64")
    model = PRank().fit(X, y)
    assert model.classes_.dtype.kind == "i"
    assert_array_equal(model.predict(X), PRank().fit(X, RANK).predict(X))


@pytest.mark.parametrize("estimator", [PRank, MPRank, RankBoost, OrdinalBoost])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_column_of_no_numbers_is_named(estimator, frame):
    numbers = [float(rank) for rank in RANK]
    dates = np.datetime64("2024-01-01") + np.arange(len(RANK))
    columns = [(WORDS, f"the text {WORDS[0]!r}"), (dates, "dates or durations")]
    for column, got in columns:
        rows = frame({"a": numbers, "shop": column})
        name = estimator.__name__
        sentence = (
            f"{name}: column 'shop' of X must be numbers; got {got}. "
            f"Use TableRanker({name}()), which makes numbers of text and dates."
        )
        with pytest.raises(DataError, match=exactly(sentence)):
            estimator().fit(rows, RANK)
    assert len(TableRanker(PRank()).fit(rows, RANK).predict(rows)) == len(RANK)
    with pytest.raises(DataError, match="column 'shop' of X must be numbers"):
        estimator().fit(frame({"a": numbers, "shop": numbers}), RANK).predict(
            frame({"a": numbers, "shop": WORDS})
        )
