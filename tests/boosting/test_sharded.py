"""RankBoost over shards is RankBoost in one place, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from peckorder import RankBoost, distributed
from peckorder._core.threads import Team
from peckorder.boosting.blocks import CheckedBlocks
from peckorder.boosting.parameters import options_of
from peckorder.boosting.sharded import run_rounds as sharded_rounds
from peckorder.boosting.sharded.run_rounds import (
    Lost,
    Rows,
    ShardedBooster,
    answered,
    keys_of,
    values_of,
)
from peckorder.boosting.sharded.shard import Shard, joined
from peckorder.exceptions import DataError
from support.rankboost_settings import PARAMETERS, assert_same_model


class LocalShards:
    """Shards in this process, some of which get lost when `unlucky` says so."""

    def __init__(self, make, n_shards, unlucky=lambda: None):
        self._make, self._unlucky = make, unlucky
        self._shards = [make(k) for k in range(n_shards)]
        self.n_lost = 0

    @property
    def n_workers(self):
        return len(self._shards)

    def ask(self, question, *arguments):
        lost = self._unlucky()
        if lost is not None:
            self._shards[lost % self.n_workers] = None
        if None in self._shards:
            # The others have answered, and nobody heard them.
            for shard in self._shards:
                if shard is not None:
                    self._answer(shard, question, arguments)
            raise Lost
        return [joined(question, [self._answer(s, question, arguments)])
                for s in self._shards]  # fmt: skip

    def replace(self, *arguments):
        for k, shard in enumerate(self._shards):
            if shard is None:
                self.n_lost += 1
                self._shards[k] = self._make(k)
                self._answer(self._shards[k], "repeat", arguments)

    def _answer(self, shard, question, arguments):
        with Team(1) as team:
            return getattr(shard, question)(*arguments, team)


def shards_of(model, X, y, qid, weight, owner):
    """Share rows out; return what makes shards, and what is known of all rows."""
    made, n_pairs, n_queries = [], 0, 0
    with Team(1) as team:
        for k in range(owner.max() + 1):
            mine = np.flatnonzero(owner == k)
            blocks = CheckedBlocks(model, team)
            own = None if weight is None else weight[mine]
            dense = [blocks.add(X[mine], y[mine], qid[mine], own)] if len(mine) else []
            pairs = blocks.pairs()
            n_pairs += blocks.n_pairs
            n_queries += len(pairs.levels) - 1
            made.append((dense, pairs, X.shape[1]))
    n_rows = [int(pairs.starts[-1]) for _, pairs, _ in made]
    facts = sum(n_rows), n_queries, n_pairs, X.shape[1], X.dtype, max(n_rows)
    return (lambda k: Shard(*made[k])), Rows(*facts)


def sharded(model, X, y, qid, weight, owner, unlucky=lambda: None):
    make, rows = shards_of(model, X, y, qid, weight, owner)
    shards = LocalShards(make, owner.max() + 1, unlucky)
    run = ShardedBooster(shards, rows, options_of(model))
    run.cut()
    run.boost()
    model._publish(run.log)
    return model, run, shards


VALUES = st.sampled_from([np.nan, -1e300, -1.5, -0.0, 0.0, 0.5, 1.0, 2.0, 5e-324])


@st.composite
def feedback(draw):
    """Draw rows, their queries and weights, and which shard has each query."""
    n_queries, n_features = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    n_rows = draw(st.integers(2, 30))
    several = st.lists(VALUES, min_size=n_features, max_size=n_features)
    X = np.array(draw(st.lists(several, min_size=n_rows, max_size=n_rows)))
    if draw(st.booleans()):
        X = np.clip(X, -1e30, 1e30).astype(np.float32)

    def column(values):
        return np.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)))

    y, qid = column(st.integers(0, 3)), column(st.integers(0, n_queries - 1))
    weight = None
    if draw(st.booleans()):
        weight = column(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    owners = st.lists(st.integers(0, 2), min_size=n_queries, max_size=n_queries)
    return X, y, qid, weight, np.array(draw(owners))[qid]


@pytest.mark.filterwarnings("ignore:.*no weak ranking")
@settings(deadline=None, max_examples=60)
@given(feedback(), PARAMETERS, st.lists(st.none() | st.integers(0, 2), max_size=40))
def test_shards_give_the_model_of_all_rows(data, parameters, losses):
    X, y, qid, weight, owner = data
    try:
        model = RankBoost(**parameters).fit(X, y, qid=qid, sample_weight=weight)
    except DataError:
        return  # nothing to learn from
    unlucky = iter(losses)
    other = sharded(RankBoost(**parameters), X, y, qid, weight, owner, lambda: next(unlucky, None))
    assert_same_model(other[0], model)


def problem(n_rows=3000, n_features=6, dtype=np.float64):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n_rows, n_features)).astype(dtype)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 3] = X[:, 3].round(1)
    qid = rng.integers(0, 60, n_rows)
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows) > 0.5).astype(int)
    return X, y + (np.nan_to_num(X[:, 1]) > 1.0), qid


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("max_bins", [7, 64, 255])
def test_many_values(monkeypatch, dtype, max_bins):
    monkeypatch.setattr(sharded_rounds, "_SORTED", 1)  # a column at a time
    X, y, qid = problem(dtype=dtype)
    parameters = {"max_bins": max_bins, "n_rounds": 60}
    model = RankBoost(**parameters).fit(X, y, qid=qid)
    other, _, _ = sharded(RankBoost(**parameters), X, y, qid, None, qid % 4)
    assert_same_model(other, model)


def test_traffic_is_what_the_formula_says():
    X, y, qid = problem()
    _, run, _ = sharded(RankBoost(max_bins=32, n_rounds=60), X, y, qid, None, qid % 4)
    assert len(run.traffic.rounds) == 60
    for n_bytes, n_questions, n_columns in run.traffic.rounds:
        assert n_questions in (3, 4)
        assert n_bytes == 8 * 4 * (10 + n_questions + n_columns * (32 + 1))
    # Most columns are left out of most rounds.
    assert np.mean([r.n_columns for r in run.traffic.rounds]) < 5


@pytest.mark.parametrize("at", [0, 3, 10, 60, 61, 62, 63, 64, 90])
def test_a_lost_shard_catches_up(at):
    X, y, qid = problem()
    number = iter(range(10**6))
    other, _, shards = sharded(
        RankBoost(max_bins=16, n_rounds=30),
        X,
        y,
        qid,
        None,
        qid % 3,
        lambda: 1 if next(number) == at else None,
    )
    assert shards.n_lost == 1
    assert_same_model(other, RankBoost(max_bins=16, n_rounds=30).fit(X, y, qid=qid))


def test_one_lost_while_another_is_replaced_is_replaced_as_well():
    events = iter([Lost, Lost, Lost, None, ["answer"]])
    calls = []

    def next_of(call):
        calls.append(call)
        event = next(events)
        if event is Lost:
            raise Lost
        return event

    answers = answered(lambda: next_of("ask"), lambda: next_of("recover"))
    assert answers == ["answer"]
    assert calls == ["ask", "recover", "ask", "recover", "ask"]


def test_too_many_values_are_refused():
    X, y, qid = problem()
    with pytest.raises(DataError) as caught:
        sharded(RankBoost(), X, y, qid, None, qid % 2)
    assert str(caught.value) == (
        "max_bins must be an integer from 2 to 255 on a cluster if a "
        "feature has more than 255 values; got None, and more of feature 0. Use "
        "max_bins=255."
    )


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_keys_have_the_order_of_values(values):
    values = np.array(values) + 0.0
    keys = keys_of(values, np.float64)
    assert_array_equal(values_of(keys, np.float64), values)
    assert_array_equal(np.argsort(keys, kind="stable"), np.argsort(values, kind="stable"))


@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1))
def test_short_keys_have_the_order_of_values(values):
    values = np.array(values) + 0.0
    keys = keys_of(values, np.float32)
    assert_array_equal(values_of(keys, np.float32), values)
    assert_array_equal(np.argsort(keys, kind="stable"), np.argsort(values, kind="stable"))


@pytest.mark.parametrize(("dtype", "n_questions"), [(np.float64, 18), (np.float32, 10)])
def test_the_widest_columns_are_cut_within_few_questions(dtype, n_questions):
    rng = np.random.default_rng(3)
    bits = np.finfo(dtype).bits
    keys = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), size=(3000, 2))
    most = 1e-4 * np.finfo(dtype).max  # so that sums of rows are finite
    X = np.nan_to_num(keys.astype(f"i{bits // 8}").view(dtype))
    X = np.clip(X, -most, most).astype(dtype)
    y, qid = rng.integers(0, 2, 3000), np.arange(3000) // 50
    model = RankBoost(max_bins=255)
    make, rows = shards_of(model, X, y, qid, None, qid % 3)
    run = ShardedBooster(LocalShards(make, 3), rows, options_of(model))
    run.cut()
    # What values there are, 4 bits of the order statistics in each, and where to cut.
    assert run.traffic.n_questions == n_questions <= 18
    assert "at most 18 questions" in " ".join(distributed.fit.__doc__.split())
