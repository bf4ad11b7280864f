"""Growing one tree after another from the same columns."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from peckorder._core.compiled.barrier import cancelling
from peckorder._core.compiled.bins import N_BINS
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, Team, apart
from peckorder._core.typing import Floats, Ints
from peckorder.trees.columns import Columns
from peckorder.trees.compiled import growth as grown
from peckorder.trees.compiled import leaf_rows, splits, sums
from peckorder.trees.compiled import leaves as of_leaf
from peckorder.trees.compiled.histograms import WIDTH
from peckorder.trees.compiled.leaf_rows import LeafRows
from peckorder.trees.compiled.leaves import Growth
from peckorder.trees.compiled.splits import Rules
from peckorder.trees.forest import Tree

_DEEPEST: Final = 1 << 30
# Rows that are summed together: their bins are copied to half of the second cache.
_LEAST_TOGETHER, _MOST_TOGETHER, _WIDTHS_TOGETHER = 64, 1024, 1 << 19
# Values that one thread writes apart from those of others.
_APART: Final = 16


@dataclass(frozen=True)
class TreeOptions:
    """How trees grow: the leaf that gains most is split first.

    A split needs min_samples_leaf rows on either side; l2 is added to the curvature of
    leaves; a split looks at each feature with probability max_features, and at one at
    least. Categories are ordered by slope over curvature plus category_smoothing, and
    sides of theirs have category_l2 added to their curvatures.
    """

    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    l2: float = 0.0
    max_features: float = 1.0
    category_smoothing: float = 10.0
    category_l2: float = 10.0


class Grower:
    """Grows trees from columns, in threads; any number of them grows the same trees.

    An objective may have several thresholds: a row then has a slope and a curvature for
    each, and a split may divide the thresholds instead of the rows, so that the scores
    of a row never fall from the first threshold to the last nor rise: the score of a
    lower threshold is at least that of a higher one.

    Memory: leaves and further threads x features x 256 bins x 16 bytes, and 28 bytes per
    row, 20 more for each further threshold.
    """

    def __init__(
        self, columns: Columns, options: TreeOptions, team: Team, n_thresholds: int = 1
    ) -> None:
        self.columns, self.options, self.n_thresholds = columns, options, n_thresholds
        tiled = columns.tiled
        n_rows, n_columns = len(tiled.tiles), len(tiled.n_bins)
        n_entries = n_rows * max(n_columns, 1)
        n_threads = min(team.n_threads, 1 + n_entries // MIN_ITEMS_PER_THREAD["round_entries"])
        self._team, self._n_threads = team, max(1, n_threads)
        self._held, self._growth = self._allocate()
        self._all = np.arange(n_rows, dtype=np.int32)
        self._rules = Rules(
            max_leaves=options.max_leaf_nodes,
            max_depth=_DEEPEST if options.max_depth is None else options.max_depth,
            min_rows=max(options.min_samples_leaf, 1),
            l2=options.l2,
            slope_unit=1.0,
            curvature_unit=1.0,
            row_bits=(n_rows * n_thresholds).bit_length(),
            feature_share=options.max_features,
            seed=0,
            smoothing=options.category_smoothing,
            category_l2=options.category_l2,
        )

    def _allocate(self) -> tuple[LeafRows, Growth]:
        n_rows, n_thresholds = self.columns.n_rows, self.n_thresholds
        n_tiles = -(-len(self.columns.tiled.n_bins) // WIDTH)
        n_padded = n_tiles * WIDTH
        n_leaves, threads = self.options.max_leaf_nodes, self._n_threads

        together = max(_LEAST_TOGETHER, min(_MOST_TOGETHER, _WIDTHS_TOGETHER // max(n_padded, 1)))

        def ints(*shape: int) -> Ints:
            return np.zeros(shape, dtype=np.int64)

        n_nodes = 2 * n_leaves - 1
        held = LeafRows(
            sums=np.empty((n_rows, n_thresholds, 2), dtype=np.int64),
            rows=np.empty(n_rows * n_thresholds, dtype=np.int32),
            ranges=ints(n_leaves, 2),
            top=ints(1),
            parts=ints(threads - 1, n_padded, N_BINS, 2),
            level_parts=ints(threads, n_thresholds + _APART, 2)[:, :n_thresholds],
            counts=ints(threads, _APART),
            bins=np.empty((threads, n_tiles, together + _APART), dtype=np.uint32),
            terms=ints(threads, together, 2),
            spare=np.empty(n_rows, dtype=np.int32),
        )
        return held, Growth(
            histograms=np.empty((n_leaves, n_padded, N_BINS, 2), dtype=np.int64),
            level_sums=ints(n_leaves, n_thresholds, 2),
            leaves=ints(n_leaves, of_leaf.LEAF),
            limits=np.zeros((n_leaves, 3)),
            best=ints(n_leaves, splits.SPLIT),
            nodes=ints(n_nodes, of_leaf.NODE_INTS),
            node_values=np.zeros((n_nodes, of_leaf.NODE_FLOATS)),
            state=ints(of_leaf.STATE),
            division=ints(leaf_rows.DIVISION),
            barrier=apart(ints(3)),
            found=ints(threads, 2, 2 * _APART),
            found_gains=np.zeros((threads, _APART)),
            scratch=ints(threads, 2 * _APART),
            sums=ints(threads, 2, N_BINS),
            keys=np.zeros((threads, N_BINS)),
        )

    def grow(
        self, slopes: Floats, curvatures: Floats, rows: Ints | None = None, seed: int = 0
    ) -> Tree:
        """Grow a tree from slopes and curvatures (n_rows, n_thresholds) of the objective.

        The slope is the derivative of what is to become large by the score, the
        curvature the second derivative of its negative: not below zero. rows, ascending,
        are those to grow from; all without it.
        """
        held, growth = self._held, self._growth
        rules = self._rules._replace(seed=seed)
        # Arrays of other forms would be compiled for anew.
        slopes, curvatures = (
            np.require(part, np.float64, ("C", "W")).reshape(-1) for part in (slopes, curvatures)
        )
        chosen = self._all if rows is None else np.require(rows, np.int32, ("C", "W"))
        growth.barrier[:] = 0

        def work(share: slice, _: Stop) -> int:
            with cancelling(growth.barrier):
                thread, tiled = share.start, self.columns.tiled
                n_nodes = grown.grow(thread, slopes, curvatures, chosen, tiled, rules, held, growth)
                return int(n_nodes)

        n_nodes = self._team.share(self._n_threads, work)[0]
        return Tree.of_growth(self.columns, growth, n_nodes)

    def add_to(self, scores: Floats, rate: float, others: Ints | None = None) -> None:
        """Add to scores (n_rows, n_thresholds) `rate` times the tree that grew last.

        others are the rows that it did not grow from.
        """

        def add_leaves(share: slice, _: Stop) -> None:
            sums.add_leaves(share.start, rate, self._held, self._growth, scores)

        self._team.share(self._n_threads, add_leaves)
        if others is not None:

            def add(share: slice, _: Stop) -> None:
                own = others[share]
                sums.add_to_rows(own, rate, self.columns.tiled, self._growth, scores)

            self._team.share(len(others), add, self._n_threads)

    def leaf_rows(self) -> list[tuple[int, Ints]]:
        """Return for each leaf of the tree that grew last its node and its rows."""
        growth, held = self._growth, self._held
        return [
            (int(growth.leaves[slot, of_leaf.NODE]), held.rows[slice(*held.ranges[slot])])
            for slot in range(growth.state[of_leaf.N_LEAVES])
        ]

    def set_values(self, values: Floats) -> None:
        """Replace what the nodes of the tree that grew last add."""
        self._growth.node_values[: len(values), of_leaf.VALUE] = values
