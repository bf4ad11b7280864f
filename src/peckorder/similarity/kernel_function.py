"""What a kernel sees: rows as items, and a number for each two of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse

from peckorder._core.pickling import SavedPlainly
from peckorder._core.row_transform import NONE, Stopped, View
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, share
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import as_rows, count_rows
from peckorder.exceptions import DataError
from peckorder.similarity import compiled as kernels

Matrix: TypeAlias = Any  # an array, or a SciPy matrix in CSR form


_PAIRS = (
    "If it is a function f of two rows, pass "
    "lambda X, Z: sklearn.metrics.pairwise.pairwise_kernels(X, Z, metric=f)."
)

_KINDS = {"linear": kernels.LINEAR, "poly": kernels.POLY, "rbf": kernels.RBF}


@dataclass(frozen=True)
class Items(SavedPlainly):
    """Rows as they are looked at, with their numbers among all rows ever given."""

    matrix: Matrix
    number: Ints

    def __len__(self) -> int:
        return len(self.number)

    def __getitem__(self, chosen: Any) -> Self:
        return type(self)(self.matrix[chosen], self.number[chosen])

    def __add__(self, other: Self) -> Self:
        if len(self) == 0:
            return other
        if len(other) == 0:
            return self
        return type(self)(
            stack([self.matrix, other.matrix]),
            np.concatenate([self.number, other.number]),
        )


NOTHING = Items(np.empty((0, 0)), NONE)


@dataclass(frozen=True)
class KernelFunction:
    """A kernel by name, with its parameters, or by a function of two matrices.

    Names are "linear", "poly", "rbf" and "precomputed"; the last one takes its values
    from the rows themselves, column j being the kernel with row number j. Rows have
    `n_columns` columns and are looked at as `view` says before they are compared.
    """

    who: str
    view: View
    n_columns: int
    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
    function: Callable[[Matrix, Matrix], Any] | None = None
    n_threads: int = 1

    @property
    def is_given(self) -> bool:
        """Whether the rows are the values of the kernel."""
        return self.name == "precomputed"

    def items(self, rows: Rows, chosen: slice | Ints, number: Ints) -> Items:
        """Look at some rows; raise Stopped with the place of one that is damaged."""
        matrix = take(rows, chosen, self.n_columns)
        check_entries(matrix)
        if self.is_given:
            dense = matrix.toarray() if sparse.issparse(matrix) else matrix
            return Items(dense, number)
        return Items(seen(self.view, matrix), number)

    def blocks(self, rows: Rows, support: Items) -> Iterator[tuple[slice, Floats]]:
        """Yield rows in blocks: where they are, and their kernels with `support`."""
        n_rows, size = count_rows(rows), block_size(len(support))
        for first in range(0, n_rows, size):
            some = slice(first, min(first + size, n_rows))
            try:
                items = self.items(rows, some, np.arange(some.start, some.stop))
            except Stopped as stopped:
                raise Stopped(first + (stopped.row or 0)) from None
            yield some, self.values(items, support)

    def supporting(self, items: Items, chosen: Any) -> Items:
        """Return what must be kept of items that others will be compared with."""
        if self.is_given:
            number = items.number[chosen]
            return Items(np.empty((len(number), 0)), number)
        return items[chosen]

    def values(self, x: Items, z: Items) -> Floats:
        """Return the kernel of each of `x` with each of `z`."""
        if len(z) == 0:
            return np.empty((len(x), 0))
        if self.is_given:
            return np.ascontiguousarray(x.matrix[:, z.number], dtype=np.float64)
        if self.function is not None:
            return self._called(x.matrix, z.matrix)
        last = np.full(len(x), len(z))
        return self._computed(x.matrix, z.matrix, last)

    def values_among(self, x: Items) -> Floats:
        """Return the kernel of each of `x` with itself and those before it."""
        if self.is_given or self.function is not None:
            return self.values(x, x)
        return self._computed(x.matrix, x.matrix, np.arange(1, len(x) + 1))

    def _computed(self, x: Matrix, z: Matrix, last: Ints) -> Floats:
        """Compute the kernels of each row of `x` with the first so many of `z`."""
        if sparse.issparse(x) or sparse.issparse(z):
            x, z = sparse.csr_array(x), sparse.csr_array(z)
        x_rows, z_rows = as_rows(x), as_rows(z)
        size = x.shape[1] if sparse.issparse(x) else 0
        x_square, z_square = np.zeros(x.shape[0]), np.zeros(z.shape[0])
        if self.name == "rbf" and sparse.issparse(x):
            kernels.squares(x_rows, np.zeros(size), x_square)
            kernels.squares(z_rows, np.zeros(size), z_square)
        values = np.empty((x.shape[0], z.shape[0]))

        def compute(some: slice, give_up: Callable[[], bool]) -> None:
            kernels.gram(
                part_of(x_rows, some),
                z_rows,
                _KINDS[self.name],
                self.gamma,
                self.coef0,
                self.degree,
                x_square[some],
                z_square,
                last[some],
                np.zeros(size),
                values[some],
            )

        threads = min(
            self.n_threads, 1 + values.size // MIN_ITEMS_PER_THREAD["similarities"]
        )
        share(x.shape[0], threads, compute)
        return values

    def _called(self, x: Matrix, z: Matrix) -> Floats:
        """Call the user's function, and trust nothing of what it returns."""
        assert self.function is not None
        shape = (x.shape[0], z.shape[0])
        if isinstance(z, np.ndarray):
            # What the model keeps is not the function's to change.
            z = z.view()
            z.flags.writeable = False
        try:
            returned = self.function(x, z)
        except Exception as error:
            error.add_note(f"{self.who}: kernel was called with two matrices. {_PAIRS}")
            raise
        if sparse.issparse(returned):
            returned = returned.toarray()
        try:
            values = np.asarray(returned).astype(np.float64, "C", casting="same_kind")
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != shape:
            raise DataError(
                f"{self.who}: kernel must be a function of two matrices that returns a "
                f"number for each two of their rows, here an array of shape {shape}; "
                f"got {_described(returned)}. {_PAIRS}"
            )
        is_finite = np.isfinite(values)
        if not is_finite.all():
            raise DataError(
                f"{self.who}: kernel must be a function that returns finite numbers; "
                f"got {float(values[~is_finite][0])!r}."
            )
        return values


