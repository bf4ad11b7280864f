"""An ONNX graph, written node by node, and score tables as its trees."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from peckorder._core.errors import requiring
from peckorder._core.typing import Floats
from peckorder._version import __version__
from peckorder.boosting.round_record import ScoreTable
from peckorder.estimators import RankBoost
from peckorder.trees.forest import Forest

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

# Old enough for runtimes of the last years; trees need the one domain beside it.
_OPSET, _TREE_OPSET, _IR = 18, 5, 8
_LESS_OR_EQUAL, _SUM, _AS_IT_IS = 0, 1, 0
TREES = "ai.onnx.ml"


def onnx_package() -> Any:
    """Import onnx; raise if it is not installed."""
    with requiring("onnx", "to write its files", "'peckorder[onnx]'"):
        import onnx
    return onnx


class Graph:
    """Nodes from the rows `X` to named outputs; all arithmetic is in float64.

    A value is known by its name; nodes are called as functions of names.
    """

    def __init__(self, n_features: int, dtype: DTypeLike) -> None:
        self._onnx = onnx_package()
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._outputs: list[ValueInfoProto] = []
        self._domains = {"": _OPSET}
        self._inputs = [self._value("X", dtype, ["rows", n_features])]
        is_wide = np.dtype(dtype) == np.float64
        self.X = "X" if is_wide else self.cast("X", np.float64)

    def __call__(self, operator: str, *names: str, domain: str = "", **options: object) -> str:
        """Add a node and return the name of its output."""
        name = f"{operator}_{len(self._nodes)}"
        node = self._onnx.helper.make_node(
            operator, list(names), [name], name=name, domain=domain, **options
        )
        self._nodes.append(node)
        if domain == TREES:
            self._domains[TREES] = _TREE_OPSET
        return name

    def cast(self, name: str, dtype: DTypeLike) -> str:
        """Return a value as another type."""
        return self("Cast", name, to=self._type(dtype))

    def constant(self, value: ArrayLike) -> str:
        """Return the name of an array, float64 unless it has another type."""
        name = f"constant_{len(self._constants)}"
        array = np.asarray(value)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def tensor(self, array: ArrayLike) -> "TensorProto":
        """Return an array as an attribute of a node."""
        tensor: TensorProto = self._onnx.numpy_helper.from_array(np.asarray(array))
        return tensor

    def over_columns(self, operator: str, name: str) -> str:
        """Reduce each row to a number; return these as a column."""
        return self(operator, name, self.constant(np.array([1])), keepdims=1)

    def times(self, name: str, weights: Floats) -> str:
        """Return rows times weights, a column each.

        Always a product of two matrices: onnxruntime refuses a matrix without rows times
        a vector.
        """
        columns = weights[:, np.newaxis] if weights.ndim == 1 else weights
        return self("MatMul", name, self.constant(columns))

    def flat(self, column: str) -> str:
        """Return a column as one number per row."""
        return self("Squeeze", column, self.constant(np.array([1])))

    def add_offset(self, scores: str) -> str:
        """Add an input of known scores, and return the sum."""
        self._inputs.append(self._value("offset", np.float64, ["rows"]))
        return self("Add", scores, "offset")

    def output(self, source: str, name: str, dtype: DTypeLike, *shape: int) -> None:
        """Make a value an output with a name; `shape` is that of one row."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [source], [name], name=name))
        self._outputs.append(self._value(name, dtype, ["rows", *shape]))

    def model(self, name: str) -> "ModelProto":
        """Return the graph as a model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid(*item) for item in self._domains.items()]
        model: ModelProto = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=_IR,
            producer_name="peckorder",
            producer_version=__version__,
        )
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _type(self, dtype: DTypeLike) -> int:
        # Of objects, ONNX knows strings.
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _value(self, name: str, dtype: DTypeLike, shape: list[str | int]) -> "ValueInfoProto":
        make = self._onnx.helper.make_tensor_value_info
        value: ValueInfoProto = make(name, self._type(dtype), shape)
        return value


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
        # Whether NaN goes where x <= split would.
        self.missing_low: list[int] = []
        # The score that a leaf adds to.
        self.target: list[int] = []

    def add_forest(self, forest: Forest, level: int = 0) -> None:
        """Add the trees of a forest to the score of one of its thresholds."""
        nodes = forest.nodes

        def resolved(node: int) -> int:
            while nodes.column[node] == forest.n_columns:
                node = int(nodes.below[node]) + int(level < nodes.cut[node])
            return node

        def child(node: int) -> tuple[int, bool]:
            node = resolved(node)
            column = int(nodes.column[node])
            if column < 0:
                return self._leaf(float(nodes.value[node]), level)
            # A value is at least the cut unless it is at most the number before.
            split = float(np.nextafter(nodes.cut[node], -np.inf))
            number = self._node(column, split, missing_low=not nodes.missing[node])
            waiting.append((number, int(nodes.below[node])))
            return number, False

        for start in nodes.starts[:-1].tolist():
            waiting: list[tuple[int, int]] = []
            number, is_leaf = child(start)
            if is_leaf:
                leaf, number = number, self._node(0, np.inf)
                self.low[number] = self.high[number] = leaf, True
            self.roots.append(number)
            while waiting:
                number, below = waiting.pop()
                self.low[number], self.high[number] = child(below), child(below + 1)

    def add(self, feature: int, thresholds: Floats, steps: Floats, missing: float) -> None:
        """Add a tree: steps[k] for a value above k thresholds, `missing` for NaN.

        NaN is not <= inf, so that the root separates it from all values.
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
        self.high[node] = self._search(feature, thresholds[half + 1 :], steps[half + 1 :])
        return node, False

    def _node(self, feature: int, split: float, *, missing_low: bool = False) -> int:
        self.feature.append(feature)
        self.missing_low.append(int(missing_low))
        self.split.append(split)
        self.low.append((0, True))
        self.high.append((0, True))
        return len(self.feature) - 1

    def _leaf(self, weight: float, target: int = 0) -> tuple[int, bool]:
        self.weight.append(weight)
        self.target.append(target)
        return len(self.weight) - 1, True

    def write(self, graph: Graph, n_targets: int = 1) -> str:
        """Return the sums of all trees, a column per target."""
        if not self.roots:
            self.add(0, np.empty(0), np.zeros(1), 0.0)
        n_nodes = len(self.feature)
        return graph(
            "TreeEnsemble",
            graph.X,
            domain=TREES,
            n_targets=n_targets,
            aggregate_function=_SUM,
            post_transform=_AS_IT_IS,
            tree_roots=self.roots,
            nodes_featureids=self.feature,
            nodes_splits=graph.tensor(self.split),
            nodes_modes=graph.tensor(np.full(n_nodes, _LESS_OR_EQUAL, dtype=np.uint8)),
            nodes_missing_value_tracks_true=self.missing_low,
            nodes_truenodeids=[place for place, _ in self.low],
            nodes_trueleafs=[int(is_leaf) for _, is_leaf in self.low],
            nodes_falsenodeids=[place for place, _ in self.high],
            nodes_falseleafs=[int(is_leaf) for _, is_leaf in self.high],
            leaf_targetids=self.target,
            leaf_weights=graph.tensor(self.weight),
        )


