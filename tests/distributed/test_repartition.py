"""Bringing queries together."""

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


def parts_of(column):
    return [part.compute() for part in column.to_delayed()]


@pytest.mark.parametrize("kind", ["sorted", "mixed", "words"])
def test_arrays(client, kind):
    rng = np.random.default_rng(7)
    qid = rng.integers(0, 12, size=90)
    if kind == "sorted":
        qid = np.sort(qid)
    if kind == "words":
        qid = np.array([f"q{q}" for q in qid])
    number = np.arange(90)
    X = np.column_stack([number, 2 * number])
    given = da.from_array(X, (17, 1)), da.from_array(number, 20)
    rows, y, q, weight = repartition_by_qid(
        *given, qid=da.from_array(qid, 90), sample_weight=da.from_array(1 - number, 9)
    )
    assert rows.chunks[0] == y.chunks[0] == q.chunks[0] == weight.chunks[0]
    check_whole(parts_of(q))
    order = y.compute()
    assert_array_equal(np.sort(order), number)
    assert_array_equal(rows.compute(), X[order])
    assert_array_equal(q.compute(), qid[order])
    assert_array_equal(weight.compute(), 1 - order)
    assert rows.dtype == X.dtype
    for name in np.unique(qid):
        inside = order[qid[order] == name]
        assert (np.diff(inside) > 0).all()
    # A query goes where it has most rows.
    before = np.minimum(number // 17, 5)
    after = np.repeat(np.arange(len(q.chunks[0])), q.chunks[0])
    for name in np.unique(qid):
        owner = after[qid[order] == name][0]
        assert owner == np.argmax(np.bincount(before[qid == name]))


def test_sparse_rows(client):
    X = sparse.random_array((40, 3), density=0.4, rng=1, format="csr")
    rows = da.from_array(X.toarray(), (9, 3)).map_blocks(sparse.csr_array)
    rows, q = repartition_by_qid(rows, qid=da.from_array(np.arange(40) // 4, 9))
    check_whole(parts_of(q))
    again = sparse.vstack([part[0].compute() for part in rows.to_delayed()])
    assert_array_equal(again.toarray(), X.toarray()[np.arange(40)])


def test_frames(client):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=50), "q": rng.integers(0, 9, size=50)})
    frame["y"] = frame["a"] + frame["q"]
    given = dd.from_pandas(frame, npartitions=4)
    with pytest.raises(ValueError, match="repartition_by_qid"):
        fit(MPRank(), given, target="y", qid="q")
    table = repartition_by_qid(given, qid="q")
    check_whole([part["q"].to_numpy() for part in parts_of(table)])
    pd.testing.assert_frame_equal(table.compute().sort_index(), frame)
    model = fit(MPRank(), table, target="y", qid="q")
    expected = MPRank().fit(frame[["a"]], frame["y"], qid=frame["q"])
    assert model.coef_ == pytest.approx(expected.coef_, rel=1e-10)


def test_refused(client):
    X = da.ones((4, 1), chunks=(2, 1))
    with pytest.raises(TypeError, match="qid must be a Dask array of one value a row"):
        repartition_by_qid(X, qid="q")
    with pytest.raises(TypeError, match="data must be a Dask array of two dimensions"):
        repartition_by_qid(["a.parquet"], qid="q")
    frame = dd.from_pandas(pd.DataFrame({"a": [1], "q": [1]}), npartitions=1)
    with pytest.raises(TypeError, match=r"one of \['a', 'q'\]; got 'z'"):
        repartition_by_qid(frame, qid="z")
    with pytest.raises(TypeError, match="y must be None for a frame"):
        repartition_by_qid(frame, 3, qid="q")
