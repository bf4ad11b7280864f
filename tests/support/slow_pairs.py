"""Magnitude-preserving ranking of preferences, pair by pair, as its formula reads."""

import numpy as np


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
