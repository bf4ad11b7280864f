"""A model learnt from a stream is the one learnt from all rows at once."""

import threading
from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

import peckorder
from peckorder import MPRank, PRank, RankBoost
from peckorder.exceptions import DataError
from peckorder.streams import Stream, fit, from_arrays
from support.helpers import (
    LEARNERS,
    exactly,
    integer_data,
    make,
    raises_unchanged,
    real_data,
    same,
    shown,
)
from support.stream_files import KINDS, written

FEW = settings(max_examples=15)
NAMES = [*LEARNERS, "poly", "rbf", "budget", "bayes_point members", "rbf members"]


def check_same(model, other, X):
    # One of both may know names of columns, and all are shown arrays.
    model, other = copy(model), copy(other)
    for each in (model, other):
        vars(each).pop("feature_names_in_", None)
    assert same(shown(model, X), shown(other, X))


@pytest.mark.parametrize("name", NAMES)
@given(
    seed=st.integers(0, 1000),
    rows=st.integers(1, 80),
    fit_intercept=st.booleans(),
    unit_norm=st.booleans(),
)
@FEW
def test_on_line_learners_to_the_bit(name, seed, rows, fit_intercept, unit_norm):
    X, y = integer_data(seed) if seed % 2 else real_data(seed)
    options = {"fit_intercept": fit_intercept, "unit_norm": unit_norm}
    expected = make(name, **options).partial_fit(X, y)
    model = make(name, **options)
    assert fit(model, from_arrays(X, y, rows=rows)) is model
    check_same(model, expected, X)
    check_same(model, make(name, **options).fit(X, y), X)


@pytest.mark.parametrize("name", [*LEARNERS, "bayes_point members"])
@pytest.mark.parametrize("n_passes", [2, 3])
def test_passes_are_those_of_fit(name, n_passes):
    X, y = real_data(3)
    model = fit(make(name), from_arrays(X, y, rows=13), n_passes=n_passes)
    expected = make(name, max_iter=n_passes, shuffle=False).fit(X, y)
    check_same(model, expected, X)


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_every_kind(tmp_path, kind):
    X, y = real_data(5, n=200)
    qid = np.repeat(np.arange(20), 10)
    stream = written(kind, tmp_path, X, y.astype(float), qid, rows=37, group=23)
    check_same(fit(PRank(), stream), PRank().partial_fit(X, y.astype(float)), X)
    model = fit(MPRank(), stream)
    expected = MPRank().partial_fit(X, y, qid=qid)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    assert_allclose(model.intercept_, expected.intercept_, rtol=1e-10)


def test_mprank_with_a_kernel_visits_rows_one_by_one(tmp_path):
    X, y = real_data(6, n=150)
    model = MPRank(kernel="rbf", C=10.0, max_iter=1)
    expected = MPRank(kernel="rbf", C=10.0, max_iter=1).partial_fit(X, y).dual_coef_
    stream = from_arrays(X, y, rows=13)
    for options in ({}, {"checkpoint": tmp_path / "state"}):
        assert_allclose(fit(model, stream, **options).dual_coef_, expected, rtol=1e-9, atol=1e-11)


@given(
    seed=st.integers(0, 1000),
    rows=st.integers(1, 90),
    lengths=st.lists(st.integers(1, 12), min_size=2, max_size=15),
    has_queries=st.booleans(),
    has_weights=st.booleans(),
)
@FEW
def test_mprank_to_rounding(seed, rows, lengths, has_queries, has_weights):
    X, _ = real_data(seed, n=sum(lengths))
    rng = np.random.default_rng(seed)
    y = X @ [1.0, -2.0, 0.5] + rng.standard_normal(len(X))
    qid = np.repeat(np.arange(len(lengths)), lengths) if has_queries else None
    weight = rng.uniform(0.5, 2.0, len(X)) if has_weights else None
    model = fit(MPRank(), from_arrays(X, y, qid, weight=weight, rows=rows))
    expected = MPRank().fit(X, y, qid=qid, sample_weight=weight)
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("first", [0, 100, 280])
def test_blocks_of_rows_with_weight_zero(tmp_path, first):
    X, y = real_data(7, n=300)
    weight = np.ones(300)
    weight[first : first + 20] = 0.0
    reported = []
    model = fit(
        MPRank(),
        from_arrays(X, y, weight=weight, rows=10),
        checkpoint=tmp_path / "model",
        every=0,
        progress=lambda done, _: reported.append(done),
    )
    expected = MPRank().fit(X, y, sample_weight=weight)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    assert_allclose(model.intercept_, expected.intercept_, rtol=1e-10)
    assert reported == list(range(10, 301, 10))
    X[first + 3, 1] = np.nan
    said = rf"contains NaN(?s:.*)This is in row {first + 3} of the stream\.$"
    with pytest.raises(DataError, match=said):
        fit(MPRank(), from_arrays(X, y, weight=weight, rows=10))


