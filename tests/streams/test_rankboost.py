"""RankBoost on a stream is RankBoost in memory, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from peckorder import RankBoost, load
from peckorder.boosting import blocks
from peckorder.exceptions import DataError
from peckorder.streams import Stream, from_arrays
from peckorder.streams.fitting.rankboost import fit_boosted
from peckorder.trees.growing import Grower
from support.rankboost_settings import PARAMETERS, assert_same_model, rows_with_gaps

VALUES = st.sampled_from([np.nan, -1.5, -0.0, 0.0, 0.5, 1.0, 2.0, 1e300])


@st.composite
def feedback(draw):
    """Draw rows of consecutive queries, in no order, some of one grade."""
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=6))
    n_rows, n_features = sum(sizes), draw(st.integers(1, 4))
    several = st.lists(VALUES, min_size=n_features, max_size=n_features)
    X = np.array(draw(st.lists(several, min_size=n_rows, max_size=n_rows)))
    y = draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))
    names = draw(st.permutations(range(len(sizes))))
    weight = None
    if draw(st.booleans()):
        weights = st.sampled_from([0.0, 0.5, 1.0, 3.0])
        weight = np.array(draw(st.lists(weights, min_size=n_rows, max_size=n_rows)))
    return X, np.array(y), np.repeat(names, sizes), weight


@pytest.mark.filterwarnings("ignore:RankBoost. no weak ranking")
@settings(deadline=None, max_examples=60)
@given(feedback(), PARAMETERS, st.integers(1, 9))
def test_a_stream_of_any_blocks_gives_the_model_of_all_rows(data, parameters, rows):
    X, y, qid, weight = data
    stream = from_arrays(X, y, qid, weight=weight, rows=rows)
    one, other = RankBoost(**parameters), RankBoost(**parameters)
    refused = said(lambda: one.fit(X, y, qid=qid, sample_weight=weight))
    assert said(lambda: fit_boosted(other, stream)) == refused
    if refused is None:
        assert_same_model(other, one)


def said(fit):
    """Return how data are refused; None if they are not."""
    try:
        fit()
    except DataError as error:
        return str(error)
    return None


def problem(n_rows=3000, dtype=np.float64):
    return rows_with_gaps(n_rows, dtype)[:3]


@pytest.fixture
def small_pieces(monkeypatch):
    """Make chunks and pieces so small that there are several."""
    monkeypatch.setattr(blocks, "_CHUNK", 1 << 14)
    monkeypatch.setattr(blocks, "_PIECE", 100)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_short", [False, True], ids=["memory", "files"])
@pytest.mark.parametrize("max_bins", [7, 255])
def test_rows_in_files(monkeypatch, small_pieces, tmp_path, dtype, is_short, max_bins):
    if is_short:
        monkeypatch.setattr(blocks, "free_memory", lambda: 0)
    in_files, zeros = [], blocks.Scratch.zeros

    def noted(self, shape, dtype=np.float64):
        in_files.append(np.dtype(dtype))
        return zeros(self, shape, dtype)

    monkeypatch.setattr(blocks.Scratch, "zeros", noted)
    X, y, qid = problem(dtype=dtype)
    model = RankBoost(n_rounds=30, max_bins=max_bins)
    stream = from_arrays(X, y, qid, rows=128)
    fitted = fit_boosted(model, stream, folder=tmp_path)
    expected = RankBoost(n_rounds=30, max_bins=max_bins).fit(X, y, qid=qid)
    assert_same_model(fitted, expected)
    assert_array_equal(fitted.predict(X), expected.predict(X))
    # Bins always are; where memory is short, scores and potentials are as well.
    assert in_files[0] == np.uint8
    assert (np.float64 in in_files[1:]) == is_short
    assert list(tmp_path.iterdir()) == []


def test_few_values_need_no_bins(small_pieces):
    X, y, qid = problem()
    X = np.round(X, 1)
    fitted = fit_boosted(RankBoost(), from_arrays(X, y, qid, rows=99))
    assert_same_model(fitted, RankBoost().fit(X, y, qid=qid))


@pytest.mark.parametrize("missing", ["zero", "abstain"])
def test_sparse_rows(missing):
    X, y, qid = problem(1500)
    X = sparse.csr_array(np.where(X > 0.3, X.round(1), 0.0))
    model = RankBoost(n_rounds=20, missing=missing)
    fitted = fit_boosted(model, from_arrays(X, y, qid, rows=99))
    expected = RankBoost(n_rounds=20, missing=missing).fit(X, y, qid=qid)
    assert_same_model(fitted, expected)


def test_progress_counts_rows():
    X, y, qid = problem(120)
    reported = []
    fit_boosted(
        RankBoost(max_bins=9, n_rounds=1),
        from_arrays(X, y, qid, rows=60),
        progress=lambda done, of: reported.append((done, of)),
    )
    assert reported == [(60, 120), (120, 120)]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"alpha": "numeric"}, "alpha must be 'approximate' on a stream; got 'numeric'."),
        ({"weak": "feature"}, "weak must be 'threshold' or 'tree' on a stream; got 'feature'."),
        (
            {"weak": "tree", "pair_weight": "ndcg"},
            "pair_weight must be None on a stream; got 'ndcg'.",
        ),
        (
            {"weak": "tree", "categorical_features": [0]},
            "categorical_features must be None or 'from_dtype' on a stream; got [0].",
        ),
        ({"warm_start": True}, "warm_start must be False on a stream; got True."),
        ({"validation_fraction": 0.2}, "validation_fraction must be None on a stream; got 0.2."),
    ],
)
def test_what_needs_all_rows_is_refused(parameters, sentence):
    X, y, qid = problem(60)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        fit_boosted(RankBoost(**parameters), from_arrays(X, y, qid))
    assert str(caught.value) == f"RankBoost: {sentence}"


TREES = {"weak": "tree", "n_rounds": 8, "max_leaf_nodes": 6, "random_state": 0}


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    ("parameters", "dtype"),
    [
        ({}, np.float32),
        ({"loss": "logistic"}, np.float64),
        ({"query_weight": "equal"}, np.float64),
        ({"subsample": 0.5, "max_features": 0.6, "max_bins": 9}, np.float64),
        ({"monotonic_cst": [1, 0, 0, -1, 0]}, np.float64),
    ],
)
def test_trees_of_a_stream_are_those_of_all_rows(
    small_pieces, tmp_path, parameters, dtype, is_weighted
):
    X, y, qid, weight = rows_with_gaps(1500, dtype)
    y[qid < 5] = 1
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    weight = weight if is_weighted else None
    model = RankBoost(**TREES | parameters)
    one = RankBoost(**TREES | parameters).fit(X, y, qid=qid, sample_weight=weight)
    other = fit_boosted(model, from_arrays(X, y, qid, weight=weight, rows=99), folder=tmp_path)
    assert len(one.bounds_) > 2
    assert_array_equal(other.bounds_, one.bounds_)
    assert_array_equal(other.predict(X), one.predict(X))
    assert_array_equal(other.feature_importances_, one.feature_importances_)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["zero", "abstain"])
def test_trees_of_sparse_rows(missing):
    X, y, qid = problem(900)
    X = sparse.csr_array(np.where(X > 0.3, X, 0.0))
    one = RankBoost(**TREES, missing=missing).fit(X, y, qid=qid)
    other = fit_boosted(RankBoost(**TREES, missing=missing), from_arrays(X, y, qid, rows=99))
    assert_array_equal(other.predict(X), one.predict(X))


@pytest.mark.parametrize("options", [{}, {"loss": "logistic", "subsample": 0.5}])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_trees_go_on_from_a_checkpoint(tmp_path, monkeypatch, dtype, options):
    X, y, qid = problem(900)
    stream = from_arrays(X.astype(dtype), y, qid, rows=99)
    model = RankBoost(**TREES | {"n_rounds": 9} | options)
    grow, calls = Grower.grow, []

    def fail_later(*arguments):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return grow(*arguments)

    path = tmp_path / "kept"
    with monkeypatch.context() as patched:
        patched.setattr(Grower, "grow", fail_later)
        with pytest.raises(KeyboardInterrupt):
            fit_boosted(clone(model), stream, checkpoint=path, every=0)
    assert load(path).n_rounds_ == 5
    other = fit_boosted(clone(model), stream, checkpoint=path)
    one = clone(model).fit(X.astype(dtype), y, qid=qid)
    assert_array_equal(other.predict(X), one.predict(X))
    assert_array_equal(other.bounds_, one.bounds_)
    finished = fit_boosted(clone(model), stream, checkpoint=path)
    assert_array_equal(finished.predict(X), one.predict(X))
    assert list(tmp_path.iterdir()) == [path]


def test_a_stream_without_queries_is_refused():
    X, y, _ = problem(60)
    with pytest.raises(DataError) as caught:
        fit_boosted(RankBoost(), from_arrays(X, y))
    assert str(caught.value) == (
        "RankBoost: stream must have queries, of which a block holds whole ones; got one without."
    )


def test_too_many_values_are_refused_at_once():
    X, y, qid = problem()
    X[:, :3] = X[:, :3].round(1)
    read = []
    with pytest.raises(DataError) as caught:
        fit_boosted(
            RankBoost(),
            from_arrays(X, y, qid, rows=150),
            prefetch=0,
            progress=lambda done, of: read.append(done),
        )
    assert str(caught.value) == (
        "RankBoost: max_bins must be an integer from 2 to 255 on a stream if a feature "
        "has more than 255 values; got None, and more of feature 3. Use max_bins=255."
    )
    assert read == [150]


def test_a_disk_that_is_too_small_is_refused_before_work(monkeypatch, tmp_path):
    monkeypatch.setattr(blocks, "disk_usage", lambda path: type("Usage", (), {"free": 100_000}))
    X, y, qid = problem()
    with pytest.raises(DataError) as caught:
        fit_boosted(RankBoost(max_bins=9), from_arrays(X, y, qid, rows=99), folder=tmp_path)
    assert str(caught.value) == (
        "RankBoost: folder must be on a disk with 135,000 bytes free for all rows; got "
        f"{str(tmp_path)!r}, with 100,000 bytes."
    )


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    X, y, qid = problem(60)
    path = tmp_path / "none"
    with pytest.raises(NotADirectoryError) as caught:
        fit_boosted(RankBoost(), from_arrays(X, y, qid), folder=path)
    assert str(caught.value) == (f"fit: folder must be a folder that exists; got {str(path)!r}.")


class Failing(Stream):
    """A stream whose source gives out."""

    source_name, rows, n_features, has_queries, n_rows = "Failing", 60, 5, True, None

    def pieces(self, start, skipped):
        X, y, qid = problem(600)
        yield from from_arrays(X, y, qid, rows=60)
        raise OSError("gone")

    def identity(self):
        return {}


def test_a_stream_that_fails_leaves_no_files(small_pieces, tmp_path):
    with pytest.raises(OSError, match=r"^gone$"):
        fit_boosted(RankBoost(max_bins=9), Failing(), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_blocks_of_two_types_are_refused():
    X, y, qid = problem(120)

    class Mixed(Failing):
        def pieces(self, start, skipped):
            yield from from_arrays(X[:60], y[:60], qid[:60])
            yield from from_arrays(X[60:].astype(np.float32), y[60:], qid[60:])

        def blocks(self, start=0):
            return self.pieces(start, None)

    with pytest.raises(DataError) as caught:
        fit_boosted(RankBoost(max_bins=9), Mixed())
    assert str(caught.value) == (
        "RankBoost: X must be of one type in all blocks, float64 as in the first; got float32."
    )
