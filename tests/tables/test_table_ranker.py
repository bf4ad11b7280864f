"""A ranker of tables sees columns as they are in a file, whatever holds them."""

import warnings

import numpy as np
import onnx
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from onnxruntime import InferenceSession
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import peckorder
from peckorder import AggregatePRank, MPRank, PRank, RankBoost, TableRanker, third_party
from peckorder.exceptions import DataError
from peckorder.export import to_onnx
from peckorder.io import from_bytes
from peckorder.model_selection import QueryKFold
from peckorder.tables.answers import Cuts, LabelScale
from support.helpers import exactly

rng = np.random.default_rng(3)
N = 60
SIZE, WIDTH = 100 + 20 * rng.normal(size=N), 1e-3 * rng.normal(size=N)
SIZE[::7] = np.nan
COLOUR = np.array(["red", "blue", "green", None], dtype=object)[np.arange(N) % 4]
Y = 2e3 * WIDTH + (COLOUR == "red") + 0.1 * rng.normal(size=N)
LEVEL, QID = np.digitize(Y, [-1.0, 1.0]), np.arange(N) // 6
FRAME = pd.DataFrame({"size": SIZE, "colour": COLOUR, "width": WIDTH})
NUMBERS = FRAME[["size", "width"]]


def test_is_a_pipeline_of_scikit_learn():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    text = make_pipeline(OneHotEncoder(sparse_output=False, categories=[["blue", "green", "red"]]))
    both = make_column_transformer((numbers, ["size", "width"]))
    wanted = both.fit_transform(FRAME)
    # Filled before scaling the deviations differ: those of known cells are meant.
    wanted[:, 0] *= np.sqrt((~np.isnan(SIZE)).mean())
    known = FRAME.dropna(subset=["colour"])[["colour"]]
    hot = np.zeros((N, 3))
    hot[known.index] = text.fit_transform(known)
    hot = StandardScaler().fit_transform(hot)
    model = TableRanker(MPRank()).fit(FRAME, Y)
    found = model.prepare(FRAME)
    assert model.prepared_names_ == [
        *("size", "colour=blue", "colour=green", "colour=red", "width")
    ]
    assert_allclose(found[:, [0, 4]], wanted, atol=1e-12)
    assert_allclose(found[:, 1:4], hot, atol=1e-12)
    assert_array_equal(model.predict(FRAME), MPRank().fit(found, Y).predict(found))


def test_a_frame_is_read_by_name_and_an_array_by_place():
    model = TableRanker(MPRank()).fit(FRAME, Y)
    wanted = model.predict(FRAME)
    assert model.feature_names_in_.tolist() == ["size", "colour", "width"]
    mixed = FRAME.assign(grade=1)[["grade", "width", "colour", "size"]]
    assert_array_equal(model.predict(mixed), wanted)
    assert_array_equal(model.predict(pl.from_pandas(mixed)), wanted)
    nullable = FRAME.convert_dtypes().astype({"colour": "category"})
    assert_array_equal(model.predict(nullable), wanted)
    assert_array_equal(model.predict(FRAME.to_numpy()), wanted)
    with pytest.raises(ValueError, match="X has 2 features, but TableRanker is expect"):
        model.predict(NUMBERS.to_numpy())
    with pytest.raises(DataError, match=r"got none called 'width'\."):
        model.predict(FRAME[["size", "colour"]])
    plain = TableRanker(MPRank()).fit(NUMBERS.to_numpy(), Y)
    assert_array_equal(plain.predict(NUMBERS.to_numpy().tolist()), plain.predict(NUMBERS))