def block_size(n_support: int) -> int:
    """Return how many rows to look at together, for a few megabytes of kernels."""
    return max(16, min(256, (1 << 20) // (n_support + 1)))


def _described(returned: Any) -> str:
    shape = getattr(returned, "shape", None)
    if shape is None:
        return f"an object of type {type(returned).__name__}"
    return f"an array of shape {shape} and type {returned.dtype}"


def take(rows: Rows, chosen: slice | Ints, n_columns: int) -> Matrix:
    """Pick rows: views of a dense matrix where possible, else copies."""
    if len(rows) == 1:
        return rows[0][chosen]
    return sparse.csr_array(rows, shape=(count_rows(rows), n_columns))[chosen]


def part_of(rows: Rows, some: slice) -> Rows:
    """Return a range of rows, without a copy."""
    if len(rows) == 1:
        return (rows[0][some],)
    return rows[0], rows[1], rows[2][some.start : some.stop + 1]


def stack(parts: list[Matrix]) -> Matrix:
    """Put matrices one below the other; sparse if one of them is."""
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    return np.vstack(parts)


def check_entries(matrix: Matrix) -> None:
    """Raise Stopped at the first row with a NaN, an infinity or a wrong column."""
    if not sparse.issparse(matrix):
        # A sum is cheap and tells almost always; the rest only if it does not.
        with np.errstate(over="ignore", invalid="ignore"):
            total = matrix.sum(dtype=np.float64)
        if not np.isfinite(total):
            is_sound = np.isfinite(matrix).all(axis=1)
            if not is_sound.all():
                raise Stopped(int(np.argmin(is_sound)))
        return
    inside = (matrix.indices >= 0) & (matrix.indices < matrix.shape[1])
    is_sound = inside & np.isfinite(matrix.data)
    if not is_sound.all():
        place = int(np.argmin(is_sound))
        raise Stopped(int(np.searchsorted(matrix.indptr, place, side="right")) - 1)


def seen(view: View, matrix: Matrix) -> Matrix:
    """Return rows as a learner looks at them: the constant appended, at unit norm.

    The very rows if they are looked at as they are.
    """
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        # An entry in two parts would count wrongly in a norm.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not (view.intercept or view.unit_norm):
        return matrix
    scale = np.empty(matrix.shape[0])
    kernels.scales(as_rows(matrix), view.intercept, view.unit_norm, scale)
    if not np.isfinite(scale).all():
        raise Stopped(int(np.argmin(np.isfinite(scale))))
    if not sparse.issparse(matrix):
        wide = np.empty((matrix.shape[0], matrix.shape[1] + view.intercept))
        np.multiply(matrix, scale[:, np.newaxis], out=wide[:, : matrix.shape[1]])
        if view.intercept:
            wide[:, -1] = scale
        return wide
    scaled = matrix.astype(np.float64)
    scaled.data *= np.repeat(scale, np.diff(matrix.indptr))
    if not view.intercept:
        return scaled
    return sparse.hstack([scaled, sparse.csr_array(scale[:, np.newaxis])], format="csr")
