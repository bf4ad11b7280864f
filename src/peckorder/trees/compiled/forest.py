"""Rows going down trees, by real values."""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints

# Rows that go down a tree together: they and what they visit stay in the cache.
_TOGETHER = 64


class Nodes(NamedTuple):
    """The nodes of all trees; tree t has those from starts[t] to starts[t + 1].

    See `peckorder.trees.forest.Tree`; below counts from the first node of all trees.
    """

    starts: Ints
    column: Ints
    cut: Floats
    missing: Ints
    below: Ints
    sets: Ints
    value: Floats


@inlined
def has_category(sets: Ints, node: np.uintp, value: float) -> bool:
    """Return whether a category is among those that go above."""
    b = np.uint64(value)
    word = np.uint64(sets[node, (b >> np.uint64(6)) & np.uint64(3)])
    return bool((word >> (b & np.uint64(63))) & np.uint64(1))


@inlined
def next_node(
    nodes: Nodes, node: np.uintp, column: int, value: float, is_category: Ints
) -> np.uintp:
    """Return the node to which a row goes that has a value in the column of a node."""
    below = np.uintp(nodes.below[node])
    if np.isnan(value):
        return below + np.uintp(nodes.missing[node])
    if is_category[column]:
        return below + np.uintp(has_category(nodes.sets, node, value))
    return below + np.uintp(value >= nodes.cut[node])


@compiled
def leaf_at(nodes: Nodes, tree: int, X: Floats, row: int, level: int, is_category: Ints) -> int:
    """Return the leaf of a row at one of its thresholds."""
    node = np.uintp(nodes.starts[tree])
    while nodes.column[node] >= 0:
        column = nodes.column[node]
        if column == X.shape[1]:
            node = np.uintp(nodes.below[node]) + np.uintp(level < nodes.cut[node])
        else:
            node = next_node(nodes, node, column, X[row, column], is_category)
    return int(node)


@compiled
def add_plain_trees(nodes: Nodes, first: int, last: int, X: Floats, scores: Floats) -> None:
    """Add to scores (n,) those of trees without categories or several thresholds."""
    n_rows = np.uintp(X.shape[0])
    for start in range(np.uintp(0), n_rows, np.uintp(_TOGETHER)):
        stop = min(start + np.uintp(_TOGETHER), n_rows)
        for tree in range(first, last):
            root = np.uintp(nodes.starts[tree])
            for i in range(start, stop):
                node = root
                column = nodes.column[node]
                while column >= 0:
                    value = X[i, np.uintp(column)]
                    is_above = value >= nodes.cut[node]
                    if np.isnan(value):
                        is_above = nodes.missing[node] != 0
                    node = np.uintp(nodes.below[node]) + np.uintp(is_above)
                    column = nodes.column[node]
                scores[i] += nodes.value[node]


@compiled
def add_trees(
    nodes: Nodes, first: int, last: int, X: Floats, is_category: Ints, scores: Floats
) -> None:
    """Add to scores (n, thresholds) those of trees."""
    for i in range(X.shape[0]):
        for tree in range(first, last):
            for t in range(scores.shape[1]):
                leaf = leaf_at(nodes, tree, X, i, t, is_category)
                scores[i, t] += nodes.value[leaf]
