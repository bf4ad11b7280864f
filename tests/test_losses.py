import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder._core.threads import MIN_ITEMS_PER_THREAD
from peckorder.exceptions import DataError
from peckorder.losses import pair_loss
from peckorder.magnitude.compiled import svrank as compiled
from peckorder.magnitude.svrank_solver import loss as svrank_loss
from support.helpers import refuses

KINDS = ["mp", "svr", "hr", "hmp", "hmpc"]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_power = pytest.mark.parametrize("power", [1, 2])


def epsilon_of(kind, epsilon=0.25):
    return {"epsilon": epsilon} if kind == "svr" else {}


@pytest.mark.jit_off
@pytest.mark.parametrize("case", range(6))
@every_kind
@every_power
def test_the_losses_are_the_golden_ones(golden, case, kind, power):
    given = golden("pairloss")["cases"][case]
    expected = given["results"][f"{kind}{power}"]
    epsilon = epsilon_of(kind, given["eps"])
    value, gradient = pair_loss(kind, given["h"], given["y"], power=power, **epsilon)
    assert value == pytest.approx(expected["sum_over_ordered_pairs"], rel=1e-13)
    assert_allclose(gradient, expected["gradient"], rtol=1e-13, atol=1e-13)


def test_all_golden_cases_are_tried(golden):
    assert len(golden("pairloss")["cases"]) == 6


def test_a_pair_worked_by_hand():
    # Dh = -1, Dy = 2, De = -3; both orders count.
    how = {"scores": [1.0, 0.0], "y": [0, 2]}
    assert pair_loss("mp", **how).value == 2 * 3
    assert pair_loss("svr", **how, epsilon=0.5, power=2).value == 2 * 2.5**2
    assert pair_loss("hr", **how).value == 2 * 1
    assert pair_loss("hmp", **how).value == 2 * 3
    assert pair_loss("hmpc", **how).value == 2 * 3
    assert_array_equal(pair_loss("hr", **how, power=2).gradient, [4.0, -4.0])


def test_a_pair_in_the_right_order_but_too_near():
    # Dh = 1, Dy = 2: "hmpc" asks for the whole of Dy.
    how = {"scores": [0.0, 1.0], "y": [0, 2]}
    losses = {kind: pair_loss(kind, **how).value for kind in KINDS}
    assert losses == {"mp": 2, "svr": 2, "hr": 0, "hmp": 0, "hmpc": 2}


def test_a_pair_too_far_apart():
    how = {"scores": [0.0, 5.0], "y": [0, 2]}
    losses = {kind: pair_loss(kind, **how).value for kind in KINDS}
    assert losses == {"mp": 6, "svr": 6, "hr": 0, "hmp": 0, "hmpc": 0}


def test_hmp_as_printed_jumps():
    just_wrong = pair_loss("hmp", [0.001, 0.0], [0, 1]).value
    assert just_wrong == pytest.approx(2 * 1.001)
    assert pair_loss("hmp", [0.0, 0.0], [0, 1]).value == 0


def test_the_top_counts_more_by_how_high_the_larger_of_two_truths_is():
    # Truths 0, 1, 4: t is 0, 1/4, 1. Both orders of a pair count.
    how = {"y": [0, 1, 4], "top_weight": 8.0}
    low, middle, high = 1 + 8 * 0 / 4, 1 + 8 * 1 / 4, 1 + 8 * 4 / 4
    assert (low, middle, high) == (1, 3, 9)
    # De is 1 for (0, 1), 2 for (0, 4), 1 for (1, 4).
    scores = [0.0, 2.0, 6.0]
    assert pair_loss("mp", scores, **how).value == 2 * (middle * 1 + high * (2 + 1))
    # All scores are equal: "hmpc" costs Dy.
    scores = [7.0, 7.0, 7.0]
    assert pair_loss("hmpc", scores, **how).value == 2 * (middle * 1 + high * (4 + 3))
    # The lowest row is scored above both others.
    scores = [2.0, 0.0, 1.0]
    assert pair_loss("hr", scores, **how).value == 2 * (middle * 2 + high * 1)


@every_power
def test_tied_truths_weigh_as_high_as_they_are(power):
    how = {"y": [0, 2, 2, 4], "top_weight": 2.0, "power": power}
    # Errors are 0, 1, 0, 0: the pairs of the second row differ by 1.
    value = pair_loss("mp", [0.0, 3.0, 2.0, 4.0], **how).value
    assert value == 2 * (2 + 2 + 3)


@every_kind
@every_power
def test_truths_that_are_all_equal_have_no_top(kind, power):
    how = {"power": power} | epsilon_of(kind)
    plain = pair_loss(kind, [1.0, 2.5, 2.0], [3, 3, 3], **how)
    lifted = pair_loss(kind, [1.0, 2.5, 2.0], [3, 3, 3], top_weight=5.0, **how)
    assert lifted.value == pytest.approx(plain.value, rel=1e-14)
    assert_allclose(lifted.gradient, plain.gradient, rtol=1e-14, atol=1e-14)


