"""Metrics by partial sums against those of all rows at once."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from peckorder import AggregatePRank, MPRank, RankBoost
from peckorder.distributed import score
from peckorder.exceptions import DataError
from peckorder.metrics import evaluate, rank_loss

LISTS = ["ndcg@5", "ap(2)", "rr", "disagreement", "tau", "misranking", "msd", "p@3"]


@pytest.fixture(scope="module")
def there(letor):
    """The columns, cut so that queries are whole; one partition is empty."""
    ends = letor["bounds"][[0, 20, 20, 33, 60]]
    chunks = tuple(np.diff(ends).tolist())
    return {
        name: da.from_array(letor[name], chunks=(chunks, 7) if letor[name].ndim == 2 else (chunks,))
        for name in ("X", "grade", "qid", "weight")
    }


@pytest.fixture(scope="module")
def model(letor):
    return RankBoost(n_rounds=5).fit(letor["X"], letor["grade"], qid=letor["qid"])


@pytest.mark.filterwarnings("ignore:.*every row is good")
def test_lists(client, letor, there, model):
    with pytest.warns(UndefinedMetricWarning, match="queries are left out of the mean"):
        found = score(model, there["X"], there["grade"], LISTS, qid=there["qid"])
    predicted = model.predict(letor["X"])
    expected = evaluate(letor["grade"], predicted, LISTS, qid=letor["qid"])
    assert found == pytest.approx(dict(expected.means), rel=1e-13)


@pytest.mark.filterwarnings("ignore:.*every row is good")
@pytest.mark.parametrize("ties", ["best", "order"])
def test_ties_and_undefined_queries(client, letor, there, model, ties):
    options = {"ties": ties, "undefined": "zero"}
    found = score(model, there["X"], there["grade"], "ap", qid=there["qid"], **options)
    predicted = model.predict(letor["X"])
    expected = evaluate(letor["grade"], predicted, "ap", qid=letor["qid"], **options)
    assert found["ap"] == pytest.approx(expected["ap"], rel=1e-13)
    with pytest.raises(DataError, match=r"every query must have.* of partition"):
        score(model, there["X"], there["grade"], "tau", qid=there["qid"], undefined="raise")


def test_weights(client, letor, there, model):
    names = ["disagreement", "rank_loss", "mse", "accuracy"]
    columns = {"qid": there["qid"], "sample_weight": there["weight"]}
    with pytest.warns(UndefinedMetricWarning):
        found = score(model, there["X"], there["grade"], names, **columns)
    y, weight, predicted = letor["grade"], letor["weight"], model.predict(letor["X"])
    expected = evaluate(y, predicted, "disagreement", qid=letor["qid"], sample_weight=weight)
    assert found == pytest.approx(
        {
            "disagreement": expected["disagreement"],
            "rank_loss": np.average(np.abs(predicted - y), weights=weight),
            "mse": np.average((predicted - y) ** 2, weights=weight),
            "accuracy": np.average(predicted == y, weights=weight),
        },
        rel=1e-13,
    )
    with pytest.raises(ValueError, match="names must be metrics of pairs"):
        score(model, there["X"], there["grade"], "ap", **columns)


def test_rows_of_classes(client, letor, there):
    words = np.array(["poor", "fair", "good", "fine", "best"])
    y = words[letor["grade"]]
    model = AggregatePRank(n_estimators=3, classes=words, random_state=0)
    model.fit(letor["X"], y)
    column = da.from_array(y, there["grade"].chunks)
    found = score(model, there["X"], column, ["rank_loss", "accuracy"])
    predicted = model.predict(letor["X"])
    assert found["rank_loss"] == -model.score(letor["X"], y)
    assert found["rank_loss"] == rank_loss(y, predicted, classes=words)
    assert found["accuracy"] == np.mean(predicted == y)


def test_a_frame_has_names(client, letor):
    frame = pd.DataFrame(letor["X"], columns=list("abcdefg"))
    model = MPRank().fit(frame, letor["y"], qid=letor["qid"])
    table = dd.from_pandas(frame.assign(y=letor["y"], q=letor["qid"]), npartitions=1)
    found = score(model, table, names="msd", target="y", qid="q", undefined="zero")
    options = {"qid": letor["qid"], "undefined": "zero"}
    expected = evaluate(letor["y"], model.predict(frame), "msd", **options)["msd"]
    assert found["msd"] == pytest.approx(expected, rel=1e-13)
    more = table.assign(other="text")[["other", *table.columns[::-1]]]
    assert score(model, more, names="msd", target="y", qid="q", undefined="zero") == (
        pytest.approx(found, rel=1e-13)
    )
    with pytest.raises(DataError, match=r"got \['a', 'c'\]\. Name them in features="):
        score(model, table, names="msd", target="y", qid="q", features=["a", "c"])


def test_refused(client, there, model):
    X, y = there["X"], there["grade"]
    with pytest.raises(DataError, match="qid must be given for 'ap'"):
        score(model, X, y, ["accuracy", "ap"])
    with pytest.raises(ValueError, match="names must be a metric such as"):
        score(model, X, y, "median_error")
    with pytest.raises(ValueError, match="names must be one metric or several"):
        score(model, X, y, [])
    with pytest.raises(ValueError, match="ties must be"):
        score(model, X, y, "accuracy", ties="docid")
    with pytest.raises(TypeError, match="must be a model that can predict"):
        score(MPRank, X, y, "accuracy")


def test_one_partition_is_one_list(client, letor, there, model):
    X, y = there["X"].rechunk((-1, -1)), there["grade"].rechunk(-1)
    predicted = model.predict(letor["X"])
    expected = evaluate(letor["grade"], predicted, "ndcg@10")["ndcg@10"]
    assert score(model, X, y, "ndcg@10") == {"ndcg@10": expected}
