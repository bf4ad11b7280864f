"""What kernels and ensembles refuse: the sentence, and the unchanged model."""

import copy
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from peckorder import AggregatePRank, PRank
from peckorder.exceptions import DataError
from support.helpers import (
    AGGREGATES,
    ENSEMBLES,
    KERNEL_LEARNERS,
    integer_data,
    make,
    raises_unchanged,
    same,
)

X, Y = integer_data(1)
LEARN = ["fit", "partial_fit", "progressive"]
few = partial(AggregatePRank, n_estimators=3, random_state=0)
BOTH = {"PRank": PRank, "AggregatePRank": few}
both = pytest.mark.parametrize("kind", BOTH)
every_way = pytest.mark.parametrize("method", LEARN)
NOT_A_NUMBER = [float("nan"), float("inf"), "1", True, 1j, [1.0]]

BAD = {
    "gamma": ("None or a finite number > 0", [0, -1.0, *NOT_A_NUMBER]),
    "degree": ("an integer >= 1", [0, -1, 2.0, None, *NOT_A_NUMBER]),
    "coef0": ("a finite number", [None, *NOT_A_NUMBER]),
    "budget": ("None or an integer >= 1", [0, -5, 10.0, *NOT_A_NUMBER]),
}
BAD_ENSEMBLE = {
    "tau": (
        "a number > 0 and <= 1",
        [0, -0.1, 1.5, None, "0.5", *NOT_A_NUMBER, np.nextafter(1, 2)],
    ),
    "n_estimators": ("an integer >= 1", [0, -1, 10.0, None, *NOT_A_NUMBER]),
    "n_jobs": ("None or an integer, not zero", [0, 1.0, *NOT_A_NUMBER]),
}


def each(bad):
    cases = [(name, rule, value) for name, (rule, v) in bad.items() for value in v]
    return pytest.mark.parametrize(("parameter", "rule", "value"), cases)


@both
@each(BAD)
def test_parameters_of_a_kernel_are_refused(kind, parameter, rule, value):
    model = BOTH[kind](kernel="poly").fit(X, Y).set_params(**{parameter: value})
    sentence = f"{kind}: {parameter} must be {rule}; got {value!r}."
    for method in LEARN:
        with raises_unchanged(model, ValueError, sentence):
            getattr(model, method)(X, Y)


@each(BAD_ENSEMBLE)
def test_parameters_of_an_ensemble_are_refused(parameter, rule, value):
    model = few().fit(X, Y).set_params(**{parameter: value})
    sentence = f"AggregatePRank: {parameter} must be {rule}; got {value!r}."
    for method in LEARN:
        with raises_unchanged(model, ValueError, sentence):
            getattr(model, method)(X, Y)


@pytest.mark.parametrize("value", [-1, -2, 1, 64, None, np.int64(2)])
def test_other_numbers_of_threads_are_accepted(value):
    assert few(n_jobs=value).fit(X, Y).n_rounds_ == len(Y)


@pytest.mark.parametrize("tau", [1, 1.0, np.float32(0.5), 1e-300, np.int64(1)])
def test_other_shares_of_the_rows_are_accepted(tau):
    assert few(tau=tau).fit(X, Y).n_rounds_ == len(Y)


GAMMA = "gamma must be None or a finite number > 0"
KERNEL = (
    "kernel must be one of 'linear', 'poly', 'rbf', 'precomputed' or a function of two matrices"
)
AGGREGATE = "aggregate must be one of 'bayes_point', 'bagging', 'voted', 'median'"
# Words and other values, the rule that they break, and the hint.
WORDS = [
    *(
        ("gamma", value, GAMMA, hint)
        for value, hint in (
            ("auto", " None is 1 / n_features, which is 'auto' elsewhere."),
            ("scale", " Give the number itself, 1 / (X.shape[1] * X.var())."),
        )
    ),
    *(
        ("kernel", value, KERNEL, hint)
        for value, hint in (
            ("polynomial", " Did you mean 'poly'?"),
            ("gaussian", " Did you mean 'rbf'?"),
            ("radial", " Did you mean 'rbf'?"),
            ("rbff", " Did you mean 'rbf'?"),
            ("Linear", " Did you mean 'linear'?"),
            ("laplacian", " Pass the function sklearn.metrics.pairwise.laplacian_kernel itself."),
            ("chi2", " Pass the function sklearn.metrics.pairwise.chi2_kernel itself."),
            ("", ""),
            ("something", ""),
            (3, ""),
            (None, ""),
            (["rbf"], ""),
        )
    ),
]
WORDS_OF_ENSEMBLES = [
    ("aggregate", value, AGGREGATE, hint)
    for value, hint in (
        ("bayespoint", " Did you mean 'bayes_point'?"),
        ("bag", " Did you mean 'bagging'?"),
        ("average", ""),
        ("Median", " Did you mean 'median'?"),
        ("vote", " Did you mean 'voted'?"),
        ("mean", " Did you mean 'bayes_point'?"),
        ("BPM", " Did you mean 'bayes_point'?"),
        ("OAP-Bagg", " Did you mean 'bagging'?"),
        ("vp", " Did you mean 'voted'?"),
        (None, ""),
        (2, ""),
    )
]


