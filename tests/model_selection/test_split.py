"""Splits that leave queries whole."""

from collections import Counter, deque
from reprlib import repr as short

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder import Preferences
from peckorder.exceptions import DataError
from peckorder.model_selection import QueryKFold, train_test_split_queries
from support.helpers import exactly

FEW = settings(max_examples=40)
ids = st.lists(
    st.integers(0, 6) | st.sampled_from("ab") | st.tuples(st.booleans()), min_size=2, max_size=25
).filter(lambda qid: len(set(qid)) > 1)


@FEW
@given(ids, st.data(), st.booleans())
def test_folds_are_whole_and_even(qid, data, shuffle):
    n_splits = data.draw(st.integers(2, len(set(qid))))
    cv = QueryKFold(n_splits, shuffle=shuffle, random_state=3 if shuffle else None)
    X = np.zeros((len(qid), 1))
    splits = list(cv.split(X, qid=qid))
    assert cv.get_n_splits(X, qid=qid) == len(splits) == n_splits
    everything = np.arange(len(qid))
    assert_array_equal(np.sort(np.concatenate([t for _, t in splits])), everything)
    for train, test in splits:
        assert_array_equal(np.union1d(train, test), everything)
        assert not {qid[i] for i in train} & {qid[i] for i in test}
        assert len(test) > 0
    sizes = [len(test) for _, test in splits]
    # The fullest fold was the emptiest when it was given its last query.
    assert max(sizes) - min(sizes) <= max(Counter(qid).values())


def test_the_largest_query_is_dealt_first():
    # Sizes 3, 1, 2, 2: a to fold 0, c to 1, d to 1 (2 < 3), b to 0 (3 < 4).
    qid = list("aaabccdd")
    folds = [test.tolist() for _, test in QueryKFold(2).split(None, qid=qid)]
    assert folds == [[0, 1, 2, 3], [4, 5, 6, 7]]


def folds_of(cv, qid):
    return [tuple(test.tolist()) for _, test in cv.split(None, qid=qid)]


def test_shuffling_changes_the_order_of_equals_alone():
    qid = [*range(8), 8, 8, 8, 8]
    seeds = [QueryKFold(3, shuffle=True, random_state=seed) for seed in range(10)]
    assert len({tuple(folds_of(cv, qid)) for cv in seeds}) > 1
    assert all(folds_of(cv, qid)[0] == (8, 9, 10, 11) for cv in seeds)
    assert folds_of(seeds[1], qid) == folds_of(seeds[1], qid)
    assert folds_of(QueryKFold(3), qid) == folds_of(QueryKFold(3), qid)


@pytest.mark.parametrize(
    "X", [None, [[1.0]] * 4, sparse.csr_array((4, 2)), pl.DataFrame({"a": [1, 2, 3, 4]})]
)
def test_only_the_number_of_rows_matters(X):
    cv, qid = QueryKFold(2), ["x", "y", "x", "z"]
    for given_as in ({"qid": qid}, {"groups": qid}, {"qid": iter(qid)}):
        folds = [test.tolist() for _, test in cv.split(X, **given_as)]
        assert folds == [[0, 2], [1, 3]]


def test_qid_wins_over_groups():
    [first, _] = QueryKFold(2).split(None, groups=[1, 2, 3], qid=[1, 1, 2])
    assert first[1].tolist() == [0, 1]


NO_QUERIES = (
    "QueryKFold: qid or groups must be one value per row; got None for both. "
    "Scikit-learn passes groups as it is, and qid after "
    "sklearn.set_config(enable_metadata_routing=True)."
)
SEED = "random_state must be None, an integer from 0 to 2**32 - 1 or a RandomState; got"
REFUSED_SPLITS = {
    "no queries": ({}, {}, NO_QUERIES),
    "too few queries": (
        {},
        {"qid": [1, 1, 2, 3]},
        "QueryKFold: qid must be at least n_splits=5 different queries; got 3.",
    ),
    "too few rows": (
        {"n_splits": 2},
        {"qid": [1, 2, 3]},
        "QueryKFold: qid must be one value per row, 4 in all; got 3.",
    ),
    "too few groups": (
        {"n_splits": 2},
        {"groups": [1, 2, 3]},
        "QueryKFold: qid must be one value per row, 4 in all; got 3.",
    ),
    "one fold": (
        {"n_splits": 1},
        {"qid": [1, 2, 3, 4]},
        "QueryKFold: n_splits must be an integer >= 2; got 1.",
    ),
    "half a fold": (
        {"n_splits": 2.5},
        {"qid": [1, 2, 3, 4]},
        "QueryKFold: n_splits must be an integer >= 2; got 2.5.",
    ),
    "shuffle": (
        {"shuffle": 1},
        {"qid": [1, 2, 3, 4]},
        "QueryKFold: shuffle must be True or False; got 1.",
    ),
    "random_state": (
        {"random_state": 0},
        {"qid": [1, 2, 3, 4]},
        "QueryKFold: random_state must be None without shuffle=True; got 0.",
    ),
    "no seed": (
        {"shuffle": True, "random_state": -1},
        {"qid": [1, 2, 3, 4]},
        f"QueryKFold: {SEED} -1.",
    ),
    "a number": ({"n_splits": 2}, {"qid": 3}, "QueryKFold: qid must be one value per row; got 3."),
    "a number for groups": (
        {"n_splits": 2},
        {"groups": np.int64(3)},
        "QueryKFold: qid must be one value per row; got np.int64(3).",
    ),
    "too few labels": (
        {"n_splits": 2},
        {"qid": [1, 2, 3, 4], "y": [1, 2]},
        "QueryKFold: y must be one entry per row, 4 in all; got 2.",
    ),
    "no labels": (
        {"n_splits": 2},
        {"qid": [1, 2, 3, 4], "y": 5},
        "QueryKFold: y must be rows; got 5.",
    ),
    "preferences": (
        {"n_splits": 2},
        {"qid": [1, 2, 3, 4], "y": Preferences([0], [4])},
        "QueryKFold: y must be preferences among the 4 rows; got row 4.",
    ),
}


