"""Trees as arrays of nodes, the scores that they give to rows, and how models store them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, n_cores, share
from peckorder._core.typing import Array, Bools, Floats, Ints, Matrix
from peckorder.storage.fields import Field, Table, array, floats, ints
from peckorder.storage.format.node import Node
from peckorder.trees.columns import Columns
from peckorder.trees.compiled import leaves as of_leaf
from peckorder.trees.compiled.forest import Nodes, add_plain_trees, add_trees
from peckorder.trees.compiled.leaves import Growth

# Entries of sparse rows that are written out at a time.
_BLOCK = 1 << 18
# In a model file: sums of scores must be finite.
_LARGEST_VALUE = 1e100


class Tree(NamedTuple):
    """The nodes of a tree.

    Node i splits column[i], or is a leaf if it is -1: a row goes to node below[i] + 1
    if its value is at least cut[i], or among the categories of sets[i] (four words of
    bits), else to below[i]. Rows without a value go above where missing[i]. If
    column[i] is the number of columns, thresholds before cut[i] go above. value[i] is
    what a leaf adds, gain[i] what a split gains, rows[i] how many rows came here.
    """

    column: Ints
    cut: Floats
    missing: Ints
    below: Ints
    sets: Ints
    value: Floats
    gain: Floats
    rows: Ints

    @classmethod
    def of_growth(cls, columns: Columns, growth: Growth, n_nodes: int) -> Self:
        """Return the tree that has grown, its cuts in real values."""
        ints, floats = np.empty((4, n_nodes), dtype=np.int64), np.empty((3, n_nodes))
        sets = np.empty((n_nodes, 4), dtype=np.int64)
        of_leaf.write_tree(
            growth.nodes, growth.node_values, columns.cuts, columns.tiled.is_category,
            ints, floats, sets,
        )  # fmt: skip
        column, missing, below, rows = ints
        cut, value, gain = floats
        return cls(column, cut, missing, below, sets, value, gain, rows)


@dataclass(frozen=True, eq=False)  # no named tuple: skops would load a plain one
class Forest:
    """Trees whose scores are added, all their nodes behind each other.

    sizes (n_trees,) are the numbers of nodes of trees; the other fields are those of
    `Tree`, below counting from the first node of its tree. Where is_category
    (n_columns,), values of a row are the bins of its categories.
    """

    sizes: Ints
    column: Ints
    cut: Floats
    missing: Ints
    below: Ints
    sets: Ints
    value: Floats
    gain: Floats
    rows: Ints
    is_category: Bools

    @classmethod
    def of(cls, trees: Sequence[Tree], is_category: Bools) -> Self:
        """Put trees together."""

        def joined(name: str, dtype: type) -> Array:
            parts = [getattr(tree, name) for tree in trees]
            return np.concatenate([np.zeros(0), *parts]).astype(dtype)

        return cls(
            sizes=np.array([len(tree.column) for tree in trees], dtype=np.int64),
            column=joined("column", np.int64),
            cut=joined("cut", np.float64),
            missing=joined("missing", np.int64),
            below=joined("below", np.int64),
            sets=np.concatenate([np.zeros((0, 4), np.int64), *(tree.sets for tree in trees)]),
            value=joined("value", np.float64),
            gain=joined("gain", np.float64),
            rows=joined("rows", np.int64),
            is_category=np.asarray(is_category, dtype=bool),
        )

    def __len__(self) -> int:
        return len(self.sizes)

    def __getstate__(self) -> dict[str, Array]:
        # Named tuples are made again: skops would load a plain one.
        return {name: value for name, value in vars(self).items() if name != "nodes"}

    def first(self, n_trees: int) -> "Forest":
        """Return the first trees alone."""
        n_nodes = int(self.sizes[:n_trees].sum())
        nodes = {name: getattr(self, name)[:n_nodes] for name in Tree._fields}
        return Forest(self.sizes[:n_trees], is_category=self.is_category, **nodes)

    def tree(self, number: int) -> Tree:
        """Return one of the trees."""
        last = int(self.sizes[: number + 1].sum())
        nodes = slice(last - int(self.sizes[number]), last)
        return Tree(*(getattr(self, name)[nodes] for name in Tree._fields))

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes as compiled functions take them."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        below = self.below + np.repeat(starts[:-1], self.sizes)
        return Nodes(
            starts, self.column.astype(np.int32), self.cut, self.missing,
            below.astype(np.int32), self.sets, self.value,
        )  # fmt: skip

    @property
    def n_columns(self) -> int:
        """The number of columns of rows."""
        return len(self.is_category)

    def add_scores(
        self, X: Matrix, scores: Floats, trees: slice = slice(None), *, unstored: bool = True
    ) -> None:
        """Add to scores (n_rows, n_thresholds) what some of the trees give to the rows of X.

        Entries that a sparse X does not store are zero if `unstored`, else missing.
        O(rows x trees x depth) time, in threads.
        """
        first, last, _ = trees.indices(len(self))
        of_trees = slice(self.nodes.starts[first], self.nodes.starts[last])
        columns = self.column[of_trees]
        is_plain = scores.shape[1] == 1 and not self.is_category[columns[columns >= 0]].any()
        categories = self.is_category.astype(np.uint8)

        def work(share: slice, give_up: Stop) -> None:
            for rows, values in dense_blocks(X, share, unstored):
                if give_up():
                    return
                if is_plain:
                    add_plain_trees(self.nodes, first, last, values, scores[rows, 0])
                else:
                    add_trees(self.nodes, first, last, values, categories, scores[rows])

        n_steps = X.shape[0] * max(1, last - first)
        n_threads = min(n_cores(), 1 + n_steps // MIN_ITEMS_PER_THREAD["entries"])
        share(X.shape[0], n_threads, work)

    def importances(self) -> Floats:
        """Return for each column what its splits gain, as a share of all gains."""
        is_split = (self.column >= 0) & (self.column < self.n_columns)
        gains = np.bincount(self.column[is_split], self.gain[is_split], minlength=self.n_columns)
        total = gains.sum()
        return np.asarray(gains / total if total > 0.0 else gains, dtype=np.float64)


def dense_blocks(X: Matrix, rows: slice, unstored: bool) -> Iterator[tuple[slice, Floats]]:
    """Yield rows with their values, those of a sparse matrix some at a time."""
    size = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(rows.start, rows.stop, size):
        block = slice(start, min(start + size, rows.stop))
        if isinstance(X, np.ndarray):
            yield block, X[block]
            continue
        part = X[block]
        values = np.full(part.shape, 0.0 if unstored else np.nan)
        values[np.repeat(np.arange(part.shape[0]), np.diff(part.indptr)), part.indices] = part.data
        yield block, values


def _check_nodes(node: Node) -> None:
    """Refuse nodes that rows could not follow to a leaf."""
    values = node.values
    # Leaves are zero in the file.
    values["column"] = values["column"] - 1
    sizes, column, below = values["sizes"], values["column"], values["below"]
    if sizes.sum() != len(column) or (sizes < 1).any():
        raise node.refuse("sizes", "the numbers of nodes of trees")
    size = np.repeat(sizes, sizes)
    position = np.arange(len(column)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    is_split = column >= 0
    # Children are behind their parents: nobody goes in circles.
    if not ((below > position) & (below + 1 < size))[is_split].all():
        raise node.refuse("below", "a later node of the same tree")
    if not (np.abs(values["value"]) <= _LARGEST_VALUE).all():
        raise node.refuse("value", f"at most {_LARGEST_VALUE:g}")


FOREST = Table(
    Field("is_category", array("b1", "features")),
    Field("sizes", ints("trees")),
    Field("column", ints("nodes", below="features+2"), lambda forest: forest.column + 1),
    Field("cut", floats("nodes", finite=False)),
    Field("missing", ints("nodes", below=2)),
    Field("below", ints("nodes")),
    Field("sets", array("i8", "nodes", 4)),
    Field("value", floats("nodes")),
    Field("gain", floats("nodes")),
    Field("rows", ints("nodes")),
    complete=_check_nodes,
)
