"""How members of an ensemble are offered rows: drawn, given, or in orders of their own."""

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import AggregatePRank, streams
from support import online_oracles
from support.helpers import (
    AGGREGATES,
    PAPER,
    integer_data,
    plus_one_squared,
    raises_unchanged,
    real_data,
    refuses,
    same,
)

EXAMPLES = settings(max_examples=5 if numba.config.DISABLE_JIT else 20, deadline=None)
X, Y = integer_data(1, n=40)
RNG = np.random.default_rng(0)
MASKS = RNG.integers(0, 4, (40, 5))
# Parameters, and the kernel of the oracle; None for weights.
KERNELS = {
    "linear": ({}, None),
    "averaged": ({"member_rule": "averaged"}, None),
    "poly": ({"kernel": "poly", "gamma": 1}, online_oracles.polynomial()),
    "function": ({"kernel": plus_one_squared}, online_oracles.polynomial()),
    "budget": ({"budget": 3}, online_oracles.dot),
    "rbf": ({"kernel": "rbf", "gamma": 0.5}, online_oracles.gaussian(0.5)),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)
exact_kernels = pytest.mark.parametrize("name", [name for name in KERNELS if name != "rbf"])


def ensemble(n=5, **options):
    return AggregatePRank(n_estimators=n, **{"random_state": 0, "classes": [1, 2, 3, 4]} | options)


def oracle_of(name, masks, d, aggregate="bayes_point", **view):
    """Return the slow ensemble of a kernel, which is offered rows by masks (members, rounds)."""
    options, kernel = KERNELS[name]

    def member():
        if kernel is None:
            return online_oracles.PRank(d, 4, "last", **view)
        return online_oracles.KernelPRank(4, kernel, "last", options.get("budget"), **view)

    members = [member() for _ in masks]
    return online_oracles.Ensemble(members, masks, aggregate, name == "averaged")


def assert_like(model, oracle):
    """Compare what the two have learnt from small integers, of which no sum is rounded."""
    assert_array_equal(model.votes_, oracle.right)
    assert model.n_mistakes_ == sum(member.mistakes for member in oracle.members)
    assert model.cumulative_loss_ == sum(member.loss for member in oracle.members)
    if not hasattr(model, "coef_"):
        assert_array_equal(model.member_thresholds_, [member.b for member in oracle.members])
        total = {}
        for member in oracle.members:
            for number, coef in member.expansion():
                total[number] = total.get(number, 0) + coef
        assert_array_equal(model.support_, sorted(number for number in total if total[number]))
        expected = [total[number] for number in model.support_.tolist()]
        assert_array_equal(model.dual_coef_ * model.n_estimators, expected)
        return
    rules = oracle.mean_rules()
    assert_allclose(model.member_coef_, [w for w, _ in rules], rtol=1e-14)
    assert_allclose(model.member_thresholds_, [b for _, b in rules], rtol=1e-14)


@st.composite
def given_masks(draw):
    n, members = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    masks = draw(st.lists(st.sampled_from([0, 1, 2, 3, 7]), min_size=n * members, max_size=99))
    seed = draw(st.integers(0, 2**32 - 1))
    return np.reshape(masks[: n * members], (n, members)), *integer_data(seed, n=n, high=2)


@pytest.mark.jit_off
@exact_kernels
@pytest.mark.parametrize("aggregate", AGGREGATES)
@EXAMPLES
@given(given_masks())
def test_masks_say_how_often_each_member_is_offered_a_row(aggregate, name, problem):
    masks, A, b = problem
    options = KERNELS[name][0]
    model = ensemble(masks.shape[1], aggregate=aggregate, **options, **PAPER)
    oracle = oracle_of(name, masks.T.tolist(), A.shape[1], aggregate)
    predicted = model.progressive(A, b, masks=masks)
    assert_array_equal(predicted, oracle.progressive(A.tolist(), b.tolist()))
    assert_like(model, oracle)
    assert_array_equal(model.predict(A), [oracle.predict(x) for x in A.tolist()])


@every_kernel
@pytest.mark.parametrize("sampling", ["bernoulli", "poisson"])
def test_masks_that_were_drawn_can_be_given(sampling, name):
    options = KERNELS[name][0] | {"sampling": sampling}
    drawn = ensemble(**options).fit(X, Y)
    members = drawn._learner.members
    masks = members.masks(slice(0, 5), -members.clock, members.clock)
    model = ensemble(**options).fit(X, Y, masks=masks)
    assert same(vars(model), vars(drawn))


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, bool, list])
def test_masks_of_any_kind(kind):
    masks = np.minimum(MASKS, 1)
    given_as = masks.tolist() if kind is list else masks.astype(kind)
    expected = ensemble().fit(X, Y, masks=masks)
    assert same(vars(ensemble().fit(X, Y, masks=given_as)), vars(expected))


