"""SVRank whose top counts more."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from peckorder import SVRank
from peckorder.losses import pair_loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.standard_t(3, size=50)
QID = RNG.integers(0, 4, 50)
LOSSES = [(1, "svr"), (2, "svr"), (1, "hmpc"), (2, "hmpc")]
every_loss = pytest.mark.parametrize(("power", "loss"), LOSSES)


@every_loss
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_objective_is_the_norm_and_the_pair_loss(power, loss, kernel):
    weight, offset = RNG.random(50), RNG.normal(size=50)
    model = SVRank(C=20.0, epsilon=0.2, power=power, loss=loss, kernel=kernel, top_weight=3.0)
    model.fit(X, Y, qid=QID, sample_weight=weight, offset=offset)
    if kernel == "linear":
        square = model.coef_ @ model.coef_
    else:
        K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 3)
        square = model.dual_coef_ @ K @ model.dual_coef_
    h = model.predict(X, offset=offset)
    queries = [q == QID for q in QID]
    low, high = (np.array([f(Y[here]) for here in queries]) for f in (min, max))
    lift = 1 + 3.0 * (Y - low) / (high - low)
    dh, dy = np.subtract.outer(h, h), np.subtract.outer(Y, Y)
    miss = np.maximum(0.0, np.abs(dh - dy) - 0.2)
    if loss == "hmpc":
        miss = np.where(dy != 0, np.maximum(0.0, np.abs(dy) - np.sign(dy) * dh), 0.0)
    pairs = np.outer(weight, weight) * np.maximum.outer(lift, lift)
    pairs *= QID[:, None] == QID[None]
    masses = np.bincount(QID, weight)
    expected = square + 20.0 / (masses @ masses) * (pairs * miss**power).sum()
    assert model.objective_ == pytest.approx(expected, rel=1e-9)


@every_loss
def test_a_top_weight_of_zero_gives_the_plain_model(power, loss):
    plain = SVRank(C=20.0, power=power, loss=loss).fit(X, Y, qid=QID)
    zero = SVRank(C=20.0, power=power, loss=loss, top_weight=0).fit(X, Y, qid=QID)
    assert_allclose(zero.coef_, plain.coef_, rtol=0)
    little = SVRank(C=20.0, power=power, loss=loss, top_weight=1e-12, tol=1e-9)
    little.fit(X, Y, qid=QID)
    assert little.objective_ == pytest.approx(plain.objective_, rel=2e-6)


@every_loss
def test_all_labels_of_a_query_may_be_shifted(power, loss):
    settings = {"C": 20.0, "power": power, "loss": loss, "tol": 1e-9}
    model = SVRank(**settings, top_weight=3.0).fit(X, Y, qid=QID)
    shifted = SVRank(**settings, top_weight=3.0).fit(X, Y + 100 * QID, qid=QID)
    assert shifted.objective_ == pytest.approx(model.objective_, rel=1e-8)


@every_loss
def test_losses_of_pairs_with_a_top_row_become_less(power, loss):
    """The minimum moves to where pairs of the top, weighed by it, lose no more."""
    how = {"power": power} | ({"epsilon": 0.1} if loss == "svr" else {})
    plain = SVRank(C=50.0, power=power, loss=loss, tol=1e-9).fit(X, Y)
    top = SVRank(C=50.0, power=power, loss=loss, tol=1e-9, top_weight=20.0).fit(X, Y)

    def lifted_part(model):
        h = model.predict(X)
        lifted = pair_loss(loss, h, Y, top_weight=1.0, **how).value
        return lifted - pair_loss(loss, h, Y, **how).value

    assert lifted_part(top) < lifted_part(plain)


def test_a_conflict_at_the_top_is_resolved_for_the_top():
    # Along x the low rows ascend and the high ones descend: one slope cannot suit both.
    x = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    y = np.array([0.0, 1.2, 2.4, 12.0, 11.0, 10.0])
    how = {"C": 10.0, "epsilon": 0.0}
    plain = SVRank(**how).fit(x[:, None], y)
    top = SVRank(**how, top_weight=5.0).fit(x[:, None], y)
    assert plain.coef_[0] >= 0.0
    assert top.coef_[0] < plain.coef_[0]
