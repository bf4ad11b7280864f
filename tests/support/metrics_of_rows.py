"""Errors of predictions as defined: slow, obvious Python. Undefined values are NaN."""

from itertools import product
from math import nan, sqrt


def mean(values, weight):
    total = sum(weight)
    return sum(w * v for v, w in zip(values, weight, strict=True)) / total if total else nan


def mae(truth, guess, weight):
    return mean([abs(g - t) for t, g in zip(truth, guess, strict=True)], weight)


def rmse(truth, guess, weight):
    return sqrt(mean([(g - t) ** 2 for t, g in zip(truth, guess, strict=True)], weight))


def macro_mae(truth, guess, weight):
    losses = []
    for label in set(truth):
        rows = [i for i, t in enumerate(truth) if t == label and weight[i]]
        if rows:
            losses.append(mae(*([column[i] for i in rows] for column in (truth, guess, weight))))
    return sum(losses) / len(losses) if losses else nan


def quadratic_weighted_kappa(truth, guess, weight):
    """Compare the squared steps of all rows with those of every truth with every guess."""
    rows = list(zip(truth, guess, weight, strict=True))
    found = sum(w * (g - t) ** 2 for t, g, w in rows)
    chance = sum(v * w * (g - t) ** 2 for (t, _, v), (_, g, w) in product(rows, repeat=2))
    total = sum(weight)
    return 1 - found / (chance / total) if chance else nan