def test_masks_are_of_rows_whatever_their_order():
    model = ensemble(shuffle=True).fit(X, Y, masks=MASKS)
    source = np.random.RandomState(0)
    source.randint(2**63 - 1, dtype=np.int64)
    order = source.permutation(40)
    expected = ensemble().fit(X[order], Y[order], masks=MASKS[order])
    assert_array_equal(model.member_coef_, expected.member_coef_)
    assert_array_equal(model.votes_, expected.votes_)


@every_kernel
def test_a_stream_with_masks_is_its_rows(name):
    options = KERNELS[name][0]
    whole, parts = ensemble(**options).fit(X, Y, masks=MASKS), ensemble(**options)
    for part in (slice(0, 3), slice(3, 4), slice(4, 40)):
        parts.partial_fit(X[part], Y[part], masks=MASKS[part])
    assert_array_equal(parts.votes_, whole.votes_)
    assert_array_equal(parts.member_thresholds_, whole.member_thresholds_)
    assert_array_equal(parts.predict(X), whole.predict(X))


@every_kernel
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_with_masks_a_row_is_predicted_before_it_is_learnt(name, aggregate):
    # tau=1 alone makes members that are all alike.
    options = {**KERNELS[name][0], "tau": 1.0, "aggregate": aggregate}
    progressive = ensemble(**options).progressive(X, Y, masks=MASKS)
    model, predicted = ensemble(**options), []
    for t in range(len(Y)):
        row = slice(t, t + 1)
        predicted += [] if t == 0 else model.predict(X[row]).tolist()
        model.partial_fit(X[row], Y[row], masks=MASKS[row])
    assert_array_equal(progressive[1:], predicted)


def test_a_member_that_is_offered_nothing_learns_nothing():
    masks = MASKS.copy()
    masks[:, 2] = 0
    model = ensemble(max_iter=3).fit(X, Y, masks=masks)
    assert not model.member_thresholds_[2].any()
    assert model.votes_[2] == 0
    assert (model.member_thresholds_[[0, 1, 3, 4]] != 0).any(axis=1).all()


def test_after_masks_come_drawn_ones():
    one, other = (ensemble().fit(X, Y, masks=masks) for masks in (MASKS, np.zeros_like(MASKS)))
    other.partial_fit(X, Y)
    assert (other.votes_ > 0).any()
    assert one.partial_fit(X, Y).n_rounds_ == 80


SHAPE = "masks must have a row per row of X and a column per member, 40 by 5; got an array of"
COUNTS = "masks must be whole numbers from 0 to 255, or booleans; got"
BAD_MASKS = [
    (MASKS.T, f"{SHAPE} shape (5, 40). Transpose it."),
    (MASKS[:39], f"{SHAPE} shape (39, 5)."),
    (MASKS[:, :1], f"{SHAPE} shape (40, 1)."),
    (1, f"{SHAPE} shape ()."),
    (np.where(MASKS == 3, 256, 0), f"{COUNTS} 256 in row "),
    (np.where(MASKS == 3, -1, 0), f"{COUNTS} -1 in row "),
    (np.where(MASKS == 3, 0.5, 0), f"{COUNTS} 0.5 in row "),
    (np.where(MASKS == 3, np.nan, 0), f"{COUNTS} nan in row "),
    (np.full((40, 5), "1"), f"{COUNTS} 1 in row 0 for member 0."),
]


@pytest.mark.parametrize(("masks", "sentence"), BAD_MASKS)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "progressive"])
def test_bad_masks_are_refused(method, masks, sentence):
    model = ensemble().fit(X, Y)
    if sentence.endswith("row "):
        row, member = np.argwhere(MASKS == 3)[0]
        sentence += f"{row} for member {member}."
    with raises_unchanged(model, ValueError, f"AggregatePRank: {sentence}"):
        getattr(model, method)(X, Y, masks=masks)


def orders_of(model, n):
    """Return the orders of each member over all passes, as they are defined."""
    return [
        np.concatenate(
            [
                np.random.RandomState([key >> 32, key % 2**32, number]).permutation(n)
                for number in range(model.max_iter)
            ]
        ).tolist()
        for key in model._learner.members.key.tolist()
    ]


@pytest.mark.jit_off
@exact_kernels
@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(1, 3), st.booleans())
def test_permuted_members_learn_all_rows_in_their_orders(name, seed, n, passes, intercept):
    A, b = integer_data(seed, n=n, high=2)
    view = {"fit_intercept": intercept, "unit_norm": False}
    options = {"sampling": "permutation", "max_iter": passes, "random_state": seed % 1000}
    model = ensemble(3, **options, **KERNELS[name][0], **view).fit(A, b)
    oracle = oracle_of(name, [[], [], []], A.shape[1], intercept=intercept, unit_norm=False)
    online_oracles.learn_permuted(oracle, orders_of(model, n), A.tolist(), b.tolist())
    if not (intercept and hasattr(model, "coef_")):
        assert_like(model, oracle)
    assert_array_equal(model.predict(A), [oracle.predict(x) for x in A.tolist()])
    assert model.n_rounds_ == passes * n


