"""Preferences are the pairs that their definition lists."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from peckorder import Preferences

KINDS = {
    "unit": lambda high, low: 1.0,
    "gap": lambda high, low: high - low,
    "exponential": lambda high, low: 2.0**high - 2.0**low,
}
every_kind = pytest.mark.parametrize("kind", KINDS)
FEW = settings(max_examples=40)
grades = st.integers(0, 4)


@st.composite
def graded(draw, grade=grades):
    """Return grades and the queries of a few rows."""
    rows = draw(st.lists(st.tuples(grade, st.sampled_from("abc")), min_size=1, max_size=9))
    return [g for g, _ in rows], [q for _, q in rows]


@st.composite
def feedbacks(draw, depth=2):
    """Return preferences among nine rows and the list of what they consist of."""
    if depth == 0 or draw(st.booleans()):
        return draw(listed_or_graded())
    (a, of_a), (b, of_b) = draw(feedbacks(depth - 1)), draw(feedbacks(depth - 1))
    factor = draw(st.sampled_from([0, 0.5, 1, np.float64(2.0)]))
    return a + factor * b, of_a + [(i, j, factor * w, s) for i, j, w, s in of_b]


@st.composite
def listed_or_graded(draw):
    if draw(st.booleans()):
        y, qid = draw(graded())
        kind = draw(st.sampled_from(sorted(KINDS)))
        return Preferences.from_grades(y, qid, weight=kind), pairs_of(y, qid, kind)
    ends = st.permutations(range(9)).map(lambda rows: rows[:2])
    weights, sizes = st.sampled_from([0.0, 0.25, 1.0, 3.0]), st.sampled_from([0.0, 1.0, 2.5])
    rows = draw(st.lists(st.tuples(ends, weights, sizes), min_size=1, max_size=6))
    better, worse, weight, size = map(list, zip(*((*p, w, s) for p, w, s in rows), strict=True))
    if draw(st.booleans()):
        size = None
    listed = zip(better, worse, weight, size or [1.0] * len(rows), strict=True)
    return Preferences(better, worse, weight, size), list(listed)


def pairs_of(y, qid, kind):
    """List pairs by the definition."""
    rows = range(len(y))
    return [
        (i, j, KINDS[kind](y[i], y[j]), 1.0)
        for i in rows
        for j in rows
        if qid[i] == qid[j] and y[i] > y[j]
    ]


def check(preferences, pairs):
    """Compare the pairs, in any order, and what is said of them."""
    columns = *preferences.pairs(), preferences.sizes()
    found = zip(*(column.tolist() for column in columns), strict=True)
    assert Counter(found) == Counter(pairs)
    assert len(preferences) == preferences.n_pairs == len(pairs)
    total = sum(weight for *_, weight, _ in pairs)
    assert_allclose(preferences.total_weight, total, rtol=1e-12)


def restricted(pairs, rows):
    """Restrict a list of pairs by the definition."""
    place = {row: i for i, row in enumerate(rows)}
    return [(place[i], place[j], *p) for i, j, *p in pairs if i in place and j in place]


@every_kind
@FEW
@given(graded())
def test_grades_make_the_pairs_of_their_definition(kind, rows):
    y, qid = rows
    check(Preferences.from_grades(y, qid, weight=kind), pairs_of(y, qid, kind))
    alone = Preferences.from_grades(y, weight=kind)
    check(alone, pairs_of(y, "a" * len(y), kind))


@pytest.mark.parametrize("kind", ["unit", "gap"])
@FEW
@given(graded(st.floats(-1e6, 1e6)))
def test_grades_may_be_real(kind, rows):
    y, qid = rows
    check(Preferences.from_grades(y, qid, weight=kind), pairs_of(y, qid, kind))


@FEW
@given(feedbacks())
def test_sums_and_multiples_are_those_of_their_pairs(feedback):
    check(*feedback)


@FEW
@given(feedbacks(), st.permutations(range(12)), st.integers(0, 12))
def test_restricted_pairs_are_those_among_the_rows(feedback, order, size):
    preferences, pairs = feedback
    rows = order[:size]
    check(preferences.restrict(rows), restricted(pairs, rows))
    check(preferences.among(rows), [pair for pair in pairs if {*pair[:2]} <= {*rows}])


@FEW
@given(feedbacks(), st.permutations(range(9)), st.data())
def test_restricting_twice_is_restricting_once(feedback, order, data):
    preferences, pairs = feedback
    size = data.draw(st.integers(1, 9))
    places = data.draw(st.permutations(range(size)))[: data.draw(st.integers(0, size))]
    rows = order[:size]
    twice = preferences.restrict(rows).restrict(places)
    check(twice, restricted(pairs, [rows[place] for place in places]))


@FEW
@given(graded())
def test_the_order_of_rows_and_the_names_of_queries_do_not_matter(rows):
    y, qid = rows
    backwards = Preferences.from_grades(y[::-1], [(q, 0) for q in qid[::-1]])
    last = len(y) - 1
    check(backwards, [(last - i, last - j, *p) for i, j, *p in pairs_of(y, qid, "unit")])


@FEW
@given(graded())
def test_the_pairs_of_queries_add_up(rows):
    y, qid = rows
    whole = Preferences.from_grades(y, qid, weight="gap")
    parts = [whole.restrict([row for row, q in enumerate(qid) if q == name]) for name in set(qid)]
    assert sum(part.n_pairs for part in parts) == whole.n_pairs
    assert_allclose(sum(part.total_weight for part in parts), whole.total_weight)


@FEW
@given(feedbacks())
def test_without_sizes_the_order_is_left(feedback):
    preferences, pairs = feedback
    check(preferences.without_sizes(), [(i, j, w, 1.0) for i, j, w, s in pairs if s > 0])
    assert not preferences.without_sizes().has_sizes


@FEW
@given(graded(st.floats(-1e6, 1e6) | grades))
def test_labels_make_a_pair_of_every_two_rows_of_a_query(rows):
    y, qid = rows
    found = Preferences.from_labels(y, qid)
    assert found.has_sizes
    better, worse, weight = found.pairs()
    assert set(weight.tolist()) <= {1.0}
    sizes = dict(zip(zip(better.tolist(), worse.tolist(), strict=True), found.sizes(), strict=True))
    two = [(i, j) for j in range(len(y)) for i in range(j) if qid[i] == qid[j]]
    assert len(found) == len(sizes) == len(two)
    for i, j in two:
        ends = (i, j) if (i, j) in sizes else (j, i)
        assert sizes[ends] == y[ends[0]] - y[ends[1]] >= 0
