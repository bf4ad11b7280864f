"""Splits of preferences, compared with what they promise pair by pair."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from peckorder import Preferences, RankBoost
from peckorder.exceptions import DataError
from peckorder.metrics import disagreement
from peckorder.model_selection import PairKFold
from support.helpers import exactly

FEW = settings(max_examples=60, deadline=None)
N = 12


@st.composite
def preferences(draw):
    """Return pairs among N rows, some without weight or repeated, with sizes or graded rows."""
    ends = st.permutations(range(N)).map(lambda rows: tuple(rows[:2]))
    one = st.tuples(ends, st.sampled_from([0.0, 1.0, 3.0]), st.sampled_from([0.0, 2.5]))
    found = draw(st.lists(one, min_size=4, max_size=30))
    better, worse = zip(*(pair for pair, _, _ in found), strict=True)
    weight = [weight for _, weight, _ in found]
    size = [size for _, _, size in found]
    some = Preferences(better, worse, weight, size if draw(st.booleans()) else None)
    if draw(st.booleans()):
        grades = draw(st.lists(st.integers(0, 2), min_size=N, max_size=N))
        some = some + 0.5 * Preferences.from_grades(grades, ["a"] * 4 + ["b"] * (N - 4))
    return some


def listed(some):
    """Return the pairs that have a weight, sorted."""
    columns = (*some.pairs(), some.sizes())
    return sorted(
        pair for pair in zip(*map(np.ndarray.tolist, columns), strict=True) if pair[2] > 0
    )


def folds_of(some, n_splits, by, seed):
    """Return the splits; skip examples with too little of anything."""
    try:
        return list(PairKFold(n_splits, by=by, random_state=seed).split(some))
    except DataError:
        return assume(False)


def rows_of(pairs):
    return {row for pair in pairs for row in pair[:2]}


cases = given(preferences(), st.integers(2, 3), st.integers(0, 5))


@FEW
@cases
def test_by_pair_every_pair_is_tested_once_and_repetitions_together(some, n_splits, seed):
    everything, tested = listed(some), []
    for train, test in folds_of(some, n_splits, "pair", seed):
        assert sorted(listed(train) + listed(test)) == everything
        ends = ({frozenset(pair[:2]) for pair in listed(side)} for side in (train, test))
        assert not set.intersection(*ends)
        assert train.has_sizes == test.has_sizes == some.has_sizes
        tested += listed(test)
    assert sorted(tested) == everything


@FEW
@cases
def test_by_row_test_rows_are_new_and_only_joining_pairs_are_left_out(some, n_splits, seed):
    everything = listed(some)
    splits = folds_of(some, n_splits, "row", seed)
    fold = {}
    for k, (_, test) in enumerate(splits):
        assert test.total_weight > 0
        assert not rows_of(listed(test)) & fold.keys()
        fold |= dict.fromkeys(rows_of(listed(test)), k)
    for train, test in splits:
        assert not rows_of(listed(train)) & rows_of(listed(test))
        left_out = list(everything)
        for pair in listed(train) + listed(test):
            left_out.remove(pair)
        # Neither side could have had them: both of their rows in the fold, or none.
        new = rows_of(everything) - rows_of(listed(train))
        assert all(not {*pair[:2]} <= rows_of(listed(test)) for pair in left_out)
        assert all({*pair[:2]} & new for pair in left_out)


@FEW
@cases
def test_by_component_rows_are_new_and_no_pair_is_left_out(some, n_splits, seed):
    everything, tested = listed(some), []
    for train, test in folds_of(some, n_splits, "component", seed):
        assert not rows_of(listed(train)) & rows_of(listed(test))
        assert sorted(listed(train) + listed(test)) == everything
        tested += listed(test)
    assert sorted(tested) == everything


def test_rows_are_dealt_out_evenly_and_graded_rows_are_not_listed():
    graded = Preferences.from_grades(np.arange(100_000.0))
    splits = list(PairKFold(4, by="row", random_state=0).split(graded))
    assert [len(test) for _, test in splits] == [25_000 * 24_999 // 2] * 4
    assert [len(train) for train, _ in splits] == [75_000 * 74_999 // 2] * 4


def test_queries_are_components():
    qid = np.repeat(np.arange(6), 3)
    graded = Preferences.from_grades(np.tile([0, 1, 2], 6), qid)
    for train, test in PairKFold(3, by="component", random_state=1).split(graded):
        tested = np.unique(qid[test.paired_rows()])
        assert len(tested) == 2
        assert not set(tested) & set(qid[train.paired_rows()])


def test_the_random_state_decides():
    some = Preferences(range(1, 30), range(29))

    def first_test(seed):
        return listed(next(PairKFold(3, random_state=seed).split(some))[1])

    assert first_test(0) == first_test(0) != first_test(1)


def test_rounds_are_chosen_on_pairs_that_are_held_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    better, worse = rng.permuted(np.tile(np.arange(60), (80, 1)), axis=1)[:, :2].T
    wrong = X[better, 0] < X[worse, 0]
    some = Preferences(np.where(wrong, worse, better), np.where(wrong, better, worse))
    curves = [
        [disagreement(test, s) for s in RankBoost(n_rounds=30).fit(X, train).staged_predict(X)]
        for train, test in PairKFold(4, by="row", random_state=0).split(some)
    ]
    mean = np.mean(curves, axis=0)
    assert mean[-1] < mean[0]
    assert mean[-1] < 0.1


def test_it_is_an_object_of_scikit_learn():
    cv = PairKFold(3, by="row", random_state=2)
    assert clone(cv).get_params() == {"n_splits": 3, "by": "row", "random_state": 2}
    assert cv.get_n_splits() == 3
    assert repr(cv) == "PairKFold(by='row', n_splits=3, random_state=2)"


CHAIN = Preferences([1, 2, 3], [0, 1, 2])
REFUSED = {
    "labels": (
        PairKFold(2),
        [1, 2, 3],
        "preferences must be peckorder.Preferences; got [1, 2, 3].",
    ),
    "one fold": (PairKFold(1), CHAIN, "n_splits must be an integer >= 2; got 1."),
    "by something else": (
        PairKFold(2, by="rows"),
        CHAIN,
        "by must be one of 'pair', 'row', 'component'; got 'rows'. Did you mean 'row'?",
    ),
    "few pairs": (
        PairKFold(3),
        Preferences([1, 0, 2, 2], [0, 1, 1, 0], [1, 1, 1, 0]),
        "preferences must have at least n_splits=3 pairs of different rows; got 2.",
    ),
    "no pair": (
        PairKFold(3),
        CHAIN.among([0]),
        "preferences must have at least n_splits=3 pairs of different rows; got 0.",
    ),
    "few rows": (
        PairKFold(3, by="row"),
        Preferences([0], [1]),
        "preferences must have at least n_splits=3 rows in pairs; got 2.",
    ),
    "one component": (
        PairKFold(2, by="component"),
        CHAIN,
        "preferences must have at least n_splits=2 connected components of pairs; got 1.",
    ),
    "a fold without a pair": (
        PairKFold(2, by="row", random_state=0),
        Preferences([1, 2, 3], [0, 0, 0]),
        "preferences must have a pair among the rows of every fold; got none in fold 0, and 3 "
        "pairs of 4 rows in all. Give another random_state, fewer n_splits, or by='pair'.",
    ),
    "a seed": (
        PairKFold(2, random_state=-1),
        CHAIN,
        "random_state must be None, an integer from 0 to 2**32 - 1 or a RandomState; got -1.",
    ),
}


@pytest.mark.parametrize(("cv", "some", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(cv, some, sentence):
    with pytest.raises((DataError, ValueError, TypeError), match=exactly(f"PairKFold: {sentence}")):
        cv.split(some)