@pytest.mark.parametrize(
    ("options", "given_as", "sentence"), REFUSED_SPLITS.values(), ids=REFUSED_SPLITS
)
def test_refused_splits(options, given_as, sentence):
    # At the call, before anything is iterated over.
    with pytest.raises(ValueError, match=exactly(sentence)):
        QueryKFold(**options).split(np.zeros((4, 1)), **given_as)


@pytest.mark.parametrize(
    "X", [5, "abcd", {1, 2}, {"a": [1, 2]}, np.array(3), list, Preferences([0], [1])], ids=repr
)
def test_what_has_no_rows_is_refused(X):
    sentence = f"QueryKFold: X must be rows; got {short(X)}."
    with pytest.raises(DataError, match=exactly(sentence)):
        QueryKFold(2).split(X, qid=[1, 2, 3, 4])


@pytest.mark.parametrize("X", [None, np.zeros((4, 1))], ids=["no X", "X"])
def test_preferences_may_be_more_or_fewer_than_the_rows(X):
    qid = ["x", "y", "x", "z"]
    few, many = Preferences([0], [3]), Preferences.from_grades(np.arange(4.0))
    for y in (few, many):
        folds = [test.tolist() for _, test in QueryKFold(2).split(X, y, qid=qid)]
        assert folds == [[0, 2], [1, 3]]


@FEW
@given(ids, st.integers(0, 5), st.sampled_from([0.1, 0.25, 0.5, 1]))
def test_a_split_in_two_leaves_queries_whole(qid, seed, test_size):
    rows = np.arange(len(qid))
    train, test, qid_train, qid_test = train_test_split_queries(
        rows, qid=qid, test_size=test_size, random_state=seed
    )
    assert qid_train == [qid[i] for i in train]
    assert qid_test == [qid[i] for i in test]
    assert not set(qid_train) & set(qid_test)
    assert_array_equal(np.sort(np.concatenate([train, test])), rows)
    assert_array_equal(train, np.sort(train))
    n_queries = len(set(qid))
    wanted = test_size if isinstance(test_size, int) else np.ceil(test_size * n_queries)
    assert len(set(qid_test)) == wanted


QID = ["b", "a", "b", "c", "a", "d"]
FORMS = {
    "dense": (np.arange(12.0).reshape(6, 2), np.ndarray),
    "csr": (sparse.csr_array(np.arange(12.0).reshape(6, 2)), sparse.csr_array),
    "csc": (sparse.csc_matrix(np.arange(12.0).reshape(6, 2)), sparse.csr_matrix),
    "coo": (sparse.coo_array(np.arange(12.0).reshape(6, 2)), sparse.csr_array),
    "list": (list(range(6)), list),
    "list of lists": ([[i] for i in range(6)], list),
    "tuple": (tuple(range(6)), list),
    "pandas": (pd.DataFrame({"a": range(6)}, index=list("zyxwvu")), pd.DataFrame),
    "series": (pd.Series(range(6), index=list("zyxwvu")), pd.Series),
    "categorical": (pd.Categorical(QID), pd.Categorical),
    "polars": (pl.DataFrame({"a": range(6)}), pl.DataFrame),
    "polars series": (pl.Series(range(6)), pl.Series),
    "arrow": (pa.table({"a": range(6)}), pa.Table),
    "arrow column": (pa.array(range(6)), pa.Int64Array),
    "values": (dict.fromkeys(range(6)).keys(), list),
    "deque": (deque(range(6)), list),
}


def dense(array):
    if sparse.issparse(array):
        return array.toarray()
    return np.asarray(array if hasattr(array, "__array__") else list(array))


