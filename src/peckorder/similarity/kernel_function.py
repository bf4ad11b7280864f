"""Kernel functions: transformed rows, and one number per pair of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from peckorder._core.errors import caller, refusal
from peckorder._core.pickling import SavedPlainly
from peckorder._core.row_transform import NONE, RowTransform, UnusableRow, map_blocks
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, share
from peckorder._core.typing import Bools, Floats, Ints, Rows
from peckorder._core.validation import as_rows, count_rows
from peckorder.similarity import compiled

T = TypeVar("T")
Matrix: TypeAlias = Any  # an array, or a SciPy matrix in CSR form


_PAIRS = (
    "If it is a function f of two rows, pass "
    "lambda X, Z: sklearn.metrics.pairwise.pairwise_kernels(X, Z, metric=f)."
)

_KINDS = {"linear": compiled.LINEAR, "poly": compiled.POLY, "rbf": compiled.RBF}


@dataclass(frozen=True)
class Items(SavedPlainly):
    """Transformed rows, with their numbers among all rows ever given."""

    matrix: Matrix
    number: Ints

    def __len__(self) -> int:
        return len(self.number)

    def __getitem__(self, index: slice | Ints | Bools) -> Self:
        return type(self)(self.matrix[index], self.number[index])

    def __add__(self, other: Self) -> Self:
        if len(self) == 0:
            return other
        if len(other) == 0:
            return self
        return type(self)(
            stack([self.matrix, other.matrix]), np.concatenate([self.number, other.number])
        )


NO_ITEMS = Items(np.empty((0, 0)), NONE)


@dataclass(frozen=True)
class KernelFunction:
    """A kernel by name, with its parameters, or by a function of two matrices.

    Names are "linear", "poly", "rbf" and "precomputed"; the values of the last one are
    the rows themselves, column j being the kernel with row number j. Rows have
    `n_columns` columns and are transformed before they are compared.
    """

    transform: RowTransform
    n_columns: int
    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
    function: Callable[[Matrix, Matrix], Any] | None = None
    n_threads: int = 1

    @classmethod
    def of_parameters(
        cls, transform: RowTransform, n_columns: int, estimator: Any, gamma: float | None
    ) -> Self:
        """Return the kernel of an estimator; gamma is a parameter, or one of several."""
        kernel = estimator.kernel
        is_name = isinstance(kernel, str)
        return cls(
            transform,
            n_columns,
            kernel if is_name else "function",
            1.0 / n_columns if gamma is None else float(gamma),
            float(estimator.coef0),
            int(estimator.degree),
            None if is_name else kernel,
        )

    @property
    def is_precomputed(self) -> bool:
        """Whether the rows are the values of the kernel."""
        return self.name == "precomputed"

    def items(self, rows: Rows, selected: slice | Ints, number: Ints) -> Items:
        """Transform rows; raise UnusableRow with the position of a damaged one."""
        matrix = select_rows(rows, selected, self.n_columns)
        check_entries(matrix)
        if self.is_precomputed:
            dense = matrix.toarray() if sparse.issparse(matrix) else matrix
            return Items(dense, number)
        return Items(transform_rows(self.transform, matrix), number)

    def map_blocks(self, rows: Rows, support: Items, work: Callable[[slice, Floats], T]) -> list[T]:
        """Call `work` for blocks of rows with their kernels with `support`."""

        def compute(block: slice) -> T:
            items = self.items(rows, block, np.arange(block.start, block.stop))
            return work(block, self.values(items, support))

        return map_blocks(count_rows(rows), block_size(len(support)), compute)

    def supporting(self, items: Items, index: Bools) -> Items:
        """Return what must be kept of items that others will be compared with."""
        if self.is_precomputed:
            number = items.number[index]
            return Items(np.empty((len(number), 0)), number)
        return items[index]

    def values(self, x: Items, z: Items) -> Floats:
        """Return the kernel of each of `x` with each of `z`."""
        if len(z) == 0:
            return np.empty((len(x), 0))
        if self.is_precomputed:
            return np.ascontiguousarray(x.matrix[:, z.number], dtype=np.float64)
        if self.function is not None:
            return self._called(x.matrix, z.matrix)
        last = np.full(len(x), len(z))
        return self._computed(x.matrix, z.matrix, last)

    def values_among(self, x: Items) -> Floats:
        """Return the kernel of each of `x` with itself and those before it."""
        if self.is_precomputed or self.function is not None:
            return self.values(x, x)
        return self._computed(x.matrix, x.matrix, np.arange(1, len(x) + 1))

    def _computed(self, x: Matrix, z: Matrix, last: Ints) -> Floats:
        """Compute the kernels of row i of `x` with the first ``last[i]`` of `z`."""
        if sparse.issparse(x) or sparse.issparse(z):
            x, z = sparse.csr_array(x), sparse.csr_array(z)
        x_rows, z_rows = as_rows(x), as_rows(z)
        size = x.shape[1] if sparse.issparse(x) else 0
        x_square, z_square = np.zeros(x.shape[0]), np.zeros(z.shape[0])
        if self.name == "rbf" and sparse.issparse(x):
            compiled.squares(x_rows, np.zeros(size), x_square)
            compiled.squares(z_rows, np.zeros(size), z_square)
        values = np.empty((x.shape[0], z.shape[0]))

        parameters = compiled.Parameters(_KINDS[self.name], self.gamma, self.coef0, self.degree)

        def compute(block: slice, give_up: Stop) -> None:
            compiled.gram(
                slice_rows(x_rows, block),
                z_rows,
                parameters,
                x_square[block],
                z_square,
                last[block],
                np.zeros(size),
                values[block],
            )

        n_items = MIN_ITEMS_PER_THREAD["similarities"]
        threads = min(self.n_threads, 1 + values.size // n_items)
        share(x.shape[0], threads, compute)
        return values

    def _called(self, x: Matrix, z: Matrix) -> Floats:
        """Call the user's function, and check what it returns."""
        assert self.function is not None
        shape = (x.shape[0], z.shape[0])
        if isinstance(z, np.ndarray):
            # The function must not change what the model keeps.
            z = z.view()
            z.flags.writeable = False
        try:
            returned = self.function(x, z)
        except Exception as error:
            error.add_note(f"{caller()}: kernel was called with two matrices. {_PAIRS}")
            raise
        if sparse.issparse(returned):
            returned = returned.toarray()
        try:
            values = np.asarray(returned).astype(np.float64, "C", casting="same_kind")
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != shape:
            raise refusal(
                "kernel",
                "be a function of two matrices that returns a number for each "
                f"two of their rows, here an array of shape {shape}",
                _described(returned),
                hint=_PAIRS,
            )
        is_finite = np.isfinite(values)
        if not is_finite.all():
            raise refusal(
                "kernel",
                "be a function that returns finite numbers",
                repr(float(values[~is_finite][0])),
            )
        return values