def test_methods_of_the_ranker_can_be_called():
    ordinal = TableRanker(AggregatePRank(n_estimators=5, random_state=0))
    ordinal.fit(FRAME, LEVEL)
    inner, seen = ordinal.ranker_, ordinal.prepare(FRAME)
    for name in ("predict", "decision_function", "mean_rank"):
        assert_array_equal(getattr(ordinal, name)(FRAME), getattr(inner, name)(seen))
    assert ordinal.classes_.tolist() == [0, 1, 2]
    assert ordinal.score(FRAME, LEVEL) == inner.score(seen, LEVEL)
    for name in ("rank", "explain", "staged_predict"):
        assert not hasattr(ordinal, name)
    boosted = TableRanker(RankBoost(n_rounds=4), scale=False)
    boosted.fit(FRAME, LEVEL, qid=QID)
    seen = boosted.prepare(FRAME)
    assert np.isnan(seen[::7, 0]).all()
    assert_array_equal(boosted.rank(FRAME, QID), boosted.ranker_.rank(seen, QID))
    assert_array_equal(boosted.explain(FRAME), boosted.ranker_.explain(seen))
    assert len(list(boosted.staged_predict(FRAME))) == 4
    expected = boosted.ranker_.score(seen, LEVEL, qid=QID)
    assert boosted.score(FRAME, LEVEL, qid=QID) == expected
    for name in ("decision_function", "classes_", "predict_proba"):
        assert not hasattr(boosted, name)


def test_its_ranker_is_tuned_by_a_grid_search_with_queries():
    grid = {"ranker__n_rounds": [1, 8], "scale": [True, False]}
    search = GridSearchCV(TableRanker(RankBoost()), grid, cv=QueryKFold(3))
    # Without metadata routing scores are not within queries.
    with pytest.warns(UserWarning, match="RankBoost: fitted with queries, asked without"):
        search.fit(FRAME, LEVEL, groups=QID, qid=QID)
    assert search.best_params_["ranker__n_rounds"] == 8


def test_new_values_of_text_are_zero():
    model = TableRanker(MPRank(), scale=False).fit(FRAME[["colour"]], Y)
    rows = pd.DataFrame({"colour": ["red", "pink", None, 7]})
    assert model.prepare(rows).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


@given(st.lists(st.floats(-1e100, 1e100) | st.none(), min_size=3, max_size=9))
def test_scaled_columns_have_mean_0_and_deviation_0_or_1(cells):
    table = np.array([[cell, k] for k, cell in enumerate(cells)], dtype=float)
    model = TableRanker(MPRank()).fit(table, np.arange(len(cells)))
    known = model.prepare(table)[~np.isnan(table[:, 0]), 0]
    assert abs(known.mean() if len(known) else 0.0) < 1e-6
    spread = known.std() if len(known) else 0.0
    assert spread == pytest.approx(1.0) or spread < 1e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "model",
    [
        TableRanker(MPRank(C=10)),
        TableRanker(PRank(max_iter=5)),
        TableRanker(RankBoost(n_rounds=9)),
        TableRanker(RankBoost(n_rounds=9), scale=False),
    ],
    ids=lambda model: f"{type(model.ranker).__name__}-{model.scale}",
)
def test_scaling_is_in_the_onnx_graph(model, dtype):
    is_ordinal = isinstance(model.ranker, PRank)
    model.fit(NUMBERS.to_numpy(), LEVEL if is_ordinal else Y)
    graph = to_onnx(model, dtype=dtype)
    onnx.checker.check_model(graph, full_check=True)
    session = InferenceSession(graph.SerializeToString())
    X = NUMBERS.to_numpy().astype(dtype)
    scores = session.run(["scores"], {"X": X})[0]
    expected = model.decision_function(X) if is_ordinal else model.predict(X)
    assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    if is_ordinal:
        labels = session.run(["labels"], {"X": X})[0]
        assert_array_equal(labels, model.predict(X))


