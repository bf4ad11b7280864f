"""The names of types used in signatures."""

from collections.abc import Hashable, Iterable, Sequence
from os import PathLike as _PathLike
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Bools: TypeAlias = NDArray[np.bool_]
# An array whose dtype is not known, such as labels or ids of any type.
Array: TypeAlias = NDArray[Any]
Labels: TypeAlias = Array

# The rows of a data matrix as compiled functions take them: `(X,)` for a dense matrix,
# `(data, indices, indptr)` for a sparse one in CSR form; read-only, C-ordered.
Rows: TypeAlias = tuple[Floats] | tuple[Floats, Ints, Ints]

Seed: TypeAlias = int | np.random.RandomState | None
PathLike: TypeAlias = str | _PathLike[str]


class SparseMatrix(Protocol):
    """A matrix or array of scipy.sparse, which has no types of its own."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    format: str
    nnz: int
    data: Floats
    indices: Ints
    indptr: Ints
    has_canonical_format: bool
    T: "SparseMatrix"

    def __getitem__(self, rows: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __mul__(self, factor: Any, /) -> "SparseMatrix": ...
    def sum(self, axis: int) -> Floats: ...
    def astype(self, dtype: Any) -> Self: ...
    def copy(self) -> Self: ...
    def sort_indices(self) -> None: ...
    def sum_duplicates(self) -> None: ...
    def toarray(self) -> Floats: ...
    def tocsr(self) -> "SparseMatrix": ...
    def tocsc(self) -> "SparseMatrix": ...
    def tocoo(self) -> Any: ...


class Frame(Protocol):
    """A data frame of pandas or polars, as far as both agree."""

    @property
    def columns(self) -> Iterable[str]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: Any, /) -> Any: ...


# What users pass as X, and as one value per row.
MatrixLike: TypeAlias = ArrayLike | SparseMatrix | Frame
VectorLike: TypeAlias = ArrayLike | Sequence[Hashable]
# A matrix after validation: dense, or sparse in CSR form.
Matrix: TypeAlias = Floats | SparseMatrix


class Predictor(Protocol):
    """A fitted estimator of scikit-learn's kind."""

    def predict(self, X: Any, /) -> Any: ...


class Estimator(Predictor, Protocol):
    """An estimator of scikit-learn's kind."""

    def fit(self, X: Any, y: Any, /) -> Any: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...
