"""Sparse matrices as plain arrays while an object is saved.

A reader of a file has to trust every type in it that is not known to be harmless. With
this, a saved model has arrays and types of peckorder only.
"""

from dataclasses import dataclass
from typing import Self

from scipy import sparse

from peckorder._core.typing import Floats, Ints, SparseMatrix

_KINDS = (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)


@dataclass(frozen=True, eq=False)
class PlainMatrix:
    """The arrays of a matrix whose class in scipy.sparse has the given name."""

    kind: str
    shape: tuple[int, int]
    data: Floats
    indices: Ints
    indptr: Ints

    @classmethod
    def of(cls, matrix: SparseMatrix) -> Self:
        """Return the arrays of a matrix; nothing is copied."""
        return cls(
            # By its form: the class may be one that derives from SciPy's.
            f"{matrix.format}_{'array' if isinstance(matrix, sparse.sparray) else 'matrix'}",
            (int(matrix.shape[0]), int(matrix.shape[1])),
            matrix.data,
            matrix.indices,
            matrix.indptr,
        )

    def matrix(self) -> SparseMatrix:
        """Return the matrix; refuse indices that point outside of it."""
        kind = {kind.__name__: kind for kind in _KINDS}[self.kind]
        parts = self.data, self.indices, self.indptr
        matrix = kind(parts, shape=self.shape)
        # Of the types they were, which SciPy may have narrowed.
        matrix.indices, matrix.indptr = self.indices, self.indptr
        # A file may come from anywhere, and compiled code follows them blindly.
        matrix.check_format(full_check=True)
        return matrix  # type: ignore[no-any-return]


class SavedPlainly:
    """A class without slots, some of whose attributes may be CSR or CSC matrices."""

    def __getstate__(self) -> dict[str, object]:
        return {
            name: PlainMatrix.of(value) if sparse.issparse(value) else value
            for name, value in vars(self).items()
        }

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            restored = value.matrix() if isinstance(value, PlainMatrix) else value
            vars(self)[name] = restored  # past the guard of frozen classes