def write_forest(graph: Graph, forest: Forest, n_thresholds: int) -> str:
    """Write the scores of a forest, a column per threshold; return them."""
    trees = _Trees()
    for level in range(n_thresholds):
        trees.add_forest(forest, level)
    return trees.write(graph, n_thresholds)


def write_rankboost(graph: Graph, model: RankBoost) -> str:
    """Write the sum of rankings by thresholds, features themselves or trees; return it."""
    table: ScoreTable = model._table
    trees = _Trees()
    if hasattr(model, "forest_"):
        trees.add_forest(model.forest_)
    for u, feature in enumerate(table.features.tolist()):
        first, last = table.starts[u : u + 2].tolist()
        trees.add(
            feature,
            table.thresholds[first:last],
            table.steps[first + u : last + u + 1],
            float(table.missing[u]),
        )
    scores = graph.flat(trees.write(graph))
    if table.slopes.any():
        scores = graph("Add", scores, _linear_part(graph, table))
    if model._has_offset:
        scores = graph.add_offset(scores)
    return scores


def _linear_part(graph: Graph, table: ScoreTable) -> str:
    """Return the sum of slopes times values; NaN counts nothing, the trees know it."""
    is_slope = table.slopes != 0.0
    columns = graph.constant(table.features[is_slope])
    values = graph("Gather", graph.X, columns, axis=1)
    is_missing = graph("IsNaN", values)
    known = graph("Where", is_missing, graph.constant(0.0), values)
    return graph.flat(graph.times(known, table.slopes[is_slope]))
