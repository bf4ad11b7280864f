"""Masked arrays: missing where missing has a meaning, refused everywhere else."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from peckorder import (
    AggregatePRank,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    PRank,
    Preferences,
    RankBoost,
    Ratings,
    SVRank,
    TableRanker,
    WidrowHoff,
    losses,
    metrics,
)
from peckorder.bounds import prank_mistake_bound
from peckorder.collaborative import ItemMean
from peckorder.datasets import dump_letor
from peckorder.exceptions import DataError
from peckorder.streams import from_arrays

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.arange(30) % 3
MASK = np.zeros((30, 3), bool)
MASK[4, 1] = True
ROWS = np.ma.array(X, mask=MASK)
COLUMN = np.ma.array(Y.astype(float), mask=MASK[:, 1])
ESTIMATORS = [
    PRank(),
    PRank(kernel="rbf"),
    AggregatePRank(n_estimators=4, random_state=0),
    WidrowHoff(),
    MulticlassPerceptron(),
    MPRank(),
    MPRank(kernel="rbf"),
    MPRankCV(),
    SVRank(),
    RankBoost(n_rounds=3),
    RankBoost(n_rounds=3, weak="tree", min_samples_leaf=5),
]


def name_of(estimator):
    return repr(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS[:-2], ids=name_of)
def test_masked_rows_are_refused(estimator):
    with pytest.raises(DataError, match=r"X must be without masked values; got one in row 4\."):
        estimator.fit(ROWS, Y)
    estimator.fit(X, Y)
    with pytest.raises(DataError, match=r"X must be without masked values; got one in row 4\."):
        estimator.predict(ROWS)


@pytest.mark.parametrize("estimator", ESTIMATORS[:-2], ids=name_of)
def test_a_list_of_masked_rows_is_refused(estimator):
    with pytest.raises(DataError, match=r"X must be without masked values; got one in row 4\."):
        estimator.fit(list(ROWS), Y)


def test_a_masked_value_in_a_list_of_rows_is_missing_for_rankboost():
    model = RankBoost(n_rounds=5).fit(list(ROWS), Y)
    other = RankBoost(n_rounds=5).fit(ROWS, Y)
    assert np.array_equal(model.predict(list(ROWS)), other.predict(ROWS))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_masked_labels_are_refused(estimator):
    with pytest.raises(DataError, match=r"y must be without masked values; got one in row 4\."):
        estimator.fit(X, COLUMN)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_arrays_with_nothing_masked_are_arrays(estimator):
    plain = estimator.fit(X, Y).predict(X)
    other = estimator.fit(np.ma.array(X), np.ma.array(Y)).predict(np.ma.array(X))
    assert np.array_equal(plain, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_masked_value_is_missing_for_rankboost(dtype):
    whole = np.round(10 * X).astype(dtype)
    gaps = np.where(MASK, np.nan, whole)
    model = RankBoost(n_rounds=5).fit(np.ma.array(whole, mask=MASK), Y)
    other = RankBoost(n_rounds=5).fit(gaps, Y)
    assert np.array_equal(model.predict(gaps), other.predict(gaps))
    assert np.array_equal(model.predict(np.ma.array(whole, mask=MASK)), other.predict(gaps))


@pytest.mark.parametrize("kind", [float, int, object, str])
def test_a_masked_cell_of_a_table_is_missing(kind):
    whole = np.round(10 * X).astype(int).astype(kind)
    gaps = whole.astype(object)
    gaps[MASK] = None
    table = np.ma.array(whole, mask=MASK)
    model, wanted = TableRanker(MPRank()).fit(table, Y), TableRanker(MPRank()).fit(gaps, Y)
    assert np.array_equal(model.predict(table), wanted.predict(gaps))


def test_a_masked_feature_is_null_in_letor(tmp_path):
    dump_letor(ROWS[4:5], [1], tmp_path / "t.letor")
    assert " 2:NULL " in (tmp_path / "t.letor").read_text()


def test_a_masked_rating_is_none():
    masked = ItemMean().fit(ROWS, COLUMN)
    gaps = ItemMean().fit(ROWS.filled(np.nan), COLUMN.filled(np.nan))
    assert np.array_equal(masked.predict(ROWS), gaps.predict(ROWS.filled(np.nan)))
    ratings = Ratings.from_matrix(ROWS)
    assert len(ratings) == X.size - 1


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: MPRank().fit(X, Y, sample_weight=COLUMN), "sample_weight"),
        (lambda: MPRank().fit(X, Y, offset=COLUMN), "offset"),
        (lambda: RankBoost().fit(X, Y, sample_weight=COLUMN), "sample_weight"),
        (lambda: metrics.ndcg(COLUMN, X[:, 0]), "y_true"),
        (lambda: metrics.ndcg(Y, COLUMN), "y_score"),
        (lambda: metrics.disagreement(Y, COLUMN), "y_score"),
        (lambda: metrics.disagreement(Y, X[:, 0], sample_weight=COLUMN), "sample_weight"),
        (lambda: metrics.ndcg(Y, X[:, 0], ties="docid", docid=COLUMN), "docid"),
        (lambda: metrics.average_precision(Y, X[:, 0], good=COLUMN > 1), "good"),
        (lambda: metrics.rank_loss(COLUMN, Y), "y_true"),
        (lambda: metrics.kendall_tau(Y, COLUMN), "y_score"),
        (lambda: losses.pair_loss("mp", COLUMN, Y), "scores"),
        (lambda: from_arrays(ROWS, Y), "X"),
        (lambda: from_arrays(X, COLUMN), "y"),
        (lambda: from_arrays(X, Y, COLUMN), "qid"),
        (lambda: from_arrays(X, Y, weight=COLUMN), "weight"),
        (lambda: dump_letor(X, COLUMN, os.devnull), "y"),
        (lambda: dump_letor(X, Y, os.devnull, qid=COLUMN), "qid"),
        (lambda: prank_mistake_bound(ROWS, Y, [1, 1, 1], [0, 0]), "X"),
        (lambda: prank_mistake_bound(X, Y, ROWS[4], [0, 0]), "coef"),
        (lambda: PRank().fit(X, Y, coef_init=ROWS[4]), "coef_init"),
        (lambda: Preferences(np.ma.array([0, 1], mask=[0, 1]), [2, 3]), "better"),
        (lambda: Preferences([0, 1], [2, 3], np.ma.array([1.0, 1], mask=[0, 1])), "weight"),
        (lambda: Ratings([1, 2], [1, 2], np.ma.array([1.0, 2], mask=[0, 1])), "value"),
    ],
)
def test_other_masked_columns_are_refused(call, name):
    with pytest.raises(DataError, match=rf"\b{name} must be without masked values; got one in row"):
        call()


DATES = np.datetime64("2020-01-01", "D") + np.arange(90).reshape(30, 3) * 7 % 31
DATES[4, 1] = "NaT"


FORMS = [np.asarray, lambda X: list(map(list, X))]
FORMS.append(lambda X: np.fromiter(X.ravel(), object).reshape(X.shape))


def masked_dates(X):
    return np.ma.array(np.where(np.isnat(X), X[0, 0], X), mask=np.isnat(X))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", ESTIMATORS[:-2], ids=name_of)
def test_missing_dates_are_refused(estimator, form):
    with pytest.raises(DataError, match=r"X must be without missing values; got NaT in row 4\."):
        clone(estimator).fit(form(DATES), Y)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("estimator", [*ESTIMATORS[:-2], RankBoost(n_rounds=3)], ids=name_of)
def test_dates_of_frames_are_refused_missing_or_not(estimator, form):
    for rows in (DATES, DATES[5:]):
        with pytest.raises(DataError, match=r"column .* of X must be numbers; got dates or dur"):
            clone(estimator).fit(form(rows), Y[: len(rows)])


@pytest.mark.parametrize("form", [*FORMS, masked_dates])
def test_a_missing_date_is_missing_for_rankboost(form):
    numbers = np.where(np.isnat(DATES), np.nan, DATES.astype(float))
    model, wanted = RankBoost(n_rounds=3).fit(form(DATES), Y), RankBoost(n_rounds=3)
    wanted.fit(numbers, Y)
    np.testing.assert_array_equal(model.predict(form(DATES)), wanted.predict(numbers))
