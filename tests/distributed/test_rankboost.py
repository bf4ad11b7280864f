"""RankBoost on a cluster of processes is RankBoost in one, to the bit."""

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder import RankBoost
from peckorder.boosting.sharded.run_rounds import Lost
from peckorder.distributed import fit
from peckorder.distributed.fitting import rankboost
from peckorder.exceptions import ClusterError, DataError
from support.rankboost_settings import assert_same_model, rows_with_gaps

da = pytest.importorskip("dask.array")


def problem(dtype=np.float64):
    return rows_with_gaps(1200, dtype, seed=11)


def in_chunks(*columns, n_chunks=5):
    """Return arrays of Dask whose chunks have whole queries."""
    n_rows = len(columns[0])
    size = 30 * -(-n_rows // 30 // n_chunks)
    return [da.from_array(column, chunks=(size, *column.shape[1:])) for column in columns]


def fitted(client, model, X, y, qid, weight=None):
    return fit(model, X, y, qid=qid, sample_weight=weight, client=client)


@pytest.mark.parametrize(("dtype", "weighted"), [(np.float64, True), (np.float32, False)])
def test_the_model_is_that_of_one_process(client, dtype, weighted):
    X, y, qid, weight = problem(dtype=dtype)
    parameters = {"max_bins": 20, "n_rounds": 25, "query_weight": "equal"}
    parts = in_chunks(X, y, qid, weight)
    if not weighted:
        parts[-1] = weight = None
    model = fitted(client, RankBoost(**parameters), *parts)
    expected = RankBoost(**parameters).fit(X, y, qid=qid, sample_weight=weight)
    assert_same_model(model, expected)
    assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("n_chunks", [1, 7])
def test_trees_are_those_of_one_process(client, n_chunks, loss):
    X, y, qid, weight = problem()
    parameters = {"weak": "tree", "loss": loss, "n_rounds": 12, "max_leaf_nodes": 6}
    parameters |= {"query_weight": "equal", "subsample": 0.6, "random_state": 0}
    model = fitted(
        client, RankBoost(**parameters), *in_chunks(X, y, qid, weight, n_chunks=n_chunks)
    )
    expected = RankBoost(**parameters).fit(X, y, qid=qid, sample_weight=weight)
    assert_array_equal(model.predict(X), expected.predict(X))
    assert_array_equal(model.bounds_, expected.bounds_)
    assert model.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("n_chunks", [1, 2, 13])
def test_partitions_do_not_matter_and_traffic_is_as_said(client, n_chunks):
    X, y, qid, _ = problem()
    parts = in_chunks(X, y, qid, n_chunks=n_chunks)
    model = fitted(client, RankBoost(max_bins=20, n_rounds=10), *parts)
    expected = RankBoost(max_bins=20, n_rounds=10).fit(X, y, qid=qid)
    assert_same_model(model, expected)
    traffic = model.traffic_
    of_one = 8 * (10 + traffic["questions"] + traffic["columns"] * (20 + 1))
    # Dask says who keeps which partitions: sometimes all of them are with one.
    n_workers = traffic["bytes"][0] // of_one[0]
    assert 1 <= n_workers <= min(n_chunks, 2)
    assert_array_equal(traffic["bytes"], n_workers * of_one)
    assert len(traffic) == 10
    model.fit(X, y, qid=qid)
    assert not hasattr(model, "traffic_")


# How many questions come before the worker is killed: 0 while shards are made, some
# while columns are cut, the others in rounds.
@pytest.mark.parametrize(
    "n_before",
    [pytest.param(0, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow), 30],
)
def test_a_worker_killed_does_not_change_the_model(client, monkeypatch, n_before):
    X, y, qid, _ = problem()
    asked = []
    ask = rankboost.DaskShards._ask

    def kill_later(shards, some_shards, question, *arguments):
        if len(asked) == n_before:
            address = shards._shards[min(shards._shards)].address
            pid = shards._client.run(os.getpid, workers=[address])[address]
            os.kill(pid, signal.SIGKILL)
        asked.append(question)
        return ask(shards, some_shards, question, *arguments)

    monkeypatch.setattr(rankboost.DaskShards, "_ask", kill_later)
    parts = in_chunks(X, y, qid)
    model = fitted(client, RankBoost(max_bins=20, n_rounds=15), *parts)
    assert "repeat" in asked
    assert_same_model(model, RankBoost(max_bins=20, n_rounds=15).fit(X, y, qid=qid))


def test_the_answers_of_some_shards_are_not_all():
    class Partitions(list):
        client = None

    shards = rankboost.DaskShards(Partitions("ab"), RankBoost())
    with pytest.raises(Lost):
        shards.ask("counts")  # nobody has made a shard yet


@pytest.mark.slow
def test_rows_that_cannot_be_had_again_are_an_error(client, monkeypatch):
    X, y, qid, _ = problem()
    parts = [
        da.from_delayed(client.scatter(column), column.shape, column.dtype)
        for column in (X, y, qid)
    ]
    asked = []
    ask = rankboost.DaskShards._ask

    def kill_later(shards, some_shards, question, *arguments):
        if len(asked) == 5:
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)
        asked.append(question)
        return ask(shards, some_shards, question, *arguments)

    monkeypatch.setattr(rankboost.DaskShards, "_ask", kill_later)
    model = RankBoost(max_bins=20, n_rounds=15)
    with pytest.raises(ClusterError, match="can make them again"):
        fitted(client, model, *parts)
    assert vars(model) == vars(RankBoost(max_bins=20, n_rounds=15))


