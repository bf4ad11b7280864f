"""An ONNX graph, written down node by node."""

from typing import Any

import numpy as np

from peckorder._version import __version__
from peckorder.exceptions import MissingExtraError

# Old enough for runtimes of the last years; trees need the one domain beside it.
_OPSET, _TREE_OPSET, _IR = 18, 5, 8
TREES = "ai.onnx.ml"


def onnx_package() -> Any:
    """Import onnx, or say how to get it."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError(
            "to_onnx: onnx must be installed to write its files; got none. Type "
            "pip install 'peckorder[onnx]'."
        ) from None
    return onnx


class Graph:
    """Nodes from the rows `X` to named outputs; all arithmetic is in float64.

    A value is known by its name; nodes are called as functions of names.
    """

    def __init__(self, n_features: int, dtype: Any) -> None:
        self._onnx = onnx_package()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self._domains = {"": _OPSET}
        self._inputs = [self._value("X", dtype, ["rows", n_features])]
        is_wide = np.dtype(dtype) == np.float64
        self.X = "X" if is_wide else self.cast("X", np.float64)

    def __call__(self, operator: str, *names: str, domain: str = "", **to: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"{operator}_{len(self._nodes)}"
        node = self._onnx.helper.make_node(
            operator, list(names), [name], name=name, domain=domain, **to
        )
        self._nodes.append(node)
        if domain == TREES:
            self._domains[TREES] = _TREE_OPSET
        return name

    def cast(self, name: str, dtype: Any) -> str:
        """Return a value as another type."""
        return self("Cast", name, to=self._type(dtype))

    def constant(self, value: Any) -> str:
        """Return the name of an array, float64 unless it has another type."""
        name = f"constant_{len(self._constants)}"
        array = np.asarray(value)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def tensor(self, array: Any) -> Any:
        """Return an array as an attribute of a node."""
        return self._onnx.numpy_helper.from_array(np.asarray(array))

    def over_columns(self, operator: str, name: str) -> str:
        """Reduce each row to a number; return these as a column."""
        return self(operator, name, self.constant(np.array([1])), keepdims=1)

    def times(self, name: str, weights: Any) -> str:
        """Return rows times weights, a column each.

        Always a product of two matrices: of a matrix and a vector onnxruntime refuses
        no rows.
        """
        columns = weights[:, np.newaxis] if weights.ndim == 1 else weights
        return self("MatMul", name, self.constant(columns))

    def flat(self, column: str) -> str:
        """Return a column as one number per row."""
        return self("Squeeze", column, self.constant(np.array([1])))

    def add_offset(self, scores: str) -> str:
        """Take known scores, and return the sum."""
        self._inputs.append(self._value("offset", np.float64, ["rows"]))
        return self("Add", scores, "offset")

    def output(self, source: str, name: str, dtype: Any, *shape: Any) -> None:
        """Show a value under a name; `shape` is what follows the rows."""
        self._nodes.append(
            self._onnx.helper.make_node("Identity", [source], [name], name=name)
        )
        self._outputs.append(self._value(name, dtype, ["rows", *shape]))

    def model(self, name: str) -> Any:
        """Return what was written, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, name, self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid(*item) for item in self._domains.items()]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=_IR,
            producer_name="peckorder",
            producer_version=__version__,
        )
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _type(self, dtype: Any) -> int:
        # Of objects, ONNX knows strings.
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _value(self, name: str, dtype: Any, shape: list[Any]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), shape)