@every_kind
@every_power
def test_a_query_of_one_row_costs_nothing(kind, power):
    value, gradient = pair_loss(
        kind, [3.0, -2.0], [0, 1], qid=["a", "b"], power=power, **epsilon_of(kind)
    )
    assert value == 0
    assert_array_equal(gradient, [0.0, 0.0])


@every_kind
@every_power
def test_rows_without_weight_cost_nothing(kind, power):
    loss = pair_loss(
        kind, [1.0, 2.0], [2, 1], sample_weight=[0, 0], power=power, **epsilon_of(kind)
    )
    assert loss.value == 0
    assert_array_equal(loss.gradient, [0.0, 0.0])


@every_kind
@every_power
def test_a_row_without_weight_may_be_far_away(kind, power):
    h, y, w = [0.1, 0.3, 1e100], [2.0, 1.0, -1e100], [1.0, 2.0, 0.0]
    how = {"power": power} | epsilon_of(kind)
    got = pair_loss(kind, h, y, sample_weight=w, **how)
    expected = pair_loss(kind, h[:2], y[:2], sample_weight=w[:2], **how)
    assert got.value == pytest.approx(expected.value, rel=1e-14)
    assert_allclose(got.gradient, [*expected.gradient, 0.0], rtol=1e-14)


@every_power
def test_a_single_pair_is_not_drowned_by_those_in_the_band(power):
    h = np.random.default_rng(4).random(1000)
    h[[30, 70]] = 2.0, -1.0
    value, gradient = pair_loss("svr", h, h * 0, epsilon=3 - 2**-30, power=power)
    assert value == 2 * 2 ** (-30.0 * power)
    assert gradient[30] == -gradient[70] == 2 * power * 2 ** (-30.0 * (power - 1))
    assert np.count_nonzero(gradient) == 2


@pytest.mark.parametrize("top_weight", [0.0, 4.0])
@every_kind
@every_power
def test_long_queries_are_the_same_as_by_numpy(kind, power, top_weight):
    rng = np.random.default_rng(5)
    n, epsilon = 700, 0.3
    h, w = rng.standard_normal(n), rng.random(n)
    y = h + rng.standard_normal(n) if power == 1 else rng.integers(0, 4, n)
    dh, dy = np.subtract.outer(h, h), np.subtract.outer(y, y)
    lift = 1 + top_weight * (y - y.min()) / (y.max() - y.min())
    de, weight = dh - dy, np.outer(w, w) * np.maximum.outer(lift, lift)
    loss = {
        "mp": abs(de),
        "svr": np.maximum(0, abs(de) - epsilon),
        "hr": np.where(dh * dy < 0, abs(dh), 0),
        "hmp": np.where(dh * dy < 0, abs(de), 0),
        "hmpc": np.where(dy != 0, np.maximum(0, abs(dy) - np.sign(dy) * dh), 0),
    }[kind]
    sign = np.sign(dh) if kind == "hr" else np.sign(de)
    slope = 2 * weight * power * loss ** (power - 1) * sign * (loss > 0)
    how = {"power": power, "top_weight": top_weight} | epsilon_of(kind, epsilon)
    got = pair_loss(kind, h, y, sample_weight=w, **how)
    assert got.value == pytest.approx((weight * loss**power).sum(), rel=1e-12)
    assert_allclose(got.gradient, slope.sum(axis=1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("top_weight", [0.0, 4.0])
@every_kind
@every_power
def test_threads_and_queries_out_of_order_change_nothing(kind, power, top_weight, monkeypatch):
    rng = np.random.default_rng(6)
    n = 3000
    h, y = rng.standard_normal(n), rng.integers(0, 5, n)
    qid = rng.choice(9, n, p=[0.6, *[0.05] * 8])
    how = {"power": power, "top_weight": top_weight} | epsilon_of(kind)
    alone = pair_loss(kind, h, y, qid=qid, **how)
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "rows", 64)
    monkeypatch.setattr(svrank_loss, "n_cores", lambda: 4)
    shared = pair_loss(kind, h, y, qid=qid, **how)
    assert shared.value == alone.value
    assert_array_equal(shared.gradient, alone.gradient)
    apart = [pair_loss(kind, h[qid == q], y[qid == q], **how) for q in range(9)]
    assert alone.value == pytest.approx(sum(loss.value for loss in apart), rel=1e-13)


@pytest.mark.jit_off
def test_compiled_band_sorts_rows_in_any_order():
    rng = np.random.default_rng(7)
    n = 50
    error, weight = rng.standard_normal(n), rng.random(n)
    offsets, work = np.array([0, 20, 20, n]), np.empty((3, n))
    results = []
    order = np.arange(n)
    for _ in range(2):
        gradient, value = np.empty(n), np.empty(3)
        rows = compiled.ErrorRows(error, weight, order)
        compiled.band(offsets, 0, 3, rows, 0.1, 2, work, gradient, value)
        results.append((value, gradient))
        assert (np.diff(error[order[:20]]) <= 0).all()
        assert (np.diff(error[order[20:]]) <= 0).all()
    assert_array_equal(results[0][0], results[1][0])
    assert_array_equal(results[0][1], results[1][1])
    assert results[0][0][1] == 0


def test_inputs_are_left_as_they_are():
    h, y, w = np.array([2.0, 1.0, 3.0]), np.array([1.0, 2.0, 0.0]), np.ones(3)
    for kind in KINDS:
        pair_loss(kind, h, y, sample_weight=w)
    assert_array_equal(h, [2.0, 1.0, 3.0])
    assert_array_equal(y, [1.0, 2.0, 0.0])
    assert_array_equal(w, np.ones(3))


def test_columns_of_frames_and_views_are_accepted():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"h": [0.5, 2.0, 1.0], "y": [1, 2, 3]}, index=[7, 8, 9])
    expected = pair_loss("mp", [0.5, 2.0, 1.0], [1, 2, 3])
    got = pair_loss("mp", frame["h"], frame["y"].astype("Int64"))
    strided = pair_loss("mp", np.repeat([0.5, 2.0, 1.0], 2)[::2], [1, 2, 3])
    assert got.value == strided.value == expected.value


