"""Where lists are cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from peckorder.exceptions import DataError
from peckorder.gaps import cut_at_gap, gaps
from support.helpers import refuses


def slow_cut(scores, min_gap, min_rows, max_rows):
    """Cut one list, the obvious way."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    most = len(scores) if max_rows is None else min(max_rows, len(scores))
    best, keep = min_gap, most
    for k in range(min_rows, min(most, len(scores) - 1) + 1):
        gap = scores[order[k - 1]] - scores[order[k]]
        if gap > best:
            best, keep = gap, k
    return [i in order[:keep] for i in range(len(scores))]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.sampled_from([0.0, 1.0, 3.0]),
    st.integers(1, 3),
    st.sampled_from([None, 3, 5]),
)
def test_a_list_is_cut_at_its_first_widest_gap(scores, min_gap, min_rows, max_rows):
    options = {"min_gap": min_gap, "min_rows": min_rows, "max_rows": max_rows}
    assert cut_at_gap(scores, **options).tolist() == slow_cut(scores, *options.values())


def test_every_query_is_cut_by_itself():
    scores = np.array([9.0, 1.0, 8.0, 3.0, 2.0, 0.5])
    qid = ["a", "b", "a", "b", "b", "a"]
    assert cut_at_gap(scores, qid).tolist() == [True, False, True, True, False, False]


def test_gaps_end_with_their_list():
    found = gaps([9.0, 1.0, 8.0, 3.0], ["a", "b", "a", "b"])
    assert_array_equal(found, [1.0, np.nan, np.nan, 2.0])


def test_a_gap_beyond_all_numbers_is_refused_but_cut_at():
    scores = [-1e308, 1e308, 0.9e308]
    sentence = (
        "gaps: scores must be near enough to the next ones for gaps to be finite; got rows 2 and 0."
    )
    with refuses(sentence, DataError):
        gaps(scores)
    assert cut_at_gap(scores).tolist() == [False, True, True]


def test_queries_may_be_any_distance_apart():
    scores, qid = [-1e308, -1.1e308, 1e308, 1.1e308], [0, 0, 1, 1]
    found = gaps(scores, qid)
    assert np.isnan(found[[1, 2]]).all()
    assert found[[0, 3]] == pytest.approx(1e307)
    assert cut_at_gap(scores, qid).tolist() == [True, False, False, True]


def test_one_row_is_kept():
    assert cut_at_gap([0.0]).tolist() == [True]


@pytest.mark.parametrize("function", [gaps, cut_at_gap])
@pytest.mark.parametrize(
    ("scores", "rule"),
    [
        ([1.0, np.nan], "finite; got nan in row 1."),
        ([], "one number per row, of one row at least; got an array of shape (0,)."),
    ],
)
def test_scores_are_refused(function, scores, rule):
    sentence = f"{function.__name__}: scores must be {rule}"
    with refuses(sentence, DataError):
        function(scores)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"min_gap": -1}, "min_gap must be a finite number >= 0; got -1."),
        ({"min_rows": 0}, "min_rows must be an integer >= 1; got 0."),
        ({"min_rows": 3, "max_rows": 2}, "max_rows must be None or an integer >= 3; got 2."),
    ],
)
def test_options_of_a_cut_are_refused(options, sentence):
    with refuses(f"cut_at_gap: {sentence}"):
        cut_at_gap([1.0, 2.0], **options)
