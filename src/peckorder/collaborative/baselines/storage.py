"""The baselines of viewers as files: attributes, checked one by one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from peckorder.storage.format import Node

# How an attribute is read, given its name.
Reader: TypeAlias = Callable[["Node", str], Any]


def number(node: "Node", name: str) -> float:
    """Read a finite number."""
    return node.number(name)


def positive(node: "Node", name: str) -> float:
    """Read a finite number that is not negative."""
    return node.number(name, low=0.0)


def a_viewer(node: "Node", name: str) -> Any:
    """Read a number for each viewer."""
    return node.floats(name, "viewers")


def a_neighbor(node: "Node", name: str) -> Any:
    """Read a number for each neighbour."""
    return node.floats(name, "neighbors")


def columns(node: "Node", name: str) -> Any:
    """Read the column of each neighbour."""
    return node.ints(name, "neighbors", below=node.sizes["viewers"])


def viewer_state(model: Any, fields: dict[str, Reader]) -> dict[str, Any]:
    """Return the attributes that scores need."""
    return {name: getattr(model, name) for name in fields}


def restore_viewers(model: Any, fields: dict[str, Reader], node: "Node") -> None:
    """Take them back."""
    n_viewers = getattr(model, "n_features_in_", None)
    if n_viewers is None:
        raise node.refuse("n_features", "the number of viewers")
    node.sizes["viewers"] = n_viewers
    for name, read in fields.items():
        setattr(model, name, read(node, name))
