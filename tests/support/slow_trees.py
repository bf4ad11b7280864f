"""A tree grown the obvious way: every split of every leaf is tried."""

from itertools import combinations, product

import numpy as np


class SlowLeaf:
    """Rows and a range of thresholds, between bounds, with its best split."""

    def __init__(self, rows, levels, depth, low, high):
        self.rows, self.levels, self.depth = rows, levels, depth
        self.low, self.high = low, high


class SlowTree:
    """Grows the leaf that gains most, with lists of rows in plain Python."""

    def __init__(self, X, slopes, curvatures, options, is_category=None, rises=None, rows=None):
        self.X, self.slopes, self.curvatures, self.options = X, slopes, curvatures, options
        n_columns = X.shape[1]
        self.is_category = np.zeros(n_columns, bool) if is_category is None else is_category
        self.rises = np.zeros(n_columns, int) if rises is None else rises
        rows = list(range(len(X))) if rows is None else list(rows)
        levels = range(slopes.shape[1])
        self.leaves = [SlowLeaf(rows, levels, 0, -np.inf, np.inf)]
        while len(self.leaves) < options.max_leaf_nodes and self._split_best():
            pass

    def value(self, rows, levels, low, high, extra=0.0):
        """What a leaf adds."""
        slope, curvature = self._sums(rows, levels)
        curvature += self.options.l2 + extra
        return min(max(slope / curvature if curvature > 0.0 else 0.0, low), high)

    def gain(self, rows, levels, low, high, extra=0.0):
        """Twice what a leaf gains."""
        slope, curvature = self._sums(rows, levels)
        value = self.value(rows, levels, low, high, extra)
        return (2.0 * slope - (curvature + self.options.l2 + extra) * value) * value

    def _sums(self, rows, levels):
        at = np.ix_(rows, list(levels))
        return self.slopes[at].sum(), self.curvatures[at].sum()

    def scores(self):
        """What the tree adds to its rows, by threshold."""
        result = np.full(self.slopes.shape, np.nan)
        for leaf in self.leaves:
            value = self.value(leaf.rows, leaf.levels, leaf.low, leaf.high)
            result[np.ix_(leaf.rows, list(leaf.levels))] = value
        return result

    def _splits(self, leaf):
        """Yield all ways to divide a leaf: above, below, direction, extra curvature."""
        for c in range(self.X.shape[1]):
            x = self.X[leaf.rows, c]
            missing = [r for r, v in zip(leaf.rows, x, strict=True) if np.isnan(v)]
            values = sorted(set(x[~np.isnan(x)].tolist()))
            if self.is_category[c]:
                kinds = [*values, *(["missing"] if missing else [])]
                sides = [s for k in range(1, len(kinds)) for s in combinations(kinds, k)]
                for side in sides:
                    above = [
                        r
                        for r, v in zip(leaf.rows, x, strict=True)
                        if (v in side if not np.isnan(v) else "missing" in side)
                    ]
                    yield above, leaf.levels, leaf.levels, 0, self.options.category_l2
                continue
            for cut, with_missing in product(values, [False, True]):
                above = [r for r in leaf.rows if self.X[r, c] >= cut]
                above += missing if with_missing else []
                yield above, leaf.levels, leaf.levels, self.rises[c], 0.0
        for t in leaf.levels[1:]:
            yield leaf.rows, range(leaf.levels[0], t), range(t, leaf.levels[-1] + 1), 1, 0.0

    def _split_best(self):
        best_gain, best = 0.0, None
        for leaf in self.leaves:
            if self.options.max_depth is not None and leaf.depth >= self.options.max_depth:
                continue
            own = self.gain(leaf.rows, leaf.levels, leaf.low, leaf.high)
            for above, upper, lower, rise, extra in self._splits(leaf):
                if upper is not lower:
                    below = leaf.rows
                else:
                    below = [r for r in leaf.rows if r not in set(above)]
                if min(len(above), len(below)) < max(self.options.min_samples_leaf, 1):
                    continue
                bounds = leaf.low, leaf.high, extra
                a, b = self.value(above, upper, *bounds), self.value(below, lower, *bounds)
                if (rise > 0 and a < b) or (rise < 0 and a > b):
                    continue
                gain = self.gain(above, upper, *bounds) + self.gain(below, lower, *bounds) - own
                if gain > best_gain + 1e-9:
                    best_gain, best = gain, (leaf, above, below, upper, lower, rise)
        if best is None:
            return False
        leaf, above, below, upper, lower, rise = best
        low_a = low_b = leaf.low
        high_a = high_b = leaf.high
        if rise != 0:
            bounds = leaf.low, leaf.high
            middle = (self.value(above, upper, *bounds) + self.value(below, lower, *bounds)) / 2
            if rise > 0:
                low_a, high_b = max(low_a, middle), min(high_b, middle)
            else:
                high_a, low_b = min(high_a, middle), max(low_b, middle)
        self.leaves.remove(leaf)
        self.leaves.append(SlowLeaf(below, lower, leaf.depth + 1, low_b, high_b))
        self.leaves.append(SlowLeaf(above, upper, leaf.depth + 1, low_a, high_a))
        return True