@pytest.mark.parametrize(("array", "kind"), FORMS.values(), ids=FORMS)
def test_arrays_of_every_kind_are_split(array, kind):
    rows = np.arange(6)
    options = {"qid": np.array(QID), "test_size": 2, "random_state": 1}
    train, test, *_ = train_test_split_queries(rows, **options)
    one, other, qid_train, _ = train_test_split_queries(array, **options)
    assert type(one) is type(other) is kind
    assert_array_equal(dense(one), dense(array)[train])
    assert_array_equal(dense(other), dense(array)[test])
    assert isinstance(qid_train, np.ndarray)


def test_preferences_are_restricted_to_each_side():
    y = np.array([3, 1, 2, 0, 2, 1])
    graded = Preferences.from_grades(y, QID)
    y_train, y_test, *parts = train_test_split_queries(
        y, graded, qid=QID, test_size=0.5, random_state=0
    )
    ours_train, ours_test, qid_train, qid_test = parts
    for ours, y_part, qid in ((ours_train, y_train, qid_train), (ours_test, y_test, qid_test)):
        expected = Preferences.from_grades(y_part, qid)
        for a, b in zip(ours.pairs(), expected.pairs(), strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize("qid", [QID, iter(QID), dict(enumerate(QID)).values()])
def test_queries_alone_may_be_split(qid):
    train, test = train_test_split_queries(qid=qid, test_size=1, random_state=0)
    assert sorted(train + test) == sorted(QID)
    assert len(set(test)) == 1


@pytest.mark.parametrize("seed", [-1, 2**32, "a", 1.5, np.nan, [1]])
def test_what_is_no_seed_is_refused(seed):
    sentence = exactly(f"train_test_split_queries: {SEED} {seed!r}.")
    with pytest.raises(ValueError, match=sentence):
        train_test_split_queries(qid=QID, random_state=seed)
    with pytest.raises(ValueError, match=exactly(f"QueryKFold: {SEED} {seed!r}.")):
        QueryKFold(2, shuffle=True, random_state=seed).get_n_splits()


def test_the_seed_decides():
    def split(seed):
        return tuple(train_test_split_queries(qid=QID, random_state=seed)[1])

    assert split(3) == split(3)
    assert len({split(seed) for seed in range(10)}) > 1


SIZE = "test_size must be a number between 0 and 1 or an integer >= 1; got "
REFUSED_HALVES = {
    "no queries": ([], {"qid": None}, "qid must be one value per row; got None."),
    "length": (
        [[1, 2, 3], [1, 2]],
        {"qid": list("aab")},
        "array 1 must be one entry per row, 3 in all; got 2.",
    ),
    "number": ([5], {"qid": [1, 2]}, "array 0 must be rows; got 5."),
    "set": ([{1, 2}], {"qid": [1, 2]}, "array 0 must be rows; got {1, 2}."),
    "scalar": ([np.array(3)], {"qid": [1, 2]}, "array 0 must be rows; got array(3)."),
    "one id": ([], {"qid": 3}, "qid must be one value per row; got 3."),
    "one word": ([], {"qid": "abc"}, "qid must be one value per row; got 'abc'."),
    "an id without a dimension": (
        [],
        {"qid": np.array(3)},
        "qid must be one-dimensional; got an array of shape ().",
    ),
    "two dimensions": (
        [],
        {"qid": np.zeros((2, 1))},
        "qid must be one-dimensional; got an array of shape (2, 1).",
    ),
    "a set of ids": ([], {"qid": {1, 2}}, "qid must be one value per row; got {1, 2}."),
    "far too many": (
        [],
        {"qid": [1, 2], "test_size": 10**400},
        f"test_size must leave a query to learn from; got {10**400} of 2.",
    ),
    "preferences": (
        [Preferences([0], [2])],
        {"qid": [1, 2]},
        "array 0 must be preferences among the 2 rows; got row 2.",
    ),
    "one query": (
        [],
        {"qid": [1, 1]},
        "test_size must leave a query to learn from; got 0.25 of 1.",
    ),
    "everything": (
        [],
        {"qid": [1, 2], "test_size": 2},
        "test_size must leave a query to learn from; got 2 of 2.",
    ),
    "share of one": ([], {"qid": [1, 2], "test_size": 1.0}, f"{SIZE}1.0."),
    "nothing": ([], {"qid": [1, 2], "test_size": 0}, f"{SIZE}0."),
    "nan": ([], {"qid": [1, 2], "test_size": np.nan}, f"{SIZE}nan."),
    "true": ([], {"qid": [1, 2], "test_size": True}, f"{SIZE}True."),
    "word": ([], {"qid": [1, 2], "test_size": "half"}, f"{SIZE}'half'."),
    "empty": ([], {"qid": []}, "test_size must leave a query to learn from; got 0.25 of 0."),
}


@pytest.mark.parametrize(
    ("arrays", "options", "sentence"), REFUSED_HALVES.values(), ids=REFUSED_HALVES
)
def test_refused_halves(arrays, options, sentence):
    sentence = exactly(f"train_test_split_queries: {sentence}")
    with pytest.raises(ValueError, match=sentence):
        train_test_split_queries(*arrays, **options)
