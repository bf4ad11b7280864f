"""Errors of models of preferences learnt without a pair, or without a row and its pairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, svd

from peckorder._core.typing import Floats, Ints
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram
from peckorder.magnitude.mprank_solver.leave_out import left_singular
from peckorder.magnitude.mprank_solver.pair_solve import TrainingPairs
from peckorder.magnitude.mprank_solver.pairs import PairRows
from peckorder.magnitude.mprank_solver.rows import LARGEST, refuse_large

# Entries of the blocks of pairs, or of rows with their pairs, that are left out together.
_ENTRIES = 1 << 21
# What is left of 1 by rounding, when it is subtracted from itself.
_ROUNDING = 1e-12
# The least ridge beside the largest value for which the inverses of rows are precise.
_LEAST = 1e-9
# Differences of scores so far below the sizes may be rounding.
_TIE = 1e-13


class Modes(NamedTuple):
    """An orthonormal basis of what scores can make of the scaled pairs.

    Column j of Q has ``q_kj = root_k (rows_bj - rows_wj)`` for the pair k of rows b and
    w; its coefficient is ``target_j values_j / (values_j + ridge)``. `rows` is (n_rows,
    k), the others (k,).
    """

    rows: Floats
    values: Floats
    target: Floats


class LeftOut(NamedTuple):
    """What models say about pairs that they have not seen: size less difference, and it."""

    error: Floats
    predicted: Floats


@dataclass(frozen=True, eq=False)
class LeavePairsOut:
    """Errors of models learnt without a pair, or a row, for any ridge.

    The pairs are the rows of a ridge regression without a constant. So the residuals of
    pairs S that are left out together are ``(I - H_SS)^-1 r_S``, with the residuals r of
    all pairs and the hat matrix ``H = Q diag(values / (values + ridge)) Q'``. A row is
    left out with all its pairs: these are S. One decomposition for all ridges: O(n^3)
    for n rows, or O(m d^2) for m pairs with d features, if d < n / 4.
    """

    training: TrainingPairs

    @cached_property
    def _modes(self) -> Modes:
        rows, pairs = self.training.rows, self.training.weights
        if isinstance(rows, Gram):
            return self._of_kernels(rows.dense_matrix()[0])
        features, n_rows = PairRows(rows, pairs), pairs.n_rows
        if not features.column_squares.sum() < LARGEST:
            refuse_large()
        if 4 * rows.shape[1] <= n_rows:
            return self._of_features(features)
        if sparse.issparse(rows):
            # There may be millions of features.
            return self._of_kernels(features.gram())
        grounded = pairs.grounded
        values, vectors = left_singular(grounded.differences(features.centred.dense()))
        return Modes(grounded.potentials(vectors), values, vectors.T @ grounded.target)

    def _of_kernels(self, K: Floats) -> Modes:
        grounded = self.training.weights.grounded
        values, vectors = eigh(grounded.between(K), driver="evd")
        values = np.maximum(values, 0.0)
        return Modes(grounded.potentials(vectors), values, vectors.T @ grounded.target)

    def _of_features(self, features: PairRows) -> Modes:
        """Decompose the triangular factor of pairs, not products, which hide small values."""
        factor = features.factor(self.training.weights.target)
        left, singular, right = svd(factor[:-1, :-1])
        is_seen = singular > len(singular) * np.finfo(np.float64).eps * singular.max(initial=0.0)
        rows = features.times_columns(right[is_seen].T / singular[is_seen])
        target = left[:, is_seen].T @ factor[:-1, -1]
        return Modes(rows, singular[is_seen] ** 2, target)

    def _scaled(self, chosen: Ints | slice) -> Floats:
        """Return the rows of Q of some pairs."""
        pairs, rows = self.training.weights, self._modes.rows
        between = rows[pairs.better[chosen]] - rows[pairs.worse[chosen]]
        scaled: Floats = pairs.root[chosen, np.newaxis] * between
        return scaled

    def pairs(self, ridge: float) -> LeftOut:
        """Return what each pair is by the model learnt without it. O(m k) for k modes."""
        pairs, modes = self.training.weights, self._modes
        shares = modes.values / (modes.values + ridge)
        lost = ridge / (modes.values + ridge)
        error, predicted = np.empty((2, len(pairs)))
        size = max(1, _ENTRIES // max(1, len(shares)))
        for start in range(0, len(pairs), size):
            block = slice(start, start + size)
            Q = self._scaled(block)
            squares = Q**2
            # A pair that alone connects two parts is fitted by the modes, but for rounding.
            apart = 1.0 - squares.sum(axis=1)
            is_alone = apart < _ROUNDING
            rest = pairs.target[block] - Q @ modes.target
            rest[is_alone] = apart[is_alone] = 0.0
            left = apart + squares @ lost
            residual = rest + Q @ (lost * modes.target)
            error[block] = residual / left
            predicted[block] = Q @ (shares * modes.target) - squares @ shares * error[block]
        scaled = self._not_tied(predicted, shares, 1.0)
        return LeftOut(error / pairs.root, scaled / pairs.root)

    def rows(self, ridge: float) -> LeftOut:
        """Return what each pair is by the model learnt without its better row, or worse.

        Two rows of arrays. O(p^3) time for a row in p pairs or, if there are fewer modes
        than pairs, O(p k^2 + k^3).
        """
        pairs, modes = self.training.weights, self._modes
        n_pairs, is_seen = len(pairs), modes.values > 0.0
        values, target = modes.values[is_seen], modes.target[is_seen]
        # Errors hardly change below, but rounding would hide a smaller one.
        ridge = max(ridge, _LEAST * float(values.max(initial=0.0)))
        shares = values / (values + ridge)
        error, predicted, growth = np.empty((3, 2 * n_pairs))
        for ends in self._pairs_of_rows(len(shares)):
            chosen = ends % n_pairs
            Q = self._scaled(chosen.ravel())[:, is_seen].reshape(*chosen.shape, -1)
            wanted = pairs.target[chosen]
            if chosen.shape[1] <= len(shares):
                inverse = np.linalg.inv(np.eye(chosen.shape[1]) - (Q * shares) @ _t(Q))
                error[ends] = _times(inverse, wanted - Q @ (shares * target))
                coef = shares * (target - _times(_t(Q), error[ends]))
                predicted[ends] = _times(Q, coef)
            else:
                # Without the pairs of the row, in coefficients of modes.
                largest = shares.max(initial=0.0)
                inverse = np.linalg.inv(np.diag(largest / shares) - largest * (_t(Q) @ Q))
                coef = largest * _times(inverse, target - _times(_t(Q), wanted))
                predicted[ends] = _times(Q, coef)
                error[ends] = wanted - predicted[ends]
            growth[ends] = np.abs(inverse).sum(axis=2).max(axis=1, initial=0.0)[:, np.newaxis]
        scaled = self._not_tied(predicted, shares, growth).reshape(2, n_pairs)
        return LeftOut(error.reshape(2, n_pairs) / pairs.root, scaled / pairs.root)

    def _pairs_of_rows(self, n_modes: int) -> Iterator[Ints]:
        """Yield (rows, pairs) numbers of ends of pairs, of rows in equally many pairs.

        Ends are those of better rows, then those of worse ones.
        """
        pairs = self.training.weights
        ends = np.concatenate([pairs.better, pairs.worse])
        order, degrees = np.argsort(ends, kind="stable"), np.bincount(ends)
        starts = np.cumsum(degrees) - degrees
        for degree in np.unique(degrees):
            of_rows = starts[degrees == degree]
            size = max(1, _ENTRIES // int(degree * max(n_modes, degree)))
            for first in range(0, len(of_rows), size):
                yield order[of_rows[first : first + size, np.newaxis] + np.arange(degree)]

    def _not_tied(self, predicted: Floats, shares: Floats, growth: Floats | float) -> Floats:
        """Return scaled differences of scores, zero if they may be rounding that grew so."""
        target = self._modes.target
        noise = _TIE * float(shares.max(initial=0.0) * np.sqrt(target @ target)) * growth
        return np.where(np.abs(predicted) <= noise, 0.0, predicted)

    def error(self, ridge: float, cost: str, left_out: str) -> float:
        """Return the weighted mean cost of pairs that are left out, by pairs or by rows.

        Of pairs that have an order for "misranking"; NaN if there is none.
        """
        pairs = self.training.weights
        result = self.pairs(ridge) if left_out == "pair" else self.rows(ridge)
        weight = np.broadcast_to(pairs.root**2, result.error.shape)
        if cost == "misranking":
            is_ordered = np.broadcast_to(pairs.size > 0.0, weight.shape)
            wrong = result.predicted + pairs.lead <= 0.0
            mass = float(weight[is_ordered].sum())
            return float(weight[is_ordered] @ wrong[is_ordered]) / mass if mass else np.nan
        costs = np.square(result.error) if cost == "squared" else np.abs(result.error)
        return float(np.sum(weight * costs) / weight.sum())


def _t(stack: Floats) -> Floats:
    return stack.swapaxes(1, 2)


def _times(stack: Floats, vectors: Floats) -> Floats:
    """Return the products of matrices (r, i, j) with vectors (r, j)."""
    product: Floats = np.einsum("rij,rj->ri", stack, vectors)
    return product
