"""What rankers that keep magnitudes are learnt from."""

from dataclasses import dataclass, replace
from typing import Self

from peckorder._typing import Floats
from peckorder.solvers.gram import Matrix
from peckorder.solvers.mprank_gram import Gram
from peckorder.solvers.mprank_weighing import Weighing

# Bytes that are not copied for no other reason than that somebody may change them.
_LARGE = 1 << 20


@dataclass(frozen=True, eq=False)
class Sample:
    """What a model was learnt from: rows, by a kernel or not, labels and weights.

    `label` is y less the offset, `weight` as it was given. Rows that are not `is_own`
    may be changed by whoever gave them.
    """

    who: str
    rows: Gram | Matrix
    y: Floats
    label: Floats
    offset: Floats | None
    weighing: Weighing
    weight: Floats | None

    is_own: bool
    total: float | None = None

    def kept(self) -> Self:
        """Return the same with rows of one's own, if a copy of them is small."""
        rows = self.rows
        if self.is_own:
            return self
        if _size(rows.X if isinstance(rows, Gram) else rows) > _LARGE:
            # Linear models know it by their objective, those of kernels by their sum.
            total = float(rows.X.sum()) if isinstance(rows, Gram) else None
            return replace(self, total=total)
        own = rows.copied() if isinstance(rows, Gram) else rows.copy()
        return replace(self, rows=own, is_own=True)


def _size(X: Matrix) -> int:
    """Return the bytes of a matrix."""
    return int(X.data.nbytes)