@pytest.mark.parametrize(
    ("kind", "parameter", "value", "rule", "hint"),
    [(kind, *case) for kind in BOTH for case in WORDS]
    + [("AggregatePRank", *case) for case in WORDS_OF_ENSEMBLES],
)
def test_other_words_are_refused_with_a_hint(kind, parameter, value, rule, hint):
    model = BOTH[kind](**{"kernel": "rbf", parameter: value})
    with raises_unchanged(model, ValueError, f"{kind}: {rule}; got {value!r}.{hint}"):
        model.fit(X, Y)


@every_way
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_the_voted_rule_refuses_a_budget(kernel, method):
    model = PRank(rule="voted", kernel=kernel).fit(X, Y).set_params(budget=10)
    sentence = (
        "PRank: budget must be None with rule='voted', in which every row that was "
        "ever misplaced has a part; got 10."
    )
    with raises_unchanged(model, ValueError, sentence):
        getattr(model, method)(X, Y)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 5},
        *(
            {"kernel": kernel, "rule": rule}
            for kernel in ("poly", "rbf")
            for rule in ("last", "averaged", "voted")
        ),
    ],
    ids=str,
)
def test_a_kernel_or_a_budget_has_no_weights_to_start_from(options):
    model = PRank(**options).fit(X, Y)
    sentence = (
        "PRank: coef_init must be None unless kernel='linear' and budget=None, which "
        "alone have weights to start from; got [1, 2, 3]."
    )
    with raises_unchanged(model, ValueError, sentence):
        model.fit(X, Y, coef_init=[1, 2, 3])


@both
@every_way
@pytest.mark.parametrize("shape", [(60, 59), (59, 60), (60, 3)])
def test_kernel_values_that_are_not_square_are_refused(kind, method, shape):
    model, y = BOTH[kind](kernel="precomputed"), np.resize(Y, shape[0])
    sentence = (
        f"{kind}: X must be square with kernel='precomputed', a column for each row; "
        f"got {shape[0]} rows and {shape[1]} columns."
    )
    with raises_unchanged(model, DataError, sentence):
        getattr(model, method)(np.ones(shape), y)


@both
@pytest.mark.parametrize("method", ["partial_fit", "progressive"])
def test_learning_from_kernel_values_cannot_be_continued(kind, method):
    K = X @ X.T
    model = BOTH[kind](kernel="precomputed").fit(K, Y)
    sentence = (
        f"{kind}: kernel must be 'linear', 'poly', 'rbf' or a function to go on "
        "learning, since new rows have no column among the old ones; got "
        "'precomputed'."
    )
    with raises_unchanged(model, DataError, sentence):
        getattr(model, method)(K, Y)


@both
def test_kernel_values_with_other_columns_are_refused(kind):
    model = BOTH[kind](kernel="precomputed").fit(X @ X.T, Y)
    sentence = f"X has 59 features, but {kind} is expecting 60 features as input."
    with raises_unchanged(model, ValueError, sentence):
        model.predict(np.ones((3, 59)))


class Kernel:
    """Products of rows, or what `spoil` makes of them."""

    def __init__(self):
        self.spoil = lambda values: values

    def __call__(self, X, Z):
        return self.spoil(X @ Z.T)

    def __deepcopy__(self, memo):
        return self  # as a function would


