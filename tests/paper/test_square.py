"""The papers' own problem, 20 times over, within ranges found by a slow version."""

import numpy as np
import pytest

from helpers import PAPER
from peckorder import MulticlassPerceptron, PRank, WidrowHoff
from peckorder.datasets import make_square
from peckorder.metrics import rank_loss

LEARNERS = {
    "PRank": (PRank(rule="last", **PAPER), "predict"),
    "PRank-avg": (PRank(rule="averaged", **PAPER), "predict"),
    "PRank-voted(round)": (PRank(rule="voted", **PAPER), "predict"),
    "PRank-voted(raw)": (PRank(rule="voted", **PAPER), "mean_rank"),
    **{
        f"WH{eta}": (WidrowHoff(eta=eta, **PAPER), "predict")
        for eta in (0.2, 0.1, 0.05, 0.01)
    },
    "MCP": (MulticlassPerceptron(**PAPER), "predict"),
}


def one_trial(learner, method, protocol, seed):
    n = protocol["T"]
    X, y = make_square(
        n + protocol["test"], noise=protocol["noise_sd"], random_state=seed
    )
    said = getattr(learner.fit(X[:n], y[:n]), method)(X[n:])
    return rank_loss(y[n:], said)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_mean_loss_is_in_the_accepted_range(name, golden):
    file = golden("experiment_synthetic")
    low, high = file["reference"][name]["accept_mean_of_20_trials"]
    learner, method = LEARNERS[name]
    seeds = range(file["protocol"]["trials"])
    losses = [one_trial(learner, method, file["protocol"], seed) for seed in seeds]
    assert low <= np.mean(losses) <= high


@pytest.mark.slow
def test_the_averaged_rule_nears_the_best_possible_loss(golden):
    best = golden("experiment_synthetic")["bayes_rank_loss_exact"]
    learner = PRank(rule="averaged", **PAPER)
    losses = []
    for seed in range(20):
        X, y = make_square(70_000, random_state=seed)
        learner.fit(X[:50_000], y[:50_000])
        losses.append(rank_loss(y[50_000:], learner.predict(X[50_000:])))
    assert abs(np.mean(losses) - best) < 0.01
