"""Models written as ONNX graphs answer as the models do."""

from functools import partial

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from onnx.reference import ReferenceEvaluator
from onnxruntime import InferenceSession
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from peckorder import (
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    OrdinalBoost,
    PRank,
    RankBoost,
    SVRank,
    WidrowHoff,
    load,
)
from peckorder.export import to_onnx
from support.helpers import shown

CLOSE = 1e-12
ORDINAL = {
    "averaged": PRank,
    "last": partial(PRank, rule="last"),
    "widrow-hoff": partial(WidrowHoff, eta=0.25, step="normalized"),
    "widrow-hoff averaged": partial(WidrowHoff, step="normalized", rule="averaged"),
    "perceptron": MulticlassPerceptron,
    "perceptron averaged": partial(MulticlassPerceptron, rule="averaged"),
}
# What classes may be, lowest first.
CLASSES = {
    "integers": [3, 1, 2**53 + 1],
    "floats": [-0.5, 0.1, 7.0],
    "words": ["poor", "fair", "très bon"],
    "flags": [False, True],
}
BOOSTED = {
    "thresholds": {},
    "analytic": {"alpha": "analytic", "cumulative": False},
    "bins": {"max_bins": 3},
    "features": {"alpha": "numeric", "weak": "feature", "default": 0.3},
    "both": {"alpha": "numeric", "weak": ["feature", "threshold"], "cumulative": False},
    "trees": {"weak": "tree", "min_samples_leaf": 3, "learning_rate": 0.3},
}
TREES = RankBoost(weak="tree", min_samples_leaf=3, n_rounds=9)
MAGNITUDES = [MPRank, MPRankCV, partial(SVRank, C=10.0)]
seeds = st.integers(0, 2**32 - 1)
every_ordinal = pytest.mark.parametrize("make", ORDINAL.values(), ids=ORDINAL)
every_magnitude = pytest.mark.parametrize("make", MAGNITUDES)


def answers(model, X, dtype=np.float64, **more):
    """Run the graph of a model; return its outputs by name."""
    session = InferenceSession(to_onnx(model, dtype=dtype).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X} | more), strict=True))


def scores_of(model, X):
    ask = getattr(model, "decision_function", model.predict)
    return ask(X)


def assert_same_scores(graph, model):
    assert_allclose(graph, model, rtol=CLOSE, atol=CLOSE)


def is_clear(model, X):
    """Tell which rows are not so near a threshold that rounding may decide."""
    scores = scores_of(model, X)
    if isinstance(model, MulticlassPerceptron):
        top = np.sort(scores, axis=1)
        return top[:, -1] - top[:, -2] > CLOSE * (1 + np.abs(top[:, -1]))
    if isinstance(model, WidrowHoff):
        gaps = np.abs((scores % 1.0) - 0.5)[:, np.newaxis]
    else:
        gaps = np.abs(scores[:, np.newaxis] - model.thresholds_)
    return (gaps > CLOSE * (1 + np.abs(scores[:, np.newaxis]))).all(axis=1)


