"""What no estimator takes for a parameter: refused in a sentence, or else it works."""

import warnings
from datetime import timedelta

import numpy as np
import pytest
from sklearn.base import clone

from peckorder import PRank, RankBoost
from peckorder._core.errors import refusal_of
from support.helpers import exactly
from support.stored_models import CASES

DURATIONS = [
    np.timedelta64(5, "ns"),
    np.timedelta64(5, "s"),
    np.timedelta64("NaT"),
    timedelta(days=1),
    np.datetime64(5, "D"),
]
LARGE = [2**63, 2**70, 10**400, -(10**400)]
STRANGE = [*DURATIONS, *LARGE, np.array(1.0), np.array([1, 2]), 1j, object()]
MODELS = [
    "prank",
    "prank-rbf",
    "prank-budget",
    "aggregate-bayes-point",
    "widrow-hoff",
    "perceptron",
    "mprank",
    "mprank-rbf",
    "mprank-cv-rbf",
    "svrank",
    "rankboost",
    "ordinal-boost",
    "ordinal-boost-free",
    "table",
    "item-mean",
    "min-norm",
    "nearest",
    "similarity",
    "personal",
    "personal-references",
]
# Scikit-learn refuses what is no seed, in its own words. Without the compiler NumPy warns
# where random numbers wrap around.
with np.errstate(over="ignore"):
    NAMES = [
        (name, parameter)
        for name in MODELS
        for parameter in CASES[name].fit().get_params(deep=False)
        if parameter != "random_state"
    ]


@pytest.mark.parametrize(("name", "parameter"), NAMES)
def test_parameters_of_a_strange_kind_or_size(name, parameter):
    model = CASES[name].fit()
    before = getattr(model, parameter)
    try:
        for value in STRANGE:
            setattr(model, parameter, value)
            is_refused = False
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    CASES[name].fit()
            except Exception as error:
                if refusal_of(error) is None:
                    raise
                is_refused = True
            assert is_refused or not any(value is one for one in DURATIONS)
    finally:
        setattr(model, parameter, before)


X, Y = [[0.0], [1.0], [2.0]], [1, 2, 3]


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            PRank(max_iter=np.timedelta64(5, "s")),
            "PRank: max_iter must be an integer >= 1; got np.timedelta64(5,'s').",
        ),
        (
            PRank(max_iter=2**63),
            "PRank: max_iter must be below 2**63, as an integer; got 9223372036854775808.",
        ),
        (
            RankBoost(learning_rate=np.timedelta64(5, "ns")),
            "RankBoost: learning_rate must be 'auto' or a finite number > 0; "
            "got np.timedelta64(5,'ns').",
        ),
    ],
)
def test_the_sentence_says_what_was_given(model, sentence):
    with pytest.raises(ValueError, match=exactly(sentence)):
        model.fit(X, Y)


MODELS = [PRank(shuffle=True), RankBoost(n_rounds=1), RankBoost(n_rounds=1, weak="tree")]


@pytest.mark.parametrize("seed", [np.timedelta64(3, "s"), 2**40, -1, 10**400, "x", np.array([1])])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_seed_is_refused_in_our_words(model, seed):
    rule = r"random_state must be None, an integer from 0 to 2\*\*32 - 1 or a RandomState; got "
    with pytest.raises(ValueError, match=f"{type(model).__name__}: {rule}"):
        clone(model).set_params(random_state=seed).fit(X, Y)
