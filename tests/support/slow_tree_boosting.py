"""RankBoost on trees the obvious way: pairs are listed, trees grown split by split."""

from math import exp, inf, log, log2

import numpy as np
from tests.support.slow_trees import SlowTree


def pair_loss(loss, gap):
    """Return the loss of a pair by H(x0) - H(x1), its derivative and the second one."""
    if loss == "exponential":
        return exp(gap), exp(gap), exp(gap)
    wrong = 1.0 / (1.0 + exp(-gap))
    return log(1.0 + exp(gap)), wrong, wrong * (1.0 - wrong)


def change_of_ndcg(y, qid, H, a, b):
    """Return by how much the NDCG of a query changes if rows a and b are exchanged."""
    rows = [int(i) for i in np.flatnonzero(qid == qid[a])]

    def gain(row):
        return 2.0 ** y[row] - 1.0

    def dcg(order):
        return sum(gain(row) / log2(2 + k) for k, row in enumerate(order))

    # Of rows with equal scores those of lower grades come first.
    order = sorted(rows, key=lambda row: (-H[row], y[row], row))
    swapped = [{a: b, b: a}.get(row, row) for row in order]
    best = sorted(rows, key=lambda row: -y[row])
    return abs(dcg(order) - dcg(swapped)) / dcg(best)


class SlowTreeBoosting:
    """Boosts trees on listed pairs: worse, better, weight."""

    def __init__(self, X, pairs, options, *, loss="exponential", ndcg_of=None, offset=None):
        self.X, self.pairs, self.options = X, pairs, options
        self.loss, self.ndcg_of = loss, ndcg_of
        self.rows = sorted({row for a, b, w in pairs for row in (a, b)})
        self.H = np.zeros(len(X)) if offset is None else offset.copy()
        self.bounds, self.trees, self.steps = [self.bound(self.H)], [], []

    def bound(self, H):
        """Return the bound on the weighted share of pairs that are wrong or tied."""
        total = sum(w for a, b, w in self.pairs)
        loss = sum(w * pair_loss(self.loss, H[a] - H[b])[0] for a, b, w in self.pairs)
        return loss / total / (1.0 if self.loss == "exponential" else log(2.0))

    def share_of_wrong(self):
        """Return the weighted share of pairs that are wrong or tied."""
        total = sum(w for a, b, w in self.pairs)
        return sum(w for a, b, w in self.pairs if self.H[a] >= self.H[b]) / total

    def derivatives(self):
        """Return slopes and curvatures of all rows, whose mean curvature is 1 at first."""
        slopes, curvatures = np.zeros((2, len(self.X)))
        total_weight, total_loss = 0.0, 0.0
        for a, b, pair_weight in self.pairs:
            weight = pair_weight
            if self.ndcg_of is not None:
                weight *= change_of_ndcg(*self.ndcg_of, self.H, a, b)
            value, first, second = pair_loss(self.loss, self.H[a] - self.H[b])
            total_weight += weight
            total_loss += weight * value
            slopes[[a, b]] += [-weight * first, weight * first]
            curvatures[[a, b]] += weight * second
        n = len(self.rows)
        unit = n / 2 / total_loss if self.loss == "exponential" else 2 * n / total_weight
        curvatures = np.maximum(curvatures, 1e-6 * np.abs(slopes))
        return unit * slopes[:, np.newaxis], unit * curvatures[:, np.newaxis]

    def add_round(self, rate):
        """Grow a tree from the rows in pairs; halve its step until the bound falls."""
        tree = SlowTree(self.X, *self.derivatives(), self.options, rows=self.rows)
        values = np.nan_to_num(tree.scores()[:, 0]).clip(-8.0, 8.0)
        while True:
            H = self.H + rate * values
            bound = self.bound(H)
            if self.ndcg_of is not None or bound <= self.bounds[-1] * (1 + 1e-12):
                break
            rate /= 2
        self.H = H
        self.bounds.append(bound)
        self.trees.append(tree)
        self.steps.append(rate)
        return inf if len(tree.leaves) == 1 else rate