@pytest.mark.parametrize("ranker", [MPRank(C=10), RankBoost(n_rounds=9), PRank(max_iter=2)])
@pytest.mark.parametrize(
    "answer",
    [
        Cuts(np.array([-np.inf, -0.5, 1.0]), np.array(["none", "low", "mid", "high"])),
        Cuts(np.array([0.0]), np.array([3, 9])),
        LabelScale(0.5, 20.0),
    ],
)
def test_answers_are_those_of_the_scores(ranker, answer):
    table = TableRanker(ranker).fit(NUMBERS.to_numpy(), LEVEL)
    if isinstance(ranker, PRank):
        # It has no scores to be cut: a file of it would be refused.
        table.answer_ = answer
        with pytest.raises(ValueError, match="answer must be missing"):
            table.to_bytes()
        return
    X = NUMBERS.to_numpy()
    scores, order, added = table.predict(X), table.rank(X), explained(table, X)
    share = table.score(X, LEVEL)
    table.answer_ = answer
    assert_array_equal(table.rank(X), order)
    session = InferenceSession(to_onnx(table).SerializeToString())
    if isinstance(answer, LabelScale):
        expected = 20.0 + 0.5 * scores
        assert_array_equal(table.predict(X), expected)
        assert_allclose(session.run(["scores"], {"X": X})[0], expected, rtol=1e-12)
        assert table.score(X, LEVEL) == share
        assert not hasattr(table, "classes_")
        assert added is None or (explained(table, X) == 0.5 * added).all()
    else:
        level = (scores[:, None] > answer.thresholds).sum(axis=1)
        expected = answer.classes[level]
        assert_array_equal(table.decision_function(X), scores)
        assert_array_equal(session.run(["labels"], {"X": X})[0], expected)
        assert_array_equal(table.classes_, answer.classes)
        assert table.score(X, expected) == 0
        assert added is None or (explained(table, X) == added).all()
    assert_array_equal(table.predict(X), expected)
    for stage in table.staged_predict(X) if added is not None else ():
        last = stage
    assert added is None or last.tolist() == expected.tolist()
    again = from_bytes(table.to_bytes())
    assert_array_equal(again.predict(X), expected)
    # What was learnt of other scores is forgotten.
    assert table.fit(X, LEVEL).answer_ is None
    assert clone(again).fit(X, LEVEL).answer_ is None


def explained(table, X):
    return table.explain(X) if hasattr(table, "explain") else None


def test_what_cannot_be_written_as_a_graph():
    text = TableRanker(MPRank()).fit(FRAME, Y)
    sentence = exactly(
        "to_onnx: columns of a TableRanker must be numbers, as X is; got text in "
        "'colour'. Export model.ranker_, and give it model.prepare(X)."
    )
    with pytest.raises(ValueError, match=sentence):
        to_onnx(text)
    with pytest.raises(ValueError, match="got MPRank with kernel='rbf'"):
        to_onnx(TableRanker(MPRank(kernel="rbf")).fit(NUMBERS, Y))
    with pytest.raises(NotFittedError):
        to_onnx(TableRanker(MPRank()))


@pytest.mark.parametrize(
    ("model", "X", "error", "sentence"),
    [
        (
            TableRanker(MPRank),
            NUMBERS,
            ValueError,
            f"TableRanker: ranker must be an estimator with fit and predict; got {MPRank!r}.",
        ),
        (
            TableRanker(MPRank(), scale=1),
            NUMBERS,
            ValueError,
            "TableRanker: scale must be True or False; got 1.",
        ),
        (
            TableRanker(MPRank()),
            NUMBERS.assign(size=np.inf),
            ValueError,
            "TableRanker: X must be without infinity; got some in column 'size'.",
        ),
        (
            TableRanker(MPRank()),
            NUMBERS.assign(when=1j),
            TypeError,
            "TableRanker: column 'when' must be numbers or text; got complex128.",
        ),
        (
            TableRanker(MPRank()),
            pd.concat([NUMBERS, NUMBERS], axis=1),
            DataError,
            "TableRanker: columns of X must have names that differ; got one twice.",
        ),
    ],
)
def test_refused(model, X, error, sentence):
    with pytest.raises(error, match=exactly(sentence)):
        model.fit(X, Y)
    assert not hasattr(model, "ranker_")


