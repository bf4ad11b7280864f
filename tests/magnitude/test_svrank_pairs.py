"""SVRank reaches a bound from explicit pairs: the dual program over all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peckorder import SVRank
from support.slow_pairs import lower_bound


def lifts(y, qid, top_weight):
    """Return what a row's pairs with lower rows weigh: 1 to 1 + top_weight."""
    low, high = (np.array([f(y[qid == q]) for q in qid]) for f in (np.min, np.max))
    return 1.0 + top_weight * (y - low) / np.where(high > low, high - low, 1.0)


def listed(y, label, qid, weight, C, loss, top_weight=0.0):
    """Return the weight of each pair, the matrix that takes differences, and Dy."""
    i, j = np.nonzero(np.triu(qid[:, None] == qid[None], 1))
    if loss == "hmpc":
        flip = y[i] > y[j]
        i, j = np.where(flip, j, i), np.where(flip, i, j)
        differ = y[i] != y[j]
        i, j = i[differ], j[differ]
    masses = sum(weight[qid == q].sum() ** 2 for q in np.unique(qid))
    lift = lifts(y, qid, top_weight)
    c = 2 * C * weight[i] * weight[j] / masses * np.maximum(lift[i], lift[j])
    D = np.zeros((len(i), len(y)))
    D[np.arange(len(i)), j] = 1.0
    D[np.arange(len(i)), i] -= 1.0
    return c, D, D @ label


@st.composite
def problems(draw):
    n, d = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d)) + draw(st.sampled_from([0.0, 3.0]))
    y = draw(st.sampled_from([rng.normal(size=n), rng.integers(0, 3, n)])).astype(float)
    qid = rng.integers(0, draw(st.integers(1, 3)), n)
    weight = draw(st.sampled_from([np.ones(n), rng.random(n) + 0.1]))
    offset = draw(st.sampled_from([np.zeros(n), rng.normal(size=n)]))
    return X, y, qid, weight, offset, draw(st.sampled_from([0.1, 1.0, 30.0]))


@settings(max_examples=60)
@given(
    problems(),
    st.sampled_from(["linear", "rbf"]),
    st.sampled_from([1, 2]),
    st.sampled_from(["svr", "hmpc"]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.0, 0.0, 2.0]),
)
def test_reaches_the_bound_of_all_pairs(problem, kernel, power, loss, epsilon, top):
    X, y, qid, weight, offset, C = problem
    model = SVRank(
        C=C,
        epsilon=epsilon,
        power=power,
        loss=loss,
        kernel=kernel,
        gamma=0.3,
        tol=1e-9,
        top_weight=top,
    )
    model.fit(X, y, qid=qid, sample_weight=weight, offset=offset)
    K = X @ X.T
    if kernel == "rbf":
        K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    band = epsilon if loss == "svr" else 0.0
    c, D, t = listed(y, y - offset, qid, weight, C, loss, top)

    scores = model.predict(X, offset=np.zeros(len(X))) - model.intercept_
    w_square = (
        model.coef_ @ model.coef_ if kernel == "linear" else model.dual_coef_ @ K @ model.dual_coef_
    )
    miss = D @ scores - t
    miss = -miss if loss == "hmpc" else np.abs(miss)
    objective = w_square + c @ np.maximum(0.0, miss - band) ** power
    assert model.objective_ == pytest.approx(objective, rel=1e-9, abs=1e-12)
    least = lower_bound(K, c, D, t, band, power, loss)
    assert least <= objective + 1e-9 * (1.0 + objective)
    assert objective - least <= 1e-5 * objective + 1e-9
    expected = np.average(y - offset - scores, weights=weight)
    assert model.intercept_ == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("top_weight", [0.0, 3.0])
@pytest.mark.parametrize("C", [1.0, 50.0])
@pytest.mark.parametrize("loss", ["svr", "hmpc"])
@pytest.mark.parametrize("power", [1, 2])
def test_is_the_optimum_of_the_program_over_the_pairs_of_thirty_rows(power, loss, C, top_weight):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(3, size=30)
    epsilon = 0.2 if loss == "svr" else 0.0
    model = SVRank(
        C=C, epsilon=epsilon, power=power, loss=loss, top_weight=top_weight, tol=1e-10
    ).fit(X, y)
    one, same = np.ones(30), np.zeros(30)
    c, D, t = listed(y, y, same, one, C, loss, top_weight)
    least = lower_bound(X @ X.T, c, D, t, epsilon, power, loss)
    assert model.objective_ == pytest.approx(least, rel=1e-8)
    assert model.objective_ - model.dual_gap_ <= least * (1 + 1e-8)
