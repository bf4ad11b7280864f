"""RankBoost learns the same whatever form its data come in, and on any threads."""

import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import Preferences, RankBoost
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from support.helpers import messy_csr, same

KINDS = {
    "approximate": {"alpha": "approximate"},
    "analytic": {"alpha": "analytic"},
    "numeric": {"alpha": "numeric", "cumulative": False},
    "bins": {"max_bins": 3},
    "features": {"alpha": "numeric", "weak": "feature"},
    "both": {"alpha": "numeric", "weak": ["feature", "threshold"]},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)


def drawn(seed=0, n=60, d=5, share=0.2):
    """Draw halves, of which many are zero and some abstain, grades and queries."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n, d)) / 2
    X[rng.random((n, d)) < 0.4] = 0.0
    X[rng.random((n, d)) < share] = np.nan
    return X, rng.integers(0, 3, n), rng.integers(0, 6, n)


X, Y, QID = drawn()
WHOLE = np.where(np.isnan(X), 0.0, X)


def fitted(rows=X, y=Y, qid=QID, **options):
    return RankBoost(**{"n_rounds": 12} | options).fit(rows, y, qid=qid)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


DENSE = {
    "list": lambda X: X.tolist(),
    "read-only": read_only,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "float32 fortran": lambda X: np.asfortranarray(X, dtype=np.float32),
    "object": lambda X: X.astype(object),
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=list("abcde")),
}


def same_model(a, b):
    names = ("weak_rankers_", "bounds_", "feature_importances_", "smoothing_")
    return all(same(getattr(a, name), getattr(b, name)) for name in names)


@every_kind
@pytest.mark.parametrize("form", DENSE.values(), ids=DENSE)
def test_dense_rows_teach_the_same_in_any_form(options, form):
    model, expected = fitted(form(X), **options), fitted(**options)
    assert same_model(model, expected)
    assert_array_equal(model.predict(form(X)), expected.predict(X))


@every_kind
@pytest.mark.parametrize("kind", [int, np.int8, bool])
def test_integers_are_numbers_too(options, kind):
    rows = np.round(2 * np.abs(WHOLE)).clip(0, 1 if kind is bool else 9)
    options = options | ({"alpha": "numeric"} if "weak" in options else {})
    model, expected = fitted(rows.astype(kind), **options), fitted(rows, **options)
    assert same_model(model, expected)
    assert_array_equal(model.predict(rows.astype(kind)), expected.predict(rows))


def stored(X, is_stored, kind):
    rows, columns = np.nonzero(is_stored)
    return kind((X[rows, columns], (rows, columns)), shape=X.shape)


def some_zeros(X, kind):
    """Store the gaps, and every other zero as well."""
    return stored(X, (X != 0) | (np.arange(X.size).reshape(X.shape) % 2 == 0), kind)


def no_gaps(X, kind):
    return stored(X, ~np.isnan(X), kind)


def some_gaps(X, kind):
    odd = np.arange(X.size).reshape(X.shape) % 2 == 0
    return stored(X, ~np.isnan(X) | odd, kind)


FORMATS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
# What is stored, and what is meant by what is not.
STORED = {
    "all but zeros": (lambda X, kind: stored(X, X != 0, kind), "zero"),
    "some zeros": (some_zeros, "zero"),
    "all but gaps": (no_gaps, "abstain"),
    "some gaps": (some_gaps, "abstain"),
    "everything": (lambda X, kind: stored(X, np.ones(X.shape), kind), "abstain"),
    "everything, too": (lambda X, kind: stored(X, np.ones(X.shape), kind), "zero"),
}


@every_kind
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("form", "missing"), STORED.values(), ids=STORED)
def test_sparse_rows_teach_what_dense_ones_do(options, kind, form, missing):
    rows = form(X, kind)
    model, expected = fitted(rows, missing=missing, **options), fitted(**options)
    assert same_model(model, expected)
    # What adds up to a score is added in another order.
    assert_allclose(model.predict(rows), expected.predict(X), rtol=0, atol=1e-12)
    assert_allclose(model.explain(rows), expected.explain(X), rtol=0, atol=1e-12)
    *_, last = model.staged_predict(rows)
    assert_allclose(last, expected.predict(X), rtol=0, atol=1e-12)


@every_kind
def test_sparse_float32_rows_teach_what_dense_ones_do(options):
    rows = sparse.csr_array(WHOLE.astype(np.float32))
    assert same_model(fitted(rows, **options), fitted(WHOLE, **options))


@pytest.mark.parametrize("seed", range(3))
def test_entries_stored_in_parts_are_added_up(seed):
    rows = messy_csr(WHOLE, seed)
    before = rows.copy()
    model, expected = fitted(rows), fitted(WHOLE)
    assert same_model(model, expected)
    assert_allclose(model.predict(rows), expected.predict(WHOLE), atol=1e-12)
    assert_allclose(model.explain(rows), expected.explain(WHOLE), atol=1e-12)
    *_, last = model.staged_predict(rows)
    assert_allclose(last, expected.predict(WHOLE), atol=1e-12)
    assert same(before.data, rows.data)
    assert same(before.indices, rows.indices)


def test_what_is_not_stored_means_what_it_meant_in_fit():
    rows = no_gaps(X, sparse.csr_array)
    model = fitted(rows, missing="abstain")
    before = model.predict(rows)
    assert_array_equal(model.set_params(missing="zero").predict(rows), before)


@every_kind
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_are_never_changed(options, form):
    rows = form(WHOLE.copy())
    fitted(rows, **options).predict(rows)
    rows = rows.toarray() if sparse.issparse(rows) else rows
    assert rows.tobytes() == WHOLE.tobytes()


def test_nothing_else_is_changed():
    y, qid, weight, offset = Y.copy(), QID.copy(), np.ones(60), np.zeros(60)
    fitted_with = RankBoost(n_rounds=3).fit(X, y, qid=qid, sample_weight=weight, offset=offset)
    fitted_with.predict(X, offset=offset)
    assert (y.tolist(), qid.tolist()) == (Y.tolist(), QID.tolist())
    assert (set(weight), set(offset)) == ({1.0}, {0.0})


FRAMES = {
    "pandas": lambda X, names: pd.DataFrame(X, columns=names),
    "polars": lambda X, names: pl.DataFrame(X, schema=names),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_the_names_of_columns_are_kept(frame):
    rows = frame(X, list("abcde"))
    model = fitted(rows)
    assert_array_equal(model.feature_names_in_, list("abcde"))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame(X, list("abcdz")))


def test_gaps_of_frames_abstain():
    nullable = pd.DataFrame(X).convert_dtypes()
    assert same_model(fitted(nullable), fitted())


QIDS = {
    "strings": [f"query {q}" for q in QID],
    "numpy strings": QID.astype(str),
    "objects": np.array([f"query {q}" for q in QID], dtype=object),
    "tuples": [("shop", int(q)) for q in QID],
    "pandas": pd.Series(QID, index=QID),
    "categorical": pd.Series(QID).astype("category"),
    "polars": pl.Series(QID),
    "floats": QID / 2,
}


@pytest.mark.parametrize("qid", QIDS.values(), ids=QIDS)
def test_queries_may_have_names_of_any_kind(qid):
    model = fitted(qid=qid)
    assert same_model(model, fitted())
    assert_array_equal(model.rank(X, qid), fitted().rank(X, QID))
    assert model.score(X, Y, qid=qid) == fitted().score(X, Y, qid=QID)


LABELS = {
    "list": Y.tolist(),
    "floats": Y / 2 - 1,
    "pandas": pd.Series(Y, index=QID),
    "polars": pl.Series(Y),
    "ordered": pd.Categorical(Y, categories=[0, 1, 2], ordered=True),
    "enum": pl.Series(list("abc"), dtype=pl.Enum(list("abc")))[Y.tolist()],
    "preferences": Preferences.from_grades(Y, QID),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_grades_may_be_of_any_kind(y):
    qid = None if isinstance(y, Preferences) else QID
    assert same_model(fitted(y=y, qid=qid), fitted())


def test_no_query_is_one_query():
    assert same_model(fitted(qid=None), fitted(qid=np.zeros(60)))


@pytest.mark.parametrize("alpha", ["approximate", "analytic", "numeric"])
def test_the_order_of_rows_does_not_matter(alpha):
    rng = np.random.default_rng(3)
    rows, weight, order = drawn(n=60)[0], rng.uniform(1, 2, 60), rng.permutation(60)
    options = {"n_rounds": 8, "alpha": alpha, "default": 0}
    model = RankBoost(**options).fit(rows, Y, qid=QID, sample_weight=weight)
    shuffled = RankBoost(**options).fit(
        rows[order], Y[order], qid=QID[order], sample_weight=weight[order]
    )
    assert_allclose(shuffled.bounds_, model.bounds_, rtol=1e-12)
    assert_allclose(shuffled.predict(rows), model.predict(rows), rtol=0, atol=1e-12)


@pytest.fixture
def eager(monkeypatch):
    """Have every piece of work shared among threads; note by how many each was."""
    seen, share = [], Team.share

    def noted(team, n, work, most=None):
        def counted(part, give_up):
            return threading.get_ident(), work(part, give_up)

        done = share(team, n, counted, most)
        seen.append(len({thread for thread, _ in done}))
        return [result for _, result in done]

    monkeypatch.setattr(Team, "share", noted)
    for item in ("rows", "entries", "round_entries"):
        monkeypatch.setitem(MIN_ITEMS_PER_THREAD, item, 1)
    return seen


@every_kind
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [60, 1200])
def test_the_model_does_not_depend_on_the_threads(options, form, n, eager):
    rows, y, qid = drawn(1, n=n, d=9, share=0)
    one, *others = (fitted(form(rows), y, qid, n_jobs=n_jobs, **options) for n_jobs in (1, 2, 3))
    assert max(eager) > 1
    for other in others:
        assert same_model(one, other)
        assert_array_equal(one.predict(rows), other.predict(rows))


def test_one_job_is_one_thread(eager):
    fitted(n_jobs=1)
    assert max(eager) == 1
