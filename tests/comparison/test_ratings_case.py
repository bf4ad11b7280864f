"""Beyond a number of ratings the contest is held on those of some people."""

import numpy as np
import pytest

from peckorder.comparison.contest import run_contest
from peckorder.comparison.ratings_case import make_ratings_case
from peckorder.tables.columns import Columns
from peckorder.tables.task import recognise


def test_people_are_drawn_to_test_and_to_learn_from():
    rng = np.random.default_rng(0)
    user, item = (a.ravel() for a in np.meshgrid(np.arange(60), np.arange(12)))
    rating = rng.integers(1, 6, len(user))
    columns = Columns({"user": user, "item": item, "rating": rating}, "made")
    task = recognise(columns)
    case = make_ratings_case(columns, task, most_people=15, most_ratings=300)
    assert len(case.ratings) == 720
    assert len(case.people) == 15
    assert case.sample.n_users == 300 // 12
    assert case.notes == (
        "15 of 60 people were drawn at random to be tested (--rows).",
        "To learn from, 25 of 60 people were drawn at random, with 300 of 720 ratings.",
    )
    contest = run_contest(case, n_splits=3, only=["Ridge"])
    asked = case.held_out(seed=0)
    tested = case.sample.users[case.people]
    assert set(case.sample.users[asked.user]) == set(tested)
    # Half of what each gave is asked, and what is asked is what was given.
    assert len(asked.user) == 15 * 6
    given = dict(zip(zip(user, item, strict=True), rating, strict=True))
    who, what = case.sample.users[asked.user], case.sample.items[asked.item]
    truth = [given[pair] for pair in zip(who, what, strict=True)]
    assert asked.value.tolist() == truth
    assert contest.unit == "people"


def test_few_ratings_are_all_learnt_from():
    user, item = (a.ravel() for a in np.meshgrid(np.arange(20), np.arange(6)))
    columns = Columns({"user": user, "item": item, "rating": (user + item) % 5}, "made")
    case = make_ratings_case(columns, recognise(columns))
    assert case.sample is case.ratings
    assert case.notes == ()


@pytest.mark.parametrize("name", ["Nearest people", "Vector similarity", "Correlation"])
def test_a_person_with_equal_ratings_has_the_item_means(name):
    rng = np.random.default_rng(0)
    user, item = (a.ravel() for a in np.meshgrid(np.arange(20), np.arange(8)))
    rating = np.where(user == 7, 3, rng.integers(1, 6, len(user)))
    # All that the last person rated is rated by nobody else.
    item = np.where(user == 19, item + 100, item)
    columns = Columns({"user": user, "item": item, "rating": rating}, "made")
    case = make_ratings_case(columns, recognise(columns))
    contest = run_contest(case, n_splits=3, only=[name])
    assert contest.left_out == ()
    result = next(result for result in contest.results if result.name == name)
    means = next(result for result in contest.results if result.name == "(the item mean)")
    asked = case.held_out(seed=0).user
    for person in (7, 19) if name == "Nearest people" else ():
        mine = case.sample.users[asked] == person
        assert mine.any()
        np.testing.assert_array_equal(result.answers[mine], means.answers[mine])
    assert not np.array_equal(result.answers, means.answers)
