"""Parameters that make no sense are refused, and the model is as it was."""

import numpy as np
import pytest

from peckorder import PRank, WidrowHoff
from peckorder.exceptions import DataError
from support.helpers import LEARNERS, RULES, integer_data, make, raises_unchanged

X, Y = integer_data(1, k=3)
every_learner = pytest.mark.parametrize("name", LEARNERS)
BAD = {
    "max_iter": ("an integer >= 1", [0, -1, 1.0, True, None, "1"]),
    "shuffle": ("True or False", [1, None, "yes"]),
    "fit_intercept": ("True or False", [0, None, "no"]),
    "unit_norm": ("True or False", [1.0, None, "l2"]),
}
BAD_ETA = [0, -0.1, float("nan"), float("inf"), None, "0.1", True, 1j]


@every_learner
@pytest.mark.parametrize("method", ["fit", "partial_fit", "progressive"])
@pytest.mark.parametrize(
    ("parameter", "rule", "value"),
    [(name, rule, value) for name, (rule, values) in BAD.items() for value in values],
)
def test_bad_parameters_are_refused(name, method, parameter, rule, value):
    model = make(name).fit(X, Y).set_params(**{parameter: value})
    kind = type(model).__name__
    sentence = f"{kind}: {parameter} must be {rule}; got {value!r}."
    with raises_unchanged(model, ValueError, sentence):
        getattr(model, method)(X, Y)


RULE = "rule must be one of 'averaged', 'voted', 'last'; got"
ETA = "eta must be a finite number > 0; got"
STEP = "step must be one of 'constant', 'normalized'; got"
WORDS = [
    (PRank(rule="mean"), f"{RULE} 'mean'."),
    (PRank(rule="Last"), f"{RULE} 'Last'. Did you mean 'last'?"),
    (PRank(rule="average"), f"{RULE} 'average'. Did you mean 'averaged'?"),
    (PRank(rule=""), f"{RULE} ''."),
    (PRank(rule=None), f"{RULE} None."),
    (PRank(rule=1), f"{RULE} 1."),
    (PRank(rule=["last"]), f"{RULE} ['last']."),
    *((WidrowHoff(eta=value), f"{ETA} {value!r}.") for value in BAD_ETA),
    (WidrowHoff(step="Constant"), f"{STEP} 'Constant'. Did you mean 'constant'?"),
    (WidrowHoff(step="normalised"), f"{STEP} 'normalised'. Did you mean 'normalized'?"),
    (WidrowHoff(step=None), f"{STEP} None."),
    (WidrowHoff(step=1), f"{STEP} 1."),
]


@pytest.mark.parametrize(("model", "sentence"), WORDS, ids=str)
def test_bad_parameters_of_one_estimator_are_refused(model, sentence):
    sentence = f"{type(model).__name__}: {sentence}"
    with raises_unchanged(model, ValueError, sentence):
        model.fit(X, Y)


def test_numpy_scalars_are_parameters_too():
    options = {"max_iter": np.int64(2), "shuffle": np.bool_(False)}
    model = WidrowHoff(eta=np.float32(0.5), fit_intercept=np.bool_(True), **options)
    assert model.fit(X, Y).n_rounds_ == 2 * len(Y)


@every_learner
@pytest.mark.parametrize("parameter", ["fit_intercept", "unit_norm"])
@pytest.mark.parametrize("method", ["partial_fit", "progressive"])
def test_a_transform_changed_between_calls_is_refused(name, parameter, method):
    model = make(name).fit(X, Y).set_params(**{parameter: False})
    sentence = (
        f"{type(model).__name__}: {parameter} must be True as when learning began; got "
        "False. Call fit to start anew."
    )
    with raises_unchanged(model, ValueError, sentence):
        getattr(model, method)(X, Y)


@pytest.mark.parametrize("before", RULES)
@pytest.mark.parametrize("after", RULES)
def test_a_rule_changed_between_calls_is_refused(before, after):
    model = PRank(rule=before).partial_fit(X, Y).set_params(rule=after)
    sentence = (
        f"PRank: rule must be {before!r} as when learning began; got {after!r}. Call "
        "fit to start anew."
    )
    if before == after:
        assert model.partial_fit(X, Y).n_rounds_ == 2 * len(Y)
        return
    with raises_unchanged(model, ValueError, sentence):
        model.partial_fit(X, Y)


@every_learner
def test_a_changed_transform_takes_effect_in_fit(name):
    model = make(name).fit(X, Y).set_params(fit_intercept=False).fit(X, Y)
    assert np.all(getattr(model, "intercept_", 0.0) == 0.0)


