"""Distributed fits against those in one process, on clusters of real processes."""

from functools import reduce
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet as pq
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from peckorder import AggregatePRank, MPRank, RankBoost, SVRank
from peckorder.datasets import make_square
from peckorder.distributed import fit


def cut(bounds, n_parts):
    """Chunks of whole queries, one of them empty."""
    ends = bounds[np.linspace(0, len(bounds) - 1, n_parts + 1).astype(int)]
    sizes = np.diff(ends).tolist()
    return (*sizes[:1], 0, *sizes[1:])


def arrays(letor, n_parts, *names):
    """Dask arrays with the queries whole, a partition without rows among them."""
    chunks = cut(letor["bounds"], n_parts)
    return [
        da.from_array(letor[name], chunks=(chunks, 7) if letor[name].ndim == 2 else (chunks,))
        for name in names
    ]


def frame_of(letor):
    columns = {f"f{i}": letor["X"][:, i] for i in range(7)}
    names = [f"q{q}" for q in letor["qid"]]
    return pd.DataFrame(columns | {"y": letor["y"], "q": names, "w": letor["weight"]})


def check_same(model, expected, X):
    """What two linear models say is the same, to ten digits."""
    scale = np.abs(expected.coef_).max()
    assert_allclose(model.coef_, expected.coef_, rtol=1e-10, atol=1e-10 * scale)
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-10, atol=1e-10)
    assert_allclose(model.objective_, expected.objective_, rtol=1e-10)
    assert model.n_features_in_ == expected.n_features_in_
    assert model.n_iter_ == expected.n_iter_


class TestMPRank:
    @pytest.mark.parametrize("n_parts", [1, 9])
    @pytest.mark.parametrize("has_queries", [True, False])
    @pytest.mark.parametrize("has_weights", [True, False])
    def test_is_the_fit_of_one_process(self, client, letor, n_parts, has_queries, has_weights):
        X, y, qid, weight = arrays(letor, n_parts, "X", "y", "qid", "weight")
        there, here = {}, {}
        if has_queries:
            there["qid"], here["qid"] = qid, letor["qid"]
        if has_weights:
            there["sample_weight"], here["sample_weight"] = weight, letor["weight"]
        model = fit(MPRank(C=7.0), X, y, **there)
        expected = MPRank(C=7.0).fit(letor["X"], letor["y"], **here)
        check_same(model, expected, letor["X"])

    def test_partitions_of_very_different_weights(self, client, letor):
        X, y, qid = arrays(letor, 4, "X", "y", "qid")
        weight = letor["weight"] * 10.0 ** (letor["qid"] % 7 * 20 - 60)
        weight[: letor["bounds"][15]] = 0.0  # the first partition has weight zero
        there = {"qid": qid, "sample_weight": da.from_array(weight, y.chunks)}
        model = fit(MPRank(), X, y, **there)
        expected = MPRank().fit(letor["X"], letor["y"], qid=letor["qid"], sample_weight=weight)
        check_same(model, expected, letor["X"])

    def test_sparse_rows_and_single_precision(self, client, letor):
        X, y, qid = arrays(letor, 3, "X", "y", "qid")
        rows = np.where(letor["X"] > 1.0, letor["X"], 0.0)
        thin = da.from_array(rows, X.chunks).map_blocks(sparse.csr_array)
        model = fit(MPRank(), thin, y, qid=qid)
        expected = MPRank().fit(sparse.csr_array(rows), letor["y"], qid=letor["qid"])
        check_same(model, expected, rows)
        single = fit(MPRank(), X.astype(np.float32), y, qid=qid)
        narrow = letor["X"].astype(np.float32)
        check_same(single, MPRank().fit(narrow, letor["y"], qid=letor["qid"]), narrow)

    def test_goes_on_in_one_process(self, client, letor):
        end = letor["bounds"][30]
        first = {k: v[:end] for k, v in letor.items() if k in {"X", "y", "qid"}}
        X, y, qid = arrays(first | {"bounds": letor["bounds"][:31]}, 2, *first)
        model = fit(MPRank(), X, y, qid=qid)
        rest = letor["qid"][end:]
        model.partial_fit(letor["X"][end:], letor["y"][end:], qid=rest)
        expected = MPRank().fit(letor["X"], letor["y"], qid=letor["qid"])
        check_same(model, expected, letor["X"])

    def test_a_model_fitted_before_is_learnt_anew(self, client, letor):
        X, y = arrays(letor, 2, "X", "y")
        frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 2.0]})
        model = MPRank(kernel="rbf").fit(frame, [0, 1]).set_params(kernel="linear")
        assert fit(model, X, y) is model
        check_same(model, MPRank().fit(letor["X"], letor["y"]), letor["X"])
        assert not hasattr(model, "feature_names_in_")
        assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("model", [MPRank(), SVRank(), RankBoost(n_rounds=5, max_bins=255)])
