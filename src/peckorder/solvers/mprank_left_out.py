"""Magnitude-preserving ranking without some rows, from one decomposition."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg import blas, svd

from peckorder._typing import Floats, Ints
from peckorder.kernels import mprank as kernels
from peckorder.solvers.gram import Matrix
from peckorder.solvers.mprank_dual import HeldMatrix, Spectrum
from peckorder.solvers.mprank_gram import Gram
from peckorder.solvers.mprank_primal import ScaledRows
from peckorder.solvers.mprank_weighing import Weighing

COSTS: Final = {
    "squared": kernels.SQUARED,
    "absolute": kernels.ABSOLUTE,
    "misranking": kernels.MISRANKING,
}
# Below this, differences of numbers of size 1 have lost too much.
_DOUBTFUL = 1e-5


@dataclass(frozen=True, eq=False)
class Sample:
    """What a model was learnt from: rows, by a kernel or not, labels and weights.

    `label` is y less the offset, `weight` as it was given.
    """

    who: str
    rows: Gram | Matrix
    y: Floats
    label: Floats
    weighing: Weighing
    weight: Floats | None


@dataclass(eq=False)
class LeftOut:
    """Errors of models learnt without a pair, or a row, for any C.

    With the residual matrix ``G = R - K (K + ridge)^-1`` of the scaled, centred kernels
    and ``e = G target``, the residuals at rows that are left out solve the system of
    their part of G. O(n^3) for the decomposition, then one matrix product for each C;
    O(n^2 d) with d features, if d < n.
    """

    sample: Sample

    @cached_property
    def _complete(self) -> Spectrum:
        rows, weighing = self.sample.rows, self.sample.weighing
        if isinstance(rows, Gram):
            held = HeldMatrix(self.sample.who, rows.whole(), weighing)
            return held.spectrum()
        reflected = weighing.reflect(ScaledRows(rows, weighing).dense())
        kept = np.ones(len(weighing), dtype=bool)
        kept[weighing.first] = False
        if not kept.any():
            return Spectrum(np.zeros(0), np.zeros((len(kept), 0)))
        inside, singular, _ = svd(reflected[kept], full_matrices=True)
        values = np.zeros(len(inside))
        values[: len(singular)] = singular[: len(values)] ** 2
        vectors = np.zeros((len(kept), len(inside)))
        vectors[kept] = inside
        return Spectrum(values, weighing.reflect(vectors))

    @cached_property
    def _thin(self) -> Spectrum | None:
        """The part of features alone, where they are few beside the rows."""
        rows = self.sample.rows
        if isinstance(rows, Gram) or 4 * rows.shape[1] > rows.shape[0]:
            return None
        scaled = ScaledRows(rows, self.sample.weighing).dense()
        vectors, singular, _ = svd(scaled, full_matrices=False)
        return Spectrum(singular**2, vectors, is_complete=False)

    def pair_error(self, ridge: float, cost: str) -> float:
        """Return the mean cost of pairs within queries, each left out of training.

        Pairs weigh the product of their rows' weights. NaN if there is no pair.
        """
        if self._thin is not None:
            total, mass, least = self._sum_of_costs(self._thin, ridge, cost)
            if least > _DOUBTFUL:
                return total / mass if mass else np.nan
        total, mass, _ = self._sum_of_costs(self._complete, ridge, cost)
        return total / mass if mass else np.nan

    def _sum_of_costs(self, spectrum: Spectrum, ridge: float, cost: str) -> Floats:
        weighing, y = self.sample.weighing, self.sample.y
        e = self._residuals(spectrum, ridge)
        result = np.array([0.0, 0.0, np.inf])
        for rows in self._queries():
            if len(rows) > 1:
                kernels.leave_pairs_out(
                    COSTS[cost],
                    self._matrix(spectrum, ridge, rows),
                    e[rows],
                    y[rows],
                    weighing.root[rows],
                    weighing.weight[rows],
                    result,
                )
        return result

    def _queries(self) -> Iterator[Ints]:
        query = self.sample.weighing.query
        order = np.argsort(query, kind="stable")
        yield from np.split(order, np.cumsum(np.bincount(query))[:-1])

    @cached_property
    def _target(self) -> Floats:
        weighing = self.sample.weighing
        return weighing.root * weighing.centred(self.sample.label)

    def _residuals(self, spectrum: Spectrum, ridge: float) -> Floats:
        inside = spectrum.vectors.T @ self._target
        share = ridge / (spectrum.values + ridge)
        if spectrum.is_complete:
            return spectrum.vectors @ (share * inside)
        return self._target - spectrum.vectors @ ((1.0 - share) * inside)

    def _matrix(self, spectrum: Spectrum, ridge: float, rows: Ints) -> Floats:
        """Return G among some rows: its lower triangle."""
        is_all = len(rows) == len(spectrum.vectors)
        vectors = spectrum.vectors if is_all else spectrum.vectors[rows]
        values = spectrum.values
        if spectrum.is_complete:
            half = vectors * np.sqrt(ridge / (values + ridge))
            # BLAS sees the transposes, and fills their upper triangle.
            return blas.dsyrk(1.0, half.T, trans=1).T  # type: ignore[no-any-return]
        half = vectors * np.sqrt(values / (values + ridge))
        direction = self.sample.weighing.direction[rows]
        G = -(half @ half.T) - np.outer(direction, direction)
        np.fill_diagonal(G, G.diagonal() + 1.0)
        return G

    def _diagonal(self, spectrum: Spectrum, ridge: float) -> Floats:
        share = ridge / (spectrum.values + ridge)
        if spectrum.is_complete:
            return spectrum.vectors**2 @ share
        less = spectrum.vectors**2 @ (1.0 - share)
        return 1.0 - self.sample.weighing.direction**2 - less

    def _sound(self, ridge: float) -> tuple[Spectrum, Floats]:
        """Return a decomposition to go by, and the diagonal of G."""
        if self._thin is not None:
            diagonal = self._diagonal(self._thin, ridge)
            if diagonal.min() > _DOUBTFUL:
                return self._thin, diagonal
        return self._complete, self._diagonal(self._complete, ridge)

    def row_residuals(self, ridge: float) -> Floats:
        """Return what each label exceeds the score by that is learnt without its row.

        Scores have the constant that suits the other rows of the query; NaN where there
        are none.
        """
        weighing = self.sample.weighing
        spectrum, diagonal = self._sound(ridge)
        alone = np.bincount(weighing.query)[weighing.query] == 1
        residuals = np.full(len(alone), np.nan)
        e = self._residuals(spectrum, ridge)
        np.divide(e, diagonal * weighing.root, out=residuals, where=~alone)
        return residuals

    def approximate_pair_error(self, ridge: float) -> float:
        """Return about the mean squared cost of pairs left out, of a plain sample.

        ``2 n / (n - 1) Var(e_i / (G_ii + 1 / n))``: O(n^2) once decomposed.
        """
        n = len(self.sample.weighing)
        spectrum, diagonal = self._sound(ridge)
        rough = self._residuals(spectrum, ridge) / (diagonal + 1.0 / n)
        return float(2.0 * n / (n - 1) * rough.var())

    def pair_error_as_printed(self, ridge: float, cost: str) -> float:
        """Return the paper's approximation, of a plain sample: O(n^3)."""
        rows, label = self.sample.rows, self.sample.label
        spectrum = self._complete
        if isinstance(rows, Gram):
            K = rows.whole()
        else:
            wide = rows.astype(np.float64)
            K = wide @ wide.T
            K = K if isinstance(K, np.ndarray) else K.toarray()
        U = (K @ spectrum.vectors / (spectrum.values + ridge)) @ spectrum.vectors.T
        off = U @ (label - label.mean()) - label
        result = np.empty(2)
        kernels.leave_pairs_out_as_printed(COSTS[cost], U, off, self.sample.y, result)
        return float(result[0] / result[1]) if result[1] else np.nan