def block_size(n_support: int) -> int:
    """Return how many rows to compare together, for a few megabytes of kernels."""
    return max(16, min(256, (1 << 20) // (n_support + 1)))


def _described(returned: object) -> str:
    shape, dtype = getattr(returned, "shape", None), getattr(returned, "dtype", None)
    if shape is None:
        return f"an object of type {type(returned).__name__}"
    return f"an array of shape {shape} and type {dtype}"


def select_rows(rows: Rows, selected: slice | Ints, n_columns: int) -> Matrix:
    """Select rows: views of a dense matrix where possible, else copies."""
    if len(rows) == 1:
        return rows[0][selected]
    return sparse.csr_array(rows, shape=(count_rows(rows), n_columns))[selected]


def slice_rows(rows: Rows, block: slice) -> Rows:
    """Return a range of rows, without a copy."""
    if len(rows) == 1:
        return (rows[0][block],)
    return rows[0], rows[1], rows[2][block.start : block.stop + 1]


def stack(matrices: list[Matrix]) -> Matrix:
    """Stack matrices vertically; sparse if one of them is."""
    if any(sparse.issparse(matrix) for matrix in matrices):
        return sparse.vstack([sparse.csr_array(m) for m in matrices], format="csr")
    return np.vstack(matrices)


def check_entries(matrix: Matrix) -> None:
    """Raise UnusableRow at the first row with a NaN, an infinity or a wrong column."""
    if not sparse.issparse(matrix):
        # A sum is cheap and almost always enough.
        with np.errstate(over="ignore", invalid="ignore"):
            total = matrix.sum(dtype=np.float64)
        if not np.isfinite(total):
            is_sound = np.isfinite(matrix).all(axis=1)
            if not is_sound.all():
                raise UnusableRow(int(np.argmin(is_sound)))
        return
    inside = (matrix.indices >= 0) & (matrix.indices < matrix.shape[1])
    is_sound = inside & np.isfinite(matrix.data)
    if not is_sound.all():
        entry = int(np.argmin(is_sound))
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise UnusableRow(row)


def transform_rows(transform: RowTransform, matrix: Matrix) -> Matrix:
    """Return rows with the constant appended, at unit norm, as the transform says.

    Without either, the rows themselves are returned.
    """
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        # An entry in two parts would count wrongly in a norm.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not (transform.intercept or transform.unit_norm):
        return matrix
    scale = np.empty(matrix.shape[0])
    compiled.scales(as_rows(matrix), transform, scale)
    if not np.isfinite(scale).all():
        raise UnusableRow(int(np.argmin(np.isfinite(scale))))
    if not sparse.issparse(matrix):
        wide = np.empty((matrix.shape[0], matrix.shape[1] + transform.intercept))
        np.multiply(matrix, scale[:, np.newaxis], out=wide[:, : matrix.shape[1]])
        if transform.intercept:
            wide[:, -1] = scale
        return wide
    scaled = matrix.astype(np.float64)
    scaled.data *= np.repeat(scale, np.diff(matrix.indptr))
    if not transform.intercept:
        return scaled
    return sparse.hstack([scaled, sparse.csr_array(scale[:, np.newaxis])], format="csr")
