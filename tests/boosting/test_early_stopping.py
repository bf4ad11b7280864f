"""RankBoost chooses its number of rounds by queries that are held out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import Preferences, RankBoost
from peckorder.exceptions import DataError
from peckorder.metrics import disagreement, ndcg
from support.helpers import raises_unchanged, same

# Whether a round is better than none does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore:.*no round is better than none")

RNG = np.random.default_rng(0)
N, N_QUERIES = 240, 20
X = np.round(RNG.standard_normal((N, 8)), 2) + 0.0
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
Y = np.digitize(X[:, 0] + X[:, 1] + 2 * RNG.standard_normal(N), [-2, 0, 2])
QID = RNG.permutation(np.arange(N) % N_QUERIES)
OFFSET = RNG.standard_normal(N)
METRICS = {"disagreement": disagreement, "ndcg": ndcg}
every_metric = pytest.mark.parametrize("metric", METRICS)
KINDS = {
    "approximate": {"alpha": "approximate"},
    "analytic": {"alpha": "analytic"},
    "features": {"alpha": "numeric", "weak": "feature"},
    "own": {"alpha": "numeric", "weak": lambda X, p: lambda X: np.nansum(X, axis=1)},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)


def fitted(rows=GAPS, y=Y, qid=QID, sample_weight=None, offset=None, **options):
    options = {"n_rounds": 40, "validation_fraction": 0.3, "random_state": 0} | options
    model = RankBoost(**options)
    return model.fit(rows, y, qid=qid, sample_weight=sample_weight, offset=offset)


def held_out(seed=0, share=0.3):
    """Find the rows of the queries that are held out: a model learns without them."""
    # A weak learner sees potentials, which are zero for rows that make no pair; those
    # of other queries may be zero too, but not all.
    seen = []

    def learn(X, potentials):
        seen.append(potentials)
        return lambda X: np.nansum(X, axis=1)

    options = {"alpha": "numeric", "weak": learn, "n_rounds": 1, "random_state": seed}
    fitted(validation_fraction=share, **options)
    is_zero = seen[0] == 0
    return np.array([is_zero[query == QID].all() for query in QID])


def test_whole_queries_are_held_out():
    assert len(set(QID[held_out()])) == 6  # 30% of 20


@pytest.mark.parametrize(("share", "expected"), [(0.001, 1), (0.5, 10), (0.999, 19), (0.13, 3)])
def test_a_share_of_the_queries_is_held_out_one_at_least(share, expected):
    is_held = held_out(share=share)
    assert len(set(QID[is_held])) == expected
    assert len(set(QID[~is_held])) == N_QUERIES - expected


def test_the_seed_decides_which():
    assert_array_equal(held_out(1), held_out(1))
    assert set(QID[held_out(1)]) != set(QID[held_out(2)])


@every_kind
def test_nothing_is_learnt_from_what_is_held_out(options):
    rows, is_held = (X if options["alpha"] == "numeric" else GAPS), held_out()
    other = np.where(is_held[:, np.newaxis], 99.0, rows)
    model = fitted(rows, **options)
    alone = RankBoost(n_rounds=model.n_rounds_, **options)
    alone.fit(rows, Y, qid=QID, sample_weight=(~is_held).astype(float))
    assert same(model.weak_rankers_, alone.weak_rankers_)
    assert same(model.bounds_, alone.bounds_)
    # Other rows to hold out: other numbers of rounds, but the same rounds.
    changed = fitted(other, **options)
    n_rounds = min(changed.n_rounds_, model.n_rounds_)
    assert same(changed.weak_rankers_[:n_rounds], model.weak_rankers_[:n_rounds])


@every_metric
@pytest.mark.parametrize("offset", [None, OFFSET], ids=["", "offset"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_scores_are_those_of_the_metric(metric, offset, form):
    rows = GAPS if form is np.asarray else form(X)
    model, is_held = fitted(rows, metric=metric, offset=offset), held_out()
    stages = [np.zeros(N) if offset is None else offset]
    everything = RankBoost(n_rounds=40)
    everything.fit(rows, Y, qid=QID, offset=offset, sample_weight=(~is_held).astype(float))
    stages += everything.staged_predict(rows, offset=offset)
    expected = [METRICS[metric](Y[is_held], scores[is_held], qid=QID[is_held]) for scores in stages]
    assert_allclose(model.validation_scores_, expected, rtol=1e-12)


@every_kind
@pytest.mark.parametrize(
    ("metric", "best"),
    [("disagreement", np.argmin), ("ndcg@5", np.argmax), ("rank(top)", np.argmin)],
)
def test_the_best_number_of_rounds_is_kept(metric, best, options):
    rows = X if options["alpha"] == "numeric" else GAPS
    options = options | {"learning_rate": 0.3}
    model = fitted(rows, metric=metric, **options)
    assert model.n_rounds_ == best(model.validation_scores_)  # the first of equals
    assert len(model.weak_rankers_) == model.n_rounds_
    assert len(model.bounds_) == model.n_rounds_ + 1
    own = (model.weak_rankers_["feature"] < 0).sum()
    assert len(model.own_rankings_) == own


@pytest.mark.parametrize("patience", [1, 3, 8])
@every_metric
def test_it_stops_when_nothing_improves_for_a_while(patience, metric):
    model = fitted(n_iter_no_change=patience, metric=metric)
    everything = fitted(metric=metric)
    scores = everything.validation_scores_
    sign = -1 if metric == "disagreement" else 1
    best = 0
    for n_rounds in range(len(scores)):
        best = n_rounds if sign * scores[n_rounds] > sign * scores[best] else best
        if n_rounds - best >= patience:
            break
    assert model.n_rounds_ == best
    assert_array_equal(model.validation_scores_, scores[: n_rounds + 1])
    assert len(model.validation_scores_) < 41


def test_without_patience_all_rounds_are_tried():
    assert len(fitted().validation_scores_) == 41


def test_weights_of_rows_still_count():
    weight = RNG.choice([0.0, 1.0, 3.0], N)
    model, is_held = fitted(sample_weight=weight), held_out()
    before = weight.copy()
    alone = RankBoost(n_rounds=model.n_rounds_)
    alone.fit(GAPS, Y, qid=QID, sample_weight=np.where(is_held, 0.0, weight))
    assert same(model.weak_rankers_, alone.weak_rankers_)
    assert_array_equal(weight, before)


def test_a_model_that_gets_worse_at_once_has_no_rounds():
    # What is learnt is wrong wherever it is held out.
    rows, qid = np.array([[0.0], [1.0]] * 4), np.repeat(range(4), 2)
    for seed in range(4):
        drawn = np.random.RandomState(seed).permutation(4)[0]
        y = np.array([0, 1] * 4)
        y[qid == drawn] = [1, 0]
        model = RankBoost(validation_fraction=0.25, random_state=seed)
        model.fit(rows, y, qid=qid)
        assert model.n_rounds_ == 0
        assert model.validation_scores_[:2].tolist() == [0.5, 1.0]
        assert model.predict(rows).tolist() == [0.0] * 8


def test_queries_of_any_kind_are_held_out():
    expected = fitted()
    for qid in ([f"query {q}" for q in QID], pd.Series(QID, index=QID), QID / 2):
        assert same(fitted(qid=qid).weak_rankers_, expected.weak_rankers_)


@pytest.mark.parametrize("weak", ["threshold", "tree"])
@pytest.mark.parametrize("seed", range(3))
def test_connected_components_are_held_out_whole(seed, weak):
    # Of every query a star: pairs of its first row and some others.
    queries = [np.flatnonzero(q == QID) for q in range(N_QUERIES)]
    star = np.array([(rows[0], row) for rows in queries for row in rows[1::2]])
    ends = np.where(Y[star[:, :1]] >= Y[star[:, 1:]], star, star[:, ::-1])
    weight = np.random.default_rng(seed).integers(0, 3, len(ends)).astype(float)
    pairs = Preferences(*ends.T, weight)
    options = {"weak": weak, "n_rounds": 12}
    if weak == "tree":
        options |= {"min_samples_leaf": 2, "max_leaf_nodes": 3}
    model = RankBoost(validation_fraction=0.3, random_state=seed, **options).fit(X, pairs)
    component = pairs.components(N)
    paired = np.unique(component[np.concatenate([e[weight > 0] for e in ends.T])])
    n_held = round(0.3 * len(paired))
    held = paired[np.random.RandomState(seed).permutation(len(paired))[:n_held]]
    is_held = np.isin(component, held)
    everything = RankBoost(**options)
    everything.fit(X, pairs, sample_weight=(~is_held).astype(float))
    among = pairs.restrict(is_held)
    expected = [disagreement(among, scores) for scores in everything.staged_predict(X[is_held])]
    assert_allclose(model.validation_scores_, [0.5, *expected], rtol=1e-12)
    n_rounds = int(np.argmin(model.validation_scores_))
    assert model.n_rounds_ == n_rounds
    assert same(model.weak_rankers_, everything.weak_rankers_[:n_rounds])


def test_queries_named_by_tuples_are_held_out():
    model = fitted(qid=[("shop", int(q)) for q in QID])
    assert same(model.weak_rankers_, fitted().weak_rankers_)


def test_ordered_categories_are_held_out():
    words = np.array(["bad", "fair", "good", "best"])
    y = pd.Categorical(words[Y], categories=words, ordered=True)
    assert same(fitted(y=y).weak_rankers_, fitted().weak_rankers_)


def test_a_fit_without_validation_has_no_scores_of_it():
    model = fitted()
    model.set_params(validation_fraction=None).fit(GAPS, Y, qid=QID)
    assert not hasattr(model, "validation_scores_")


WHOLE_QUERIES = (
    "qid must have two queries at least with validation_fraction, which holds out whole ones; "
    "got 1."
)
# One pair, in a query that is held out with this seed.
ONE_PAIR = {"y": (np.arange(N) == 0).astype(float), "qid": np.arange(N) // 2}
SEED = next(
    seed for seed in range(1000) if 0 in np.random.RandomState(seed).permutation(N // 2)[: N // 4]
)
# Parameters, arguments of fit, and the error.
REFUSED = {
    "patience without validation": (
        {"n_iter_no_change": 5},
        {},
        ValueError("validation_fraction must be a number with n_iter_no_change; got None."),
    ),
    "a warm start": (
        {"validation_fraction": 0.5, "warm_start": True},
        {},
        ValueError("validation_fraction must be None with warm_start; got 0.5."),
    ),
    "no queries": ({"validation_fraction": 0.5}, {"qid": None}, DataError(WHOLE_QUERIES)),
    "one query": ({"validation_fraction": 0.5}, {"qid": np.zeros(N)}, DataError(WHOLE_QUERIES)),
    "one component": (
        {"validation_fraction": 0.5},
        {"y": Preferences([0, 1], [1, 2]), "qid": None},
        DataError(
            "y must have two connected components of pairs at least with validation_fraction, "
            "which holds out whole ones; got 1. Choose n_rounds by model_selection.PairKFold "
            "instead."
        ),
    ),
    "a metric of lists": (
        {"validation_fraction": 0.5, "metric": "ap"},
        {"y": Preferences([0, 2], [1, 3]), "qid": None},
        ValueError(
            "metric must be of pairs, tau, disagreement, misranking, msd, mad, with "
            "preferences; got 'ap'."
        ),
    ),
    "one grade in all queries held out": (
        {"validation_fraction": 0.3, "random_state": 0},
        {"y": lambda: np.where(held_out(), 1, Y)},
        DataError(
            "validation_fraction must hold out a query for which metric is defined; got none in "
            "6 queries."
        ),
    ),
    "nothing left to learn from": (
        {"validation_fraction": 0.5, "random_state": SEED},
        ONE_PAIR,
        DataError(
            "y must contain two rows of one query with different grades and positive weights; "
            "got 119 of 120 queries with one grade only."
        ),
    ),
}


@pytest.mark.filterwarnings("ignore:.*left out of the mean")
@pytest.mark.parametrize(("options", "given", "error"), REFUSED.values(), ids=REFUSED)
def test_a_fit_is_refused(options, given, error):
    model = RankBoost(**options)
    given = {name: value() if callable(value) else value for name, value in given.items()}
    with raises_unchanged(model, type(error), f"RankBoost: {error}"):
        model.fit(X, **{"y": Y, "qid": QID} | given)
