"""MPRank beside its minimum in rational numbers: coefficients, objectives, gaps."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from peckorder import MPRank

CS = [1e-8, 1.0, 1e4, 1e6, 1e8, 1e12]
WAYS = ["cholesky", "eigh", "cg"]


def rational(values):
    return [Fraction(float(value)) for value in values]


def solved(A, b):
    """Solve a system of rational numbers by elimination."""
    n = len(b)
    rows = [[*row, right] for row, right in zip(A, b, strict=True)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * c for a, c in zip(rows[i], rows[k], strict=True)]
    x = [Fraction(0)] * n
    for k in reversed(range(n)):
        known = sum((rows[k][j] * x[j] for j in range(k + 1, n)), Fraction(0))
        x[k] = (rows[k][n] - known) / rows[k][k]
    return x


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


class Exact:
    """``|w|^2 + C/P sum_q sum_ij v_i v_j (e_j - e_i)^2`` without any rounding."""

    def __init__(self, X, y, C, qid=None, weight=None):
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        n = len(X)
        self.qid = [0] * n if qid is None else list(qid)
        self.weight = rational(np.ones(n) if weight is None else weight)
        self.label = self.centred(rational(y))
        self.columns = [self.centred(rational(column)) for column in X.T]
        masses = {q: self.mass(q) for q in set(self.qid)}
        total = sum(mass * mass for mass in masses.values())
        self.factor = [
            2 * Fraction(float(C)) * masses[q] * w / total
            for q, w in zip(self.qid, self.weight, strict=True)
        ]

    def members(self, q):
        return [i for i in range(len(self.qid)) if self.qid[i] == q]

    def mass(self, q):
        return sum(self.weight[i] for i in self.members(q))

    def centred(self, values):
        means = {
            q: sum(self.weight[i] * values[i] for i in self.members(q)) / self.mass(q)
            for q in set(self.qid)
        }
        return [v - means[q] for v, q in zip(values, self.qid, strict=True)]

    def objective(self, coef):
        total = dot(coef, coef)
        for i, label in enumerate(self.label):
            score = dot([column[i] for column in self.columns], coef)
            total += self.factor[i] * (score - label) ** 2
        return total

    def minimum(self):
        weighed = [
            [f * x for f, x in zip(self.factor, column, strict=True)] for column in self.columns
        ]
        A = [[dot(a, b) for b in self.columns] for a in weighed]
        for j in range(len(A)):
            A[j][j] += 1
        return solved(A, [dot(a, self.label) for a in weighed])


def assert_sound(model, exact, rtol):
    """Check coefficients, the objective, and that the gap is not too small."""
    best = exact.minimum()
    least = exact.objective(best)
    reached = exact.objective(rational(model.coef_))
    if model.solver != "cg":
        np.testing.assert_allclose(model.coef_, [float(b) for b in best], rtol=rtol)
    rounding = 1e-14 * float(least)
    assert abs(model.objective_ - float(reached)) <= rounding
    assert float(reached - least) <= model.dual_gap_ + rounding


def make(n=20, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + rng.normal(size=n)


def far(X, by):
    return X + by


def in_csr(X, by):
    return sparse.csr_array(X + by)


def mostly_in_csr(X, by):
    """Put some zeros among what is far from them."""
    X = X + by
    X[::9, 0] = 0.0
    X[1:, 1] = 0.0
    return sparse.csr_array(X)


def in_single(X, by):
    return (X + by).astype(np.float32)


FORMS = [(far, 1e6), (in_csr, 1e6), (mostly_in_csr, 1e2), (in_single, 3.0)]


@pytest.mark.parametrize("C", CS)
@pytest.mark.parametrize("solver", WAYS)
@pytest.mark.parametrize(("form", "by"), FORMS)
def test_features_far_from_zero_or_in_single_precision(form, by, solver, C):
    X, y = make()
    X = form(X, by)
    model = MPRank(C=C, solver=solver, tol=1e-14).fit(X, y)
    # What single precision errs by is mended down to that.
    assert_sound(model, Exact(X, y, C), 1e-6 if form is in_single else 1e-10)


@pytest.mark.parametrize("C", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("solver", WAYS)
@pytest.mark.parametrize(("form", "by"), FORMS[:2])
def test_queries_each_far_from_zero(form, by, solver, C):
    X, y = make()
    qid = np.arange(20) % 3
    X = form(X, by * (1.0 + qid[:, np.newaxis]))
    weight = np.linspace(0.5, 2.0, 20)
    model = MPRank(C=C, solver=solver, tol=1e-14)
    model.fit(X, y, qid=qid, sample_weight=weight)
    assert_sound(model, Exact(X, y, C, qid, weight), 1e-10)


@pytest.mark.parametrize("C", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_fewer_rows_than_features(form, C):
    X, y = make(6, 9)
    X = form(X + 1e5)
    for solver in WAYS:
        model = MPRank(C=C, solver=solver, tol=1e-14).fit(X, y)
        assert_sound(model, Exact(X, y, C), 1e-6)


@pytest.mark.parametrize("C", CS)
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize(("form", "by"), [*FORMS, (far, 0.0)])
def test_a_stream_gives_the_model_of_a_batch(form, by, noise, C):
    X, y = make(30)
    X = form(X, by)
    if noise == 0.0:
        # What can be learnt without an error leaves the norm to the objective.
        y = X @ np.arange(1.0, 4.0)
    stream = MPRank(C=C)
    for some in (slice(0, 1), slice(1, 4), slice(4, 25), slice(25, 30)):
        stream.partial_fit(X[some], y[some])
    exact = Exact(X, y, C)
    best = exact.minimum()
    np.testing.assert_allclose(stream.coef_, [float(b) for b in best], rtol=1e-9)
    assert stream.objective_ == pytest.approx(float(exact.objective(best)), rel=1e-9)
    rounding = 1e-12 * stream.objective_
    above = float(exact.objective(rational(stream.coef_)) - exact.objective(best))
    assert above <= stream.dual_gap_ + rounding


@pytest.mark.parametrize("C", [1.0, 1e12])
def test_a_stream_of_features_that_are_almost_one(C):
    X, y = make(30)
    X[:, 2] = X[:, 1] + 1e-6 * X[:, 2]
    stream = MPRank(C=C).partial_fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
    best = [float(b) for b in Exact(X, y, C).minimum()]
    np.testing.assert_allclose(stream.coef_, best, rtol=1e-7)


@pytest.mark.parametrize("weight", [1e-200, 1e-300, 1e200])
@pytest.mark.parametrize("has_queries", [False, True])
def test_the_scale_of_weights_does_not_matter(weight, has_queries):
    X, y = make()
    qid = np.repeat([0, 1], 10) if has_queries else None
    light = MPRank()
    for some in (slice(0, 10), slice(10, 20)):
        q = None if qid is None else qid[some]
        light.partial_fit(X[some], y[some], qid=q, sample_weight=np.full(10, weight))
    plain = MPRank().fit(X, y, qid=qid)
    batch = MPRank().fit(X, y, qid=qid, sample_weight=np.full(20, weight))
    for model in (light, batch):
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-12)
        assert model.intercept_ == pytest.approx(plain.intercept_, rel=1e-12)


@pytest.mark.parametrize("order", [1, -1])
def test_rows_far_lighter_than_others_change_nothing(order):
    X, y = make()
    weight = np.repeat([1e-200, 1.0], 10)
    batches = [slice(0, 10), slice(10, 20)][::order]
    for qid in (None, np.repeat([0, 1], 10)):
        stream = MPRank()
        for some in batches:
            q = None if qid is None else qid[some]
            stream.partial_fit(X[some], y[some], qid=q, sample_weight=weight[some])
        batch = MPRank().fit(X, y, qid=qid, sample_weight=weight)
        heavy = MPRank().fit(X[10:], y[10:])
        for model in (stream, batch):
            np.testing.assert_allclose(model.coef_, heavy.coef_, rtol=1e-12)


@pytest.mark.parametrize("C", [*CS, 1e13])
@pytest.mark.parametrize("solver", ["cholesky", "eigh"])
@pytest.mark.parametrize("more", [0, 5, 10**4])
def test_kernels_of_few_features_given_as_a_matrix(more, solver, C):
    # Of whole numbers kernels are exact: differences are due to the method alone.
    rng = np.random.default_rng(3)
    X = rng.integers(-9, 10, size=(14, 3)).astype(float)
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=14)
    K = X @ X.T + more
    model = MPRank(C=C, kernel="precomputed", solver=solver).fit(K, y)
    exact = Exact(X, y, C)
    best = exact.minimum()
    coef = np.array([float(b) for b in best])
    expected = X @ coef
    expected += y.mean() - expected.mean()
    np.testing.assert_allclose(model.predict(K), expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(X.T @ model.dual_coef_, coef, rtol=1e-7, atol=1e-12)
    assert abs(model.dual_coef_.sum()) <= 1e-12 * np.abs(model.dual_coef_).max()
    least = float(exact.objective(best))
    assert model.objective_ == pytest.approx(least, rel=1e-7)
    reached = exact.objective([dot(rational(x), rational(model.dual_coef_)) for x in X.T])
    above = float(reached - exact.objective(best))
    assert above <= model.dual_gap_ + 1e-7 * least


@pytest.mark.parametrize("C", [1e6, 1e12, 1e13])
@pytest.mark.parametrize("solver", ["cholesky", "eigh"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rows_given_twice_are_as_once_with_their_mean_label(kernel, solver, C):
    X, y = make(6, 9)
    model = MPRank(C=C, kernel=kernel, solver=solver)
    once = model.fit(X, y).predict(X)
    twice = model.fit(np.vstack([X, X]), np.append(y - 1.0, y + 1.0)).predict(X)
    np.testing.assert_allclose(twice, once, rtol=1e-7)


def test_kernels_that_are_all_but_constant_are_kernels():
    X, y = make()
    same = np.ones((20, 3))
    for solver in ("cholesky", "eigh", "cg", "coordinate", "gradient"):
        for gamma in (1e-20, 1e-14):
            model = MPRank(C=1e6, kernel="rbf", gamma=gamma, solver=solver)
            assert np.isfinite(model.fit(X, y).predict(X)).all()
        for kernel in ("linear", "rbf", "poly"):
            model = MPRank(C=1e6, kernel=kernel, solver=solver).fit(same, y)
            np.testing.assert_allclose(model.predict(same), y.mean())
    given = MPRank(C=1e6, kernel="precomputed", solver="eigh")
    given.fit(np.full((20, 20), 1e6), y)
    np.testing.assert_allclose(given.predict(np.full((1, 20), 1e6)), y.mean())


@pytest.mark.parametrize("solver", ["cholesky", "eigh"])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_columns_of_very_different_sizes_are_solved_alike(solver, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * [1.0, 1e-3, 1e-6, 1e3, 1e5]
    y = X @ rng.normal(size=5) + rng.normal(size=200)
    model = MPRank(C=C, solver=solver).fit(X, y)
    centred, ridge = X - X.mean(axis=0), 200 / (2.0 * C)
    # By columns of equal size, which no rounding can lose.
    size = np.sqrt((centred**2).sum(axis=0) + ridge)
    rows = np.vstack([centred / size, np.diag(np.sqrt(ridge) / size)])
    labels = np.append(y - y.mean(), np.zeros(5))
    expected = np.linalg.lstsq(rows, labels)[0] / size
    # Coefficients are refined to 1e-10 of all of them together.
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-6, atol=1e-10)


def exact_coef(X, y, C):
    """Solve for two features in whole numbers: all values times 2**100, sums times n."""
    n, unit = len(y), 2**100
    a, b, labels = ([int(Fraction(float(v)) * unit) for v in column] for column in (*X.T, y))

    def moment(u, v):
        return n * sum(p * q for p, q in zip(u, v, strict=True)) - sum(u) * sum(v)

    ridge = n * Fraction(n) / (2 * Fraction(C)) * unit**2
    aa, ab, bb = moment(a, a) + ridge, moment(a, b), moment(b, b) + ridge
    ay, by, determinant = moment(a, labels), moment(b, labels), aa * bb - ab**2
    return [float((ay * bb - by * ab) / determinant), float((by * aa - ay * ab) / determinant)]


@pytest.mark.parametrize("solver", ["cholesky", "eigh"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_that_are_nearly_equal_are_solved_exactly(dtype, solver):
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    X = np.column_stack([x, x + 1e-6 * rng.normal(size=2000)]).astype(np.float32)
    doubles = X.astype(np.float64)
    y = doubles @ [1.0, 1.0] + 1e-3 * (doubles[:, 1] - doubles[:, 0])
    model = MPRank(C=1e12, solver=solver).fit(X.astype(dtype), y)
    np.testing.assert_allclose(model.coef_, exact_coef(X, y, 1e12), rtol=1e-6)


def collinear(name):
    """Return rows of which some features follow from others, without any rounding."""
    rng = np.random.default_rng(3)
    a, b, level = rng.normal(size=30), rng.normal(size=30), rng.integers(0, 3, 30)
    whole = np.round(9 * np.column_stack([a, b]))
    rows = {
        "equal": np.column_stack([a, a, b]),
        "of other units": np.column_stack([a, 4096.0 * a, b]),
        "sums": np.column_stack([whole, whole.sum(axis=1)]),
        "one-hot": np.column_stack([np.eye(3)[level], b]),
    }
    return rows[name], a + 2.0 * b + rng.normal(size=30)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1e10, 1e12, 1e15, 1e16, 1e20])
@pytest.mark.parametrize("name", ["equal", "of other units", "sums", "one-hot"])
def test_collinear_features_have_the_coefficients_of_the_minimum(name, C):
    X, y = collinear(name)
    models = [MPRank(C=C, solver=way, max_iter=100_000) for way in (*WAYS, "auto")]
    models = [model.fit(X, y) for model in models]
    models.append(MPRank(C=C).partial_fit(X[:9], y[:9]).partial_fit(X[9:], y[9:]))
    best = np.array([float(b) for b in Exact(X, y, C).minimum()])
    # Not collinear any more.
    new = np.random.default_rng(4).normal(size=(50, X.shape[1]))
    for model in models:
        off = model.predict(new) - model.intercept_ - new @ best
        assert np.abs(off).max() < 1e-7 * np.std(new @ best), model
