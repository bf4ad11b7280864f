"""What rankers that keep magnitudes are learnt from."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from peckorder._core.threads import share_rows
from peckorder._core.typing import Floats
from peckorder.magnitude.compiled import centred_rows
from peckorder.magnitude.mprank_solver.gram import Gram
from peckorder.magnitude.mprank_solver.weighting import Weighing
from peckorder.similarity.kernel_function import Matrix

# Bytes that are not copied for no other reason than that somebody may change them.
_LARGE = 1 << 20


@dataclass(frozen=True, eq=False)
class Sample:
    """What a model was learnt from: rows, by a kernel or not, labels and weights.

    `label` is y less the offset, `weight` as it was given. Rows that are not `is_own`
    may be changed by whoever gave them: their fingerprint tells.
    """

    who: str
    rows: Gram | Matrix
    y: Floats
    label: Floats
    offset: Floats | None
    weighing: Weighing
    weight: Floats | None
    is_own: bool
    fingerprint: int | None = None

    @property
    def _given(self) -> Matrix:
        return self.rows.X if isinstance(self.rows, Gram) else self.rows

    def kept(self) -> Self:
        """Return the same with rows of one's own, if a copy of them is small."""
        rows = self.rows
        if self.is_own or (isinstance(rows, Gram) and not rows.function.is_precomputed):
            return self
        if self._given.data.nbytes > _LARGE:
            return replace(self, fingerprint=_fingerprint(self._given))
        own = rows.copied() if isinstance(rows, Gram) else rows.copy()
        return replace(self, rows=own, is_own=True)

    def has_changed(self) -> bool:
        """Tell whether rows are not what they were. A pass over them."""
        known = self.fingerprint
        return known is not None and known != _fingerprint(self._given)


def _fingerprint(X: Matrix) -> int:
    arrays: list[Any] = [X.data, X.indices] if sparse.issparse(X) else [X]
    return hash(tuple(_print(_bits(array)) for array in arrays))


def _print(bits: Any) -> int:
    parts = share_rows(
        bits,
        lambda some, give_up: centred_rows.fingerprint(bits[some], some.start),
    )
    return int(np.sum(parts, dtype=np.int64))


def _bits(array: Any) -> Any:
    flat = np.ascontiguousarray(array).reshape(-1)
    # As many at a time as fit; the number of bytes is one of numbers.
    return flat.view(np.int64 if flat.nbytes % 8 == 0 else np.int32)