def test_no_checkpoint_is_written_before_a_row_has_positive_weight(tmp_path):
    X, y = real_data(7, n=30)
    weight = np.repeat([0.0, 1.0], [20, 10])
    stream = from_arrays(X, y, weight=weight, rows=10)

    def stop(done, _):
        if done == 20:
            raise KeyboardInterrupt

    file = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        fit(MPRank(), stream, checkpoint=file, every=0, progress=stop)
    assert list(tmp_path.iterdir()) == []
    model = fit(MPRank(), stream, checkpoint=file)
    assert_allclose(model.coef_, MPRank().fit(X[20:], y[20:]).coef_, rtol=1e-10)


def test_a_stream_of_rows_with_weight_zero():
    X, y = real_data(7, n=30)
    sentence = "fit: weight must be > 0 for some row of the stream; got zero for all."
    model = MPRank()
    with raises_unchanged(model, DataError, sentence):
        fit(model, from_arrays(X, y, weight=np.zeros(30), rows=10))


def test_sparse_rows():
    X, y = integer_data(0)
    model = fit(PRank(), from_arrays(sparse.csr_array(X), y, rows=7))
    check_same(model, PRank().fit(X, y), X)


def test_classes_are_found_before_the_first_block():
    X = np.arange(12.0).reshape(6, 2)
    y = np.array([1, 1, 1, 2, 3, 3])
    model = fit(PRank(), from_arrays(X, y, rows=2))
    assert model.classes_.tolist() == [1, 2, 3]
    model = fit(PRank(), from_arrays(X, y, rows=2), [0, 1, 2, 3])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    model = fit(PRank(classes=[3, 2, 1]), from_arrays(X, y, rows=2))
    assert model.classes_.tolist() == [3, 2, 1]
    words = np.array(["low", "high"])[(y > 1).astype(int)]
    model = fit(PRank(), from_arrays(X, words, rows=2), classes=["low", "high"])
    assert model.classes_.tolist() == ["low", "high"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", "a"], "PRank: y must be numbers, an ordered categorical, or labels"),
        ([1, 1, 1], "PRank: y must hold at least two classes; got one class"),
        ([1, np.nan, 2], "from_arrays: y must be without gaps; got nan in row 1."),
    ],
)
def test_labels_without_classes(y, message):
    with pytest.raises(DataError, match=f"^{message}"):
        fit(PRank(), from_arrays(np.eye(3), y, rows=1))


def test_a_quantity_has_too_many_classes():
    y = np.arange(70_000.0)
    with pytest.raises(DataError, match=r"^PRank: y must hold at most 65,536 classes"):
        fit(PRank(), from_arrays(y[:, np.newaxis], y))


def test_estimators_of_scikit_learn():
    X, y = real_data(1, n=90)
    stream = from_arrays(X, y, rows=30)
    model = fit(SGDClassifier(random_state=0), stream)
    expected = SGDClassifier(random_state=0)
    for first in range(0, 90, 30):
        some = slice(first, first + 30)
        expected.partial_fit(X[some], y[some], classes=np.unique(y))
    assert same(model.coef_, expected.coef_)
    assert fit(SGDRegressor(random_state=0), stream).coef_.shape == (3,)
    assert_allclose(fit(StandardScaler(), stream).mean_, X.mean(axis=0))
    words = np.array(["a", "b"])[(y > 2).astype(int)]
    model = fit(SGDClassifier(random_state=0), from_arrays(X, words, rows=30))
    assert model.classes_.tolist() == ["a", "b"]


def test_what_an_estimator_knew_is_replaced():
    X, y = real_data(2)
    model = PRank(rule="last", unit_norm=False).fit(X[:9], y[:9])
    fit(model, from_arrays(X, y, rows=7))
    check_same(model, PRank(rule="last", unit_norm=False).fit(X, y), X)


