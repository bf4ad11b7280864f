"""The lowest point of ``|w|^2`` and the largest of some planes."""

from dataclasses import dataclass, field

import numpy as np

from peckorder._typing import Floats, Ints, Labels

# Iterations after which a plane that has been of no use is dropped.
_IDLE = 50
# Curvature so small, beside the largest, is rounding; so is a rise, beside the terms.
_FLAT, _NOISE = 1e-12, 1e-15


@dataclass(eq=False)
class Master:
    """Minimises ``|w|^2 + max_t (<a_t, w> + b_t)`` over planes that come one by one.

    The dual, ``max b'x - x' G x / 4`` over shares x of the planes with G their inner
    products, is solved by an active set; ``w = -1/2 sum_t x_t a_t``. Any x gives a
    lower bound.
    """

    _planes: list[Floats] = field(default_factory=list)
    _idle: list[int] = field(default_factory=list)
    _b: Floats = field(default_factory=lambda: np.zeros(0))
    _G: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    _x: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, plane: Floats, b: float) -> None:
        """Add a plane. O(T d) for T planes."""
        kept = [t for t, idle in enumerate(self._idle) if idle < _IDLE]
        self._planes = [self._planes[t] for t in kept] + [plane]
        self._idle = [self._idle[t] for t in kept] + [0]
        n = len(kept)
        G = np.empty((n + 1, n + 1))
        G[:n, :n] = self._G[np.ix_(kept, kept)]
        G[n] = G[:, n] = [float(plane[0] @ other[-1]) for other in self._planes]
        self._G, self._b = G, np.append(self._b[kept], b)
        self._x = np.append(self._x[kept], 0.0 if n else 1.0)

    def solve(self) -> tuple[Floats, float]:
        """Return w and a lower bound of the minimum."""
        self._x = x = shares(self._G, self._b, self._x)
        w = np.zeros_like(self._planes[0])
        for t in range(len(x)):
            if x[t] > 0.0:
                w -= (0.5 * x[t]) * self._planes[t]
                self._idle[t] = 0
            else:
                self._idle[t] += 1
        return w, float(self._b @ x - x @ self._G @ x / 4.0)


def shares(G: Floats, b: Floats, x: Floats) -> Floats:
    """Return the x on the simplex with the largest ``b'x - x' G x / 4``.

    From a given x on. Planes enter the active set by the steepest slope, and leave it
    where their share would be negative: O(k^3) for k active ones, a few times.
    """
    x = x.copy()
    active = x > 0.0
    before = -np.inf
    for _ in range(2 * len(x) + 10):
        image = G @ x
        value = float(b @ x - x @ image / 4.0)
        slope = b - image / 2.0
        level = float(slope @ x)
        slope[active] = -np.inf
        enters = int(np.argmax(slope))
        noise = _NOISE * (abs(float(b @ x)) + float(x @ image))
        if before > -np.inf and (slope[enters] <= level + noise or value <= before):
            break
        before = value
        if slope[enters] > level:
            active[enters] = True
        _climb(G, b, x, active)
    return x


def _climb(G: Floats, b: Floats, x: Floats, active: Labels) -> None:
    """Go to the maximum over the active shares; drop those that would be negative.

    Where planes depend on another there is no unique maximum, or the way up is straight
    and ends where a share does. Both x and active are changed.
    """
    while True:
        chosen = np.flatnonzero(active)
        move, is_straight = _way_up(G, b, x, chosen)
        shrinks = np.flatnonzero(move < 0.0)
        lengths = x[chosen[shrinks]] / -move[shrinks]
        ends = len(lengths) > 0 and (is_straight or lengths.min() < 1.0)
        x[chosen] = np.maximum(x[chosen] + (lengths.min() if ends else 1.0) * move, 0.0)
        if ends:
            leaves = chosen[shrinks[np.argmin(lengths)]]
            x[leaves], active[leaves] = 0.0, False
        x /= x.sum()
        if not ends:
            active &= x > 0.0
            return


def _way_up(G: Floats, b: Floats, x: Floats, chosen: Ints) -> tuple[Floats, bool]:
    """Return the move to the maximum, shares adding up; or that it is straight ahead.

    In the eigenvectors of the centred products, so that those without curvature can be
    told from the others.
    """
    curvature = G[np.ix_(chosen, chosen)] / 2.0
    curvature -= curvature.mean(axis=0)
    curvature -= curvature.mean(axis=1)[:, np.newaxis]
    slope = b[chosen] - G[chosen] @ x / 2.0
    scale = float(np.abs(slope).max())
    slope -= slope.mean()
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
    inside = vectors.T @ slope
    is_flat = values <= _FLAT * max(float(values[-1]), np.finfo(np.float64).tiny)
    straight: Floats = vectors[:, is_flat] @ inside[is_flat]
    straight -= straight.mean()
    if np.abs(straight).max(initial=0.0) > 1e-12 * scale:
        return straight, True
    curved = ~is_flat
    move: Floats = vectors[:, curved] @ (inside[curved] / values[curved])
    return move - move.mean(), False
