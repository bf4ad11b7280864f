"""Preferences: forms, arithmetic, and what is refused."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from peckorder import Preferences
from peckorder.exceptions import DataError
from peckorder.feedback import GradedRows, PairList
from support.helpers import exactly

ABSTAINS = "If a missing label means no opinion on its row, set missing_labels='skip'."
CLICKS = Preferences([2, 2, 0], [0, 1, 1], [1, 3, 1])


def listed(preferences):
    return sorted(zip(*(column.tolist() for column in preferences.pairs()), strict=True))


def test_grades_worked_by_hand():
    # Query a: rows 0, 2, 4 with the grades 3, 1, 1. Query b: rows 1, 3 with 0, 2.
    y, qid = [3, 0, 1, 2, 1], list("ababa")
    unit = Preferences.from_grades(y, qid)
    assert listed(unit) == [(0, 2, 1.0), (0, 4, 1.0), (3, 1, 1.0)]
    gap = Preferences.from_grades(y, qid, weight="gap")
    assert listed(gap) == [(0, 2, 2.0), (0, 4, 2.0), (3, 1, 2.0)]
    exponential = Preferences.from_grades(y, qid, weight="exponential")
    assert listed(exponential) == [(0, 2, 6.0), (0, 4, 6.0), (3, 1, 3.0)]
    assert (unit.total_weight, gap.total_weight, exponential.total_weight) == (3, 6, 15)


def test_weights_are_one_unless_given():
    assert Preferences([1, 2], [0, 0]).pairs().weight.tolist() == [1.0, 1.0]


def test_a_pair_may_repeat_and_be_contradicted():
    both = Preferences([0, 0, 1], [1, 1, 0])
    assert (both.n_pairs, both.total_weight) == (3, 3.0)


@pytest.mark.parametrize(
    "form", [list, tuple, np.array, pd.Series, pl.Series, lambda v: np.array(v, np.uint8)]
)
def test_columns_of_every_kind_are_taken(form):
    assert listed(Preferences(form([2, 1]), form([0, 0]), form([3, 4]))) == [
        (1, 0, 4.0),
        (2, 0, 3.0),
    ]
    assert listed(Preferences.from_grades(form([7, 9]))) == [(1, 0, 1.0)]
    assert listed(CLICKS.restrict(form([2, 0]))) == [(0, 1, 1.0)]


@pytest.mark.parametrize(
    "y",
    [
        pd.Categorical(["good", "poor"], categories=["poor", "good"], ordered=True),
        pl.Series(["good", "poor"], dtype=pl.Enum(["poor", "good"])),
        [True, False],
        np.array([0.25, -0.5], dtype=np.float32),
    ],
    ids=["pandas", "polars", "booleans", "float32"],
)
def test_whatever_has_an_order_is_a_grade(y):
    assert listed(Preferences.from_grades(y)) == [(0, 1, 1.0)]


def test_a_large_list_is_never_listed():
    y = np.random.default_rng(0).integers(0, 5, 200_000)
    preferences = Preferences.from_grades(y, weight="gap")
    sizes = np.bincount(y).tolist()
    pairs = [(a, b) for a in range(5) for b in range(a)]
    assert len(preferences) == sum(sizes[a] * sizes[b] for a, b in pairs)
    total = sum(sizes[a] * sizes[b] * (a - b) for a, b in pairs)
    assert preferences.total_weight == total
    half = preferences.restrict(np.arange(200_000) % 2 == 0)
    assert len(half) == len(Preferences.from_grades(y[::2]))


def test_parts_say_what_they_are_made_of():
    both = CLICKS + 2 * Preferences.from_grades([1, 0, 1, 4], list("abba"))
    pairs, graded = both.parts
    assert isinstance(pairs, PairList)
    assert isinstance(graded, GradedRows)
    assert graded.rows.tolist() == [0, 3, 1, 2]
    assert graded.grade.tolist() == [1.0, 4.0, 0.0, 1.0]
    assert graded.offsets.tolist() == [0, 2, 4]
    assert (graded.kind, graded.scale) == ("unit", 2.0)


def test_queries_without_rows_disappear():
    graded = Preferences.from_grades([1, 0, 1, 4, 2], list("abbac")).restrict([2, 1])
    assert graded.parts[0].offsets.tolist() == [0, 2]
    assert listed(graded) == [(0, 1, 1.0)]


def test_sum_adds_any_number_of_feedbacks():
    assert listed(sum([CLICKS, CLICKS])) == listed(CLICKS + CLICKS)
    assert (CLICKS * np.float32(2)).total_weight == 10.0
    assert (0 * CLICKS).total_weight == 0.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: CLICKS + 1,
        lambda: 1 + CLICKS,
        lambda: CLICKS * "2",
        lambda: True * CLICKS,
        lambda: CLICKS * CLICKS,
        lambda: np.ones(3) * CLICKS,
    ],
)
def test_other_operands_are_refused_by_python(make):
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        make()


def test_nothing_changes_afterwards():
    rows, weight = np.array([2, 1]), np.array([1.0, 2.0])
    explicit = Preferences(rows, [0, 0], weight)
    rows[0], weight[0] = 5, 5.0
    assert listed(explicit) == [(1, 0, 2.0), (2, 0, 1.0)]
    y = np.array([1.0, 2.0])
    graded = Preferences.from_grades(y)
    y[0] = 9.0
    assert listed(graded) == [(1, 0, 1.0)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        explicit.parts = ()
    arrays = [*explicit.pairs(), *explicit.restrict([0, 1]).parts[0].pairs, explicit.sizes()]
    sized = Preferences.from_labels([1, 2, 2])
    for part in (*sized.parts, *sized.restrict([0, 1]).parts, *sized.without_sizes().parts):
        arrays += [*part.pairs, *([] if part.size is None else [part.size])]
    for made in (graded, graded.restrict([1, 0]), 2 * graded):
        part = made.parts[0]
        arrays += [part.rows, part.grade, part.offsets]
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_the_same(again):
    original = CLICKS + Preferences.from_grades([1, 2, 3])
    other = again(original)
    other = pickle.loads(other) if again is pickle.dumps else other
    assert listed(other) == listed(original)
    assert repr(other) == "Preferences(n_pairs=6, total_weight=8.0)"


def test_nothing_may_be_left():
    for preferences in (CLICKS, Preferences.from_grades([1, 2])):
        for rows in ([], [0], [7, 9]):
            rest = preferences.restrict(rows)
            assert (len(rest), rest.total_weight, listed(rest)) == (0, 0.0, [])


def test_grades_may_make_no_pair():
    assert len(Preferences.from_grades([1, 1, 2], list("aab"))) == 0


REFUSED = {
    "lengths": (
        lambda: Preferences([1, 2, 3], [0, 0]),
        "worse must be as long as better, 3 in all; got 2.",
    ),
    "empty": (lambda: Preferences([], []), "better must be at least one row number; got []."),
    "half empty": (
        lambda: Preferences([], [1]),
        "worse must be as long as better, 0 in all; got 1.",
    ),
    "self": (
        lambda: Preferences([1, 4], [0, 4]),
        "worse must be other rows than better; got row 4 for both in pair 1.",
    ),
    "negative row": (
        lambda: Preferences([1, 2], [0, -1]),
        "worse must be row numbers, integers >= 0; got -1 in place 1.",
    ),
    "real row": (
        lambda: Preferences([1.5, 2.0], [0, 0]),
        "better must be row numbers, integers >= 0; got 1.5 in place 0.",
    ),
    "mask": (
        lambda: Preferences([True, False], [0, 1]),
        "better must be row numbers, integers >= 0; got True in place 0.",
    ),
    "name": (
        lambda: Preferences(["a"], [0]),
        "better must be row numbers, integers >= 0; got 'a' in place 0.",
    ),
    "huge row": (
        lambda: Preferences(np.array([2**63], dtype=np.uint64), [0]),
        "better must be row numbers, integers >= 0; got 9223372036854775808 in place 0.",
    ),
    "matrix": (
        lambda: Preferences([[1, 2]], [0]),
        "better must be one-dimensional; got an array of shape (1, 2).",
    ),
    "nothing": (
        lambda: Preferences(None, [0]),
        "better must be one-dimensional; got an array of shape ().",
    ),
    "number of weights": (
        lambda: Preferences([1, 2], [0, 0], [1.0]),
        "weight must be one number per pair, 2 in all; got an array of shape (1,).",
    ),
    "one weight": (
        lambda: Preferences([1, 2], [0, 0], 1.0),
        "weight must be one number per pair, 2 in all; got an array of shape ().",
    ),
    "negative weight": (
        lambda: Preferences([1, 2], [0, 0], [1.0, -0.5]),
        "weight must be finite numbers >= 0; got -0.5 in place 1.",
    ),
    "nan weight": (
        lambda: Preferences([1, 2], [0, 0], [np.nan, 1.0]),
        "weight must be finite numbers >= 0; got nan in place 0.",
    ),
    "infinite weight": (
        lambda: Preferences([1, 2], [0, 0], [1.0, np.inf]),
        "weight must be finite numbers >= 0; got inf in place 1.",
    ),
    "weight in words": (
        lambda: Preferences([1], [0], ["much"]),
        "weight must be finite numbers >= 0; got 'much' in place 0.",
    ),
    "number of sizes": (
        lambda: Preferences([1, 2], [0, 0], size=[1.0]),
        "size must be one number per pair, 2 in all; got an array of shape (1,).",
    ),
    "negative size": (
        lambda: Preferences([1, 2], [0, 0], size=[1.0, -0.5]),
        "size must be finite numbers >= 0; got -0.5 in place 1.",
    ),
    "nan size": (
        lambda: Preferences([1, 2], [0, 0], size=[np.nan, 1.0]),
        "size must be finite numbers >= 0; got nan in place 0.",
    ),
    "labels too far apart": (
        lambda: Preferences.from_labels([-1.5e308, 1.5e308]),
        "y must have finite differences; got an overflow.",
    ),
    "nan label": (
        lambda: Preferences.from_labels([1.0, np.nan]),
        f"y must be finite numbers; got nan in row 1. {ABSTAINS}",
    ),
    "sum of weights": (
        lambda: Preferences([1, 2], [0, 0], [1e308, 1e308]),
        "weight must be small enough for a finite sum of weights; got an overflow.",
    ),
    "no grades": (lambda: Preferences.from_grades([]), "y must be at least one grade; got []."),
    "nan grade": (
        lambda: Preferences.from_grades([1.0, np.nan]),
        f"y must be finite numbers; got nan in row 1. {ABSTAINS}",
    ),
    "infinite grade": (
        lambda: Preferences.from_grades([np.inf, 1.0], weight="gap"),
        "y must be finite numbers; got inf in row 0.",
    ),
    "missing grade": (
        lambda: Preferences.from_grades(
            pd.Categorical(["a", None], categories=["a", "b"], ordered=True)
        ),
        f"y must be without missing grades; got None in row 1. {ABSTAINS}",
    ),
    "grade in words": (
        lambda: Preferences.from_grades(["good", "poor"]),
        "y must be numbers or an ordered categorical; got 'good' in row 0.",
    ),
    "grades too near": (
        lambda: Preferences.from_grades([2**53, 2**53 + 1]),
        "y must be less than 2**53 in size; got 9007199254740992 in row 0.",
    ),
    "real grade": (
        lambda: Preferences.from_grades([1.0, 0.5], weight="exponential"),
        "y must be finite integers >= 0 if weight='exponential'; got 0.5 in row 1.",
    ),
    "negative grade": (
        lambda: Preferences.from_grades([-1, 2], weight="exponential"),
        "y must be finite integers >= 0 if weight='exponential'; got -1 in row 0.",
    ),
    "endless grade": (
        lambda: Preferences.from_grades([1.0, np.inf], weight="exponential"),
        "y must be finite integers >= 0 if weight='exponential'; got inf in row 1.",
    ),
    "huge grade": (
        lambda: Preferences.from_grades([0, 5000], weight="exponential"),
        "y must be small enough for a finite sum of weights; got an overflow.",
    ),
    "huge gap": (
        lambda: Preferences.from_grades([-1e308, 1e308], weight="gap"),
        "y must be small enough for a finite sum of weights; got an overflow.",
    ),
    "queries": (
        lambda: Preferences.from_grades([1, 2, 3], qid=[0, 0]),
        "qid must be one value per row, 3 in all; got 2.",
    ),
    "repeated rows": (
        lambda: CLICKS.restrict([3, 1, 0, 1]),
        "rows must be distinct; got row 1 twice.",
    ),
    "a short mask": (
        lambda: CLICKS.restrict([True]),
        "rows must be a mask of all rows, 3 at least; got 1.",
    ),
    "negative rows": (
        lambda: CLICKS.restrict([0, -1]),
        "rows must be row numbers, integers >= 0; got -1 in place 1.",
    ),
    "huge sum": (
        lambda: Preferences([0], [1], [1e308]) + Preferences([0], [1], [1e308]),
        "a sum must be small enough for a finite sum of weights; got an overflow.",
    ),
    "huge multiple": (
        lambda: 1e308 * CLICKS,
        "a factor must be small enough for a finite sum of weights; got an overflow.",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(make, sentence):
    with pytest.raises(DataError, match=exactly(f"Preferences: {sentence}")):
        make()


FACTOR = "a factor must be a finite number >= 0; got"
REFUSED_PARAMETERS = {
    "a negative factor": (lambda: -1 * CLICKS, f"{FACTOR} -1."),
    "a negative fraction": (lambda: -0.5 * CLICKS, f"{FACTOR} -0.5."),
    "too few rows": (
        lambda: CLICKS.components(2),
        "n_rows must be a number of rows, 3 at least; got 2.",
    ),
    "an infinite factor": (lambda: np.inf * CLICKS, f"{FACTOR} inf."),
    "a factor of nan": (lambda: np.nan * CLICKS, f"{FACTOR} nan."),
    "an unknown weight": (
        lambda: Preferences.from_grades([1, 2], weight="gaps"),
        "weight must be one of 'unit', 'gap', 'exponential'; got 'gaps'. Did you mean 'gap'?",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), REFUSED_PARAMETERS.values(), ids=REFUSED_PARAMETERS)
def test_refused_parameters(make, sentence):
    with pytest.raises(ValueError, match=exactly(f"Preferences: {sentence}")):
        make()


@pytest.mark.parametrize("preferences", [CLICKS, Preferences.from_grades([5, 3, 1])])
def test_rows_are_checked(preferences):
    preferences.check_rows(3)
    sentence = "y must be preferences among the 2 rows of X; got row 2."
    with pytest.raises(DataError, match=exactly(sentence)):
        preferences.check_rows(2)


@pytest.mark.parametrize(
    ("preferences", "what"),
    [
        (0 * CLICKS, "weights of zero only"),
        (CLICKS.restrict([0]), "no pair at all"),
        (Preferences.from_grades([1, 1]), "no pair at all"),
    ],
)
def test_feedback_without_weight_is_refused(preferences, what):
    sentence = f"y must be at least one pair with a weight > 0; got {what}."
    with pytest.raises(DataError, match=exactly(sentence)):
        preferences.check_rows(9)


def test_pairs_of_several_parts_are_in_the_order_of_parts():
    both = CLICKS + Preferences.from_grades([0, 1])
    assert_array_equal(both.pairs().better, [2, 2, 0, 1])


@pytest.mark.parametrize("factor", [1, 10**12])
def test_row_numbers_of_any_size_are_found(factor):
    some = Preferences(factor * np.array([5, 9, 2]), factor * np.array([7, 2, 5]))
    kept = some.restrict(factor * np.array([2, 9, 5])).pairs()
    assert (kept.better.tolist(), kept.worse.tolist()) == ([1, 0], [0, 2])