def test_parameters_stay_the_objects_they_were():
    random_state = np.random.RandomState(0)
    model = make("bayes_point members", random_state=random_state)
    fit(model, from_arrays(*real_data(2), rows=7))
    assert model.random_state is random_state


def test_progress_counts_rows():
    X, y = real_data(2)
    reported = []
    stream = from_arrays(X, y, rows=25)
    fit(PRank(), stream, n_passes=2, progress=lambda *progress: reported.append(progress))
    assert reported == [(25, 120), (50, 120), (60, 120), (85, 120), (110, 120), (120, 120)]


class Failing(Stream):
    """Rows that end with an error, like a disk that is taken away."""

    source_name = "failing"

    def __init__(self, X, y, n_rows, rows=10, error=None):
        self.inner = from_arrays(X, y, rows=rows)
        self.rows, self.n_features, self.n_sound = rows, X.shape[1], n_rows
        self.error = OSError("the disk is gone") if error is None else error

    def pieces(self, start, skipped):
        for block in self.inner.pieces(start, skipped):
            start += len(block)
            if start > self.n_sound:
                raise self.error
            yield block

    def labels(self):
        return self.inner.labels()

    def identity(self):
        return self.inner.identity()


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_stream_that_fails_leaves_the_estimator_as_it_was(prefetch):
    X, y = real_data(2)
    model = PRank().fit(X[:20], y[:20])
    with raises_unchanged(model, OSError, "the disk is gone"):
        fit(model, Failing(X, y, 45), prefetch=prefetch)
    assert [t for t in threading.enumerate() if t.name == "prefetch"] == []


@pytest.mark.parametrize("error", [OSError("the disk is gone"), KeyboardInterrupt()])
def test_the_model_before_the_failure_is_saved(tmp_path, error):
    X, y = real_data(2)
    file = tmp_path / "model.peckorder"
    with pytest.raises(type(error)):
        fit(PRank(), Failing(X, y, 45, error=error), checkpoint=file)
    check_same(peckorder.load(file), PRank().partial_fit(X[:40], y[:40]), X)
    # The disk is back: the same call ends as if nothing had been.
    model = fit(PRank(), from_arrays(X, y, rows=10), checkpoint=file)
    check_same(model, PRank().partial_fit(X, y), X)


def test_rows_that_cannot_be_learnt_are_placed(tmp_path):
    X, y = real_data(2)
    X[33, 1] = np.nan
    file = tmp_path / "model.peckorder"
    model = PRank()
    said = r"(?s)^Input X contains NaN\..*\nThis is in row 33 of the stream\.$"
    with pytest.raises(DataError, match=said):
        fit(model, from_arrays(X, y, rows=10), checkpoint=file)
    assert not hasattr(model, "classes_")
    check_same(peckorder.load(file), PRank(classes=range(1, 5)).fit(X[:30], y[:30]), X[:9])


def test_an_interrupt_between_a_block_and_its_place_loses_neither(tmp_path, monkeypatch):
    X, y = real_data(2)
    file = tmp_path / "model.peckorder"
    partial_fit, n_calls = PRank.partial_fit, 0

    def interrupted(self, X, y, classes=None):
        nonlocal n_calls
        partial_fit(self, X, y, classes)
        n_calls += 1
        if n_calls == 3:
            raise KeyboardInterrupt
        return self

    stream = from_arrays(X, y, rows=10)
    with monkeypatch.context() as patch:
        patch.setattr(PRank, "partial_fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit(PRank(), stream, checkpoint=file)
    assert peckorder.load(file).n_rounds_ == 20
    check_same(fit(PRank(), stream, checkpoint=file), PRank().partial_fit(X, y), X)


def test_no_rows():
    class Empty(Failing):
        def pieces(self, start, skipped):
            return iter(())

    sentence = exactly("fit: stream must hold at least one row; got none.")
    with pytest.raises(DataError, match=sentence):
        fit(PRank(), Empty(np.eye(2), np.array([1, 2]), 2))
    # Also where labels are read apart, and where all is read before.
    none = from_arrays(np.empty((0, 2)), np.empty(0), np.empty(0, dtype=int))
    for model in (PRank(), MPRank(), RankBoost(max_bins=9)):
        with pytest.raises(DataError, match=sentence):
            fit(model, none)
