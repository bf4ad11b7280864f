"""What a cluster refuses, in a sentence, and leaves as it was."""

import subprocess
import sys
import threading
from textwrap import dedent

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import distributed
from peckorder import MPRank, OrdinalBoost, PRank, SVRank
from peckorder.distributed import fit, repartition_by_qid, score
from peckorder.distributed.cluster import client as _cluster
from peckorder.exceptions import ClusterError, DataError, MissingExtraError


def rows(n=6, size=3):
    """X and y in partitions of so many rows."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    return da.from_array(X, (size, 2)), da.from_array(X.sum(axis=1), size)


def write(folder, *frames):
    paths = [folder / f"{k}.parquet" for k in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        pq.write_table(pa.table(frame), path)
    return paths


AB = {"a": [1.0, 2.0], "b": [1.0, 0.0], "y": [1, 2]}
ONE = {"a": [1.0, 2.0], "y": [1, 2], "q": [1, 1]}
TWO = ONE | {"q": [2, 2]}
# Files, the options of `fit`, and what is said.
REFUSED_FILES = {
    "a column more": ([AB, AB | {"c": [1.0, 2.0]}], {}, "got 'c' more in partition 1"),
    "a column less": ([AB, {"a": [1.0, 2.0], "y": [1, 2]}], {}, "got 'b' less in partition 1"),
    "a feature less": (
        [AB, {"a": [1.0, 2.0], "y": [1, 2]}],
        {"features": ["a", "b"]},
        r"features must be a column of '.*1\.parquet', which has 'a', 'y'; got 'b'\. .*partition 1",
    ),
    "another order": (
        [AB, {"b": [1.0, 0.0], "a": [1.0, 2.0], "y": [1, 2]}],
        {},
        "got the same ones in another order in",
    ),
    "a feature of another type": (
        [ONE, TWO | {"a": [1, 2]}],
        {"qid": "q"},
        "'a' must be of type double, as in partition 0 .*; got int64",
    ),
    "labels of another type": (
        [ONE, TWO | {"y": ["1", "2"]}],
        {"qid": "q"},
        "'y' must be of type int64, as in partition 0 .*; got str",
    ),
    "queries of another type": (
        [ONE, TWO | {"q": [1.0, 2.0]}],
        {"qid": "q"},
        "'q' must be of type int64, as in partition 0 .*; got dou",
    ),
    "words as features": (
        [{"a": ["x", "z"], "y": [1, 2]}],
        {},
        r"column 'a' of '.*0\.parquet' must be numbers; got string\. Name the columns",
    ),
    "a gap among queries": (
        [{"a": [1.0, 2.0, 2.0], "y": [1, 2, 3], "q": [1, 1, None]}],
        {"qid": "q"},
        "without gaps.* of partition 0",
    ),
    "an array as queries": (
        [ONE],
        {"qid": np.array([1, 1])},
        "qid must be the name of a column; got array",
    ),
}


class TestPartitions:
    @pytest.mark.parametrize(
        ("qid", "name"),
        [
            ([1, 1, 2, 2, 3, 3], "2"),
            ([1, 1, 9, 2, 2, 1], "1"),
            (["a", "a", "b", "b", "c", "c"], "'b'"),
            (np.array([1, "x", 9, "y", "x", 9], dtype=object), "'x'"),
        ],
    )
    @pytest.mark.parametrize("estimator", [MPRank(), SVRank()])
    def test_a_query_in_two_partitions(self, client, qid, name, estimator):
        X, y = rows()
        with pytest.raises(DataError, match="must be whole in one partition") as error:
            fit(estimator, X, y, qid=da.from_array(np.array(qid), 3))
        said = f"got rows of {name} in partitions 0 and 1. Bring queries together by"
        assert said in str(error.value)
        assert not hasattr(estimator, "n_features_in_")

    @pytest.mark.parametrize("estimator", [MPRank(), SVRank()])
    def test_a_partition_that_cannot_be_made(self, client, estimator):
        def failing(x, block_info=None):
            if block_info[0]["chunk-location"][0] == 1:
                raise RuntimeError("no such sensor")
            return x

        X, y = rows()
        X = X.map_blocks(failing, meta=np.empty((0, 2)))
        with pytest.raises(RuntimeError, match="no such sensor") as error:
            fit(estimator, X, y, qid=da.from_array(np.repeat([1, 2], 3), 3))
        assert error.value.__notes__ == ["This is of partition 1."]

    @pytest.mark.parametrize("name", ["X", "y"])
    def test_masked_values(self, client, name):
        X, y = rows()
        given = {"X": X, "y": y}
        masked = np.ma.masked_equal(np.asarray(given[name]), np.asarray(given[name]).ravel()[0])
        given[name] = da.from_array(masked, given[name].chunks, asarray=False)
        with pytest.raises(DataError, match=f"{name} must be without masked values; got one in"):
            fit(MPRank(), given["X"], given["y"])

    def test_no_rows_at_all(self, client):
        X, y = rows()
        with pytest.raises(DataError, match="must have rows; got 1 partitions"):
            fit(MPRank(), X[:0], y[:0])

    @pytest.mark.parametrize("name", REFUSED_FILES)
    def test_files(self, client, tmp_path, name):
        frames, options, sentence = REFUSED_FILES[name]
        paths = write(tmp_path, *frames)
        with pytest.raises((DataError, TypeError), match=sentence):
            fit(MPRank(), paths, **{"target": "y"} | options)

    def test_columns_in_another_order_if_features_are_named(self, client, tmp_path):
        paths = write(tmp_path, AB, {"b": [1.0, 0.0], "a": [1.0, 2.0], "y": [1, 2]})
        model = fit(MPRank(), paths, target="y", features=["a", "b"])
        assert model.feature_names_in_.tolist() == ["a", "b"]

    def test_an_empty_file_may_have_any_types(self, client, tmp_path):
        first = {"a": [1.0, 2.0, 4.0], "y": [1, 2, 3]}
        paths = write(tmp_path, {"a": pa.array([], pa.string()), "y": []}, first)
        model = fit(MPRank(), paths, target="y")
        assert model.coef_.shape == (1,)

    def test_words_as_features(self, client):
        table = dd.from_pandas(pd.DataFrame({"a": ["x", "z"], "y": [1, 2]}), npartitions=1)
        with pytest.raises(DataError, match="column 'a' of data must be numbers; got str"):
            fit(MPRank(), table, target="y")

    def test_gaps(self, client, tmp_path):
        paths = write(tmp_path, {"a": [1.0, None, 2.0], "y": [1, 2, 3]})
        said = rf"(?s)NaN.*\nThis is of partition 0 \('{paths[0]}'\)\.$"
        with pytest.raises(DataError, match=said):
            fit(MPRank(), paths, target="y")

    def test_files_that_are_none(self, client, tmp_path):
        with pytest.raises(DataError, match="sound Parquet that workers can read") as e:
            fit(MPRank(), [tmp_path / "none.parquet"], target="y")
        assert "No such file or directory. This is of" in str(e.value)
        (tmp_path / "text.parquet").write_text("hello")
        with pytest.raises(DataError, match=r"text\.parquet"):
            fit(MPRank(), [tmp_path / "text.parquet"], target="y")

    def test_a_query_in_two_files(self, client, tmp_path):
        one = {"a": [1.0, 2.0], "y": [1, 2], "q": [1, 2]}
        paths = write(tmp_path, one, one)
        with pytest.raises(DataError, match="must be whole in one file") as error:
            fit(MPRank(), paths, target="y", qid="q")
        assert f"'{paths[0]}' and '{paths[1]}'. Read them by dask" in str(error.value)
        table = dd.read_parquet([str(path) for path in paths])
        table = repartition_by_qid(table, qid="q")
        assert fit(MPRank(), table, target="y", qid="q").n_features_in_ == 1

    def test_the_partition_is_named(self, client):
        X, y = rows(9)
        X = X.map_blocks(lambda x, block_id=None: x / (block_id[0] != 2), meta=X._meta)
        with np.errstate(divide="ignore"), pytest.raises(ValueError, match="partition 2"):
            fit(MPRank(), X, y)


class TestArguments:
    def test_chunks_of_unknown_sizes(self, client):
        X, y = rows()
        with pytest.raises(DataError, match=r"data\.compute_chunk_sizes\(\)"):
            fit(MPRank(), X[X[:, 0] > -9], y)
        with pytest.raises(DataError, match=r"y\.compute_chunk_sizes\(\)"):
            fit(MPRank(), X, y[y > -99])

    def test_lengths(self, client):
        X, y = rows()
        with pytest.raises(DataError, match="y must be one value per row, 6 in all; got 5"):
            fit(MPRank(), X, y[:5])

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"y": None}, "y must be a Dask array of one value per row; got None"),
            ({"y": [1, 2]}, "y must be a Dask array of one value per row"),
            ({"qid": [1, 2]}, "qid must be a Dask array of one value per row"),
            ({"target": "y"}, "target must be None for arrays"),
            ({"features": ["a"]}, "features must be None for arrays"),
        ],
    )
    def test_of_arrays(self, client, given, said):
        X, y = rows()
        with pytest.raises(TypeError, match=said):
            fit(MPRank(), X, **{"y": y} | given)

    @pytest.mark.parametrize(
        ("given", "error", "said"),
        [
            ({}, TypeError, "target must be the name of a column; got None"),
            ({"target": "y", "y": 3}, TypeError, "y must be None for frames"),
            ({"target": "z"}, DataError, "target must be a column of 'data', which has 'a', 'y'"),
            ({"target": "y", "qid": [1]}, TypeError, "qid must be the name of a colu"),
            ({"target": "y", "features": "a"}, TypeError, "features must be None or a list"),
            ({"target": "y", "features": ["a", "a"]}, DataError, "each once; got 'a' again"),
            ({"target": "y", "features": ["b"]}, DataError, "features must be a column of 'data'"),
            ({"target": "y", "features": ["a", "y"]}, DataError, "each once; got 'y' again"),
            (
                {"target": "y", "qid": "y"},
                DataError,
                "target, qid and sample_weight must be different columns",
            ),
        ],
    )
    def test_of_frames(self, client, given, error, said):
        frame = dd.from_pandas(pd.DataFrame({"a": [1.0], "y": [1]}), npartitions=1)
        with pytest.raises(error, match=said):
            fit(MPRank(), frame, **given)

    def test_of_data(self, client):
        for data in (np.ones((3, 2)), [], [1, 2], None):
            with pytest.raises(TypeError, match="data must be a Dask array, a Dask Da"):
                fit(MPRank(), data, target="y")

    @pytest.mark.parametrize(
        ("estimator", "error", "said"),
        [
            (PRank(), TypeError, r"got PRank\(\).*peckorder\.streams\.fit"),
            (OrdinalBoost(), TypeError, r"estimator must be .*; got OrdinalBoost\(\)"),
            (MPRank, TypeError, "got 'MPRank'"),
            (MPRank(kernel="rbf"), ValueError, r"kernel must be 'linear'.*got 'rbf'"),
            (SVRank(kernel="rbf"), ValueError, r"kernel must be 'linear'.*got 'rbf'"),
            (MPRank(C=-1.0), ValueError, "C must be"),
        ],
    )
    def test_estimators(self, client, estimator, error, said):
        with pytest.raises(error, match=said):
            fit(estimator, *rows())

    def test_weights_of_zero(self, client):
        X, y = rows()
        nothing = {"sample_weight": da.zeros(6, chunks=3)}
        qid = da.from_array([1, 1, 1, 2, 2, 2], 3)
        for model in (MPRank(), SVRank()):
            with pytest.raises(DataError, match="must be > 0 for some row; got zero"):
                fit(model, X, y, qid=qid, **nothing)

    @pytest.mark.parametrize("model", [MPRank(), SVRank()])
    def test_rows_with_weight_zero_are_checked(self, client, model):
        X, y = (each.compute() for each in rows())
        X[4, 1] = np.nan
        qid, weight = np.repeat([1, 2], 3), np.repeat([1.0, 0.0], 3)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, y, qid=qid, sample_weight=weight)
        X, y, qid, weight = (da.from_array(c, 3) for c in (X, y, qid, weight))
        with pytest.raises(ValueError, match=r"(?s)NaN.*partition 1"):
            fit(model, X, y, qid=qid, sample_weight=weight)

    def test_a_model_stays_as_it_was(self, client):
        X, y = rows()
        model = MPRank().fit(X.compute(), y.compute())
        before = dict(vars(model))
        with pytest.raises(DataError):
            fit(model, X, y, qid=da.from_array([1, 1, 2, 2, 3, 3], 3))
        assert vars(model) == before


class TestCluster:
    def test_no_client(self, monkeypatch):
        def none():
            raise ValueError("No client found")

        monkeypatch.setattr(distributed, "default_client", none)
        with pytest.raises(ClusterError, match="client must be a Client") as error:
            fit(MPRank(), *rows())
        assert "client = Client()" in str(error.value)

    @pytest.mark.slow
    def test_no_dask(self):
        script = """
            import sys
            sys.modules |= {"dask": None, "distributed": None}
            from peckorder import MPRank
            from peckorder.distributed import fit
            fit(MPRank(), None)
        """
        run = subprocess.run(
            [sys.executable, "-c", dedent(script)], capture_output=True, text=True, check=False
        )
        assert "MissingExtraError: fit: Dask must be installed" in run.stderr
        assert "pip install 'peckorder[dask]'" in run.stderr

    def test_no_dask_for_any_function(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "dask.dataframe", None)
        model = MPRank().fit([[0.0], [1.0]], [0, 1])
        for call in (
            lambda: fit(MPRank(), None),
            lambda: score(model, None),
            lambda: repartition_by_qid(None, qid="q"),
        ):
            with pytest.raises(MissingExtraError, match=r"peckorder.dask."):
                call()

    def test_something_else_as_client(self):
        with pytest.raises(TypeError, match="client must be a dask"):
            fit(MPRank(), None, client="localhost")

    def test_a_client_that_is_closed(self, cluster):
        from distributed import Client

        with Client(cluster.client().cluster, set_as_default=False) as client:
            pass
        with pytest.raises(ClusterError) as error:
            fit(MPRank(), *rows(), client=client)
        assert str(error.value) == (
            "fit: client must be connected to its scheduler; got one that is closed."
        )

    def test_a_client_that_is_closed_meanwhile(self, cluster):
        from distributed import Client

        client = Client(cluster.client().cluster, set_as_default=False)
        model = MPRank()
        X, y = rows()

        def slow(x):
            import time

            time.sleep(1.0)
            return x

        slowly = X.map_blocks(slow, meta=np.empty((0, 2)))
        closing = threading.Timer(0.5, client.close)
        closing.start()
        with pytest.raises(ClusterError, match="the scheduler must stay in reach"):
            fit(model, slowly, y, client=client)
        closing.join()
        assert not hasattr(model, "coef_")

    def test_another_version_on_a_worker(self, client):
        def report(version):
            from peckorder import _version

            before, _version.__version__ = _version.__version__, version
            return before

        address = max(client.scheduler_info()["workers"])
        before = client.run(report, "0.0.9", workers=[address])[address]
        try:
            with pytest.raises(ClusterError, match=r"got version 0\.0\.9 at tcp"):
                fit(MPRank(), *rows())
        finally:
            client.run(report, before, workers=[address])
        assert fit(MPRank(), *rows()).n_features_in_ == 2

    def test_no_peckorder_on_a_worker(self, client):
        def hide(is_hidden):
            import sys

            names = [n for n in sys.modules if n.split(".")[0] == "peckorder"]
            if is_hidden:
                sys.hidden = {n: sys.modules.pop(n) for n in names}
                sys.modules["peckorder"] = None
            else:
                sys.modules.pop("peckorder")
                sys.modules.update(sys.__dict__.pop("hidden"))

        address = min(client.scheduler_info()["workers"])
        client.run(hide, True, workers=[address])
        try:
            with pytest.raises(ClusterError, match="got none at tcp"):
                fit(MPRank(), *rows())
        finally:
            client.run(hide, False, workers=[address])

    def test_the_version_of_a_worker_that_joins_later_is_checked(self):
        with pytest.raises(ClusterError, match=r"peckorder 9\.9, as the driver has"):
            _cluster.check_version("9.9")
