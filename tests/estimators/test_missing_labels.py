"""Rankers of scores fitted to labels some of which are missing: no opinion on these rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from peckorder import MPRank, MPRankCV, RankBoost, SVRank, TableRanker
from peckorder.exceptions import DataError
from peckorder.io import from_bytes
from peckorder.metrics import scorer
from support.helpers import exactly

FEW = settings(max_examples=15, deadline=None)
NAN = float("nan")
SKIP = {"missing_labels": "skip"}
TREES = {"weak": "tree", "min_samples_leaf": 1, "n_rounds": 3}
MODELS = {
    "thresholds": RankBoost(n_rounds=5, **SKIP),
    "bins": RankBoost(n_rounds=5, max_bins=2, **SKIP),
    "trees": RankBoost(**TREES, **SKIP),
    "MPRank": MPRank(**SKIP),
    "MPRank with a kernel": MPRank(kernel="rbf", **SKIP),
    "MPRankCV": MPRankCV(**SKIP),
    "SVRank": SVRank(**SKIP),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@st.composite
def problems(draw):
    """Return X, y with gaps, queries and weights of rows."""
    value = st.sampled_from([0.0, 1.0, 2.0, 5.0])
    one = st.tuples(value, value, st.sampled_from([NAN, 0.0, 1.0, 2.0]), st.integers(0, 1))
    rows = draw(st.lists(one, min_size=6, max_size=16))
    rows += [(0.0, 1.0, 0.0, 0), (3.0, 0.0, 1.0, 0), (4.0, 0.0, 2.0, 0), (0.5, 2.0, 0.0, 0)]
    table = np.array(draw(st.permutations(rows)))
    return table[:, :2].copy(), table[:, 2], table[:, 3].astype(int)


@pytest.mark.filterwarnings("ignore:disagreement", "ignore:RankBoost. no weak ranking")
@every_model
@FEW
@given(problems(), st.booleans(), st.booleans())
def test_as_fitted_without_those_rows(model, problem, has_queries, has_weights):
    X, y, qid = problem
    kept = ~np.isnan(y)
    columns = {"qid": qid} if has_queries else {}
    if has_weights:
        columns |= {"sample_weight": 0.5 + X[:, 0], "offset": X[:, 1] / 4}
    some = {name: column[kept] for name, column in columns.items()}
    left = clone(model).set_params(missing_labels="raise").fit(X[kept], y[kept], **some)
    found = clone(model).fit(X, y, **columns)
    columns.pop("sample_weight", None), some.pop("sample_weight", None)
    offsets = {"offset": columns["offset"]} if has_weights else {}
    if isinstance(model, RankBoost):
        assert_array_equal(found.predict(X, **offsets), left.predict(X, **offsets))
    else:
        assert_allclose(found.predict(X, **offsets), left.predict(X, **offsets), atol=1e-9)
    assert_allclose(found.score(X, y, **columns), left.score(X[kept], y[kept], **some), atol=1e-12)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.round(X[:, 0] + RNG.normal(size=60) / 3, 1)
Y[::5] = NAN
QID = np.repeat(np.arange(12), 5)
KEPT = ~np.isnan(Y)


@every_model
def test_missing_labels_are_refused_unless_it_is_said_what_they_mean(model):
    name = type(model).__name__
    with pytest.raises(DataError) as caught:
        clone(model).set_params(missing_labels="raise").fit(X, Y)
    assert str(caught.value) == (
        f"{name}: y must be finite numbers; got nan in row 0. If a missing label means no opinion "
        "on its row, set missing_labels='skip'."
    )
    with pytest.raises(
        DataError, match=exactly(f"{name}: y must have a label in some row; got none.")
    ):
        clone(model).fit(X, np.full(60, NAN))
    with pytest.raises(
        ValueError, match="missing_labels must be one of 'raise', 'skip'; got 'drop'"
    ):
        clone(model).set_params(missing_labels="drop").fit(X, Y)


@every_model
def test_scikit_learn_searches_over_rows_without_a_label(model):
    if isinstance(model, MPRankCV):
        grid = {"cost": ["squared", "misranking"]}
    else:
        grid = {"n_rounds": [1, 5]} if isinstance(model, RankBoost) else {"C": [0.1, 10.0]}
    for scoring in (None, scorer("tau", **SKIP)):
        search = GridSearchCV(model, grid, cv=3, scoring=scoring, error_score="raise").fit(X, Y)
        assert search.best_score_ > 0.5


@every_model
def test_a_loaded_model_still_skips(model):
    fitted = clone(model).fit(X, Y)
    assert from_bytes(fitted.to_bytes()).score(X, Y) == fitted.score(X, Y)


def test_rows_held_out_have_labels():
    options = {"validation_fraction": 0.3, "random_state": 0, "n_rounds": 10}
    found = RankBoost(**options, **SKIP).fit(X, Y, qid=QID)
    left = RankBoost(**options).fit(X[KEPT], Y[KEPT], qid=QID[KEPT])
    assert_array_equal(found.validation_scores_, left.validation_scores_)
    assert_array_equal(found.weak_rankers_, left.weak_rankers_)


def test_partial_fit_skips_too():
    found = MPRank(**SKIP).partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    assert_allclose(found.predict(X), MPRank().fit(X[KEPT], Y[KEPT]).predict(X), atol=1e-9)


def test_a_kernel_matrix_may_have_gaps_where_labels_do():
    K = X @ X.T
    K[~KEPT], K[:, ~KEPT] = 7.0, 7.0
    found = MPRank(kernel="precomputed", **SKIP).fit(K, Y)
    left = MPRank(kernel="precomputed").fit((X @ X.T)[np.ix_(KEPT, KEPT)], Y[KEPT])
    assert_allclose(found.dual_coef_[KEPT], left.dual_coef_, atol=1e-9)
    assert not found.dual_coef_[~KEPT].any()
    assert np.isnan(found.leave_one_out_predictions()[~KEPT]).all()
    assert_allclose(found.leave_pair_out_error(), left.leave_pair_out_error())


def test_sparse_rows_and_frames():
    left = RankBoost(n_rounds=5).fit(X[KEPT], Y[KEPT])
    for rows in (sparse.csr_matrix(X), pd.DataFrame(X, columns=list("abc"))):
        found = RankBoost(n_rounds=5, **SKIP).fit(rows, pd.Series(Y))
        assert_array_equal(found.predict(rows), left.predict(X))


@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
def test_text_is_coded_by_the_labels_there_are(qid):
    # Each text twice, with a label once: what it is coded by.
    texts = np.array([f"town {k // 2}" for k in range(60)], dtype=object)
    table = pd.DataFrame({"town": texts, "a": X[:, 0]})
    y = np.where(np.arange(60) % 2 == 1, np.nan, X[:, 0])
    groups = {} if qid is None else {"qid": qid}
    found = TableRanker(MPRank(**SKIP)).fit(table, y, **groups)
    assert len(found.coders_[0].levels) == 30
    y[1::2] = 0.0
    other = TableRanker(MPRank()).fit(table, y, **groups)
    assert np.isfinite(found.coders_[0].codes).all()
    assert found.coders_[0].codes != other.coders_[0].codes
    shown = found.score(table, np.where(np.arange(60) % 2 == 1, np.nan, X[:, 0]), **groups)
    assert shown > 0.9
    with pytest.raises(DataError, match="set missing_labels='skip'"):
        TableRanker(MPRank()).fit(table, np.where(y == 0, np.nan, y))