def test_rows_without_a_label_are_left_out(client, letor, model):
    y, first = letor["y"].copy(), letor["bounds"][15]
    y[::4] = np.nan
    y[:first] = np.nan  # a partition without labels
    X, targets, qid = arrays(letor | {"y": y}, 4, "X", "y", "qid")
    found = fit(clone(model).set_params(missing_labels="skip"), X, targets, qid=qid)
    kept = ~np.isnan(y)
    expected = clone(model).fit(letor["X"][kept], y[kept], qid=letor["qid"][kept])
    assert_allclose(found.predict(letor["X"]), expected.predict(letor["X"]), rtol=1e-8, atol=1e-8)


class TestSVRank:
    @pytest.mark.parametrize(
        ("label", "parameters"),
        [
            ("y", {}),
            ("grade", {"power": 2, "loss": "hmpc", "top_weight": 2.0}),
            pytest.param("grade", {"epsilon": 0.0, "C": 3.0}, marks=pytest.mark.slow),
            pytest.param("y", {"power": 2, "C": 10.0}, marks=pytest.mark.slow),
            pytest.param("y", {"loss": "hmpc"}, marks=pytest.mark.slow),
            pytest.param("grade", {"top_weight": 1.0}, marks=pytest.mark.slow),
            pytest.param("y", {"tol": 1e-10}, marks=pytest.mark.slow),
        ],
    )
    def test_is_the_fit_of_one_process(self, client, letor, parameters, label):
        X, y, qid, weight = arrays(letor, 3, "X", label, "qid", "weight")
        model = fit(SVRank(**parameters), X, y, qid=qid, sample_weight=weight)
        here = {"qid": letor["qid"], "sample_weight": letor["weight"]}
        expected = SVRank(**parameters).fit(letor["X"], letor[label], **here)
        check_same(model, expected, letor["X"])
        assert model.dual_gap_ <= model.tol * model.objective_

    def test_a_partition_with_weight_zero(self, client, letor):
        X, y, qid = arrays(letor, 4, "X", "y", "qid")
        weight = letor["weight"] * np.where(letor["qid"] % 2, 1e30, 1.0)
        weight[: letor["bounds"][15]] = 0.0
        there = {"qid": qid, "sample_weight": da.from_array(weight, y.chunks)}
        model = fit(SVRank(), X, y, **there)
        here = {"qid": letor["qid"], "sample_weight": weight}
        check_same(model, SVRank().fit(letor["X"], letor["y"], **here), letor["X"])

    def test_warns_as_in_one_process(self, client, letor):
        X, y, qid = arrays(letor, 2, "X", "y", "qid")
        with pytest.warns(ConvergenceWarning, match="not converged after 2"):
            model = fit(SVRank(C=100.0, max_iter=2), X, y, qid=qid)
        assert model.n_iter_ == 2

    def test_without_queries_is_refused(self, client, letor):
        X, y = arrays(letor, 2, "X", "y")
        with pytest.raises(ValueError, match="qid must be given for SVRank"):
            fit(SVRank(), X, y)


def by_shards(estimator, X, y, chunks):
    """The same assignment of rows to members, in one process."""
    ends = np.cumsum([0, *(size for size in chunks if size)])
    p, n = len(ends) - 1, estimator.n_estimators
    seeds = np.random.RandomState(estimator.random_state).randint(2**31 - 1, size=p)
    parts = []
    for k in range(p):
        rows = slice(ends[k], ends[k + 1])
        shard = clone(estimator).set_params(
            n_estimators=n // p + (k < n % p), random_state=int(seeds[k]), classes=np.unique(y)
        )
        parts.append(shard.fit(X[rows], y[rows]))
    return reduce(AggregatePRank.merge, parts)