def shape_sentence(kind, got):
    return (
        f"{kind}: kernel must be a function of two matrices that returns a number for "
        f"each two of their rows, here an array of shape (60, {{n}}); got {got}. If it "
        "is a function f of two rows, pass lambda X, Z: "
        "sklearn.metrics.pairwise.pairwise_kernels(X, Z, metric=f)."
    )


WRONG = {
    "a column short": (lambda v: v[:, 1:], "an array of shape (60, {less}) and type "),
    "a row short": (lambda v: v[1:], "an array of shape (59, {n}) and type "),
    "a sum": (lambda v: v.sum(), "an array of shape () and type "),
    "flat": (lambda v: v.ravel(), "an array of shape ({all},) and type "),
}
NO_NUMBERS = {
    "nothing": (lambda v: None, "an object of type NoneType"),
    "a word": (lambda v: "word", "an object of type str"),
    "a number": (lambda v: 1.0, "an object of type float"),
    "a set": (lambda v: {1.0}, "an object of type set"),
    "ragged": (lambda v: [[1.0], [1.0, 2.0]], "an object of type list"),
    "words": (
        lambda v: np.full((60, 60), "a", dtype="U1"),
        "an array of shape (60, 60) and type <U1",
    ),
    "objects": (
        lambda v: np.full((60, 60), "a", dtype=object),
        "an array of shape (60, 60) and type object",
    ),
    "complex": (lambda v: v + 1j, "an array of shape (60, 60) and type complex128"),
}


@both
@every_way
@pytest.mark.parametrize("wrong", WRONG)
def test_a_kernel_of_the_wrong_shape_is_refused(kind, method, wrong):
    kernel = Kernel()
    model = BOTH[kind](kernel=kernel).fit(X, Y)
    kernel.spoil, got = WRONG[wrong]
    # From scratch it is asked of the rows themselves; else first of those it kept.
    n = 60 if method == "fit" else len(model._learner.support)
    got = got.format(n=n, less=n - 1, all=60 * n) + "float64"
    sentence = shape_sentence(kind, got).format(n=n)
    with raises_unchanged(model, DataError, sentence):
        getattr(model, method)(X, Y)


@both
@pytest.mark.parametrize("wrong", NO_NUMBERS)
def test_a_kernel_that_returns_no_numbers_is_refused(kind, wrong):
    kernel = Kernel()
    model = BOTH[kind](kernel=kernel).fit(X, Y)
    kernel.spoil, got = NO_NUMBERS[wrong]
    with raises_unchanged(model, DataError, shape_sentence(kind, got).format(n=60)):
        model.fit(X, Y)


@both
@every_way
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_kernel_that_is_not_finite_is_refused(kind, method, value):
    kernel = Kernel()
    model = BOTH[kind](kernel=kernel).fit(X, Y)
    kernel.spoil = lambda values: np.where(values > 0.5, value, values)
    sentence = f"{kind}: kernel must be a function that returns finite numbers; got {value!r}."
    with raises_unchanged(model, DataError, sentence):
        getattr(model, method)(X, Y)


@both
def test_a_kernel_that_is_not_finite_is_refused_when_predicting(kind):
    kernel = Kernel()
    model = BOTH[kind](kernel=kernel).fit(X, Y)
    kernel.spoil = lambda values: values * np.nan
    sentence = f"{kind}: kernel must be a function that returns finite numbers; got nan."
    with raises_unchanged(model, DataError, sentence):
        model.predict(X)


@both
@pytest.mark.parametrize("method", [*LEARN, "predict"])
def test_an_error_of_a_kernel_is_passed_on(kind, method):
    kernel = Kernel()
    model = BOTH[kind](kernel=kernel).fit(X, Y)

    def fail(values):
        raise ZeroDivisionError("not today")

    kernel.spoil = fail
    before = copy.deepcopy(vars(model))
    arguments = (X,) if method == "predict" else (X, Y)
    with pytest.raises(ZeroDivisionError) as raised:
        getattr(model, method)(*arguments)
    assert same(vars(model), before)
    assert raised.value.args == ("not today",)
    assert raised.value.__notes__ == [
        f"{kind}: kernel was called with two matrices. If it is a function f of two "
        "rows, pass lambda X, Z: "
        "sklearn.metrics.pairwise.pairwise_kernels(X, Z, metric=f)."
    ]