def test_text_among_numbers_and_unknown_fit_parameters_are_refused():
    model = TableRanker(MPRank()).fit(NUMBERS, Y)
    wrong = NUMBERS.astype(object)
    wrong.loc[4, "width"] = "wide"
    with pytest.raises(DataError, match="'width' must be numbers; got 'wide' in row 4"):
        model.predict(wrong)
    with pytest.raises(TypeError, match="qid must be left out of fit for a PRank"):
        TableRanker(PRank()).fit(NUMBERS, LEVEL, qid=QID)
    with pytest.raises(TypeError, match="ranker must be one of peckorder's own"):
        TableRanker(Ridge()).fit(NUMBERS, Y).save("never.peckorder")


@pytest.mark.parametrize("other", [FRAME[["width"]], np.ones((N, 1))])
def test_a_fit_that_fails_changes_nothing(other):
    model = TableRanker(MPRank()).fit(FRAME, Y)
    expected = model.predict(FRAME)
    with pytest.raises(ValueError, match="y"):
        model.fit(other, Y[:-1])
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["size", "colour", "width"]
    assert_array_equal(model.predict(FRAME), expected)
    model.fit(np.c_[WIDTH, WIDTH**2], Y)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("trees", ["OrdinalBoost", "RankBoost", "LightGBM", "XGBoost", "CatBoost"])
def test_unscaled_trees_have_categories_whatever_their_positions_were(trees):
    if trees in ("OrdinalBoost", "RankBoost"):
        options = {} if trees == "OrdinalBoost" else {"weak": "tree"}
        ranker = getattr(peckorder, trees)(n_rounds=5, random_state=0, **options)
    else:
        kind = getattr(third_party, trees)
        pytest.importorskip(kind.package, reason=f"{kind.package} is not installed")
        ranker = kind(n_estimators=5)
    rows = pd.DataFrame(
        {"size": SIZE, "place": [f"at {k % 25}" for k in range(N)], "colour": COLOUR}
    )
    model = TableRanker(ranker, scale=False).fit(rows, LEVEL)
    assert model.prepared_names_ == ["size", "place", "colour"]
    assert list(model.ranker_.categorical_features) == [1, 2]
    # Copies learn the same, and columns in another order have other positions.
    again = clone(model).set_params(ranker=model.ranker_).fit(rows, LEVEL)
    assert_array_equal(again.predict(rows), model.predict(rows))
    turned = clone(again).fit(rows[["place", "size", "colour"]], LEVEL)
    assert list(turned.ranker_.categorical_features) == [0, 2]
    assert turned.prepared_names_ == ["place", "size", "colour"]
    # Scaled rows have no categories, nor have thresholds.
    scaled = TableRanker(clone(ranker)).fit(rows, LEVEL)
    assert "colour=red" in scaled.prepared_names_
    without = TableRanker(RankBoost(n_rounds=2), scale=False).fit(rows, LEVEL)
    assert "colour=red" in without.prepared_names_


def test_columns_of_which_no_value_is_known_are_said():
    level = np.array(["low", "medium", "high"], dtype=object)[np.arange(N) % 3]
    model = TableRanker(MPRank()).fit(pd.DataFrame({"level": level, "size": Y}), Y)
    sentence = (
        "TableRanker: no value of column 'level' was learnt from: 'HIGH' is none of high, low, "
        "medium; all count as missing ones."
    )
    upper = pd.DataFrame({"level": [text.upper() for text in level], "size": Y})
    with pytest.warns(UserWarning, match=exactly(sentence)):
        model.predict(upper)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(upper[:5])
        model.predict(pd.DataFrame({"level": [None] * N, "size": Y}))
        model.predict(pd.DataFrame({"level": ["low", *["new"] * (N - 1)], "size": Y}))
