"""RankBoost on trees against the obvious way, and what Theorem 1 says of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import Preferences, RankBoost
from peckorder.trees.growing import TreeOptions
from support.slow_tree_boosting import SlowTreeBoosting

pytestmark = [
    pytest.mark.jit_off,
    # Of few rows.
    pytest.mark.filterwarnings("ignore:.*no feature divides the rows"),
]


@st.composite
def problems(draw):
    """Draw rows with gaps and ties, grades, queries, weights without symmetries."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(4, 26))
    X = rng.integers(0, 6, (n, 3)).astype(float)
    X[rng.random((n, 3)) < 0.2] = np.nan
    qid = np.sort(rng.integers(0, draw(st.integers(1, 4)), n))
    y = rng.integers(0, draw(st.sampled_from([2, 4])), n)
    y[:2], qid[:2] = [0, 1], 0
    weight = rng.uniform(0.2, 2.0, n) * (rng.random(n) < 0.9)
    weight[:2] = rng.uniform(0.5, 1.5, 2)
    offset = rng.normal(size=n) if draw(st.booleans()) else None
    return X, y, qid, weight, offset


def listed_pairs(y, qid, weight, *, equal_queries=False):
    """Return worse, better and weight of all pairs of positive weight."""
    pairs = []
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        own = [(a, b, weight[a] * weight[b]) for a in rows for b in rows if y[a] < y[b]]
        own = [pair for pair in own if pair[-1] > 0.0]
        total = sum(w for *_, w in own)
        pairs += [(a, b, w / (total if equal_queries else 1.0)) for a, b, w in own]
    return pairs


def check_same(model, slow, X, offset, n_rounds, rate):
    for _ in range(n_rounds):
        slow.add_round(rate)
    assert_allclose(model.bounds_, slow.bounds[: model.n_rounds_ + 1], rtol=1e-7)
    scores = model.predict(X) if offset is None else model.predict(X, offset=offset)
    H = slow.H if model.n_rounds_ == n_rounds else None
    if H is not None:
        assert_allclose(scores[slow.rows], H[slow.rows], rtol=1e-6, atol=1e-7)


KINDS = st.fixed_dictionaries(
    {
        "loss": st.sampled_from(["exponential", "logistic"]),
        "pair_weight": st.sampled_from([None, None, "ndcg"]),
        "query_weight": st.sampled_from(["pairs", "equal"]),
        "l2": st.sampled_from([0.1, 1.0]),
        "max_depth": st.sampled_from([None, 2]),
        "learning_rate": st.sampled_from([0.1, 0.5, 4.0]),
    }
)


@settings(max_examples=60, deadline=None)
@given(problem=problems(), kind=KINDS, n_threads=st.sampled_from([1, 3]))
def test_rounds_are_the_obvious_ones(problem, kind, n_threads):
    X, y, qid, weight, offset = problem
    equal = kind["query_weight"] == "equal"
    pairs = listed_pairs(y, qid, weight, equal_queries=equal)
    model = RankBoost(
        weak="tree", n_rounds=3, max_leaf_nodes=4, min_samples_leaf=2, n_jobs=n_threads, **kind
    ).fit(X, y, qid=qid, sample_weight=weight, offset=offset)
    options = TreeOptions(4, kind["max_depth"], 2, kind["l2"])
    # Rows of weight zero are in no list.
    kept = (np.where(weight > 0.0, y, -1.0), np.where(weight > 0.0, qid, -1))
    slow = SlowTreeBoosting(
        X, pairs, options, loss=kind["loss"], offset=offset,
        ndcg_of=kept if kind["pair_weight"] else None,
    )  # fmt: skip
    check_same(model, slow, X, offset, 3, kind["learning_rate"])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), loss=st.sampled_from(["exponential", "logistic"]))
def test_listed_pairs_and_sums_of_feedback(seed, loss):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (15, 2)).astype(float)
    better, worse = rng.permuted(np.tile(np.arange(15), (20, 1)), axis=1)[:, :2].T
    weight = rng.uniform(0.1, 2.0, 20)
    grades = rng.integers(0, 3, 15)
    grades[:2] = [0, 1]
    feedback = Preferences(better, worse, weight) + 0.37 * Preferences.from_grades(grades)
    pairs = [(b, a, w) for a, b, w in zip(*feedback.pairs(), strict=True)]
    model = RankBoost(weak="tree", loss=loss, n_rounds=3, max_leaf_nodes=4, min_samples_leaf=2).fit(
        X, feedback
    )
    slow = SlowTreeBoosting(X, pairs, TreeOptions(4, None, 2, 1.0), loss=loss)
    check_same(model, slow, X, None, 3, 0.1)


@settings(max_examples=40, deadline=None)
@given(problem=problems(), kind=KINDS)
def test_no_more_pairs_are_wrong_than_the_bound_says(problem, kind):
    X, y, qid, weight, offset = problem
    model = RankBoost(weak="tree", n_rounds=15, max_leaf_nodes=5, min_samples_leaf=1, **kind).fit(
        X, y, qid=qid, sample_weight=weight, offset=offset
    )
    pairs = listed_pairs(y, qid, weight, equal_queries=kind["query_weight"] == "equal")
    total = sum(w for *_, w in pairs)
    known = np.zeros(len(y)) if offset is None else offset
    stages = [known, *model.staged_predict(X, offset=offset)]
    for H, bound in zip(stages, model.bounds_, strict=True):
        wrong = sum(w for a, b, w in pairs if H[a] >= H[b])
        assert wrong <= bound * total * (1 + 1e-9)
    if kind["pair_weight"] is None:
        assert (np.diff(model.bounds_) <= 1e-12 * model.bounds_[:-1]).all()
    assert_array_equal(stages[-1], model.predict(X) if offset is None else stages[-1])


# Without the compiler NumPy warns of products of hashes that wrap around.
@pytest.mark.filterwarnings("ignore:overflow")
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(["exponential", "logistic"]),
    pair_weight=st.sampled_from([None, "ndcg"]),
    missing=st.sampled_from(["zero", "abstain"]),
)
def test_threads_and_the_form_of_rows_do_not_matter(seed, loss, pair_weight, missing):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (60, 4)).astype(float)
    y, qid = rng.integers(0, 3, 60), rng.integers(0, 5, 60)
    stored = sparse.csr_array(X)
    whole = np.where(X == 0.0, np.nan, X) if missing == "abstain" else X

    def fitted(rows, n_jobs):
        return RankBoost(
            weak="tree", loss=loss, pair_weight=pair_weight, n_rounds=6, max_leaf_nodes=6,
            min_samples_leaf=2, max_features=0.7, subsample=0.6, missing=missing, n_jobs=n_jobs,
            random_state=3,
        ).fit(rows, y, qid=qid)  # fmt: skip

    first = fitted(whole, 1)
    for rows, n_jobs in [(whole, 3), (np.asfortranarray(whole), 2), (stored, 1), (stored, 4)]:
        other = fitted(rows, n_jobs)
        assert_array_equal(other.bounds_, first.bounds_)
        assert_array_equal(other.predict(rows), first.predict(whole))
        for name in ("column", "cut", "value", "below", "gain"):
            assert_array_equal(getattr(other.forest_, name), getattr(first.forest_, name))
