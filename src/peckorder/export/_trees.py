"""Tables of scores as trees, one a feature."""

from typing import Any

import numpy as np

from peckorder._core.typing import Floats
from peckorder.boosting.rounds import ScoreTable
from peckorder.export._graph import TREES, Graph

_LESS_OR_EQUAL, _SUM, _AS_IT_IS = 0, 1, 0


class _Trees:
    """Nodes and leaves, as the operator TreeEnsemble has them."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.feature: list[int] = []
        self.split: list[float] = []
        # Where to go, and whether a leaf is meant: if x <= split, and if not.
        self.low: list[tuple[int, bool]] = []
        self.high: list[tuple[int, bool]] = []
        self.weight: list[float] = []

    def add(
        self, feature: int, thresholds: Floats, steps: Floats, missing: float
    ) -> None:
        """Add a tree: steps[k] for a value above k thresholds, `missing` for NaN.

        NaN is not <= inf, so that the root tells it from all values.
        """
        root = self._node(feature, np.inf)
        self.roots.append(root)
        self.low[root] = self._search(feature, thresholds.tolist(), steps.tolist())
        self.high[root] = self._leaf(missing)

    def _search(
        self, feature: int, thresholds: list[float], steps: list[float]
    ) -> tuple[int, bool]:
        """Add a search by halves, O(log thresholds) deep."""
        if not thresholds:
            return self._leaf(steps[0])
        half = len(thresholds) // 2
        node = self._node(feature, thresholds[half])
        self.low[node] = self._search(feature, thresholds[:half], steps[: half + 1])
        self.high[node] = self._search(
            feature, thresholds[half + 1 :], steps[half + 1 :]
        )
        return node, False

    def _node(self, feature: int, split: float) -> int:
        self.feature.append(feature)
        self.split.append(split)
        self.low.append((0, True))
        self.high.append((0, True))
        return len(self.feature) - 1

    def _leaf(self, weight: float) -> tuple[int, bool]:
        self.weight.append(weight)
        return len(self.weight) - 1, True

    def write(self, graph: Graph) -> str:
        """Return the sum of all trees."""
        n_nodes = len(self.feature)
        sums = graph(
            "TreeEnsemble",
            graph.X,
            domain=TREES,
            n_targets=1,
            aggregate_function=_SUM,
            post_transform=_AS_IT_IS,
            tree_roots=self.roots,
            nodes_featureids=self.feature,
            nodes_splits=graph.tensor(self.split),
            nodes_modes=graph.tensor(np.full(n_nodes, _LESS_OR_EQUAL, dtype=np.uint8)),
            nodes_missing_value_tracks_true=[0] * n_nodes,
            nodes_truenodeids=[place for place, _ in self.low],
            nodes_trueleafs=[int(is_leaf) for _, is_leaf in self.low],
            nodes_falsenodeids=[place for place, _ in self.high],
            nodes_falseleafs=[int(is_leaf) for _, is_leaf in self.high],
            leaf_targetids=[0] * len(self.weight),
            leaf_weights=graph.tensor(self.weight),
        )
        return graph.flat(sums)


def write_rankboost(graph: Graph, model: Any) -> None:
    """Add up what thresholds say of rows, and features that are rankings themselves."""
    table: ScoreTable = model._table
    trees = _Trees()
    for u, feature in enumerate(table.features.tolist()):
        first, last = table.starts[u : u + 2].tolist()
        trees.add(
            feature,
            table.thresholds[first:last],
            table.steps[first + u : last + u + 1],
            float(table.missing[u]),
        )
    if not trees.roots:
        trees.add(0, np.empty(0), np.zeros(1), 0.0)
    scores = trees.write(graph)
    if table.slopes.any():
        scores = graph("Add", scores, _linear_part(graph, table))
    if model._has_offset:
        scores = graph.add_offset(scores)
    graph.output(scores, "scores", np.float64)


def _linear_part(graph: Graph, table: ScoreTable) -> str:
    """Return the sum of slopes times values; NaN counts nothing, the trees know it."""
    is_slope = table.slopes != 0.0
    columns = graph.constant(table.features[is_slope])
    values = graph("Gather", graph.X, columns, axis=1)
    is_missing = graph("IsNaN", values)
    known = graph("Where", is_missing, graph.constant(0.0), values)
    return graph.flat(graph.times(known, table.slopes[is_slope]))
