"""The losses of ordered classes written out, and boosting by them in plain Python."""

from math import exp, log

import numpy as np

from support.slow_trees import SlowTree


def sigmoid(x):
    return 1.0 / (1.0 + exp(min(-x, 700.0))) if x > -np.inf else 0.0


def proportional_loss(score, thresholds, level):
    """Minus the logarithm of a class's probability."""
    ends = [-np.inf, *thresholds, np.inf]
    above, below = ends[level + 1] - score, ends[level] - score
    if above + below > 0.0:
        # The same difference, of numbers that are not both close to one.
        above, below = -below, -above
    return -log(sigmoid(above) - sigmoid(below))


def free_loss(score, threshold, is_above):
    """The logistic loss of one question."""
    p = sigmoid(score - threshold)
    return -log(p if is_above else 1.0 - p)


def derivative(function, x, h=1e-5):
    return (function(x + h) - function(x - h)) / (2.0 * h)


def total_loss(scores, thresholds, level, weight):
    return sum(
        w * proportional_loss(f, thresholds, c)
        for f, c, w in zip(scores, level, weight, strict=True)
    )


def best_thresholds(scores, level, weight, n_classes):
    """Thresholds with the least loss, by Newton's method on numerical derivatives."""
    counts = np.bincount(level, weight, n_classes)
    below = np.cumsum(counts)[:-1] / counts.sum()
    thresholds = np.log(below / (1.0 - below))

    def loss(at):
        return total_loss(scores, at, level, weight) if (np.diff(at) > 0.0).all() else np.inf

    m, h = len(thresholds), 1e-4
    for _ in range(100):
        steps = h * np.eye(m)
        gradient = np.array(
            [(loss(thresholds + s) - loss(thresholds - s)) / (2 * h) for s in steps]
        )
        second = np.array(
            [
                [
                    (
                        loss(thresholds + s + t) - loss(thresholds + s - t)
                        - loss(thresholds - s + t) + loss(thresholds - s - t)
                    ) / (4 * h * h)
                    for t in steps
                ]
                for s in steps
            ]
        )  # fmt: skip
        step, length = -np.linalg.solve(second, gradient), 1.0
        while loss(thresholds + length * step) > loss(thresholds) and length > 1e-9:
            length /= 2.0
        thresholds = thresholds + length * step
    return thresholds


class SlowBoost:
    """Rounds with all rows and features, thresholds as the booster under test has them."""

    def __init__(self, X, level, weight, options, start, *, free, longest):
        self.X, self.level, self.weight, self.options = X, level, weight, options
        self.free, self.longest, self.thresholds = free, longest, np.array(start)
        self.scores = np.zeros((len(X), len(start) if free else 1))

    def terms(self):
        """Slopes and curvatures of the log-likelihood by the formulas of the docstring."""
        slopes, curvatures = np.zeros(self.scores.shape), np.zeros(self.scores.shape)
        ends = [-np.inf, *self.thresholds, np.inf]
        for i, level in enumerate(self.level):
            for k in range(self.scores.shape[1]):
                f = self.scores[i, k]
                if self.free:
                    p = sigmoid(f - self.thresholds[k])
                    slope, curvature = float(level > k) - p, p * (1.0 - p)
                else:
                    a = 1.0 if level == len(self.thresholds) else sigmoid(ends[level + 1] - f)
                    b = 0.0 if level == 0 else sigmoid(ends[level] - f)
                    slope, curvature = a + b - 1.0, a * (1.0 - a) + b * (1.0 - b)
                slopes[i, k] = self.weight[i] * slope
                curvatures[i, k] = self.weight[i] * max(curvature, abs(slope) / self.longest)
        return slopes, curvatures

    def add_round(self, rate):
        self.scores += rate * SlowTree(self.X, *self.terms(), self.options).scores()