def test_data_are_refused_as_in_one_process(client):
    X, y, qid, _ = problem()
    with pytest.raises(DataError) as caught:
        fitted(client, RankBoost(max_bins=9), *in_chunks(X, 0 * y, qid))
    assert str(caught.value) == (
        "RankBoost: y must contain two rows of one query with different "
        "grades and positive weights; got 40 of 40 "
        "queries with one grade only."
    )
    X[100, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity.* This is of partition 0\.$") as caught:
        fitted(client, RankBoost(max_bins=9), *in_chunks(X, y, qid))


def test_many_values_need_bins(client):
    X, y, qid, _ = problem()
    with pytest.raises(DataError, match="got None, and more of feature 0"):
        fitted(client, RankBoost(), *in_chunks(X, y, qid))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"alpha": "analytic"}, "alpha must be 'approximate' on a cluster; got 'analytic'."),
        ({"warm_start": True}, "warm_start must be False on a cluster; got True."),
        ({"weak": "feature"}, "weak must be 'threshold' or 'tree' on a cluster; got 'feature'."),
        (
            {"weak": "tree", "pair_weight": "ndcg"},
            "pair_weight must be None on a cluster; got 'ndcg'.",
        ),
    ],
)
def test_what_needs_all_rows_is_refused(client, parameters, sentence):
    X, y, qid, _ = problem()
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        fitted(client, RankBoost(**parameters), *in_chunks(X, y, qid))
    assert str(caught.value) == f"RankBoost: {sentence}"


def test_rows_without_queries_are_refused(client):
    X, y, _, _ = problem()
    with pytest.raises(DataError) as caught:
        fitted(client, RankBoost(), *in_chunks(X, y), None)
    assert str(caught.value) == (
        "fit: qid must be given for RankBoost on a cluster, as without queries every "
        "row makes a pair with rows of all other partitions; got None."
    )


def test_shards_go_when_the_fit_is_over(client):
    X, y, qid, _ = problem()
    fitted(client, RankBoost(max_bins=9, n_rounds=2), *in_chunks(X, y, qid))

    def n_actors(dask_worker):
        return len(dask_worker.state.actors)

    for _ in range(100):
        if not any(client.run(n_actors).values()):
            break
    assert not any(client.run(n_actors).values())
