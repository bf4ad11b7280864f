"""Rows that cannot be learnt are refused, and the model is as it was."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from peckorder import PRank
from peckorder._core.validation import check_rows
from peckorder.exceptions import DataError
from peckorder.ordinal.learners import base
from support.helpers import MAKERS, integer_data, make, raises_unchanged, same

X, Y = integer_data(1)
FORMS = {"dense": np.asarray, "csr": sparse.csr_array}
every_learner = pytest.mark.parametrize("name", MAKERS)
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
LEARN = ["fit", "partial_fit", "progressive"]


def ask(model, method, rows):
    """Call a method that wants rows, with labels where it wants them too."""
    if method in {*LEARN, "score"}:
        return getattr(model, method)(rows, Y[: rows.shape[0]])
    return getattr(model, method)(rows)


def with_bad_value(form, value, row):
    rows = X.copy()
    rows[row, 1] = value
    return form(rows)


@every_learner
@every_form
@pytest.mark.parametrize("method", [*LEARN, "predict", "score"])
@pytest.mark.parametrize("row", [0, 50])
def test_a_missing_value_is_refused(name, form, method, row):
    model = make(name).fit(X, Y)
    before = copy.deepcopy(vars(model))
    with pytest.raises(ValueError, match=r"(?m)^Input X contains NaN\.$"):
        ask(model, method, with_bad_value(form, np.nan, row))
    assert same(vars(model), before)


@every_learner
@every_form
@pytest.mark.parametrize("method", [*LEARN, "predict", "score"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_is_refused(name, form, method, value):
    model = make(name).fit(X, Y)
    sentence = "Input X contains infinity or a value too large for dtype('float64')."
    with raises_unchanged(model, ValueError, sentence):
        ask(model, method, with_bad_value(form, value, 50))


@every_learner
@pytest.mark.parametrize("view", [{"unit_norm": False}, {"fit_intercept": False}, {}])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_first_value_is_refused_by_a_model_that_is_not_fitted(name, view, value):
    # All weights are zero, and so would be the score of anything finite.
    model = make(name, **view)
    with pytest.raises(ValueError, match=r"(?m)^Input X contains "):
        model.fit([[value, 1.0], [1.0, 2.0]], [1, 2])
    assert vars(model) == model.get_params()


@every_learner
def test_a_bad_value_in_a_later_block_is_refused(name, monkeypatch):
    monkeypatch.setattr(base, "BLOCK", 7)
    model = make(name).fit(X, Y)
    sentence = "Input X contains infinity or a value too large for dtype('float64')."
    with raises_unchanged(model, ValueError, sentence):
        model.partial_fit(with_bad_value(np.asarray, np.inf, 40), Y)


@every_learner
def test_a_bad_value_in_shuffled_rows_is_refused(name):
    model = make(name, shuffle=True, random_state=1, max_iter=2).fit(X, Y)
    sentence = "Input X contains infinity or a value too large for dtype('float64')."
    with raises_unchanged(model, ValueError, sentence):
        model.fit(with_bad_value(np.asarray, np.inf, 40), Y)


@every_learner
def test_an_interruption_leaves_the_model_as_it_was(name, monkeypatch):
    model = make(name).fit(X, Y)
    learner, n_blocks = type(model._learner), 0
    learn_block = learner.learn_block

    def interrupted(self, *args):
        nonlocal n_blocks
        n_blocks += 1
        if n_blocks == 3:
            raise KeyboardInterrupt("now")
        return learn_block(self, *args)

    monkeypatch.setattr(base, "BLOCK", 7)
    monkeypatch.setattr(learner, "learn_block", interrupted)
    with raises_unchanged(model, KeyboardInterrupt, "now"):
        model.partial_fit(X, Y)


@every_learner
@pytest.mark.parametrize("method", ["partial_fit", "progressive", "predict", "score"])
def test_another_number_of_features_is_refused(name, method):
    model = make(name).fit(X, Y)
    kind = type(model).__name__
    sentence = f"X has 2 features, but {kind} is expecting 3 features as input."
    with raises_unchanged(model, ValueError, sentence):
        ask(model, method, X[:, :2])


@every_learner
@every_form
@pytest.mark.parametrize("method", [*LEARN, "predict"])
def test_no_rows_are_refused(name, form, method):
    model = make(name).fit(X, Y)
    sentence = (
        "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required "
        f"by {type(model).__name__}."
    )
    with raises_unchanged(model, ValueError, sentence):
        ask(model, method, form(np.empty((0, 3))))


@every_learner
@pytest.mark.parametrize("method", ["predict", "score"])
def test_a_model_that_is_not_fitted_does_not_predict(name, method):
    model = make(name)
    sentence = (
        f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with "
        "appropriate arguments before using this estimator."
    )
    with raises_unchanged(model, NotFittedError, sentence):
        ask(model, method, X)


@pytest.mark.parametrize(
    ("name", "method"), [("last", "decision_function"), ("voted", "mean_rank")]
)
def test_a_model_that_is_not_fitted_has_no_scores(name, method):
    model = make(name)
    sentence = (
        "This PRank instance is not fitted yet. Call 'fit' with appropriate arguments "
        "before using this estimator."
    )
    with raises_unchanged(model, NotFittedError, sentence):
        ask(model, method, X)


MALFORMED = (
    "PRank: X must be a well-formed CSR matrix; got indices that point outside of it. "
    "X.check_format() says where."
)


@pytest.mark.parametrize("column", [3, 1000, -1])
@pytest.mark.parametrize("method", [*LEARN, "predict"])
def test_a_column_out_of_range_is_refused(column, method):
    model = PRank().fit(X, Y)
    rows = sparse.csr_array(X)
    rows.indices[4] = column
    with raises_unchanged(model, DataError, MALFORMED):
        ask(model, method, rows)


def shorten(rows):
    rows.indices = rows.indices[:2]


def overrun(rows):
    rows.indptr = rows.indptr + np.append(np.zeros(len(X)), 9).astype(np.int32)


def go_back(rows):
    rows.indptr[2], rows.indptr[3] = rows.indptr[3], rows.indptr[2]


@pytest.mark.parametrize("spoil", [shorten, overrun, go_back])
def test_rows_that_point_outside_the_matrix_are_refused(spoil):
    rows = sparse.csr_array(X + 10)
    spoil(rows)
    model = PRank()
    # Not by learning, which would read memory that is not ours if this failed.
    with raises_unchanged(model, DataError, MALFORMED.removeprefix("PRank: ")):
        check_and_forget(model, rows)


def check_and_forget(model, rows):
    try:
        check_rows(model, rows, reset=True, norms=False)
    finally:
        vars(model).pop("n_features_in_", None)