@both
def test_a_kernel_may_return_lists_integers_or_sparse_values(kind):
    exact = {"unit_norm": False}
    expected = BOTH[kind](kernel=Kernel(), **exact).fit(X, Y).predict(X)
    for form in (np.ndarray.tolist, sparse.csr_array, lambda v: v.astype(int)):
        kernel = Kernel()
        kernel.spoil = form
        assert same(BOTH[kind](kernel=kernel, **exact).fit(X, Y).predict(X), expected)


@pytest.mark.parametrize("name", [*KERNEL_LEARNERS, *ENSEMBLES])
@pytest.mark.parametrize("column", [3, 1000, -1])
@pytest.mark.parametrize("method", [*LEARN, "predict"])
def test_a_column_out_of_range_is_refused(name, column, method):
    model = make(name).fit(X, Y)
    rows = sparse.csr_array(X)
    rows.indices[4] = column
    sentence = (
        f"{type(model).__name__}: X must be a well-formed CSR matrix; got indices that "
        "point outside of it. X.check_format() says where."
    )
    arguments = (rows,) if method == "predict" else (rows, Y)
    with raises_unchanged(model, DataError, sentence):
        getattr(model, method)(*arguments)


@both
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_given_kernel_values_must_be_finite(kind, value, method):
    K = X @ X.T
    model = BOTH[kind](kernel="precomputed").fit(K, Y)
    before = copy.deepcopy(vars(model))
    K[30, 40] = value
    with pytest.raises(ValueError, match=r"(?m)^Input X contains (NaN|infinity)"):
        model.fit(K, Y) if method == "fit" else model.predict(K)
    assert same(vars(model), before)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [{}, {"kernel": "poly"}, {"kernel": "rbf"}, {"budget": 9}])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_missing_value_is_refused_even_if_no_member_is_offered_the_row(seed, options, form):
    rows = X.copy()
    rows[30, 1] = np.nan
    model = AggregatePRank(n_estimators=1, tau=1e-9, random_state=seed, **options)
    with pytest.raises(ValueError, match=r"(?m)^Input X contains NaN\.$"):
        model.fit(form(rows), Y)
    assert vars(model) == model.get_params()


CHANGES = {
    "kernel": ("poly", "rbf"),
    "gamma": (1.0, 2.0),
    "degree": (2, 3),
    "coef0": (1.0, 0.0),
    "budget": (None, 7),
}
ENSEMBLE_CHANGES = CHANGES | {
    "tau": (0.6, 0.5),
    "n_estimators": (3, 4),
    "aggregate": ("bayes_point", "median"),
}


@pytest.mark.parametrize(
    ("kind", "parameter"),
    [("PRank", p) for p in CHANGES] + [("AggregatePRank", p) for p in ENSEMBLE_CHANGES],
)
@pytest.mark.parametrize("method", ["partial_fit", "progressive"])
def test_a_parameter_changed_between_calls_is_refused(kind, parameter, method):
    before, after = ENSEMBLE_CHANGES[parameter]
    start = {"kernel": "poly", "gamma": 1.0} | {parameter: before}
    model = BOTH[kind](**start).partial_fit(X, Y).set_params(**{parameter: after})
    sentence = (
        f"{kind}: {parameter} must be {before!r} as when learning began; got {after!r}. "
        "Call fit to start anew."
    )
    with raises_unchanged(model, ValueError, sentence):
        getattr(model, method)(X, Y)


@both
def test_a_changed_kernel_takes_effect_in_fit(kind):
    model = BOTH[kind]().fit(X, Y)
    kinds = [{"kernel": "rbf"}, {"budget": 5, "kernel": "linear"}, {"budget": None}]
    for changed in kinds:
        model.set_params(**changed).fit(X, Y)
        fresh = BOTH[kind](**{n: getattr(model, n) for n in ("kernel", "budget")})
        assert vars(model).keys() == vars(fresh.fit(X, Y)).keys()


def test_only_the_bayes_point_has_a_score():
    offered = {a: hasattr(few(aggregate=a), "decision_function") for a in AGGREGATES}
    assert offered == {"bayes_point": True, "bagging": False, "voted": False, "median": False}
