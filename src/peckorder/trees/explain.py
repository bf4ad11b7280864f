"""What each column of a row contributes to its score by a forest: exact Shapley values."""

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, n_cores, share
from peckorder._core.typing import Floats, Matrix
from peckorder.trees.compiled import shares
from peckorder.trees.forest import Forest, dense_blocks


def contributions(forest: Forest, X: Matrix, level: int = 0, *, unstored: bool = True) -> Floats:
    """Return what columns contribute to the scores of rows at a threshold: (rows, columns).

    Path-dependent Shapley values: where a column does not take part, a row goes both
    ways of its splits, by the shares of the training rows. Their sums over columns and
    the `expected_score` are the scores, up to rounding. Entries that a sparse X does not
    store are zero if `unstored`, else missing. O(leaves x depth**2) time per row and
    tree, in threads.
    """
    nodes, rows_of = forest.nodes, forest.rows
    n_columns, depth = forest.n_columns, _depth(forest)
    # Exact for polynomials of the degree of a product over all columns but one.
    points, weights = np.polynomial.legendre.leggauss(max(1, (depth + 1) // 2))
    points, weights = 0.5 * (points + 1.0), 0.5 * weights
    categories = forest.is_category.astype(np.uint8)
    out = np.zeros((X.shape[0], n_columns))

    def work(part: slice, give_up: Stop) -> None:
        ints, floats = (np.zeros((3, depth + 1), kind) for kind in (np.int64, np.float64))
        walk = shares.Walk(
            node=ints[0],
            stage=ints[1],
            is_new=ints[2],
            taken=floats[0],
            shares=floats[1],
            products=np.empty((depth + 1, len(points))),
            o=np.ones(n_columns),
            z=np.ones(n_columns),
            on_path=np.zeros(n_columns, dtype=np.int64),
        )
        for rows, values in dense_blocks(X, part, unstored):
            if give_up():
                return
            shares.add_contributions(
                nodes, rows_of, values, categories, level, points, weights, walk, out[rows]
            )

    n_steps = X.shape[0] * len(forest.column) * len(points)
    share(X.shape[0], min(n_cores(), 1 + n_steps // MIN_ITEMS_PER_THREAD["entries"]), work)
    return out


def expected_score(forest: Forest, level: int = 0) -> float:
    """Return the mean score of the rows that trees were grown from, at a threshold.

    Each tree's mean is that of its own rows: of a sample, if it was grown from one.
    """
    reach = np.empty(len(forest.column))
    return float(shares.expected_score(forest.nodes, forest.rows, forest.n_columns, level, reach))


def _depth(forest: Forest) -> int:
    """Return the most splits on the way to a leaf."""
    depths, below = np.zeros(len(forest.column), dtype=np.int64), forest.nodes.below
    for node in np.flatnonzero(forest.column >= 0).tolist():
        depths[below[node] : below[node] + 2] = depths[node] + 1
    return int(depths.max(initial=0))
