"""RankBoost wherever its rows are: settings to try, and what equal models are."""

import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

PARAMETERS = st.fixed_dictionaries(
    {
        "max_bins": st.sampled_from([None, 2, 3, 255]),
        "cumulative": st.booleans(),
        "default": st.sampled_from([None, 0, 1]),
        "query_weight": st.sampled_from(["pairs", "equal"]),
        "learning_rate": st.sampled_from([1.0, 0.3]),
        "n_rounds": st.just(12),
        "n_jobs": st.just(1),
    }
)


def assert_same_model(one, other):
    """Check that two models are equal to the bit."""
    assert one.weak_rankers_.tolist() == other.weak_rankers_.tolist()
    assert_array_equal(one.bounds_, other.bounds_)
    assert one.smoothing_ == other.smoothing_
    assert_array_equal(one.feature_importances_, other.feature_importances_)
    assert one.n_features_in_ == other.n_features_in_


def rows_with_gaps(n_rows=3000, dtype=np.float64, seed=5):
    """Return rows of queries of 30 rows, grades, and weights, some of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).astype(dtype)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 4] = X[:, 4].round(1)
    qid = np.repeat(rng.permutation(n_rows // 30), 30)
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows) > 0.5).astype(int)
    weight = rng.integers(0, 4, n_rows) / 2.0
    return X, y + (np.nan_to_num(X[:, 1]) > 1.0), qid, weight
