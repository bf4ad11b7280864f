import numpy as np
import pytest

from peckorder.experiments.framework.statistics import difference_text, side, verdict


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
    assert verdict(sides) == expected


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


def test_differences_are_written_with_their_sign():
    assert difference_text(np.array([-0.25])) == "\N{MINUS SIGN}0.250"
    assert difference_text(np.array([1.9, 2.1]), 1) == "+2.0 ± 1.3"
