"""Features that follow from others, where rounding hides the ridge."""

import numpy as np
from scipy.linalg import svd

from peckorder._core.typing import Floats

# A ridge so far below the largest eigenvalue is lost in the rounding of coefficients.
HIDDEN = 1e-8
# The rounding of singular values beside the largest.
_NOISE = 4.0 * np.finfo(np.float64).eps


def without_collinear(coef: Floats, factor: Floats) -> Floats:
    """Return coefficients without what collinear features leave open: of least norm.

    A ridge regression has none of it, however small the ridge. Where the ridge is below
    rounding relative to features, which have this triangular `factor`, a solver finds
    anything there. O(d^3).
    """
    lengths = np.linalg.norm(factor, axis=0)
    scale = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0.0)
    _, values, right = svd(factor * scale)
    is_open = values <= np.sqrt(len(values)) * _NOISE * values.max(initial=0.0)
    # Features that do not vary have no coefficients.
    basis = np.linalg.qr(scale[:, np.newaxis] * right[is_open].T)[0]
    left: Floats = np.where(scale > 0.0, coef, 0.0)
    for _ in range(2):  # the first time leaves the rounding of what may be far larger
        left = left - basis @ (basis.T @ left)
    return left
