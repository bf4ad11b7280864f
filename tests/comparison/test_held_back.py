"""What is measured is not learnt from: spies take part and record what they are given."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from peckorder.comparison.candidates import Candidate
from peckorder.comparison.contest import run_contest
from peckorder.comparison.ratings_case import make_ratings_case
from peckorder.comparison.refit import refit
from peckorder.comparison.table_case import make_table_case
from peckorder.comparison.tuning import (
    ROUNDS,
    GridTuned,
    IgnoringQueries,
    RoundsTuned,
    StandardizedLabels,
    inner_folds,
    to_classes,
)
from peckorder.tables.columns import Columns
from peckorder.tables.task import recognise

N = 60
ROW = np.arange(float(N))
PERSON = np.repeat([f"p{k}" for k in range(12)], 5)


class Spy(BaseEstimator):
    """Keeps the rows that it learns from and is asked about, told by a column."""

    # Of (rows learnt from, rows asked about), whoever is cloned.
    log: ClassVar = []

    def __init__(self, n_rounds=1, a=0):
        self.n_rounds = n_rounds
        self.a = a

    def fit(self, X, y):
        self.X_ = X
        return self

    def predict(self, X):
        self.log.append((self.X_, X))
        return X[:, 0].copy()


@pytest.fixture(autouse=True)
def log(monkeypatch):
    monkeypatch.setattr(Spy, "log", [])
    return Spy.log


def stages(model, X):
    scores = model.predict(X)
    return iter([scores] * len(ROUNDS))


def with_spies(case, make, *, scaled=False):
    spy = Candidate("spy", make, scaled=scaled)
    return replace(case, candidates=(spy, case.candidates[-1]))


def people_table():
    rng = np.random.default_rng(0)
    order = rng.permutation(N)
    columns = {"row": ROW, "x": rng.normal(size=N), "user": PERSON.astype(object)}
    columns = {name: column[order] for name, column in columns.items()}
    return Columns({**columns, "grade": np.arange(N) % 3}, "made.csv")


def case_of(table, **asked):
    case = make_table_case(table, recognise(table, **asked))
    # The row tells who is who, though it is left out as a number of rows.
    return replace(case, X=np.stack([table.arrays["row"], case.X[:, 0]], axis=1))


def rows_of(X):
    return set(X[:, 0].tolist())


def check_apart(pairs, n_pairs, group=lambda row: row):
    assert len(pairs) == n_pairs
    for learnt, asked in pairs:
        one, other = rows_of(learnt), rows_of(asked)
        assert one
        assert other
        assert not {group(row) for row in one} & {group(row) for row in other}


def person(row):
    return PERSON[int(row)]


def test_a_fold_is_left_out_whole_and_scaled_by_what_is_learnt_from(log):
    table = people_table()
    drop = recognise(table, drop=["user"])
    case = with_spies(make_table_case(table, drop), lambda s: Spy(), scaled=True)
    run_contest(case, n_splits=3)
    assert len(log) == 3
    for learnt, asked in log:
        assert len(learnt) + len(asked) == N
        np.testing.assert_allclose(learnt.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(learnt.std(axis=0), 1)
        assert (abs(asked.mean(axis=0)) > 1e-3).all()


@pytest.mark.parametrize("task", ["ordinal", "magnitude"])
def test_folds_keep_people_whole(log, task):
    case = with_spies(case_of(people_table(), task=task), lambda s: Spy())
    contest = run_contest(case, n_splits=4)
    check_apart(log, 4, person)
    assert (contest.unit, contest.interval_unit) == ("rows", "people")
    assert set().union(*(rows_of(asked) for _, asked in log)) == set(ROW)


CHOOSERS = {
    "GridTuned": (lambda s: GridTuned(Spy(), {"a": [1, 2]}), 2 * 3 + 1),
    "RoundsTuned": (lambda s: RoundsTuned(Spy(), stages), 3 + 1),
    "to classes": (lambda s: to_classes(Spy(), 3), 3 + 1),
    "without queries": (lambda s: IgnoringQueries(RoundsTuned(Spy(), stages)), 3 + 1),
    "standardised": (lambda s: StandardizedLabels(GridTuned(Spy(), {"a": [1]})), 4),
}


@pytest.mark.parametrize("kind", CHOOSERS)
@pytest.mark.parametrize("by_query", [False, True])
def test_settings_are_chosen_on_people_and_queries_left_out(log, kind, by_query):
    make, n_asked = CHOOSERS[kind]
    table = people_table()
    if by_query:
        table = Columns({**table.arrays, "qid": table.arrays["user"]}, "made.csv")
    case = with_spies(case_of(table, task="magnitude"), make)
    run_contest(case, n_splits=2)
    check_apart(log, 2 * n_asked, person)


def test_the_winner_too_chooses_on_people_left_out(log):
    case = with_spies(case_of(people_table()), CHOOSERS["RoundsTuned"][0])
    contest = run_contest(case, n_splits=2)
    log.clear()
    refit(case, contest, "spy")
    check_apart(log, 3, person)


@pytest.mark.parametrize("kind", ["GridTuned", "RoundsTuned", "to classes"])
def test_settings_are_chosen_on_rows_left_out(log, kind):
    make, n_asked = CHOOSERS[kind]
    model = make(None)
    model.fit(np.stack([ROW, ROW**2], axis=1), np.arange(N) % 3.0)
    check_apart(log, n_asked - 1)


class PersonalSpy:
    """Keeps the ratings that it is given, and who is asked about what."""

    log: ClassVar = []

    def fit(self, ratings):
        self.log.append((ratings, []))
        return self

    def scores(self, user, items):
        self.log[-1][1].extend((user, item) for item in items.tolist())
        return np.zeros(len(items))


def test_ratings_to_predict_are_not_learnt_from(monkeypatch):
    monkeypatch.setattr(PersonalSpy, "log", [])
    user, item = (a.ravel() for a in np.meshgrid(np.arange(20), np.arange(6)))
    columns = Columns({"user": user, "item": item, "rating": (user + item) % 5}, "made")
    case = make_ratings_case(columns, recognise(columns))
    spy = Candidate("spy", lambda s: PersonalSpy())
    run_contest(replace(case, candidates=(spy,)), n_splits=4)
    every = set()
    for ratings, asked in PersonalSpy.log:
        who = np.repeat(np.arange(20), ratings.per_user)
        known = set(zip(who.tolist(), ratings.csr.indices.tolist(), strict=True))
        assert asked
        assert not known & set(asked)
        assert len(known) + len(asked) == 120
        every |= set(asked)
    assert len(every) == 60


def test_more_folds_than_people_leave_one_out_at_a_time():
    user, item = (a.ravel() for a in np.meshgrid(np.arange(11), np.arange(6)))
    columns = Columns({"user": user, "item": item, "rating": (user + item) % 5}, "made")
    case = make_ratings_case(columns, recognise(columns))
    contest = run_contest(case, n_splits=50, only=["Ridge"])
    assert contest.n_splits == 11
    assert contest.left_out == ()


@pytest.mark.parametrize(
    ("groups", "n_folds"), [([4, 4, 9, 9, 9], 2), ([4, 4, 4, 4, 4], 3), ([1, 2, 3, 4, 4], 3)]
)
def test_no_inner_fold_is_empty(groups, n_folds):
    groups = np.array(groups)
    folds = list(inner_folds(5, groups, 0))
    assert len(folds) == n_folds
    assert all(len(train) and len(test) for train, test in folds)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == [*range(5)]
    assert len(list(inner_folds(2, None, 0))) == 2


def test_intervals_of_rows_of_people_are_those_of_their_sums():
    case = with_spies(case_of(people_table()), lambda s: Spy())
    contest = run_contest(case, n_splits=4)
    # What all rows of a person share says as much as one row of each would.
    each = np.random.default_rng(0).normal(size=12)
    plain = replace(contest, groups=None, group_name="")
    assert contest.half_width(each[case.people]) == pytest.approx(plain.half_width(each))
    # Student's t for 11 is 2.200985.
    assert plain.half_width(each) == pytest.approx(2.200985 * np.std(each, ddof=1) / np.sqrt(12))


def test_whole_people_are_drawn_and_two_at_least():
    table = people_table()
    drawn = make_table_case(table, recognise(table), most_rows=23)
    assert len(drawn.y) == 20
    assert np.bincount(drawn.people).tolist() == [5] * 4
    few = make_table_case(table, recognise(table, qid="user"), most_rows=3)
    assert np.bincount(few.qid).tolist() == [5, 5]