class TestAggregatePRank:
    @pytest.mark.parametrize(
        "parameters",
        [
            {},
            {"aggregate": "voted", "max_iter": 3, "shuffle": True},
            {"kernel": "rbf", "n_estimators": 6, "budget": 20},
        ],
    )
    def test_is_the_fit_of_the_same_shards(self, client, parameters):
        X, y = make_square(600, random_state=0)
        chunks = (150, 0, 250, 200)
        given = AggregatePRank(**{"n_estimators": 11} | parameters, random_state=3)
        there = da.from_array(X, (chunks, 2)), da.from_array(y, (chunks,))
        model = fit(clone(given), *there)
        expected = by_shards(given, X, y, chunks)
        assert_array_equal(model.predict(X), expected.predict(X))
        assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
        assert_array_equal(model.votes_, expected.votes_)
        assert_array_equal(model.member_thresholds_, expected.member_thresholds_)
        if given.kernel == "linear":
            assert_array_equal(model.member_coef_, expected.member_coef_)
        assert model.n_rounds_ == expected.n_rounds_
        assert model.n_mistakes_ == expected.n_mistakes_
        assert model.get_params() == given.get_params()

    def test_a_shard_without_some_classes(self, client):
        X, y = make_square(400, random_state=0)
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
        there = da.from_array(X, (100, 2)), da.from_array(y, 100)
        model = fit(AggregatePRank(n_estimators=4, random_state=0), *there)
        assert_array_equal(model.classes_, np.unique(y))
        model.partial_fit(X[:10], y[:10])
        assert model.n_rounds_ > 0

    def test_words_need_their_order(self, client):
        X = da.from_array(np.arange(4.0)[:, np.newaxis], (2, 1))
        y = da.from_array(np.array(["bad", "good", "bad", "good"]), 2)
        with pytest.raises(ValueError, match="classes"):
            fit(AggregatePRank(n_estimators=2), X, y)
        model = AggregatePRank(n_estimators=2, classes=["bad", "good"], random_state=0)
        assert fit(model, X, y).classes_.tolist() == ["bad", "good"]

    def test_queries_are_no_features(self, client):
        X, y = make_square(200, random_state=0)
        qid = np.arange(200) // 7  # 98 to 104 are in two partitions
        table = pd.DataFrame(X).add_prefix("x").assign(grade=y, q=qid)
        model = AggregatePRank(n_estimators=4, random_state=0)
        there = dd.from_pandas(table, npartitions=2)
        fit(model, there, target="grade", qid="q")
        alone = dd.from_pandas(table.drop(columns="q"), npartitions=2)
        expected = fit(clone(model), alone, target="grade")
        names = [name for name in table if name.startswith("x")]
        assert model.feature_names_in_.tolist() == names
        assert_array_equal(model.member_coef_, expected.member_coef_)
        assert_array_equal(model.predict(table[names]), expected.predict(table[names]))

    def test_what_it_does_not_take(self, client, letor):
        X, y = arrays(letor, 3, "X", "grade")
        with pytest.raises(ValueError, match="n_estimators must be 3 or more"):
            fit(AggregatePRank(n_estimators=2), X, y)
        with pytest.raises(ValueError, match="sample_weight must be None"):
            fit(AggregatePRank(), X, y, sample_weight=y)
        with pytest.raises(ValueError, match="got 'precomputed'"):
            fit(AggregatePRank(kernel="precomputed"), X, y)


class TestForms:
    @pytest.mark.parametrize("form", ["frame", "files", "folder"])
    def test_frames_and_files_are_as_arrays(self, client, letor, tmp_path, form):
        frame = frame_of(letor)
        ends = letor["bounds"][[0, 20, 41, 60]]
        parts = [frame[a:b] for a, b in pairwise(ends)]
        if form == "frame":
            data = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
        else:
            data = [tmp_path / f"{k}.parquet" for k in range(len(parts))]
            for path, part in zip(data, parts, strict=True):
                pq.write_table(pa.Table.from_pandas(part, preserve_index=False), path)
            data = tmp_path if form == "folder" else data
        columns = {"target": "y", "qid": "q", "sample_weight": "w"}
        model = fit(MPRank(), data, **columns)
        features = frame[[f"f{i}" for i in range(7)]]
        here = {"qid": letor["qid"], "sample_weight": letor["weight"]}
        expected = MPRank().fit(features, letor["y"], **here)
        check_same(model, expected, features)
        assert_array_equal(model.feature_names_in_, expected.feature_names_in_)
        some = ["f3", "f0"]
        model = fit(SVRank(), data, **columns, features=some)
        expected = SVRank().fit(frame[some], letor["y"], **here)
        check_same(model, expected, frame[some])

    def test_gaps_in_columns_of_pandas_are_nan(self, client):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 9, size=(40, 2)).astype(float)
        X[[3, 25], [0, 1]] = np.nan
        frame = pd.DataFrame(X, columns=["a", "b"]).astype({"a": "Int8", "b": "Float32"})
        frame = frame.assign(y=rng.integers(0, 3, 40), q=np.repeat(np.arange(4), 10))
        data = dd.from_pandas(frame, npartitions=2)
        model = fit(RankBoost(n_rounds=9), data, target="y", qid="q")
        expected = RankBoost(n_rounds=9).fit(X, frame["y"], qid=frame["q"])
        assert model.weak_rankers_.tolist() == expected.weak_rankers_.tolist()

    def test_columns_cut_otherwise_than_rows(self, client, letor):
        X, y, qid = arrays(letor, 3, "X", "y", "qid")
        model = fit(MPRank(), X.rechunk({1: 3}), y.rechunk(17), qid=qid.rechunk(11))
        expected = MPRank().fit(letor["X"], letor["y"], qid=letor["qid"])
        check_same(model, expected, letor["X"])

    def test_rows_of_a_query_need_not_be_consecutive(self, client, letor):
        order = np.random.default_rng(0).permutation(letor["bounds"][20])
        rest = np.arange(letor["bounds"][20], len(letor["y"]))
        order = np.concatenate([order, rest])
        mixed = {name: letor[name][order] for name in ("X", "y", "qid")}
        X, y, qid = arrays(mixed | {"bounds": letor["bounds"]}, 3, *mixed)
        for model in (MPRank(), SVRank()):
            expected = clone(model).fit(letor["X"], letor["y"], qid=letor["qid"])
            check_same(fit(model, X, y, qid=qid), expected, letor["X"])
