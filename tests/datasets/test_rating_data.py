"""Loaders on the published sets; a departure from what is known is an error here."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder import datasets
from peckorder.exceptions import MissingDataError

FOLDER = os.environ.get("PECKORDER_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="PECKORDER_DATA does not name a folder of real data"
)


def load(name, *arguments):
    """Load from the folder alone; loaders warn of what is not the published set."""
    try:
        return getattr(datasets, name)(*arguments, Path(FOLDER))
    except MissingDataError as error:
        pytest.skip(str(error))


def levels(ratings):
    return np.unique(ratings.csr.data, return_counts=True)[1].tolist()


def test_movielens_100k():
    movies = load("load_movielens_100k")
    ratings = movies.ratings
    assert (len(ratings), ratings.n_users, ratings.n_items) == (100_000, 943, 1_682)
    assert levels(ratings) == [6110, 11370, 27145, 34174, 21201]
    assert len(movies.titles) == 1_682
    assert movies.titles[1] == "Toy Story (1995)"
    items, values = ratings.of(196)
    assert values[items.tolist().index(242)] == 3


def test_movielens_1m():
    movies = load("load_movielens_1m")
    ratings = movies.ratings
    assert (len(ratings), ratings.n_users, ratings.n_items) == (1_000_209, 6_040, 3_706)
    assert levels(ratings) == [56174, 107557, 261197, 348971, 226310]
    assert ratings.per_user.min() >= 20
    assert set(ratings.items.tolist()) <= set(movies.titles)
    assert movies.titles[1] == "Toy Story (1995)"


def test_jester():
    ratings = load("load_jester").ratings
    assert (len(ratings), ratings.n_users, ratings.n_items) == (4_136_360, 73_421, 100)
    assert ratings.csr.data.min() == -9.95
    assert ratings.csr.data.max() == 10
    # The publisher's description: how many jokes are rated in each file.
    per_user = ratings.per_user
    assert per_user[: 24_983 + 23_500].min() >= 36
    assert 15 <= per_user[24_983 + 23_500 :].min() <= per_user[-24_938:].max() <= 35


def test_book_crossing():
    books = load("load_book_crossing")
    ratings = books.ratings
    if len(ratings) == 171_274:
        assert (ratings.n_users, ratings.n_items) == (17_217, 26_267)
    assert ratings.csr.data.min() == 1
    assert ratings.csr.data.max() == 10
    assert "0451166892" in ratings.of(276755).items.tolist()


def test_netflix():
    ratings = load("load_netflix_matrix").ratings
    assert (len(ratings), ratings.csr.shape) == (1_111_768, (1_200, 1_200))
    assert set(ratings.csr.data) == {1, 2, 3, 4, 5}
    assert ratings.of(0).values[:5].tolist() == [2, 4, 5, 3, 5]


def test_cystic_fibrosis():
    judged = load("load_cystic_fibrosis")
    assert judged.scores.shape == (4_819, 4)
    assert set(judged.queries) == set(range(1, 101)) == set(judged.qid.tolist())
    assert set(judged.scores.ravel().tolist()) == {0, 1, 2}
    assert_array_equal(judged.y, judged.scores.sum(axis=1))
    assert judged.docid[:2].tolist() == [139, 151]
    assert judged.queries[5] == "Is CF mucus abnormal?"


@pytest.mark.parametrize(
    ("name", "n_queries", "n_rows", "width"),
    [("load_ohsumed_fold", 106, 16_140, 25), ("load_mq2007_agg_fold", 1_692, 69_623, 21)],
)
def test_folds(name, n_queries, n_rows, width):
    read = [load(name, fold) for fold in (1, 2)]
    for parts in read:
        queries = [set(part.qid.tolist()) for part in parts.values()]
        assert len(set.union(*queries)) == sum(map(len, queries)) == n_queries
        assert sum(map(len, parts.values())) == n_rows
        assert all(part.X.shape[1] == width for part in parts.values())
        assert all(set(part.y) == {0, 1, 2} for part in parts.values())
    assert_array_equal(read[0].test.X, read[1].validation.X)
    assert_array_equal(read[0].test.docid, read[1].validation.docid)
    if name == "load_mq2007_agg_fold":
        assert np.nanmax(read[0].train.X) == -1
        assert 0 < np.isnan(read[0].train.X).mean() < 1


def test_ohsumed_of_trec_nine():
    trec = load("load_ohsumed_trec9")
    assert len(trec.qrels) == 3_205
    assert len(np.unique(trec.qrels.qid)) == 63 == len(trec.queries)
    assert set(trec.qrels.grade) == {1, 2}
    assert len(trec.runs) == 12
    assert trec.queries["OHSU3"] == "prolonged prothrombin time"


def test_lightgbm():
    parts = load("load_lightgbm_lambdarank")
    assert (len(parts.train), len(parts.test)) == (3_005, 768)
    assert len(np.unique(parts.train.qid)) == 201
    assert len(np.unique(parts.test.qid)) == 50
    assert set(parts.train.y) == {0, 1, 2, 3, 4}
    assert parts.train.X.shape[1] == parts.test.X.shape[1]


def test_a_published_set_is_split_and_filtered():
    ratings = load("load_movielens_100k").ratings
    few = ratings.filter(min_per_user=20, max_per_user=40)
    assert few.per_user.min() >= 20
    assert few.per_user.max() <= 40
    sizes = np.bincount(ratings.per_user)
    assert few.n_users == sizes[20:41].sum()
    train, test = ratings.split(0.5, random_state=0)
    assert_array_equal(test.per_user, ratings.per_user // 2)
    assert len(train) + len(test) == 100_000
    core = partial(ratings.filter, min_per_user=50, min_per_item=50)
    assert core().per_item.min() >= 50
    assert core(repeat=False).per_item.min() < 50
