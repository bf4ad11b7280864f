"""However a stream is cut, the same is learnt from it, to the last bit."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from peckorder.ordinal.learners import base
from support.helpers import (
    KERNEL_LEARNERS,
    LEARNERS,
    MAKERS,
    integer_data,
    make,
    messy_csr,
    real_data,
    same,
    shown,
)

K, N = 4, 60
CLASSES = range(1, K + 1)
FORMS = {"dense": np.asarray, "csr": sparse.csr_array, "messy": lambda X: messy_csr(X, 1)}
every_learner = pytest.mark.parametrize("name", MAKERS)
# Those that number no rows, and so cannot tell one that comes again.
without_numbers = pytest.mark.parametrize("name", LEARNERS)
with_numbers = pytest.mark.parametrize(
    "name", [name for name in KERNEL_LEARNERS if "members" not in name]
)
every_form = pytest.mark.parametrize("form", FORMS)
views = st.fixed_dictionaries({"fit_intercept": st.booleans(), "unit_norm": st.booleans()})
cuts = st.sets(st.integers(1, N - 1), max_size=8).map(sorted)
seeds = st.integers(0, 10_000)
FEW = settings(max_examples=20)


def batches(X, y, where):
    bounds = [0, *where, len(y)]
    return [(X[a:b], y[a:b]) for a, b in pairwise(bounds)]


@every_learner
@every_form
@FEW
@given(seeds, cuts, views)
def test_any_cut_into_batches_learns_what_fit_does(name, form, seed, where, view):
    X, y = real_data(seed, N, k=K)
    X = FORMS[form](X)
    whole = make(name, **view).fit(X, y)
    parts = make(name, **view)
    for rows, some in batches(X, y, where):
        parts.partial_fit(rows, some, classes=CLASSES)
    assert same(shown(parts, X), shown(whole, X))


@every_learner
@every_form
@pytest.mark.parametrize("block", [1, 7, 59, 60])
def test_blocks_do_not_show(name, form, block, monkeypatch):
    X, y = real_data(3, N, k=K)
    X = FORMS[form](X)
    options = {"max_iter": 3, "shuffle": True, "random_state": 5}
    whole = make(name, **options).fit(X, y)
    monkeypatch.setattr(base, "BLOCK", block)
    found, expected = shown(make(name, **options).fit(X, y), X), shown(whole, X)
    if name == "rbf constant":
        # Its coefficients are no integers: in several passes blocks add them up in parts.
        for part in ("dual_coef_", "decision_function"):
            assert_allclose(found.pop(part), expected.pop(part), rtol=1e-12, atol=1e-13)
    assert same(found, expected)


@every_learner
@pytest.mark.parametrize("block", [1, 7, 59])
def test_blocks_do_not_show_in_progressive_predictions(name, block, monkeypatch):
    X, y = real_data(4, N, k=K)
    whole = make(name).progressive(X, y)
    monkeypatch.setattr(base, "BLOCK", block)
    assert_array_equal(make(name).progressive(X, y), whole)


@every_learner
@FEW
@given(seeds, cuts)
def test_progressive_predictions_do_not_depend_on_the_cuts(name, seed, where):
    X, y = real_data(seed, N, k=K)
    model = make(name)
    parts = [model.progressive(*batch, classes=CLASSES) for batch in batches(X, y, where)]
    assert_array_equal(np.concatenate(parts), make(name).progressive(X, y))


@every_learner
@FEW
@given(seeds, views)
def test_progressive_leaves_what_partial_fit_leaves(name, seed, view):
    X, y = real_data(seed, N, k=K)
    silent, speaking = make(name, **view), make(name, **view)
    silent.partial_fit(X, y)
    speaking.progressive(X, y)
    assert same(shown(speaking, X), shown(silent, X))


@every_learner
@settings(max_examples=8)
@given(seeds, st.booleans())
def test_progressive_is_to_predict_and_then_to_learn(name, seed, intercept):
    # In integers, so that no rounding tells the two ways of averaging apart.
    X, y = integer_data(seed, n=25, k=K)
    view = {"fit_intercept": intercept, "unit_norm": False, "classes": CLASSES}
    if name == "rbf perceptron":
        view |= {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
    said = make(name, **view).progressive(X, y)
    model = make(name, **view).partial_fit(X[:1], y[:1])
    step_by_step = []
    for i in range(1, len(y)):
        step_by_step.extend(model.predict(X[i : i + 1]))
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_array_equal(said[1:], step_by_step)


@every_learner
@every_form
def test_an_unpickled_model_goes_on_as_if_nothing_had_happened(name, form):
    X, y = real_data(6, N, k=K)
    X = FORMS[form](X)
    model = make(name).partial_fit(X[:40], y[:40])
    revived = pickle.loads(pickle.dumps(model))
    assert same(shown(revived, X), shown(model, X))
    revived.partial_fit(X[40:], y[40:])
    assert same(shown(revived, X), shown(make(name).fit(X, y), X))


@every_learner
def test_a_copy_goes_its_own_way(name):
    X, y = real_data(6, N, k=K)
    model = make(name).partial_fit(X[:40], y[:40])
    before = copy.deepcopy(vars(model))
    copy.copy(model).partial_fit(X[40:], y[40:])
    assert same(vars(model), before)


@every_learner
def test_a_clone_has_the_parameters_only(name):
    X, y = real_data(6, N, k=K)
    model = make(name, max_iter=3, shuffle=True, random_state=2)
    untaught = clone(model.fit(X, y))
    assert vars(untaught) == untaught.get_params() == model.get_params()


@every_learner
def test_a_clone_learns_the_same(name):
    X, y = real_data(6, N, k=K)
    model = make(name, max_iter=3, shuffle=True, random_state=2).fit(X, y)
    assert same(shown(clone(model).fit(X, y), X), shown(model, X))


@every_learner
def test_the_random_state_decides_the_order(name):
    X, y = real_data(7, N, k=K)
    options = {"shuffle": True, "max_iter": 2}
    once = make(name, random_state=np.random.RandomState(1), **options).fit(X, y)
    again = make(name, random_state=1, **options).fit(X, y)
    assert same(shown(again, X), shown(once, X))


@without_numbers
def test_shuffling_visits_the_rows_in_the_drawn_order(name):
    X, y = real_data(7, N, k=K)
    order = np.random.RandomState(3).permutation(N)
    shuffled = make(name, shuffle=True, random_state=3).fit(X, y)
    assert same(shown(shuffled, X), shown(make(name).fit(X[order], y[order]), X))


@with_numbers
def test_shuffled_rows_keep_their_numbers(name):
    X, y = real_data(7, N, k=K)
    order = np.random.RandomState(3).permutation(N)
    shuffled = shown(make(name, shuffle=True, random_state=3).fit(X, y), X)
    expected = shown(make(name).fit(X[order], y[order]), X)
    if "support_" in expected:
        number = order[expected["support_"]]
        sorter = np.argsort(number)
        expected["support_"] = number[sorter]
        expected["dual_coef_"] = expected["dual_coef_"][..., sorter]
    assert same(shuffled, expected)


@with_numbers
def test_a_second_pass_learns_what_going_on_does(name):
    # In integers, so that it does not matter when the parts of a sum are added up.
    X, y = integer_data(8, N, k=K)
    twice = make(name, max_iter=2, unit_norm=False).fit(X, y)
    model = make(name, unit_norm=False).fit(X, y).partial_fit(X, y)
    counts = twice.n_rounds_, twice.n_mistakes_, twice.cumulative_loss_
    assert counts == (2 * N, model.n_mistakes_, model.cumulative_loss_)
    assert_array_equal(twice.predict(X), model.predict(X))


@without_numbers
def test_two_passes_are_fit_and_then_partial_fit(name):
    X, y = real_data(8, N, k=K)
    twice = make(name, max_iter=2).fit(X, y)
    model = make(name).fit(X, y).partial_fit(X, y)
    assert twice.n_rounds_ == 2 * N
    assert same(shown(twice, X), shown(model, X))


@every_learner
def test_n_iter_counts_the_passes_of_the_last_call(name):
    X, y = real_data(8, N, k=K)
    model = make(name, max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    assert model.partial_fit(X, y).n_iter_ == 1


@every_learner
def test_fit_forgets_what_went_before(name):
    X, y = real_data(9, N, k=K)
    model = make(name).fit(X[:, :2], y % 2).fit(X, y)
    assert same(shown(model, X), shown(make(name).fit(X, y), X))


@every_learner
@pytest.mark.parametrize("order", [("dense", "csr"), ("messy", "dense", "messy")])
def test_batches_may_come_in_different_forms(name, order):
    # In integers, so that the order of a sum does not matter; halves, where an error is
    # shared by two classes of three.
    k = 3 if name.startswith("uniform") else K
    X, y = integer_data(10, N, k=k)
    view = {"unit_norm": False} if name != "normalized" else {"fit_intercept": False}
    model = make(name, classes=range(1, k + 1), **view)
    size = N // len(order)
    for i, form in enumerate(order):
        some = slice(i * size, (i + 1) * size)
        model.partial_fit(FORMS[form](X[some]), y[some])
    assert_array_equal(model.predict(X), make(name, **view).fit(X, y).predict(X))


def test_rules_of_single_and_double_precision_vote_together():
    X, y = integer_data(11, N, k=K)
    model = make("voted", unit_norm=False, classes=CLASSES)
    for kind in (np.float32, np.float64):
        model.partial_fit(X.astype(kind), y)
    once = make("voted", unit_norm=False, classes=CLASSES).partial_fit(X, y)
    assert_array_equal(model.mean_rank(X), once.partial_fit(X, y).mean_rank(X))
