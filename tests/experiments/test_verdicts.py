"""Comparisons, and verdicts that allow for their number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from peckorder.experiments import Claim, Comparison
from peckorder.experiments.framework import claims
from peckorder.experiments.framework.statistics import difference_text, side


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        ([1, 1], "yes"),
        ([1, 0], "in part"),
        ([1, -1], "in part"),
        ([0, -1], "no"),
        ([-1], "no"),
        ([0, 0], "open"),
        ([], "open"),
    ],
)
def test_verdicts_follow_one_rule(sides, expected):
    assert claims.verdict(sides) == expected


def test_a_side_is_known_only_if_the_interval_is_without_zero():
    values = np.array([1.0, 1.1, 0.9, 1.0])
    assert side(values) == 1
    assert side(-values) == -1
    assert side(values - 1.0) == 0
    assert side(values[:1]) == 0
    assert side(np.array([np.nan, 1.0])) == 0
    # The half width is 12.7 times the standard error.
    assert side(np.array([1.0, 3.0])) == 0
    assert side(np.array([1.9, 2.1])) == 1


def test_a_comparison_is_students_test():
    values = np.array([0.3, 0.1, -0.2, 0.5, 0.4])
    expected = stats.ttest_1samp(values, 0.0).pvalue
    assert claims.above_zero(values).p == pytest.approx(expected, rel=1e-12)
    assert claims.above_zero(np.append(values, np.nan)) == claims.above_zero(values)
    assert claims.above_zero(values).sign == -claims.above_zero(-values).sign == 1
    assert claims.below(values, values + np.array([0.1, 0.2, 0.1, 0.3, 0.1])).sign == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 0.5, 0.5], Comparison(1, 0.0)),
        ([0.5], Comparison(1, 1.0)),
        ([], Comparison(0, 1.0)),
        ([1.0, -1.0], Comparison(0, 1.0)),
        ([np.nan, np.nan], Comparison(0, 1.0)),
    ],
)
def test_comparisons_without_a_spread_or_a_number(values, expected):
    assert claims.above_zero(np.array(values)) == expected


def test_all_of_is_as_sure_as_the_least_sure_and_contradicted_by_one():
    sure, less, against = Comparison(1, 0.001), Comparison(1, 0.3), Comparison(-1, 0.002)
    assert claims.all_of([sure, less]) == Comparison(1, 0.3)
    assert claims.all_of([sure, less, against]) == Comparison(-1, 0.006)
    assert claims.all_of([sure, Comparison(0, 1.0)]) == Comparison(0, 1.0)


STEADY = np.array([-0.01, 0.0, 0.01])


@pytest.mark.parametrize(
    ("differences", "sign", "is_sure"),
    [
        (STEADY, 1, True),
        (1.0 + STEADY, -1, True),
        (-1.0 + STEADY, -1, True),
        (0.049 + STEADY, 1, False),
        (STEADY[:1], 1, False),
    ],
)
def test_within_a_margin(differences, sign, is_sure):
    comparison = claims.within(differences, 0.05)
    assert (comparison.sign, comparison.p < 0.025) == (sign, is_sure)


def holm(values):
    """The procedure step by step: the sure ones, by position."""
    order = sorted(range(len(values)), key=values.__getitem__)
    sure = set()
    for i, position in enumerate(order):
        if values[position] > 0.05 / (len(values) - i):
            break
        sure.add(position)
    return sure


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.05, 0.2]), max_size=4), max_size=5)
)
def test_verdicts_allow_for_all_comparisons_of_the_paper(by_claim):
    made = [Claim("x", tuple(Comparison(1, p) for p in values), "") for values in by_claim]
    judged = claims.judged(made)
    sure = holm([p for values in by_claim for p in values])
    found = [one for claim in judged for one in claim.sides]
    assert {i for i, one in enumerate(found) if one} == sure
    assert [claim.holds for claim in judged] == [claims.verdict(claim.sides) for claim in judged]


def test_a_difference_that_is_sure_alone_is_open_among_many():
    one = Claim("x", (Comparison(1, 0.04),), "")
    assert claims.judged([one])[0].holds == "yes"
    assert [claim.holds for claim in claims.judged([one, one])] == ["open", "open"]
    # What is not left to chance does not count among the many.
    certain = Claim("x", (Comparison(-1, None),) * 9, "")
    assert [claim.holds for claim in claims.judged([one, certain])] == ["yes", "no"]


def test_a_claim_that_cannot_be_judged_keeps_its_words():
    claim = Claim("x", (), "", "cannot be told")
    assert claims.judged([claim]) == (claim,)


def test_tallies_name_what_there_is():
    claim = Claim("x", (), "", "in part", (1, 1, 0, -1))
    assert claims.tally(claim) == "2 for, 1 against, 1 open"
    assert claims.tally(Claim("x", (), "", "yes", (1, 1))) == "2 for"
    assert claims.tally(Claim("x", (), "", "not tried")) == ""


def test_differences_are_written_with_their_sign():
    assert difference_text(np.array([-0.25])) == "\N{MINUS SIGN}0.250"
    assert difference_text(np.array([1.9, 2.1]), 1) == "+2.0 ± 1.3"