KIND = "kind must be one of 'mp', 'svr', 'hr', 'hmp', 'hmpc'; got"
NUMBERS = "one number per row, of one row at least; got an array of shape"
OVERFLOW = "scores, y and sample_weight must be small enough for finite sums; got an overflow."
LARGE = {"scores": [1e200, -1e200], "power": 2}
# Arguments other than those of two rows, and the sentence that refuses them.
OPTIONS = [
    ({"kind": "hmpcc"}, f"{KIND} 'hmpcc'. Did you mean 'hmpc' or 'hmp'?"),
    ({"kind": "SVR"}, f"{KIND} 'SVR'. Did you mean 'svr'?"),
    ({"kind": "mprank"}, f"{KIND} 'mprank'. Did you mean 'mp'?"),
    ({"kind": "logistic"}, f"{KIND} 'logistic'."),
    ({"kind": None}, f"{KIND} None."),
    *(
        ({"power": power}, f"power must be 1 or 2; got {power!r}.")
        for power in (0, 3, 1.5, 2.0, True, "1")
    ),
    *(
        (
            {"kind": "svr", "epsilon": epsilon},
            f"epsilon must be a finite number >= 0; got {epsilon!r}.",
        )
        for epsilon in (-0.1, np.nan, np.inf, "wide")
    ),
    *(
        ({"top_weight": top}, f"top_weight must be a finite number >= 0; got {top!r}.")
        for top in (-1, np.nan, np.inf, None)
    ),
    *(
        ({"kind": kind, "epsilon": 0.1}, "epsilon must be 0 unless kind is 'svr'; got 0.1.")
        for kind in ("mp", "hr", "hmp", "hmpc")
    ),
]
DATA = [
    *(
        ({name: [1.0, value]}, f"{name} must be finite; got {value!r} in row 1.")
        for name in ("scores", "y", "sample_weight")
        for value in (np.nan, np.inf, -np.inf)
    ),
    ({"y": [1.0]}, "y must be one number per row, 2 in all; got 1."),
    ({"sample_weight": [1.0]}, "sample_weight must be one number per row, 2 in all; got 1."),
    ({"qid": [1, 1, 1]}, "qid must be one value per row, 2 in all; got 3."),
    ({"sample_weight": [1, -1]}, "sample_weight must be >= 0; got -1.0 in row 1."),
    ({"scores": ["a", "b"]}, "scores must be numbers; got ['a', 'b']."),
    ({"scores": [[1.0], [1.0, 2.0]]}, "scores must be numbers; got [[1.0], [1.0, 2.0]]."),
    ({"scores": [[1.0]]}, f"scores must be {NUMBERS} (1, 1)."),
    ({"scores": []}, f"scores must be {NUMBERS} (0,)."),
    *(({"kind": kind} | LARGE, OVERFLOW) for kind in KINDS),
]


REFUSED = [(ValueError, *case) for case in OPTIONS] + [(DataError, *case) for case in DATA]


@pytest.mark.parametrize(("error", "changed", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_arguments_are_refused(error, changed, sentence):
    arguments = {"kind": "mp", "scores": [1.0, 2.0], "y": [1.0, 2.0]} | changed
    with refuses(f"pair_loss: {sentence}", error):
        pair_loss(**arguments)
