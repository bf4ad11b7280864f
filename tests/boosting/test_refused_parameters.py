"""Parameters that RankBoost refuses, and is afterwards as it was."""

import copy
import re

import numpy as np
import pytest

from peckorder import RankBoost
from support.helpers import raises_unchanged, same

RNG = np.random.default_rng(0)
X = np.round(RNG.standard_normal((12, 3)), 1) + 0.0
Y, QID = np.arange(12) % 3, np.repeat([0, 1, 2], 4)
WEAK = (
    "'threshold', 'feature', a regressor, a function of X and potentials, or a list of "
    "these"
)
FLAG = "True or False"
NO_NUMBERS = [float("nan"), float("inf"), "1", True, 1j]

BAD = {
    "n_rounds": ("an integer >= 1", [0, -1, 1.0, True, None, "1"]),
    "learning_rate": ("a finite number > 0", [0, -0.5, None, *NO_NUMBERS]),
    "alpha": ("one of 'approximate', 'analytic', 'numeric'", ["third", None, 3, []]),
    "weak": (WEAK, ["thresholds", None, [], (), 3, ["threshold", "x"], [None]]),
    "cumulative": (FLAG, [1, None, "yes"]),
    "default": ("None or a finite number", NO_NUMBERS),
    "missing": ("one of 'zero', 'abstain'", ["nan", None, 0]),
    "smoothing": ("'auto' or a number >= 0", [-0.1, None, "none", *NO_NUMBERS]),
    "max_bins": ("None or an integer from 2 to 255", [1, 256, 2.0, True, "9", -1]),
    "query_weight": ("one of 'pairs', 'equal'", ["query", None, 1]),
    "validation_fraction": (
        "None or a number > 0 and < 1",
        [0, 1, 1.0, -0.5, *NO_NUMBERS],
    ),
    "n_iter_no_change": ("None or an integer >= 1", [0, -1, 1.0, True, "1"]),
    "warm_start": (FLAG, [1, None, "yes"]),
    "n_jobs": ("-1 or an integer >= 1", [0, -2, None, 1.0, True, "all"]),
}


@pytest.fixture
def model():
    return RankBoost(n_rounds=2).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("name", "rule", "value"),
    [(name, rule, value) for name, (rule, values) in BAD.items() for value in values],
)
def test_bad_parameters_are_refused(model, name, rule, value):
    model.set_params(**{name: value})
    sentence = f"RankBoost: {name} must be {rule}; got {value!r}."
    with raises_unchanged(model, ValueError, sentence):
        model.fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("alpha", "Numeric", "'numeric'"),
        ("alpha", "approx", "'approximate'"),
        ("missing", "abstains", "'abstain'"),
        ("query_weight", "pair", "'pairs'"),
    ],
)
def test_what_comes_near_is_named(model, name, value, hint):
    model.set_params(**{name: value})
    rule = BAD[name][0]
    sentence = f"RankBoost: {name} must be {rule}; got {value!r}. Did you mean {hint}?"
    with raises_unchanged(model, ValueError, sentence):
        model.fit(X, Y, qid=QID)


def test_numpy_scalars_are_parameters_too():
    model = RankBoost(
        n_rounds=np.int64(2),
        learning_rate=np.float32(0.5),
        cumulative=np.bool_(True),
        default=np.float64(1.0),
        smoothing=np.float32(0.25),
        max_bins=np.int8(7),
        n_jobs=np.int32(1),
        warm_start=np.bool_(False),
    )
    assert model.fit(X, Y, qid=QID).n_rounds_ == 2


@pytest.mark.parametrize("value", ["foo", None, 3, ["ap"], ""])
def test_an_unknown_metric_is_refused(model, value):
    model.set_params(metric=value)
    before = copy.deepcopy(vars(model))
    pattern = (
        r"^RankBoost: \w+ must be a metric such as 'ap', 'ap\(top\)', 'ndcg@10'; got "
        rf"{re.escape(repr(value))}\."
    )
    with pytest.raises(ValueError, match=pattern):
        model.fit(X, Y, qid=QID)
    assert same(vars(model), before)


def test_an_unknown_metric_is_called_metric(model):
    with pytest.raises(
        ValueError, match=r"^RankBoost: metric must be a metric such as"
    ):
        model.set_params(metric="foo").fit(X, Y, qid=QID)


TOGETHER = {
    "default for thresholds": (
        {"default": 0.5},
        "default must be None, 0 or 1 for thresholds; got 0.5.",
    ),
    "default for both": (
        {"default": -1, "weak": ["feature", "threshold"], "alpha": "numeric"},
        "default must be None, 0 or 1 for thresholds; got -1.",
    ),
    "analytic features": (
        {"alpha": "analytic", "weak": "feature"},
        "alpha must be 'approximate' or 'numeric' with weak='feature'; got 'analytic'.",
    ),
    "analytic features in a list": (
        {"alpha": "analytic", "weak": ["threshold", "feature"]},
        "alpha must be 'approximate' or 'numeric' with weak='feature'; got 'analytic'.",
    ),
    "patience": (
        {"n_iter_no_change": 3},
        "validation_fraction must be a number with n_iter_no_change; got None.",
    ),
    "validation and a warm start": (
        {"validation_fraction": 0.2, "warm_start": True},
        "validation_fraction must be None with warm_start; got 0.2.",
    ),
}


@pytest.mark.parametrize(("options", "sentence"), TOGETHER.values(), ids=TOGETHER)
def test_parameters_that_do_not_go_together_are_refused(model, options, sentence):
    model.set_params(**options)
    with raises_unchanged(model, ValueError, f"RankBoost: {sentence}"):
        model.fit(X, Y, qid=QID)