@every_kernel
@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_permuted_real_numbers_are_predicted_as_defined(name, seed, unit_norm):
    A, b = real_data(seed, n=30)
    view = {"intercept": True, "unit_norm": unit_norm}
    options = KERNELS[name][0] | {"sampling": "permutation", "unit_norm": unit_norm}
    model = ensemble(3, **options).fit(A[:20], b[:20])
    oracle = oracle_of(name, [[], [], []], A.shape[1], **view)
    online_oracles.learn_permuted(oracle, orders_of(model, 20), A.tolist(), b.tolist())
    later = [oracle.predict(x) for x in A.tolist()]
    assume(oracle.closest > 1e-9)
    assert_array_equal(model.predict(sparse.csr_array(A)), later)
    assert_array_equal(model.votes_, oracle.right)


@every_kernel
@pytest.mark.parametrize("sampling", ["poisson", "permutation"])
def test_threads_share_the_members(sampling, name):
    options = KERNELS[name][0] | {"sampling": sampling, "max_iter": 2}
    one, four = (ensemble(9, n_jobs=n, **options).fit(X, Y) for n in (1, 4))
    one._learner = one._predicting().with_threads(1)
    four._learner = four._predicting().with_threads(1)
    one.n_jobs = four.n_jobs = None
    assert same(vars(one), vars(four))


def test_more_members_do_not_change_the_orders_of_the_first():
    few, many = (ensemble(n, sampling="permutation").fit(X, Y) for n in (3, 7))
    assert_array_equal(many.member_coef_[:3], few.member_coef_)


def test_a_permuted_precomputed_kernel_is_its_function():
    A, b = real_data(3, n=40)
    options = {"sampling": "permutation", **PAPER}
    values = ensemble(kernel="precomputed", **options).fit(plus_one_squared(A, A), b)
    rows = ensemble(kernel=plus_one_squared, **options).fit(A, b)
    assert_array_equal(values.support_, rows.support_)
    assert_allclose(values.dual_coef_, rows.dual_coef_)
    assert_array_equal(values.predict(plus_one_squared(A, A)), rows.predict(A))


def test_permuted_ensembles_merge():
    one, other = (ensemble(3, sampling="permutation", random_state=s).fit(X, Y) for s in (1, 2))
    merged = one.merge(other)
    assert_array_equal(merged.member_coef_, np.r_[one.member_coef_, other.member_coef_])


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_the_row_that_cannot_be_learnt_is_named(n_jobs):
    damaged = X.copy()
    damaged[[7, 23], 1] = np.inf
    model = ensemble(9, sampling="permutation", n_jobs=n_jobs)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(damaged, Y)
    huge = np.where(np.arange(40)[:, np.newaxis] == 7, 1e200, X)
    with refuses(
        "AggregatePRank: X must be small enough for finite scores; got an overflow by row 7. "
        "Scale the features, or set unit_norm=True."
    ):
        model.set_params(unit_norm=False, kernel="poly", degree=2, budget=5).fit(huge, Y)


NO_TURN = (
    "AggregatePRank: sampling must be 'bernoulli' or 'poisson' to learn rows as they come; got "
    "'permutation', which is of all rows. Call fit."
)


@pytest.mark.parametrize("method", ["partial_fit", "progressive"])
def test_permutations_need_all_rows(method):
    for model in (ensemble(sampling="permutation"), ensemble(sampling="permutation").fit(X, Y)):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError) as refused:
            getattr(model, method)(X, Y)
        assert str(refused.value.__cause__) == NO_TURN
    assert hasattr(ensemble(), method)


def test_a_stream_of_permutations_is_refused():
    with pytest.raises(TypeError) as refused:
        streams.fit(ensemble(sampling="permutation"), streams.from_arrays(X, Y))
    assert NO_TURN in str(refused.value)


def test_permutations_take_no_masks():
    with refuses(
        "AggregatePRank: masks must be None with sampling='permutation', which offers all rows to "
        "all members; got an array of shape (40, 5)."
    ):
        ensemble(sampling="permutation").fit(X, Y, masks=MASKS)


WORDS = "sampling must be one of 'bernoulli', 'poisson', 'permutation'; got"


@pytest.mark.parametrize(
    ("value", "more"), [("bagging", " Did you mean 'poisson'?"), ("Poisson", " Did you mean "
    "'poisson'?"), (None, "")],
)  # fmt: skip
def test_another_sampling_is_refused(value, more):
    with refuses(f"AggregatePRank: {WORDS} {value!r}.{more}"):
        ensemble(sampling=value).fit(X, Y)


def test_another_sampling_cannot_go_on():
    model = ensemble().fit(X, Y).set_params(sampling="poisson")
    sentence = "AggregatePRank: sampling must be 'bernoulli' as when learning began; got 'poisson'."
    with raises_unchanged(model, ValueError, f"{sentence} Call fit to start anew."):
        model.partial_fit(X, Y)
