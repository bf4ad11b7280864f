"""The golden ensembles, with their own masks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import AggregatePRank
from peckorder._core.row_transform import RowTransform
from peckorder._core.validation import as_rows
from peckorder.ordinal.compiled import dual, ensemble
from peckorder.ordinal.compiled.dual import KernelMembers, KernelValues
from peckorder.ordinal.compiled.ensemble import Members, Outcome, Scratch
from peckorder.ordinal.compiled.linear import PRankState, RowBlock
from peckorder.ordinal.learners.ensemble_base import AggregateLearner
from support.helpers import PAPER

pytestmark = pytest.mark.jit_off

KERNELS = ["linear", "precomputed", "function"]


def products(X, Z):
    return X @ Z.T


NO_LAGS = np.zeros((0, 0)), np.zeros((0, 0))
AS_GIVEN = RowTransform(intercept=False, unit_norm=False)


def assert_close(a, b):
    assert_allclose(a, b, rtol=0, atol=1e-9)


@pytest.fixture(params=range(2), ids=lambda i: f"case{i}")
def case(request, golden):
    return golden("oap_and_online")["oap"][request.param]


class ByWeights:
    """The compiled functions of linear ensembles, run over a case."""

    def __init__(self, case):
        rows, level = as_rows(np.array(case["X"])), np.array(case["y"]) - 1
        masks = np.array(case["masks"], dtype=np.uint8).T.copy()
        n, self.n = masks.shape[1], len(level)
        self.weights, self.thresholds = np.zeros((n, 3)), np.zeros((n, case["k"] - 1))
        self.right, self.tally = np.zeros(n, np.int64), np.zeros(2, np.int64)
        none, shape = np.empty(0, np.int64), (self.n, case["k"])
        self.moves = np.zeros((self.n, case["k"] - 1))
        self.votes, self.right_votes = np.zeros(shape, int), np.zeros(shape, int)
        self.outcome = Outcome(np.zeros(self.n), self.moves, self.votes, self.right_votes)
        self.block = RowBlock(rows, rows, 0, none, level, none)
        self.stopped = ensemble.learn(
            self.block,
            AS_GIVEN,
            masks,
            1,
            Members(self.weights, self.thresholds, self.right, *NO_LAGS),
            0,
            Scratch.allocate(n),
            self.outcome,
            self.tally,
        )

    def member_scores(self, X):
        return X @ self.weights.T

    def mean_progressively(self):
        total, thresholds = np.zeros(3), np.zeros(self.moves.shape[1])
        predicted = np.empty(self.n, np.int64)
        block = self.block._replace(predicted=predicted)
        state = PRankState(total, thresholds, *np.zeros((2, 0)), 0, False)
        ensemble.predict_by_total(block, AS_GIVEN, state, self.outcome)
        assert_close(total, self.weights.sum(axis=0))
        assert_array_equal(thresholds, self.thresholds.sum(axis=0))
        return predicted


class BySums:
    """The compiled function of ensembles that keep rows, given products of all rows."""

    def __init__(self, case):
        self.X, level = np.array(case["X"]), np.array(case["y"]) - 1
        masks = np.array(case["masks"], dtype=np.uint8).T.copy()
        self.n, n = masks.shape
        self.coef, self.thresholds = np.zeros(masks.shape), np.zeros((n, case["k"] - 1))
        self.right, self.tally = np.zeros(n, np.int64), np.zeros(2, np.int64)
        self.scores, self.moves = np.empty(masks.shape), np.zeros((self.n, case["k"] - 1))
        shape = (self.n, case["k"])
        self.votes, self.right_votes = np.zeros(shape, int), np.zeros(shape, int)
        zeros = np.zeros(n, np.int64)
        self.stopped = dual.learn(
            KernelValues(np.empty((self.n, 0)), products(self.X, self.X)),
            level,
            masks,
            1,
            KernelMembers(self.coef, self.thresholds, self.right, zeros, zeros.copy()),
            np.empty(0, np.int64),
            0,
            np.empty(n + 1, np.int64),
            np.empty(n),
            (self.scores, Outcome(np.empty(0), self.moves, self.votes, self.right_votes)),
            self.tally,
        )

    @property
    def weights(self):
        return self.coef.T @ self.X

    def member_scores(self, X):
        return products(X, self.X) @ self.coef

    def mean_progressively(self):
        before = -(np.cumsum(self.moves, axis=0) - self.moves)
        return (self.scores.sum(axis=1)[:, np.newaxis] >= before).sum(axis=1)


@pytest.fixture(params=[ByWeights, BySums])
def run(request, case):
    return request.param(case)


def test_compiled_functions_learn_the_golden_weights(case, run):
    assert_close(run.weights, case["W"])


def test_compiled_functions_learn_the_golden_thresholds(case, run):
    assert_close(run.thresholds, case["B"])


def test_compiled_functions_count_the_golden_rows_that_were_right(case, run):
    assert_array_equal(run.right, case["v_seen"])


def test_compiled_functions_count_the_other_offers_as_mistakes(case, run):
    assert run.stopped == -1
    assert run.tally[0] == np.sum(case["masks"]) - np.sum(case["v_seen"])


def test_members_of_compiled_functions_predict_the_golden_ranks(case, run):
    scores = run.member_scores(np.array(case["X_test"])).T[:, :, np.newaxis]
    above = scores >= run.thresholds[:, np.newaxis, :]
    assert_array_equal(1 + above.sum(axis=2), case["member_preds"])


def test_the_sums_of_compiled_functions_predict_progressively(case, run):
    assert_array_equal(1 + run.mean_progressively(), case["online"]["bpm"])


def test_the_votes_of_compiled_functions_predict_progressively(case, run):
    mean = run.votes @ np.arange(1, case["k"] + 1) / run.votes.sum(axis=1)
    assert_array_equal(np.floor(mean + 0.5), case["online"]["bagg"])


def test_members_have_a_vote_for_each_row_that_they_had_right(case, run):
    # Before the last row: all it had right, but for that row itself.
    late = np.array(case["masks"])[:, -1]
    earned = run.right_votes[-1].sum()
    assert sum(case["v_seen"]) - late.sum() <= earned <= sum(case["v_seen"])
    assert not run.right_votes[0].any()


@pytest.fixture(params=KERNELS)
def golden_model(request, case, monkeypatch):
    """Return how to make a model with the golden masks, and the rows to give it."""
    masks = np.array(case["masks"], dtype=np.uint8)

    def golden_masks(self, members, first, n_rounds):
        now = slice(self.clock + first, self.clock + first + n_rounds)
        return masks[members, now].T.copy()

    monkeypatch.setattr(AggregateLearner, "masks", golden_masks)
    kernel = products if request.param == "function" else request.param
    X, X_test = np.array(case["X"]), np.array(case["X_test"])
    if kernel == "precomputed":
        X, X_test = products(X, X), products(X_test, X)

    def model(aggregate):
        options = {"kernel": kernel, "aggregate": aggregate, "member_rule": "last", **PAPER}
        return AggregatePRank(n_estimators=len(masks), **options)

    return model, X, X_test


PREDICTED = {"bayes_point": "bpm", "bagging": "bagg", "median": "bagg_median", "voted": "vp_seen"}


@pytest.mark.parametrize("aggregate", PREDICTED)
def test_the_public_class_predicts_the_golden_ranks(case, golden_model, aggregate):
    model, X, X_test = golden_model
    predicted = model(aggregate).fit(X, case["y"]).predict(X_test)
    assert_array_equal(predicted, case[PREDICTED[aggregate]])


@pytest.mark.parametrize("aggregate", ["bayes_point", "bagging"])
def test_the_public_class_predicts_progressively(case, golden_model, aggregate):
    model, X, _ = golden_model
    predicted = model(aggregate).progressive(X, case["y"])
    name = {"bayes_point": "bpm", "bagging": "bagg"}[aggregate]
    assert_array_equal(predicted, case["online"][name])


@pytest.mark.parametrize("aggregate", ["bayes_point", "bagging", "median"])
def test_the_public_class_returns_the_golden_mean_rank(case, golden_model, aggregate):
    model, X, X_test = golden_model
    assert_close(model(aggregate).fit(X, case["y"]).mean_rank(X_test), case["bagg_mean"])


def test_the_voted_mean_rank_is_that_of_the_golden_votes(case, golden_model):
    model, X, X_test = golden_model
    mean = model("voted").fit(X, case["y"]).mean_rank(X_test)
    votes, ranks = np.array(case["v_seen"]), np.array(case["member_preds"])
    assert_close(mean, votes @ ranks / votes.sum())


def test_the_shares_are_those_of_the_golden_members(case, golden_model):
    model, X, X_test = golden_model
    shares = model("bagging").fit(X, case["y"]).predict_proba(X_test)
    ranks = np.array(case["member_preds"])
    expected = [(ranks == r).mean(axis=0) for r in range(1, case["k"] + 1)]
    assert_close(shares, np.transpose(expected))


def test_the_public_class_shows_the_golden_votes(case, golden_model):
    model, X, _ = golden_model
    assert_array_equal(model("voted").fit(X, case["y"]).votes_, case["v_seen"])


def test_the_public_class_shows_the_golden_thresholds(case, golden_model):
    model, X, _ = golden_model
    fitted = model("bayes_point").fit(X, case["y"])
    assert_close(fitted.thresholds_, case["b"])
    assert_close(fitted.member_thresholds_, case["B"])


def test_the_linear_class_shows_the_golden_weights(case, golden_model):
    model, X, _ = golden_model
    fitted = model("bayes_point").fit(X, case["y"])
    if fitted.kernel != "linear":
        mean = fitted.dual_coef_ @ np.array(case["X"])[fitted.support_]
        assert_close(mean, case["w"])
        return
    assert_close(fitted.coef_, case["w"])
    assert_close(fitted.member_coef_, case["W"])
    assert fitted.intercept_ == 0
    assert_array_equal(fitted.member_intercept_, 0)
