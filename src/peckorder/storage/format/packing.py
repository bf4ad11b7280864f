"""Plain values, arrays and matrices taken apart: JSON here, arrays there."""

from typing import Any

import numpy as np
from scipy import sparse

from peckorder._core.typing import Array
from peckorder.storage.format.errors import Unstorable
from peckorder.storage.format.labels import write_labels
from peckorder.storage.format.scalars import scalar


def pack(value: Any, arrays: list[Array]) -> Any:
    """Return a value as JSON has it, arrays being put in the list.

    Of dicts, lists, arrays of numbers, matrices in CSR or CSC form and plain values.
    """
    if isinstance(value, dict):
        return {name: pack(part, arrays) for name, part in value.items()}
    if isinstance(value, list):
        return [pack(part, arrays) for part in value]
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if sparse.issparse(value):
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return pack({"shape": list(value.shape)} | parts, arrays)
    return scalar(value)


def parameter(value: Any) -> Any:
    """Return the value of a parameter as `pack` takes it.

    Columns of frames, indexes and ranges become lists.
    """
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise Unstorable(f"an array of shape {value.shape}")
        return {"labels": write_labels(value)}
    if isinstance(value, tuple):
        return {"tuple": [parameter(part) for part in value]}
    if isinstance(value, range):
        value = list(value)
    elif hasattr(value, "tolist") and not isinstance(value, np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [parameter(part) for part in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise Unstorable("a dict with other keys than texts")
        return {"dict": [[parameter(key), parameter(part)] for key, part in value.items()]}
    return scalar(value)
