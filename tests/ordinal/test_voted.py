"""The voted rule's record of updates."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder import PRank
from support.helpers import exactly, integer_data

X, Y = integer_data(0, n=200)


def test_a_stream_of_single_rows_is_kept_in_few_pieces():
    model = PRank(rule="voted", classes=[1, 2, 3, 4])
    for x, y in zip(X, Y, strict=True):
        model.partial_fit([x], [y])
    pieces = model._learner.record
    assert sum(len(piece) for piece in pieces) == model.n_mistakes_
    assert len(pieces) <= np.log2(model.n_mistakes_) + 1


def test_the_pieces_vote_as_one():
    stream = PRank(rule="voted", classes=[1, 2, 3, 4])
    for first in range(0, len(X), 7):
        stream.partial_fit(X[first : first + 7], Y[first : first + 7])
    whole = PRank(rule="voted").fit(X, Y)
    assert_array_equal(stream.votes_, whole.votes_)
    assert_array_equal(stream.mean_rank(X), whole.mean_rank(X))


def test_votes_add_up_to_the_rows_that_were_right():
    model = PRank(rule="voted").fit(X, Y)
    assert model.votes_.size == 1 + model.n_mistakes_
    assert model.votes_.sum() == model.n_rounds_ - model.n_mistakes_


@pytest.mark.parametrize("rule", ["last", "averaged"])
def test_other_rules_have_no_votes(rule):
    model = PRank(rule=rule).fit(X, Y)
    sentence = "PRank: votes_ exists once fitted with rule='voted'."
    with pytest.raises(AttributeError, match=exactly(sentence)):
        _ = model.votes_


def test_many_classes_cost_no_thresholds_per_row():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 500
    model = PRank(rule="voted").fit(rng.normal(size=(2000, 2)), y)
    kept = sum(
        getattr(piece, name).nbytes
        for piece in model._learner.record
        for name in ("row", "step", "score", "truth", "round")
    )
    assert kept == 5 * 8 * model.n_mistakes_
