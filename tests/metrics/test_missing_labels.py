"""Metrics without the rows that have no label, if these are to be skipped."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from peckorder import Preferences, metrics
from peckorder.exceptions import DataError
from support.helpers import exactly

FEW = settings(max_examples=40, deadline=None)
NAN = float("nan")
SKIP = {"missing_labels": "skip"}
OF_PAIRS = [
    metrics.disagreement,
    metrics.misranking,
    metrics.kendall_tau,
    metrics.mean_squared_difference,
    metrics.root_mean_squared_difference,
    metrics.mean_absolute_difference,
]
NAMES = ["ndcg@3", "ap", "rr", "tau", "msd"]


@st.composite
def rankings(draw):
    """Return y with gaps, scores that may have gaps where y has, queries and weights."""
    one = st.tuples(
        st.sampled_from([NAN, 0.0, 1.0, 2.0]),
        st.sampled_from([0.0, 0.5, 3.0]),
        st.sampled_from("abc"),
        st.sampled_from([0.5, 2.0]),
    )
    rows = [*draw(st.lists(one, max_size=20)), (0.0, 1.0, "a", 1.0), (1.0, 1.0, "a", 1.0)]
    y, score, qid, weight = map(np.array, zip(*rows, strict=True))
    score[np.isnan(y)] = draw(st.sampled_from([0.0, NAN]))
    return y, score, qid, weight


@pytest.mark.filterwarnings("ignore:average_precision", "ignore:reciprocal_rank")
@FEW
@given(rankings(), st.booleans())
def test_as_without_those_rows(ranking, has_queries):
    y, score, qid, weight = ranking
    kept = ~np.isnan(y)
    qid = qid if has_queries else None
    left = None if qid is None else qid[kept]
    options = {"per_query": True, "undefined": "zero"}
    for metric in OF_PAIRS:
        found = metric(y, score, qid=qid, sample_weight=weight, **options, **SKIP)
        same = metric(y[kept], score[kept], qid=left, sample_weight=weight[kept], **options)
        assert_array_equal(found, same)
    options = {"undefined": "zero", "n_bootstrap": 3}
    found = metrics.evaluate(list(y), score, NAMES, qid=qid, **options, **SKIP)
    same = metrics.evaluate(y[kept], score[kept], NAMES, qid=left, **options)
    assert found.queries.tolist() == same.queries.tolist()
    for name in NAMES:
        assert_array_equal(found.values[name], same.values[name])


def test_names_of_rows_are_left_out_with_them():
    y, score, names = [0, NAN, 1, 0], [1.0, 9.0, 1.0, 1.0], list("adbc")
    found = metrics.kendall_tau(y, score, ties="docid", docid=names, **SKIP)
    assert found == metrics.kendall_tau(
        [0, 1, 0], score[1:][:1] * 3, ties="docid", docid=list("abc")
    )


def test_queries_of_any_type_keep_their_names():
    qid = iter([("a", 1), ("a", 1), ("b", 2), ("b", 2), ("c", 3)])
    found = metrics.evaluate([0, 1, 1, 0, None], [1, 2, 3, 4, 5], "tau", qid=qid, **SKIP)
    assert found.queries.tolist() == [("a", 1), ("b", 2)]
    assert found.values["tau"].tolist() == [1.0, -1.0]


def test_preferences_have_no_labels_to_miss():
    some = Preferences([1], [0])
    assert metrics.disagreement(some, [1, 2], **SKIP) == 0
    assert metrics.evaluate(some, [1, 2], "tau", **SKIP)["tau"] == 1


class Scores(BaseEstimator):
    def predict(self, X):
        return np.ravel(X)


def test_scorers_skip_if_they_are_told_to():
    y, X = [0, NAN, 1], [[1.0], [0.0], [2.0]]
    scorer = metrics.scorer("disagreement", **SKIP)
    assert scorer(Scores(), X, y) == 0
    assert repr(scorer) == "scorer('disagreement', missing_labels='skip')"
    assert pickle.loads(pickle.dumps(scorer)) == scorer != metrics.scorer("disagreement")
    with pytest.raises(DataError, match="y_true must be finite; got nan in row 1"):
        metrics.scorer("disagreement")(Scores(), X, y)


REFUSED = {
    "no label": (
        lambda: metrics.disagreement([NAN, None], [1, 2], **SKIP),
        "disagreement: y_true must have a label in some row; got none.",
    ),
    "lengths": (
        lambda: metrics.disagreement([NAN, 1, 2], [1, 2], **SKIP),
        "disagreement: y_score must be as long as y_true, 3 rows; got 2.",
    ),
    "a word": (
        lambda: metrics.evaluate([1, 2], [1, 2], missing_labels=True),
        "evaluate: missing_labels must be one of 'raise', 'skip'; got True.",
    ),
    "a scorer's word": (
        lambda: metrics.scorer("ap", "drop"),
        "scorer: missing_labels must be one of 'raise', 'skip'; got 'drop'.",
    ),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(call, sentence):
    with pytest.raises(ValueError, match=exactly(sentence)):
        call()
