"""How much each column of a row contributes to its score by trees: Shapley values.

A tree is a game of the columns on its paths. Those in a coalition send the row where its
values say; the others send it both ways, by the shares of the training rows that went
there. For a leaf of value v, column c sends the row on with share o[c], 1 or 0, if it is
in the coalition, with share z[c] if not, and its Shapley value is::

    v (o[c] - z[c]) times the integral over x from 0 to 1 of
    the product over the other columns of (x o + (1 - x) z)

which is a polynomial in x, so that a Gauss quadrature is exact. All terms of the product
are positive: nothing cancels, however deep a tree is.
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.trees.compiled.forest import Nodes, next_node


class Walk(NamedTuple):
    """Where a row is in a tree, and what led there.

    By depth: node, stage (sides that have been visited), is_new (whether the column of
    the node has not been on the path before), taken and shares (o and z of its column
    before), products (depth, points) the products of all columns. By column: o, z, and
    how often it is on the path.
    """

    node: Ints
    stage: Ints
    is_new: Ints
    taken: Floats
    shares: Floats
    products: Floats
    o: Floats
    z: Floats
    on_path: Ints


@inlined
def enter(depth: int, child: int, factor_of: int, walk: Walk, points: Floats) -> None:
    """Go one deeper; of the column that leads there o and z have changed, if any."""
    walk.node[depth + 1] = child
    walk.stage[depth + 1] = 0
    if factor_of < 0:
        for k in range(points.shape[0]):
            walk.products[depth + 1, k] = walk.products[depth, k]
        return
    o, z = walk.o[factor_of], walk.z[factor_of]
    old_o, old_z = walk.taken[depth], walk.shares[depth]
    for k in range(points.shape[0]):
        x = points[k]
        before = x * old_o + (1.0 - x) * old_z
        walk.products[depth + 1, k] = walk.products[depth, k] * (x * o + (1.0 - x) * z) / before


@inlined
def add_leaf(
    depth: int,
    value: float,
    columns: Ints,
    points: Floats,
    weights: Floats,
    walk: Walk,
    out: Floats,
) -> None:
    """Add to out (columns,) what each column on the path contributes to a leaf."""
    for above in range(depth):
        if not walk.is_new[above]:
            continue
        c = columns[walk.node[above]]
        o, z = walk.o[c], walk.z[c]
        total = 0.0
        for k in range(points.shape[0]):
            x = points[k]
            total += weights[k] * walk.products[depth, k] / (x * o + (1.0 - x) * z)
        out[c] += value * (o - z) * total


@compiled
def add_contributions(
    nodes: Nodes,
    rows_of: Ints,
    X: Floats,
    is_category: Ints,
    level: int,
    points: Floats,
    weights: Floats,
    walk: Walk,
    out: Floats,
) -> None:
    """Add to out (n, columns) what columns contribute to the scores of rows by all trees.

    rows_of (nodes,) are the training rows of nodes, level is the threshold whose scores
    are meant, points and weights (points,) are those of the quadrature; walk is
    workspace, in which o and z are 1.
    """
    n_columns = X.shape[1]
    for i in range(X.shape[0]):
        for tree in range(nodes.starts.shape[0] - 1):
            depth = 0
            walk.node[0], walk.stage[0] = nodes.starts[tree], 0
            for k in range(points.shape[0]):
                walk.products[0, k] = 1.0
            while depth >= 0:
                node, stage = walk.node[depth], walk.stage[depth]
                c, below = nodes.column[node], nodes.below[node]
                if c < 0:
                    add_leaf(depth, nodes.value[node], nodes.column, points, weights, walk, out[i])
                    depth -= 1
                    continue
                walk.stage[depth] = stage + 1
                if c == n_columns:
                    # The threshold is known: it is no column of the game.
                    walk.is_new[depth] = 0
                    if stage == 0:
                        enter(depth, below + (level < nodes.cut[node]), -1, walk, points)
                        depth += 1
                    else:
                        depth -= 1
                    continue
                if stage == 0:
                    walk.taken[depth], walk.shares[depth] = walk.o[c], walk.z[c]
                    walk.is_new[depth] = walk.on_path[c] == 0
                    walk.on_path[c] += 1
                elif stage == 2:
                    walk.o[c], walk.z[c] = walk.taken[depth], walk.shares[depth]
                    walk.on_path[c] -= 1
                    depth -= 1
                    continue
                child = below + stage
                goes = next_node(nodes, np.uintp(node), c, X[i, c], is_category)
                n_both = rows_of[below] + rows_of[below + 1]
                share = rows_of[child] / n_both if n_both > 0 else 0.5
                walk.o[c] = walk.taken[depth] if goes == np.uintp(child) else 0.0
                walk.z[c] = walk.shares[depth] * share
                # Nobody gets there with any coalition: a leaf there counts nothing.
                if walk.o[c] > 0.0 or walk.z[c] > 0.0:
                    enter(depth, child, c, walk, points)
                    depth += 1


@compiled
def expected_score(nodes: Nodes, rows_of: Ints, n_columns: int, level: int, reach: Floats) -> float:
    """Return the mean score of training rows at a threshold; reach (nodes,) is workspace."""
    total = 0.0
    for tree in range(nodes.starts.shape[0] - 1):
        first, last = nodes.starts[tree], nodes.starts[tree + 1]
        for node in range(first, last):
            reach[node] = 0.0
        reach[first] = 1.0
        for node in range(first, last):
            below = nodes.below[node]
            if nodes.column[node] < 0:
                total += reach[node] * nodes.value[node]
            elif nodes.column[node] == n_columns:
                reach[below + (level < nodes.cut[node])] = reach[node]
            else:
                n_both = rows_of[below] + rows_of[below + 1]
                for side in range(2):
                    share = rows_of[below + side] / n_both if n_both > 0 else 0.5
                    reach[below + side] = reach[node] * share
    return total
