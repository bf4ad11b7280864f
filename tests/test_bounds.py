import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from peckorder.bounds import (
    prank_mistake_bound,
    rankboost_vc_bound,
    stability_bound,
    stability_coefficient,
)
from support.helpers import refuses

# Scores -3, 0, 4; thresholds -1, 2: the margins are 2, 1, 2, the least of them 1.
# The rule has norm sqrt(1 + 1 + 4), so gamma^2 = 1/6; R^2 = 16 and k - 1 = 2.
X, Y, W, B = [[-3.0], [0.0], [4.0]], [1, 2, 3], [1.0], [-1.0, 2.0]
TIGHT, PRINTED = (2 * 16 + 1) * 6, 2 * (16 + 1) * 6


def test_the_bounds_worked_by_hand():
    assert_allclose(prank_mistake_bound(X, Y, W, B), [TIGHT, PRINTED], rtol=1e-12)


def test_the_bounds_have_names():
    bound = prank_mistake_bound(X, Y, W, B)
    assert (bound.tight, bound.printed) == tuple(bound)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, np.uint8])
def test_the_bounds_do_not_depend_on_the_kind_of_number(kind):
    # R^2 = 40,000 is more than a small integer holds.
    X = np.array([[0], [200]] if kind is np.uint8 else [[0], [100]], dtype=kind)
    expected = prank_mistake_bound(X.astype(float), [1, 2], [1.0], [50.0])
    assert_allclose(prank_mistake_bound(X, [1, 2], [1.0], [50.0]), expected, rtol=1e-6)


def test_sparse_rows_have_the_same_bounds():
    bound = prank_mistake_bound(sparse.csr_array(X), Y, W, B)
    assert_allclose(bound, [TIGHT, PRINTED], rtol=1e-12)


def test_the_scale_of_the_rule_does_not_matter():
    bound = prank_mistake_bound(X, Y, [7.0], [-7.0, 14.0])
    assert_allclose(bound, [TIGHT, PRINTED], rtol=1e-12)


def test_labels_may_be_words():
    bound = prank_mistake_bound(X, ["c", "a", "b"], W, B, classes=["c", "a", "b"])
    assert_allclose(bound, [TIGHT, PRINTED], rtol=1e-12)


def test_classes_that_do_not_occur_count():
    # k - 1 = 3; a threshold at 5 has the least margin, 1, as before.
    bound = prank_mistake_bound(X, Y, W, [-1.0, 2.0, 5.0], classes=[1, 2, 3, 4])
    assert bound.tight == pytest.approx((3 * 16 + 1) * 31, rel=1e-12)


@pytest.mark.parametrize("b", [[-3.0, 2.0], [-1.0, -1.0], [1.0, 2.0]])
def test_a_rule_that_does_not_separate_bounds_nothing(b):
    # Of these the first has a row on its threshold, the others one beyond it.
    assert prank_mistake_bound(X, Y, W, b) == (np.inf, np.inf)


def test_the_zero_rule_bounds_nothing():
    assert prank_mistake_bound(X, Y, [0.0], [0.0, 0.0]) == (np.inf, np.inf)


@pytest.mark.parametrize("size", [1e-200, 1e-5, 1e5, 1e200])
def test_neither_the_length_of_a_rule_nor_that_of_rows_matters(size):
    rule = prank_mistake_bound(X, Y, np.multiply(size, W), np.multiply(size, B))
    assert_allclose(rule, [TIGHT, PRINTED], rtol=1e-12)
    # With the threshold at zero the margin grows with the rows.
    for form in (np.array, sparse.csr_array):
        rows = form(np.array([[-size], [size]]))
        bound = prank_mistake_bound(rows, [1, 2], [1.0], [0.0])
        with np.errstate(over="ignore"):
            slack = np.float64(1.0 / size) ** 2
        assert_allclose(bound, [1.0 + slack, 1.0 + slack], rtol=1e-12)


# Arguments other than those above, and the sentence that refuses them.
REFUSED = [
    (
        {"X": [[1.7e308, 1.7e308]] * 2, "y": [1, 2], "coef": [1.0, 1.0], "thresholds": [0.0]},
        "X must be small enough for its scores to be finite; got rows of norms up to inf.",
    ),
    *(
        ({"coef": coef}, f"coef must be 1 finite weights, one per feature; got {coef!r}.")
        for coef in ([1.0, 2.0], [[1.0]], [np.nan], [], [10**400])
    ),
    *(
        (
            {"thresholds": thresholds},
            f"thresholds must be 2 finite thresholds, one less than classes; got {thresholds!r}.",
        )
        for thresholds in ([0.0], [0.0, 1.0, 2.0], [0.0, np.inf])
    ),
    ({"thresholds": [2.0, -1.0]}, "thresholds must be ascending; got [2.0, -1.0]."),
    ({"y": Y[:2]}, "y must be one label per row; got 2 labels for 3 rows."),
    ({"y": [1, 1, 1], "thresholds": []}, "y must hold at least two classes; got one class, [1]."),
]


@pytest.mark.parametrize(("changed", "sentence"), REFUSED)
def test_arguments_of_the_mistake_bound_are_refused(changed, sentence):
    arguments = {"X": X, "y": Y, "coef": W, "thresholds": B} | changed
    with refuses(f"prank_mistake_bound: {sentence}"):
        prank_mistake_bound(**arguments)


def test_a_missing_value_is_refused():
    with pytest.raises(ValueError, match=r"(?m)^Input X contains NaN\.$"):
        prank_mistake_bound([[np.nan], [0.0], [1.0]], Y, W, B)