@pytest.mark.parametrize("rule", RULES)
def test_fit_with_another_rule_shows_that_rule_only(rule):
    model = PRank(rule="last")
    for changed in [*RULES, rule]:
        model.set_params(rule=changed).fit(X, Y)
    assert vars(model).keys() == vars(PRank(rule=rule).fit(X, Y)).keys()


def test_only_the_voted_rule_has_a_mean_rank():
    offered = {rule: hasattr(PRank(rule=rule), "mean_rank") for rule in RULES}
    assert offered == {"last": False, "averaged": False, "voted": True}


def test_the_voted_rule_has_no_score():
    offered = {rule: hasattr(PRank(rule=rule), "decision_function") for rule in RULES}
    assert offered == {"last": True, "averaged": True, "voted": False}


def test_the_step_may_change_between_calls():
    model = WidrowHoff(eta=0.5, fit_intercept=False, unit_norm=False, classes=[1, 2])
    model.fit([[1.0]], [1]).set_params(eta=0.25).partial_fit([[1.0]], [1])
    # w = 0.5 * 1, then 0.5 + 0.25 * (1 - 0.5).
    assert model.coef_.tolist() == [0.625]


def test_a_run_that_diverges_names_eta():
    model = WidrowHoff(eta=10.0, unit_norm=False).fit([[0.1], [0.2]], [1, 2])
    sentence = (
        "WidrowHoff: eta must be small enough for the run to converge; got 10.0, with "
        "which it diverged by row 8. Lower eta, scale the features, or set "
        "step='normalized'."
    )
    with raises_unchanged(model, DataError, sentence):
        model.fit(np.full((40, 1), 2.0), [1, 2] * 20)


COEF = "coef_init must be one weight per feature, 3 in all"
CONSTANT = f"{COEF}, and one for the constant; got an array of shape"
NUMBER = "thresholds_init must be one threshold between each two classes, 2 in all; got"
NO_NUMBERS = "thresholds_init must be finite numbers; got"
CROSS = (
    "thresholds_init must be integers in ascending order, else they could cross while learning; got"
)
STARTS = [
    ({"coef_init": [1.0]}, f"{CONSTANT} (1,)."),
    ({"coef_init": np.ones(5)}, f"{CONSTANT} (5,)."),
    ({"coef_init": [[1, 2, 3]]}, f"{CONSTANT} (1, 3)."),
    ({"coef_init": [1.0, np.nan, 2.0]}, "coef_init must be finite numbers; got [1.0, nan, 2.0]."),
    ({"thresholds_init": [1]}, f"{NUMBER} an array of shape (1,)."),
    ({"thresholds_init": [0, 1, 2]}, f"{NUMBER} an array of shape (3,)."),
    ({"thresholds_init": 0}, f"{NUMBER} an array of shape ()."),
    ({"thresholds_init": [0.0, np.inf]}, f"{NO_NUMBERS} [0.0, inf]."),
    ({"thresholds_init": [np.nan, 0.0]}, f"{NO_NUMBERS} [nan, 0.0]."),
    ({"thresholds_init": ["a", "b"]}, f"{NO_NUMBERS} ['a', 'b']."),
    ({"thresholds_init": [[0.0], 1.0]}, f"{NO_NUMBERS} [[0.0], 1.0]."),
    ({"thresholds_init": [0.0, 0.5]}, f"{CROSS} [0.0, 0.5]."),
    ({"thresholds_init": [1.0, 0.0]}, f"{CROSS} [1.0, 0.0]."),
]


@pytest.mark.parametrize(("start", "sentence"), STARTS, ids=str)
def test_a_bad_start_is_refused(start, sentence):
    model = PRank().fit(X, Y)
    with raises_unchanged(model, ValueError, f"PRank: {sentence}"):
        model.fit(X, Y, **start)


def test_a_weight_for_the_constant_needs_a_constant():
    model = PRank(fit_intercept=False).fit(X, Y)
    sentence = f"PRank: {COEF}; got an array of shape (4,)."
    with raises_unchanged(model, ValueError, sentence):
        model.fit(X, Y, coef_init=[1, 2, 3, 4])


def test_the_last_weight_of_a_start_is_the_constants():
    options = {"rule": "last", "unit_norm": False, "classes": [1, 2]}
    model = PRank(**options).fit([[1.0]], [2], coef_init=[2, 3], thresholds_init=[0])
    assert (model.coef_.tolist(), model.intercept_) == ([2.0], 3.0)


def test_a_start_is_not_changed_by_learning():
    coef, thresholds = np.ones(3), np.zeros(2)
    PRank().fit(X, Y, coef_init=coef, thresholds_init=thresholds)
    assert (coef.tolist(), thresholds.tolist()) == ([1.0] * 3, [0.0] * 2)