def drawn(seed, n=30, d=4, k=3, missing=0.0):
    """Draw rows, of which some entries are zero or missing, and levels below k."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, d)
    X[rng.random((n, d)) < 0.2] = 0.0
    X[rng.random((n, d)) < missing] = np.nan
    return X, rng.integers(0, k, n)


X, LEVEL = drawn(0)


@settings(deadline=None, max_examples=60)
@given(
    seed=seeds,
    make=st.sampled_from(list(ORDINAL.values())),
    classes=st.sampled_from(list(CLASSES.values())),
    fit_intercept=st.booleans(),
    unit_norm=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_ordered_classes(seed, make, classes, fit_intercept, unit_norm, dtype):
    X, level = drawn(seed, k=len(classes))
    X = X.astype(dtype)
    options = {"fit_intercept": fit_intercept, "unit_norm": unit_norm}
    y = [classes[place] for place in level]
    model = make(classes=classes, max_iter=3, **options).fit(X, y)
    got = answers(model, X, dtype)
    assert list(got) == ["scores", "labels"]
    assert got["scores"].dtype == np.float64
    assert_same_scores(got["scores"], scores_of(model, X))
    clear = is_clear(model, X)
    assert_array_equal(got["labels"][clear], model.predict(X)[clear])


@settings(deadline=None, max_examples=30)
@given(seed=seeds, make=st.sampled_from(list(ORDINAL.values())[:2]))
def test_scores_on_a_threshold(seed, make):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (40, 2)), rng.integers(0, 4, 40)
    options = {"fit_intercept": False, "unit_norm": False}
    model = make(classes=range(4), **options).fit(X, y)
    every = np.array(np.meshgrid(*[np.arange(-9.0, 10.0)] * 2)).reshape(2, -1).T
    got = answers(model, every)
    # Sums of integers are exact, whatever their order.
    assert_array_equal(got["labels"], model.predict(every))


def test_ranks_are_rounded_half_upwards():
    options = {"fit_intercept": False, "unit_norm": False, "eta": 0.5}
    model = WidrowHoff(classes=["a", "b", "c"], **options).fit([[1.0]], ["a"])
    assert model.coef_.tolist() == [0.5]
    rows = np.array([[-9.0], [np.nextafter(3, 0)], [3], [np.nextafter(5, 0)], [5], [9]])
    labels = answers(model, rows)["labels"].tolist()
    assert labels == ["a", "a", "b", "b", "c", "c"] == model.predict(rows).tolist()


@pytest.mark.parametrize("fit_intercept", [True, False])
@every_ordinal
def test_rows_too_short_or_too_long_for_a_norm(make, fit_intercept):
    model = make(fit_intercept=fit_intercept).fit(X, LEVEL)
    short = np.outer([0.0, 1e-170, 1e-151, 1e-149, 1e-100, 1e150], np.ones(4))
    got = answers(model, short)
    assert_same_scores(got["scores"], scores_of(model, short))
    clear = is_clear(model, short)
    assert_array_equal(got["labels"][clear], model.predict(short)[clear])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e160])
@every_ordinal
def test_rows_that_the_model_refuses_end_the_run(make, value):
    model = make().fit(X, LEVEL)
    rows = X[:5].copy()
    rows[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity|overflow"):
        model.predict(rows)
    session = InferenceSession(to_onnx(model).SerializeToString())
    with pytest.raises(InvalidArgument, match="Gather"):
        session.run(["labels"], {"X": rows})
    rows = np.delete(rows, 3, axis=0)
    assert len(session.run(["labels"], {"X": rows})[0]) == 4


@pytest.mark.parametrize("value", [np.nan, np.inf])
@every_magnitude
def test_rows_that_are_not_finite_have_scores_that_are_not(make, value):
    model = make().fit(X / 100, LEVEL)
    rows = X[:3].copy()
    rows[1, 2] = value
    scores = answers(model, rows)["scores"]
    assert np.isfinite(scores).tolist() == [True, False, True]


def test_parameters_set_after_fitting_change_nothing():
    model = PRank().fit(X, LEVEL)
    before = answers(model, X)
    model.set_params(unit_norm=False, fit_intercept=False, rule="last", kernel="rbf")
    after = answers(model, X)
    assert_array_equal(after["scores"], before["scores"])
    assert_array_equal(after["labels"], model.predict(X))


@every_ordinal
def test_the_model_is_left_as_it_was(make):
    model = make().fit(X, LEVEL)
    before = shown(model, X)
    to_onnx(model)
    again = shown(model, X)
    assert before.keys() == again.keys()
    for name, value in before.items():
        assert_array_equal(again[name], value)


@settings(deadline=None, max_examples=20)
@given(
    seed=seeds, make=st.sampled_from(MAGNITUDES), dtype=st.sampled_from([np.float64, np.float32])
)
def test_magnitudes(seed, make, dtype):
    X, _ = drawn(seed)
    X = (X / 100).astype(dtype)
    model = make().fit(X, X.sum(axis=1) + np.arange(30) / 30)
    got = answers(model, X, dtype)
    assert list(got) == ["scores"]
    assert_same_scores(got["scores"], model.predict(X))


def test_a_running_fit():
    model = MPRank().partial_fit(X[:20], LEVEL[:20]).partial_fit(X[20:], LEVEL[20:])
    assert_same_scores(answers(model, X)["scores"], model.predict(X))


@pytest.mark.parametrize("make", [MPRank, SVRank, partial(RankBoost, n_rounds=5), lambda: TREES])
def test_a_model_on_top_of_an_offset_takes_one(make):
    offset = np.linspace(-1, 1, 30)
    model = make().fit(X / 100, LEVEL, offset=offset)
    got = answers(model, X / 100, offset=offset)["scores"]
    assert_same_scores(got, model.predict(X / 100, offset=offset))
    with pytest.raises(ValueError, match="offset"):
        answers(model, X / 100)


def around_thresholds(model, X):
    """Return rows at, just above and just below every threshold."""
    rows = []
    rankers = model.weak_rankers_[np.isfinite(model.weak_rankers_["threshold"])]
    for feature, threshold, *_ in rankers.tolist():
        for value in (threshold, np.nextafter(threshold, 9), np.nextafter(threshold, 0)):
            row = X[len(rows) % len(X)].copy()
            row[feature] = value
            rows.append(row)
    if hasattr(model, "forest_"):
        is_cut = (model.forest_.column >= 0) & np.isfinite(model.forest_.cut)
        for node in np.flatnonzero(is_cut).tolist():
            cut, row = model.forest_.cut[node], X[len(rows) % len(X)].copy()
            for value in (cut, np.nextafter(cut, 9), np.nextafter(cut, -9)):
                row[model.forest_.column[node]] = value
                rows.append(row.copy())
    return np.array(rows).reshape(-1, X.shape[1])


@settings(deadline=None, max_examples=40)
@given(
    seed=seeds,
    options=st.sampled_from(list(BOOSTED.values())),
    missing=st.sampled_from([0.0, 0.2, 0.6]),
)
def test_boosted(seed, options, missing):
    X, y = drawn(seed, missing=missing)
    X /= 100.0
    X[:, 0] = np.where(np.isnan(X[:, 0]), 0.0, X[:, 0] + y)  # something to learn
    model = RankBoost(n_rounds=20, n_jobs=1, **options).fit(X, y)
    nothing = np.full((1, 4), np.nan)
    rows = np.concatenate([X, around_thresholds(model, X), nothing])
    got = answers(model, rows)
    assert list(got) == ["scores"]
    assert_same_scores(got["scores"], model.predict(rows))


def test_a_missing_value_is_not_a_zero():
    rows = np.array([[0.0], [1.0], [2.0], [np.nan]])
    model = RankBoost(n_rounds=3, default=1, smoothing=0.1).fit(rows, [0, 1, 2, 2])
    zero, _, two, nothing = answers(model, rows)["scores"]
    assert zero < two == pytest.approx(nothing, rel=CLOSE)
    assert_same_scores(answers(model, rows)["scores"], model.predict(rows))


@pytest.mark.parametrize(("missing", "fill"), [("zero", 0.0), ("abstain", np.nan)])
@pytest.mark.parametrize("options", BOOSTED.values(), ids=BOOSTED)
def test_sparse_rows_written_out(missing, fill, options):
    given = sparse.csr_array(X / 100)
    model = RankBoost(n_rounds=20, missing=missing, **options).fit(given, LEVEL)
    rows = np.full(given.shape, fill)
    entries = given.tocoo()
    rows[entries.row, entries.col] = entries.data
    assert_same_scores(answers(model, rows)["scores"], model.predict(given))
    # A zero that is written out is a zero, whatever is not stored.
    zeros = given.toarray()
    assert_same_scores(answers(model, zeros)["scores"], model.predict(zeros))


def test_rows_in_float32_are_compared_with_thresholds_in_float64():
    model = RankBoost(n_rounds=20, cumulative=False).fit(X, LEVEL)
    # Rounding takes most of these thresholds to the other side.
    rows = around_thresholds(model, X).astype(np.float32)
    graph = answers(model, rows, np.float32)["scores"]
    assert_same_scores(graph, model.predict(rows))


def test_a_model_without_rounds_has_scores_of_zero():
    with pytest.warns(ConvergenceWarning):
        model = RankBoost().fit(np.full((4, 2), np.nan), [0, 1, 0, 1])
    assert answers(model, X[:, :2])["scores"].tolist() == [0.0] * 30


@settings(deadline=None, max_examples=15)
@given(
    seed=seeds,
    odds=st.sampled_from(["proportional", "free"]),
    classes=st.sampled_from([[0, 1], [1, 2, 3], [0, 1, 2, 3, 4]]),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_boosted_classes(seed, odds, classes, missing):
    # Of five classes the lowest and the highest may have no rows.
    X, level = drawn(seed, k=min(len(classes), 3), missing=missing)
    X[:, 0] = np.where(np.isnan(X[:, 0]), 0.0, X[:, 0] / 100.0 + level)
    level[: min(len(classes), 3)] = np.arange(min(len(classes), 3))
    y = np.array(classes)[level + (len(classes) == 5)]
    model = OrdinalBoost(odds=odds, n_rounds=9, classes=classes, n_jobs=1, random_state=0).fit(X, y)
    rows = np.concatenate([X, np.full((1, 4), np.nan)])
    got = answers(model, rows)
    assert list(got) == ["scores", "labels"]
    assert_same_scores(got["scores"], model.decision_function(rows))
    near = (np.abs(model.decision_function(rows)) < CLOSE * 10).any(axis=1)
    assert_array_equal(got["labels"][~near], model.predict(rows)[~near])


def test_a_single_leaf_and_no_trees():
    with pytest.warns(ConvergenceWarning):
        model = RankBoost(weak="tree").fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert answers(model, X[:, :2])["scores"].tolist() == [0.0] * 30
    # A sample of three rows is not divided.
    options = {"weak": "tree", "subsample": 0.2, "min_samples_leaf": 3, "random_state": 0}
    qid = np.minimum(np.arange(len(X)) // 3, 4)
    model = RankBoost(n_rounds=20, **options).fit(X, LEVEL, qid=qid)
    assert (model.forest_.sizes == 1).any()
    assert (model.forest_.sizes > 1).any()
    assert_same_scores(answers(model, X)["scores"], model.predict(X))


def test_many_rows_and_rounds():
    rows, y = drawn(1, n=5000, d=20, k=5, missing=0.1)
    model = RankBoost(n_rounds=500, cumulative=False, alpha="analytic").fit(rows, y)
    assert model.n_rounds_ == 500
    assert_same_scores(answers(model, rows)["scores"], model.predict(rows))


@pytest.mark.parametrize(
    "model", [*(m() for m in ORDINAL.values()), MPRank(), RankBoost(n_rounds=9), TREES]
)
def test_another_runtime_agrees(model):
    model.fit(X, LEVEL)
    ours = answers(model, X)
    theirs = ReferenceEvaluator(to_onnx(model)).run(list(ours), {"X": X})
    for name, values in zip(ours, theirs, strict=True):
        if name == "labels":
            assert_array_equal(values, ours[name])
        else:
            assert_same_scores(values, ours[name])


@pytest.mark.parametrize("n_rows", [0, 1, 1000])
@pytest.mark.parametrize("model", [PRank(), MPRank(), RankBoost(n_rounds=9), TREES])
def test_any_number_of_rows(model, n_rows):
    model.fit(X, LEVEL)
    rows = np.resize(X, (n_rows, 4))
    got = answers(model, rows)
    assert all(len(values) == n_rows for values in got.values())
    if n_rows:
        assert_same_scores(got["scores"], scores_of(model, rows))


def test_a_file(tmp_path):
    model = PRank(classes=["a", "b", "c"]).fit(X, [*"abc"] * 10)
    onnx.save(to_onnx(model), tmp_path / "model.onnx")
    session = InferenceSession(tmp_path / "model.onnx")
    labels = session.run(["labels"], {"X": X})[0]
    assert labels.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("model", [PRank(), SVRank(), RankBoost(n_rounds=9), TREES])
def test_a_model_from_a_file_of_ours(tmp_path, model):
    model.fit(X / 100, LEVEL).save(tmp_path / "model")
    again = load(tmp_path / "model")
    got, expected = answers(again, X), answers(model, X)
    assert got.keys() == expected.keys()
    for name, values in expected.items():
        assert_array_equal(got[name], values)


def test_a_graph_knows_its_shape():
    graph = to_onnx(PRank().fit(X, LEVEL), dtype=np.float32).graph
    assert graph.name == "PRank"
    taken = graph.input[0].type.tensor_type
    assert taken.elem_type == onnx.TensorProto.FLOAT
    assert taken.shape.dim[1].dim_value == 4
    with pytest.raises(InvalidArgument, match="dimensions"):
        answers(PRank().fit(X, LEVEL), X[:, :3])
