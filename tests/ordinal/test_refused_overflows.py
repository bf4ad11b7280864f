"""Rows and parameters whose scores are not finite are refused, and the model is as it was."""

from functools import partial
from operator import methodcaller

import numpy as np
import pytest
from scipy import sparse

from peckorder import AggregatePRank, MulticlassPerceptron, PRank, WidrowHoff
from peckorder.exceptions import DataError
from support.helpers import (
    AGGREGATES,
    MAKERS,
    RULES,
    integer_data,
    make,
    overflow,
    raises_unchanged,
)

X, Y = integer_data(1)
LEARN = ["fit", "partial_fit", "progressive"]
FORMS = [np.asarray, sparse.csr_array]
ensemble = partial(AggregatePRank, n_estimators=3, random_state=0)
# What a learner that has no eta to blame is, and the class of the first row that it errs on:
# the next row meets weights of its own size.
LINEAR = [
    *((partial(PRank, rule=rule), 1) for rule in RULES),
    (MulticlassPerceptron, 2),
    *((partial(ensemble, tau=1, aggregate=aggregate), 1) for aggregate in AGGREGATES),
]
LARGE = X.copy()
LARGE[30] = 1e200


def new(kind, **options):
    return lambda: kind(unit_norm=False, **options)


def fitted(kind, rows=X, labels=Y, **options):
    return lambda: kind(unit_norm=False, **options).fit(rows, labels)


def call(method, form=np.asarray):
    arguments = (form(LARGE),) if method == "predict" else (form(LARGE), Y)
    return methodcaller(method, *arguments)


# How a model is made, what is called, and the row that is named, if one is.
REFUSED = [
    *(
        (
            new(kind, classes=[1, 2]),
            methodcaller("fit", form(np.full((3, 2), 1e200)), [wrong, 1, 2]),
            1,
        )
        for kind, wrong in LINEAR
        for form in FORMS
    ),
    *(
        (
            fitted(kind, [[1e100]], [wrong], classes=[1, 2]),
            methodcaller("predict", form([[0.0], [1e10], [1e300]])),
            2,
        )
        for kind, wrong in LINEAR
        for form in FORMS
    ),
    # The score of the first row is 0, but two steps of 1e308 are beyond a float.
    *(
        (
            new(kind, fit_intercept=False, classes=[1, 2, 3]),
            methodcaller("fit", [[1e308]], [1]),
            None,
        )
        for kind in (
            partial(PRank, rule="last"),
            partial(PRank, rule="averaged"),
            partial(ensemble, tau=1),
        )
    ),
    # An update of 1e305, then so many rounds that the sum is beyond a float.
    (
        new(PRank, fit_intercept=False),
        methodcaller("fit", np.array([[1e305]] + [[1.0]] * 5000), [1] + [1, 2] * 2500),
        None,
    ),
    # Not to be blamed on eta.
    (
        fitted(WidrowHoff, [[1.0]], [1], eta=100.0, classes=[1, 2]),
        methodcaller("predict", [[1e308]]),
        0,
    ),
    # Not to be taken for a step of zero.
    (new(WidrowHoff, step="normalized", classes=[1, 2]), methodcaller("fit", [[1e200]], [1]), 0),
    *(
        (fitted(kind, **options), call(method), 30)
        for kind in (PRank, ensemble)
        for options in ({"kernel": "poly"}, {"kernel": "poly", "budget": 9}, {"budget": 9})
        for method in LEARN
    ),
    *(
        (fitted(kind, kernel="poly", **options), call("predict"), 30)
        for kind in (PRank, ensemble)
        for options in ({}, {"budget": 9})
    ),
    *(
        (fitted(PRank, kernel="poly", rule=rule), call(method), 30)
        for rule in RULES
        for method in ("fit", "predict")
    ),
    # Distances of sparse rows are differences of squares.
    *(
        (fitted(kind, kernel="rbf"), call(method, sparse.csr_array), 30)
        for kind in (PRank, ensemble)
        for method in LEARN
    ),
]


@pytest.mark.parametrize(("begin", "call", "row"), REFUSED, ids=range(len(REFUSED)))
def test_scores_that_are_not_finite_are_refused(begin, call, row):
    model = begin()
    with raises_unchanged(model, DataError, overflow(type(model).__name__, row)):
        call(model)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", [*LEARN, "score"])
def test_norms_that_overflow_are_refused(name, form, method):
    model = make(name).fit(X, Y)
    rows = form(np.vstack([X[:2], np.full((1, 3), 1e160)]))
    with raises_unchanged(model, DataError, overflow(type(model).__name__, 2, unit_norm=True)):
        getattr(model, method)(rows, [1, 2, 4])


@pytest.mark.parametrize("kind", [PRank, ensemble])
@pytest.mark.parametrize("extreme", [{"gamma": 1e200}, {"coef0": 1e200}], ids=str)
@pytest.mark.parametrize("budget", [None, 9])
def test_kernel_parameters_that_overflow_are_refused(kind, extreme, budget):
    model = kind(kernel="poly", budget=budget, **extreme)
    before = vars(model).copy()
    # Whatever the sentence, it is not Python's.
    with pytest.raises(ValueError, match=rf"^{type(model).__name__}: "):
        model.fit(X, Y)
    assert vars(model) == before


@pytest.mark.parametrize("kind", [PRank, ensemble])
@pytest.mark.parametrize("method", LEARN)
def test_a_dense_row_may_be_far_from_all_others(kind, method):
    model = kind(unit_norm=False, kernel="rbf", classes=[1, 2, 3, 4])
    getattr(model, method)(LARGE, Y)
    assert model.n_rounds_ == 60
    assert np.isfinite(model.predict(LARGE)).all()
