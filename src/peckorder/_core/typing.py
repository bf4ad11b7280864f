"""The names of array types used in signatures."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Labels: TypeAlias = NDArray[Any]

# The rows of a data matrix as kernels see them: `(X,)` for a dense matrix,
# `(data, indices, indptr)` for a sparse one in CSR form; read-only, C-ordered.
Rows: TypeAlias = tuple[Floats] | tuple[Floats, Ints, Ints]

Seed: TypeAlias = int | np.random.RandomState | None