@pytest.mark.parametrize("case", range(3))
def test_the_bound_on_rankboost_is_the_golden_one(golden, case):
    given = golden("bounds")["theorem3"][case]
    bound = rankboost_vc_bound(
        m=given["m"], n=given["n"], d=given["d"], rounds=given["T"], delta=given["delta"]
    )
    assert bound == pytest.approx(float(given["bound"]), rel=1e-14)


def test_the_bound_on_rankboost_takes_numbers_of_any_size():
    given = {"d": 2, "rounds": 5, "delta": 5e-324}
    assert rankboost_vc_bound(m=10**400, n=10**400, **given) == 0.0
    assert 0.0 < rankboost_vc_bound(m=10**308, n=10**400, **given) < 1e-140
    assert rankboost_vc_bound(m=9, n=9, **given | {"rounds": 10**400}) == np.inf
    assert rankboost_vc_bound(m=10**9, n=10**9, **given) < 1.0


def test_the_bound_on_rankboost_falls_with_rows():
    bounds = [
        rankboost_vc_bound(m=m, n=10**6, d=2, rounds=5, delta=0.1)
        for m in (10, 10**4, 10**6, 10**8)
    ]
    assert bounds[0] == np.inf
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("m", 0, "an integer >= 1"),
        ("n", 1.5, "an integer >= 1"),
        ("rounds", 0, "an integer >= 1"),
        ("d", 1, "a finite number >= 2"),
        ("delta", 0, "a number > 0 and < 1"),
        ("delta", 1.0, "a number > 0 and < 1"),
    ],
)
def test_arguments_of_the_bound_on_rankboost_are_refused(name, value, rule):
    given = {"m": 9, "n": 9, "d": 2, "rounds": 1, "delta": 0.1, name: value}
    sentence = f"rankboost_vc_bound: {name} must be {rule}; got {value!r}."
    with refuses(sentence):
        rankboost_vc_bound(**given)


GIVEN = {"C": 2.0, "kappa": 0.5, "m": 50, "power": 2, "M": 3.0}


def given_by(case):
    names = {"C": "C", "kappa": "kappa", "m": "m", "power": "n", "M": "M"}
    return {name: case[there] for name, there in names.items()}


@pytest.mark.parametrize("case", range(6))
def test_the_stability_bounds_are_the_golden_ones(golden, case):
    case = golden("bounds")["corollary1"][case]
    given, delta = given_by(case), case["delta"]
    assert stability_coefficient(**given) == pytest.approx(case["beta"], rel=1e-14)
    for variant in ("printed", "safe"):
        bound = stability_bound(**given, delta=delta, variant=variant)
        assert bound == pytest.approx(case[variant], rel=1e-14)


def test_all_golden_stability_bounds_are_tried(golden):
    assert len(golden("bounds")["corollary1"]) == 6


def test_the_stability_coefficient_worked_by_hand():
    # sigma = 4 * 3 = 12, so 4 * 2 * 144 * 0.25 / 50.
    assert stability_coefficient(**GIVEN) == pytest.approx(5.76, rel=1e-15)
    assert stability_coefficient(**GIVEN | {"power": 1}) == pytest.approx(0.04)


def test_the_empirical_error_is_added():
    without = stability_bound(**GIVEN, delta=0.1)
    assert stability_bound(**GIVEN, delta=0.1, empirical_error=1.5) == without + 1.5


@pytest.mark.parametrize("power", [1, 2])
def test_the_safe_bound_is_above_the_printed_one(power):
    given = GIVEN | {"power": power, "delta": 0.1}
    printed, safe = (stability_bound(**given, variant=v) for v in ("printed", "safe"))
    assert printed < safe < 3 * printed


def test_the_stability_bounds_take_numbers_of_any_size():
    many = GIVEN | {"m": 10**400}
    assert stability_coefficient(**many) == 0.0
    for variant in ("printed", "safe"):
        assert stability_bound(**many, delta=5e-324, variant=variant) == 0.0
        for name in ("C", "kappa", "M"):
            huge = {name: 10**307, "delta": 0.1, "variant": variant}
            assert stability_bound(**GIVEN | huge) > 1e306
            assert stability_bound(**many | huge) in (0.0, np.inf)
        rare = {"delta": 5e-324, "variant": variant}
        assert stability_bound(**GIVEN, **rare) < 1e5


BAD_STABILITY = [
    ("C", 0.0, "a finite number > 0"),
    ("C", 10**400, "a finite number > 0"),
    ("kappa", 10**400, "a finite number > 0"),
    ("M", 10**400, "a finite number > 0"),
    ("kappa", -1.0, "a finite number > 0"),
    ("m", 0, "an integer >= 1"),
    ("power", 3, "1 or 2"),
    ("M", np.inf, "a finite number > 0"),
]


@pytest.mark.parametrize(("name", "value", "rule"), BAD_STABILITY)
def test_arguments_of_the_stability_coefficient_are_refused(name, value, rule):
    sentence = f"stability_coefficient: {name} must be {rule}; got {value!r}."
    with refuses(sentence):
        stability_coefficient(**GIVEN | {name: value})


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        *BAD_STABILITY,
        ("delta", 1, "a number > 0 and < 1"),
        ("empirical_error", -0.5, "a finite number >= 0"),
        ("variant", "tight", "one of 'printed', 'safe'"),
    ],
)
def test_arguments_of_the_stability_bound_are_refused(name, value, rule):
    sentence = f"stability_bound: {name} must be {rule}; got {value!r}."
    with refuses(sentence):
        stability_bound(**GIVEN | {"delta": 0.1, name: value})
