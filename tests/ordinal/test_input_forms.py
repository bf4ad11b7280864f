"""Whatever form the rows come in: one model, no needless copy, nothing changed."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.utils.validation import validate_data

from peckorder import PRank
from peckorder._core import validation
from peckorder._core.validation import check_rows
from support.helpers import MAKERS, integer_data, make, messy_csr, raises_unchanged, same, shown

X, Y = integer_data(1)
every_learner = pytest.mark.parametrize("name", MAKERS)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def unaligned(X):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64).reshape(X.shape)
    view[:] = X
    return view


DENSE = {
    "list": lambda X: X.tolist(),
    "read-only": read_only,
    "fortran": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "unaligned": unaligned,
    "int": lambda X: X.astype(int),
    "int8": lambda X: X.astype(np.int8),
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "long double": lambda X: X.astype(np.longdouble),
    "object": lambda X: X.astype(object),
}
SPARSE = {
    "csr array": sparse.csr_array,
    "csr matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "int csr": lambda X: sparse.csr_array(X.astype(int)),
    "float32 csr": lambda X: sparse.csr_array(X.astype(np.float32)),
    "messy csr": lambda X: messy_csr(X, 1),
}


@every_learner
@pytest.mark.parametrize("form", DENSE)
def test_the_form_of_dense_rows_does_not_change_the_model(name, form):
    model = make(name).fit(DENSE[form](X), Y)
    assert same(shown(model, DENSE[form](X)), shown(make(name).fit(X, Y), X))


@every_learner
@pytest.mark.parametrize("form", SPARSE)
def test_sparse_rows_give_the_model_of_dense_ones(name, form):
    # In integers, so that the order of a sum does not matter.
    view = {"unit_norm": False} if name != "normalized" else {"fit_intercept": False}
    # Of three classes the uniform update takes halves, which are exact, and no thirds.
    y = np.minimum(Y, 3) if "uniform" in name else Y
    model = make(name, **view).fit(SPARSE[form](X), y)
    assert_array_equal(model.predict(X), make(name, **view).fit(X, y).predict(X))


@every_learner
def test_booleans_are_zeros_and_ones(name):
    model = make(name).fit(X > 0, Y)
    ones = (X > 0).astype(float)
    assert same(shown(model, X > 0), shown(make(name).fit(ones, Y), ones))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("norms", [False, True])
def test_ordered_rows_are_not_copied(kind, norms):
    rows = X.astype(kind)
    (seen,) = check_rows(PRank(), rows, reset=True, norms=norms)
    assert np.shares_memory(seen, rows)
    assert seen.dtype == kind


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_that_are_ready_are_not_checked_by_scikit_learn(kind, monkeypatch):
    model, rows = PRank().fit(X, Y), X.astype(kind)
    expected = model.predict(rows)
    monkeypatch.setattr(validation, "validate_data", None)
    assert_array_equal(model.predict(rows), expected)


@pytest.mark.parametrize("damaged", [X[:0], X[:, :2], X[0], X.astype(complex), X[np.newaxis]])
def test_rows_that_are_not_ready_are_refused_by_scikit_learn(damaged):
    model = PRank().fit(X, Y)
    with pytest.raises(ValueError) as expected:  # noqa: PT011
        validate_data(model, damaged, reset=False, accept_sparse="csr", dtype=[float, np.float32])
    with raises_unchanged(model, ValueError, str(expected.value)):
        model.predict(damaged)


def test_rows_without_names_are_distinguished_from_those_with_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        PRank().fit(frame, Y).predict(X)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("norms", [False, True])
def test_csr_rows_are_not_copied(kind, norms):
    rows = sparse.csr_array(X.astype(kind))
    seen = check_rows(PRank(), rows, reset=True, norms=norms)
    assert all(map(np.shares_memory, seen, (rows.data, rows.indices, rows.indptr)))


def test_messy_rows_are_not_copied_if_no_norm_is_taken():
    rows = messy_csr(X, 1)
    seen = check_rows(PRank(), rows, reset=True, norms=False)
    assert np.shares_memory(seen[0], rows.data)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_kernels_see_read_only_rows(form):
    seen = check_rows(PRank(), form(X), reset=True, norms=True)
    assert not any(array.flags.writeable for array in seen)


@every_learner
def test_dense_rows_are_never_changed(name):
    rows = X.copy()
    make(name, max_iter=2, shuffle=True, random_state=1).fit(rows, Y).progressive(rows, Y)
    assert rows.tobytes() == X.tobytes()
    assert rows.flags.writeable


@every_learner
def test_sparse_rows_are_never_changed(name):
    rows = messy_csr(X, 1)
    before = [a.copy() for a in (rows.data, rows.indices, rows.indptr)]
    make(name, max_iter=2, shuffle=True, random_state=1).fit(rows, Y).progressive(rows, Y)
    assert all(map(same, before, [rows.data, rows.indices, rows.indptr]))


@every_learner
def test_labels_are_never_changed(name):
    y = Y.copy()
    make(name).fit(X, y).progressive(X, y)
    assert_array_equal(y, Y)


@every_learner
def test_one_row_is_enough_to_learn_from(name):
    model = make(name, classes=[1, 2]).fit(X[:1], Y[:1] % 2 + 1)
    assert model.n_rounds_ == 1


@every_learner
def test_one_column_is_enough_to_learn_from(name):
    assert make(name).fit(X[:, :1], Y).n_features_in_ == 1


@every_learner
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("view", [True, False])
def test_rows_of_zeros_are_accepted(name, form, view):
    rows = form(np.vstack([np.zeros((2, 3)), X]))
    model = make(name, fit_intercept=view).fit(rows, [1, 2, *Y])
    assert np.isfinite(model.predict(rows)).all()


@every_learner
def test_constant_columns_are_accepted(name):
    rows = np.ones((4, 2))
    model = make(name).fit(rows, [1, 2, 1, 2])
    assert len(set(model.predict(rows))) == 1


def test_parameters_set_after_fitting_do_not_change_the_scores_of_a_row():
    model = PRank().fit(X, Y)
    rows = messy_csr(X, 0)
    before = model.decision_function(rows)
    model.set_params(unit_norm=False)
    np.testing.assert_array_equal(model.decision_function(rows), before)
