"""The lowest point of ``|w|^2`` and the largest of some planes."""

from dataclasses import dataclass, field

import numpy as np

from peckorder._core.typing import Floats
from peckorder.magnitude.compiled.simplex import best_mixture
from peckorder.magnitude.svrank_solver.space import inner, square_norm

# Iterations after which a plane that has been of no use is dropped.
_IDLE = 50
# What sums over many rows may be wrong by, beside their terms.
_ROUNDING = 32.0 * float(np.finfo(np.float64).eps)


@dataclass(eq=False)
class Master:
    """Minimises ``|w|^2 + max_t (<a_t, w> + b_t)`` over planes that come one by one.

    The dual, ``max b'x - x' G x / 4`` over shares x of the planes with G their inner
    products, is solved by an active set; ``w = -1/2 sum_t x_t a_t``. Any x gives a
    lower bound. `_noise` is how much rounding there may be in each b.
    """

    _planes: list[Floats] = field(default_factory=list)
    _idle: list[int] = field(default_factory=list)
    _b: Floats = field(default_factory=lambda: np.zeros(0))
    _noise: Floats = field(default_factory=lambda: np.zeros(0))
    _G: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    _x: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, plane: Floats, value: float, w: Floats) -> None:
        """Add the plane that has a slope, and a value at w. O(T d) for T planes."""
        kept = [t for t, idle in enumerate(self._idle) if idle < _IDLE]
        self._planes = [self._planes[t] for t in kept] + [plane]
        self._idle = [self._idle[t] for t in kept] + [0]
        n = len(kept)
        G = np.empty((n + 1, n + 1))
        G[:n, :n] = self._G[np.ix_(kept, kept)]
        G[n] = G[:, n] = [inner(plane, other) for other in self._planes]
        size = np.sqrt(square_norm(plane)) * np.sqrt(square_norm(w))
        self._G, self._b = G, np.append(self._b[kept], value - inner(plane, w))
        self._noise = np.append(self._noise[kept], _ROUNDING * (value + size))
        self._x = np.append(self._x[kept], 0.0 if n else 1.0)

    def solve(self) -> tuple[Floats, float, float]:
        """Return w, a lower bound of the minimum, and how much of it may be rounding.

        Where planes are far steeper than their mixture, it is a small difference.
        """
        self._x = x = shares(self._G, self._b, self._x)
        w = np.zeros_like(self._planes[0])
        for t in range(len(x)):
            if x[t] > 0.0:
                w -= (0.5 * x[t]) * self._planes[t]
                self._idle[t] = 0
            else:
                self._idle[t] += 1
        square = square_norm(w)
        lost = _ROUNDING * float(x @ np.sqrt(np.maximum(self._G.diagonal(), 0.0)))
        noise = float(self._noise @ x) + lost * (2.0 * np.sqrt(square) + lost)
        return w, float(self._b @ x) - square, noise


def shares(G: Floats, b: Floats, x: Floats) -> Floats:
    """Return the x on the simplex with the largest ``b'x - x' G x / 4``.

    From a given x on. O(k^3) for k planes that have a share, and O(T k) for each of T
    that gets or loses one on the way.
    """
    x, size = x.copy(), len(x) + 1
    scratch = np.empty((size, size)), np.empty((3, size))
    best_mixture(G, b, x, np.empty(size, dtype=np.int64), *scratch, 2 * size + 10)
    return x
