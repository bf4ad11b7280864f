"""What a fit leaves on a cluster: nothing, also if it fails."""

import sys
from time import monotonic, sleep

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from peckorder import AggregatePRank, MPRank, RankBoost, SVRank
from peckorder.distributed import fit, repartition_by_qid, score
from peckorder.distributed.cluster.partitions import _made_and_scanned, load
from peckorder.distributed.cluster.sources import part_of_arrays, source_of

N = 60
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.arange(N) % 3
QID = np.repeat(np.arange(12.0), 5)
MODEL = MPRank().fit(X, Y)


def tasks(client):
    """What the scheduler knows of."""
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def assert_nothing_left(client):
    """Dask forgets a moment after it was told to."""
    end = monotonic() + 5
    while tasks(client):
        assert monotonic() < end, f"{tasks(client)} tasks are left"
        sleep(0.02)


def chunks(*arrays):
    return [da.from_array(array, (15, *array.shape[1:])) for array in arrays]


def with_nan(array):
    array = array.astype(np.float64)
    array[-1] = np.nan
    return array


@pytest.mark.parametrize(
    "estimator",
    [MPRank(), SVRank(), RankBoost(max_bins=8), AggregatePRank(n_estimators=4)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_fit_that_fails(client, estimator):
    assert_nothing_left(client)
    rows, labels, queries = chunks(X, with_nan(Y), QID)
    # What is caught, and kept, must not keep anything either.
    with pytest.raises(ValueError, match="y must") as caught:
        fit(estimator, rows, labels, qid=queries)
    assert_nothing_left(client)
    assert "partition 3" in str(caught.value)


def test_other_work_that_fails(client):
    assert_nothing_left(client)
    rows, labels, queries, gaps = chunks(X, Y, QID, with_nan(QID))
    with pytest.raises(ValueError, match="qid") as of_queries:
        repartition_by_qid(rows, labels, qid=gaps)
    assert_nothing_left(client)
    [gaps] = chunks(with_nan(X))
    with pytest.raises(ValueError, match="NaN") as of_rows:
        score(MODEL, gaps, labels, ["disagreement"], qid=queries)
    assert_nothing_left(client)
    assert of_queries.value is not of_rows.value


def test_an_error_that_is_kept_does_not_keep_rows():
    def refuse(block):
        raise ValueError(f"got {len(block)} rows.")

    from peckorder import __version__

    shared = part_of_arrays, refuse, ()
    scanned = _made_and_scanned(__version__, "partition 0", shared, X, Y, QID, None)
    assert str(scanned.failure) == "got 60 rows. This is of partition 0."
    error = scanned.failure
    assert error.__traceback__ is error.__context__ is error.__cause__ is None


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_dask_counts_the_bytes_of_partitions(form):
    from dask.sizeof import sizeof

    part = part_of_arrays(form(X), Y, QID, None)
    assert X.nbytes + Y.nbytes + QID.nbytes <= sizeof(part) == sys.getsizeof(part)
    assert sizeof(part) < 2 * (X.nbytes + Y.nbytes + QID.nbytes) + 500


def test_a_block_is_in_memory_once(client):
    rows, labels = chunks(X, Y)
    partitions = load(client, source_of(rows, labels, None, None, None, None))

    def others(dask_worker):
        kept = dask_worker.data.values()
        return sum(getattr(value, "output", None) is not None for value in kept)

    assert len(partitions) == 4
    assert sum(client.run(others).values()) == 0
