"""SVRank on data of all forms and sizes: the same model, a warning, or a sentence."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from peckorder import SVRank
from peckorder._core.threads import MIN_ITEMS_PER_THREAD
from peckorder.losses import pair_loss
from peckorder.magnitude.mprank_solver import rows as solver_rows
from peckorder.magnitude.svrank_solver import loss as svrank_loss
from peckorder.magnitude.svrank_solver.loss import PairRisk
from peckorder.magnitude.svrank_solver.space import Features

RNG = np.random.default_rng(0)
# Halves, which single precision has too.
X = np.round(2 * RNG.normal(size=(60, 4))) / 2
Y = X @ [1.0, -2.0, 0.5, 0.0] + RNG.standard_t(3, size=60)
LOSSES = [(1, "svr"), (2, "svr"), (1, "hmpc"), (2, "hmpc")]
every_loss = pytest.mark.parametrize(("power", "loss"), LOSSES)


def with_zeros_stored(rows):
    matrix = sparse.csr_array(np.ones_like(rows))
    matrix.data[:] = rows.ravel()
    return matrix


def read_only(rows):
    copy = rows.copy()
    copy.flags.writeable = False
    return copy


FORMS = {
    "float32": lambda rows: rows.astype(np.float32),
    "read-only": read_only,
    "Fortran": np.asfortranarray,
    "strided": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "list": lambda rows: rows.tolist(),
    "CSR": sparse.csr_array,
    "CSR of float32": lambda rows: sparse.csr_array(rows.astype(np.float32)),
    "CSC": sparse.csc_array,
    "zeros stored": with_zeros_stored,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_form_of_rows_gives_the_same_model(form, kernel):
    settings = {"C": 30.0, "kernel": kernel, "tol": 1e-9}
    expected = SVRank(**settings).fit(X, Y)
    model = SVRank(**settings).fit(FORMS[form](X), Y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-8)
    assert_allclose(model.predict(FORMS[form](X)), expected.predict(X), atol=1e-3)


def test_inputs_are_left_as_they_are():
    rows, labels, weight = X.copy(), Y.copy(), np.ones(60)
    SVRank(C=10.0, top_weight=1.0).fit(rows, labels, sample_weight=weight)
    assert_array_equal(rows, X)
    assert_array_equal(labels, Y)
    assert_array_equal(weight, 1.0)


def test_blocks_of_sparse_rows_in_single_precision_make_up_the_product(monkeypatch):
    monkeypatch.setattr(solver_rows, "_ENTRIES", 1)
    rows = np.tile(X, (5, 1))
    rows[10:125] = 0.0
    space = Features(sparse.csr_array(rows.astype(np.float32)))
    w, slope = RNG.normal(size=(1, 4)), RNG.normal(size=300)
    assert_allclose(space.scores(w), rows @ w[0], rtol=1e-13, atol=1e-13)
    assert_allclose(space.of_slope(slope)[0], slope @ rows, rtol=1e-12, atol=1e-13)


@every_loss
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_row_has_no_pairs(power, loss, kernel):
    model = SVRank(power=power, loss=loss, kernel=kernel, top_weight=1.0)
    model.fit(X[:1], Y[:1])
    assert model.objective_ == 0.0
    assert_allclose(model.predict(X[:1]), Y[:1])


@every_loss
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_tiny_c_still_gives_different_scores(power, loss, kernel):
    model = SVRank(C=1e-20, power=power, loss=loss, kernel=kernel, epsilon=0.0)
    model.fit(X, Y)
    coef = model.coef_ if kernel == "linear" else model.dual_coef_
    assert 0.0 < np.abs(coef).max() < 1e-18
    assert model.objective_ > 0.0


@every_loss
@pytest.mark.parametrize("size", [1e-150, 1e-20, 1e150])
def test_squared_losses_do_not_depend_on_the_scale_of_labels(power, loss, size):
    """And the first power sees it as a C, which is that much smaller."""
    settings = {"power": power, "loss": loss, "tol": 1e-9, "epsilon": 0.0}
    C = 30.0 if power == 2 else 30.0 * size
    if not 1e-300 < C < 1e300:
        pytest.skip("no such C")
    model = SVRank(C=C, **settings).fit(X, size * Y)
    expected = SVRank(C=30.0, **settings).fit(X, Y)
    assert model.objective_ == pytest.approx(size**2 * expected.objective_, rel=1e-8, abs=0)
    assert_allclose(model.coef_ / size, expected.coef_, atol=1e-3)


@every_loss
@pytest.mark.parametrize("size", [1e-150, 1e-80, 1e-20, 1e20, 1e80, 1e150])
@pytest.mark.parametrize("what", ["X", "y"])
def test_the_gap_is_a_bound_for_values_of_any_size(power, loss, size, what):
    rows, labels = (size * X, Y) if what == "X" else (X, size * Y)
    model = SVRank(power=power, loss=loss, epsilon=0.0)
    hard = (what == "X" and size > 1) or (what == "y" and size < 1 and power == 1)
    if hard:
        with pytest.warns(ConvergenceWarning, match="the rest is lost in rounding"):
            model.fit(rows, labels)
    else:
        model.fit(rows, labels)
    assert np.isfinite(model.predict(rows)).all()
    assert 0.0 <= model.dual_gap_ <= model.objective_
    kind = "mp" if loss == "svr" else loss
    at_zero = pair_loss(kind, np.zeros(60), labels, power=power).value / 60**2
    assert model.objective_ <= at_zero * (1 + 1e-12)


@pytest.mark.parametrize("C", [1e17, 1e19, 1e21])
def test_a_c_beyond_rounding_causes_a_warning_and_the_gap_is_valid(C):
    best = SVRank(C=1e9, epsilon=0.0, tol=1e-9).fit(X, Y).objective_ * (C / 1e9)
    with pytest.warns(ConvergenceWarning) as caught:
        model = SVRank(C=C, epsilon=0.0).fit(X, Y)
    sentence = (
        r"SVRank: not converged after \d+ iterations: the objective .* may be .* above "
        r"its minimum, and the rest is lost in rounding\. Scale the columns of X, "
        r"lower C \(now 1e\+\d\d\), or raise tol \(now 1e-06\)\."
    )
    assert re.fullmatch(sentence, str(caught[0].message))
    assert model.objective_ - model.dual_gap_ <= best * (1 + 1e-8)


@every_loss
def test_columns_far_from_zero_give_the_same_objective(power, loss):
    settings = {"C": 30.0, "power": power, "loss": loss}
    expected = SVRank(**settings, tol=1e-9).fit(X, Y)
    model = SVRank(**settings).fit(X + 1e8, Y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("power", [1, 2])
def test_an_interrupt_leaves_the_model_as_it_was(monkeypatch, kernel, power):
    model = SVRank(kernel=kernel, power=power).fit(X, Y)
    before = dict(vars(model))
    calls = []
    whole = PairRisk.__call__

    def interrupted(self, scores):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(self, scores)

    monkeypatch.setattr(PairRisk, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], 2 * Y)
    assert len(calls) == 3
    assert vars(model) == before


@every_loss
@pytest.mark.parametrize("top_weight", [0.0, 2.0])
def test_threads_do_not_change_a_bit(monkeypatch, power, loss, top_weight):
    settings = {"C": 10.0, "power": power, "loss": loss, "top_weight": top_weight}
    queries = np.arange(60) % 7
    alone = SVRank(**settings).fit(X, Y, qid=queries)
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "rows", 10)
    monkeypatch.setattr(svrank_loss, "n_cores", lambda: 4)
    shared = SVRank(**settings).fit(X, Y, qid=queries)
    assert_array_equal(shared.coef_, alone.coef_)
    assert shared.objective_ == alone.objective_
