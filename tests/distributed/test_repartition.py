"""Bringing queries together."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder import MPRank
from peckorder.distributed import fit, repartition_by_qid


def check_whole(parts):
    """No name is in two partitions."""
    names = [set(np.unique(part)) for part in parts]
    assert sum(map(len, names)) == len(set().union(*names))


def computed(*arrays):
    return dask.compute(*arrays, scheduler="synchronous")


def cut(column, chunks):
    return np.split(column, np.cumsum(chunks)[:-1])


@pytest.mark.parametrize("kind", ["sorted", "mixed", "words"])
def test_arrays(client, kind):
    rng = np.random.default_rng(7)
    qid = rng.integers(0, 8, size=50)
    if kind == "sorted":
        qid = np.sort(qid)
    if kind == "words":
        qid = np.array([f"q{q}" for q in qid])
    number = np.arange(50)
    X = np.column_stack([number, 2 * number])
    given = da.from_array(X, (17, 1)), da.from_array(number, 20)
    arrays = repartition_by_qid(
        *given, qid=da.from_array(qid, 50), sample_weight=da.from_array(1 - number, 17)
    )
    (chunks,) = {array.chunks[0] for array in arrays}
    rows, order, queries, weight = computed(*arrays)
    check_whole(cut(queries, chunks))
    assert_array_equal(np.sort(order), number)
    assert_array_equal(rows, X[order])
    assert_array_equal(queries, qid[order])
    assert_array_equal(weight, 1 - order)
    assert arrays[0].dtype == X.dtype
    after = np.repeat(np.arange(len(chunks)), chunks)
    for name in np.unique(qid):
        inside = order[queries == name]
        assert (np.diff(inside) > 0).all()
        # A query goes where it has most rows.
        owner = np.argmax(np.bincount(number[qid == name] // 17))
        assert (after[queries == name] == owner).all()


def test_sparse_rows(client):
    X = sparse.random_array((40, 3), density=0.4, rng=1, format="csr")
    rows = da.from_array(X.toarray(), (19, 3)).map_blocks(sparse.csr_array)
    rows, q = repartition_by_qid(rows, qid=da.from_array(np.arange(40) // 4, 19))
    check_whole(cut(computed(q)[0], q.chunks[0]))
    again = sparse.vstack(computed(*rows.to_delayed().ravel()))
    assert_array_equal(again.toarray(), X.toarray())


def test_frames(client):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=50), "q": rng.integers(0, 9, size=50)})
    frame["y"] = frame["a"] + frame["q"]
    given = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(ValueError, match="repartition_by_qid"):
        fit(MPRank(), given, target="y", qid="q")
    table = repartition_by_qid(given, qid="q")
    parts = computed(*table.to_delayed())
    check_whole([part["q"].to_numpy() for part in parts])
    pd.testing.assert_frame_equal(pd.concat(parts).sort_index(), frame)
    model = fit(MPRank(), table, target="y", qid="q")
    expected = MPRank().fit(frame[["a"]], frame["y"], qid=frame["q"])
    assert model.coef_ == pytest.approx(expected.coef_, rel=1e-10)


def test_refused(client):
    X = da.ones((4, 1), chunks=(2, 1))
    with pytest.raises(TypeError, match="qid must be a Dask array of one value per row"):
        repartition_by_qid(X, qid="q")
    with pytest.raises(TypeError, match="data must be a Dask array of two dimensions"):
        repartition_by_qid(["a.parquet"], qid="q")
    frame = dd.from_pandas(pd.DataFrame({"a": [1], "q": [1]}), npartitions=1)
    with pytest.raises(TypeError, match=r"one of \['a', 'q'\]; got 'z'"):
        repartition_by_qid(frame, qid="z")
    with pytest.raises(TypeError, match="y must be None for a frame"):
        repartition_by_qid(frame, 3, qid="q")


def test_names_of_queries_that_are_longer_in_some_chunks(client):
    numbers = da.from_array([8, 8, 9, 9, 10, 10, 11, 11], 3)
    # Text of two characters in the first chunk, of three in the others.
    qid = numbers.map_blocks(lambda some: np.array([f"q{n}" for n in some]), dtype="U3")
    X = da.from_array(np.arange(16.0).reshape(8, 2) ** 2, (3, 2))
    y = da.from_array([0, 1, 0, 1, 0, 1, 1, 0], 3)
    X, y, qid = repartition_by_qid(X, y, qid=qid)
    (chunks,) = {array.chunks[0] for array in (X, y, qid)}
    rows, labels, names = computed(X, y, qid)
    check_whole(cut(names, chunks))
    assert names.tolist() == [f"q{n}" for n in numbers.compute()]
    model = fit(MPRank(), X, y, qid=qid)
    expected = MPRank().fit(rows, labels, qid=names)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
