"""Magnitude-preserving ranking of preferences, pair by pair, as its formula reads."""

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import minimize

from peckorder import Preferences


def listed(preferences, sample_weight=None, offset=None):
    """Yield (better, worse, weight, size) of each pair with a positive weight."""
    weight, size = preferences.pairs().weight.copy(), preferences.sizes().copy()
    for k, (better, worse, _) in enumerate(zip(*preferences.pairs(), strict=True)):
        if sample_weight is not None:
            weight[k] *= sample_weight[better] * sample_weight[worse]
        if offset is not None:
            size[k] -= offset[better] - offset[worse]
        if weight[k] > 0:
            yield int(better), int(worse), float(weight[k]), float(size[k])


def normaliser(pairs):
    """Return the sum over connected components of W m / (m - 1)."""
    component = {}
    for better, worse, _, _ in pairs:
        joined = component.get(better, {better}) | component.get(worse, {worse})
        for row in joined:
            component[row] = joined
    total = 0.0
    for better, _, weight, _ in pairs:
        m = len(component[better])
        total += weight * m / (m - 1)
    return total


def fit(K, pairs, factor):
    """Minimise ``a' K a + factor sum weight [(h_b - h_w) - size]^2``, with ``h = K a``.

    By one equation per pair.
    """
    D, target = np.zeros((len(pairs), len(K))), np.zeros(len(pairs))
    for k, (better, worse, weight, size) in enumerate(pairs):
        D[k, better], D[k, worse] = np.sqrt(weight), -np.sqrt(weight)
        target[k] = np.sqrt(weight) * size
    return D.T @ np.linalg.solve(D @ K @ D.T + np.eye(len(pairs)) / factor, target)


def objective(K, pairs, factor, a):
    """Return what `fit` minimises."""
    h = K @ a
    total = a @ K @ a
    for better, worse, weight, size in pairs:
        total += factor * weight * (h[better] - h[worse] - size) ** 2
    return total


def lower_bound(K, c, D, t, epsilon, power, loss):
    """Maximise t'g - g'DKD'g/4 - epsilon |g| [- g^2/4c], g = p - n, 0 <= p, n <= c.

    Any such g gives a bound from below. For "hmpc" there is no n; for squares c does
    not bound p and n.
    """
    Q, k = D @ K @ D.T, len(c)
    if k == 0:
        return 0.0
    sides = [1.0] if loss == "hmpc" else [1.0, -1.0]
    S = np.hstack([s * np.eye(k) for s in sides])
    ridge = 0.0 if power == 1 else 1.0 / (4.0 * c)

    def dual(x):
        g = S @ x
        cost = g @ Q @ g / 4 - t @ g + epsilon * x.sum() + np.sum(ridge * g * g)
        return cost, S.T @ (Q @ g / 2 - t + 2 * ridge * g) + epsilon

    most = np.tile(c if power == 1 else np.full(k, np.inf), len(sides))
    bounds = list(zip(np.zeros_like(most), most, strict=True))
    x = np.zeros(len(most))
    # The first comes near, the second solves small quadratic programs exactly.
    methods = [("L-BFGS-B", {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12})]
    methods += [("SLSQP", {"maxiter": 500, "ftol": 1e-14})] if k < 100 else []
    for method, options in methods:
        found = minimize(dual, x, jac=True, bounds=bounds, method=method, options=options)
        better = np.clip(found.x, 0.0, most)
        x = better if dual(better)[0] < dual(x)[0] else x
    return -dual(x)[0]


weights = st.one_of(st.just(0.0), st.floats(0.01, 10.0))


@st.composite
def preferences(draw, n_rows):
    """Draw pairs that may repeat, contradict each other, and leave rows out."""
    row = st.integers(0, n_rows - 1)
    pair = st.tuples(row, row).filter(lambda pair: pair[0] != pair[1])
    pairs = draw(st.lists(pair, min_size=1, max_size=12))
    better, worse = zip(*pairs, strict=True)
    columns = st.lists(weights, min_size=len(pairs), max_size=len(pairs))
    weight = draw(columns.filter(any))
    return Preferences(better, worse, weight, draw(st.none() | columns))


@st.composite
def problems(draw, n_features=None):
    n_rows, d = draw(st.integers(2, 7)), n_features or draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n_rows, d)) + draw(st.sampled_from([0.0, 100.0]))
    given = {}
    if draw(st.booleans()):
        given["offset"] = rng.normal(size=n_rows)
    if draw(st.booleans()):
        given["sample_weight"] = rng.uniform(0.1, 3.0, size=n_rows)
    return X, draw(preferences(n_rows)), given


def kernels(model, X, Z):
    if model.kernel == "linear":
        return X @ Z.T
    squares = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    return np.exp(-model.gamma * squares)
