"""Where to cut columns whose rows are in several places, without moving rows.

The groups are those of `kernels.binning.cut_points` on all rows. Distinct values are
told if they are few. Else order statistics are found by counting: floating-point
numbers have the order of integers of as many bits, and of these an interval is cut in
16 at a time, for all columns and all their statistics in one question.
"""

from typing import Any, Protocol

import numpy as np

from peckorder._core.typing import Floats, Ints
from peckorder.boosting.columns.binned import MOST_BINS, Cuts
from peckorder.exceptions import DataError

# Into how many parts an interval is cut.
_PARTS = np.uint64(16)


class Ask(Protocol):
    """What asks all shards, and joins their answers."""

    def __call__(self, question: str, *arguments: Any) -> Any:
        """Return the joined answer."""


def find_cuts(
    ask: Ask, who: str, first: int, last: int, max_bins: int | None, dtype: Any
) -> Cuts:
    """Return where to cut columns first..last, whose values are of a type."""
    n_values, (lows, highs), n_distinct, distinct = ask("values", first, last)
    cuts = Cuts(last - first)
    cuts.n_values[:], cuts.lows[:] = n_values, lows
    starts = np.cumsum([0, *np.maximum(n_distinct, 0)])
    most = MOST_BINS if max_bins is None else max_bins
    wanted = []
    for c, n in enumerate(n_distinct.tolist()):
        if 0 <= n <= most:
            cuts.n_bins[c] = n
            cuts.tops[c, :n] = distinct[starts[c] : starts[c + 1]]
        elif max_bins is None:
            raise DataError(
                f"{who}: max_bins must be an integer from 2 to 255 on a cluster if a "
                "feature has more than 255 values; got None, and more of feature "
                f"{first + c}. Use max_bins=255."
            )
        else:
            wanted.append(c)
    if wanted:
        places = (np.arange(1, most + 1) * n_values[wanted, np.newaxis] - 1) // most
        ends = lows[wanted], highs[wanted]
        found = _select(ask, (first, last), np.array(wanted), places, ends, dtype)
        for c, values in zip(wanted, found, strict=True):
            tops = np.unique(values)[::-1]
            cuts.n_bins[c] = len(tops)
            cuts.tops[c, : len(tops)] = tops
    return cuts


def _select(
    ask: Ask,
    some: tuple[int, int],
    columns: Ints,
    places: Ints,
    ends: tuple[Floats, Floats],
    dtype: Any,
) -> Floats:
    """Return the values (columns, k) that stand at places (columns, k) in order.

    Of all integers that stand for a value, the least is sought which so many values do
    not exceed.
    """
    low, high = (
        np.broadcast_to(keys_of(end, dtype)[:, np.newaxis], places.shape).copy()
        for end in ends
    )
    while (is_open := low < high).any():
        probes = _between(low[is_open], high[is_open])
        column = columns[np.nonzero(is_open)[0]]
        counts = _count(ask, some, column, probes, dtype)
        is_enough = counts > places[is_open][:, np.newaxis]
        # The first probe that is enough, if any, is the end; the one before is not.
        n_less = (~is_enough).sum(axis=1)
        each = np.arange(len(probes))
        high[is_open] = np.where(
            n_less < probes.shape[1],
            probes[each, np.minimum(n_less, probes.shape[1] - 1)],
            high[is_open],
        )
        low[is_open] = np.where(
            n_less > 0, probes[each, np.maximum(n_less, 1) - 1] + 1, low[is_open]
        )
    return values_of(low, dtype) + 0.0


def _between(low: Ints, high: Ints) -> Ints:
    """Return the points (k, 16) at which the equal parts of intervals begin.

    In integers without a sign, as an interval may be longer than the largest with one.
    """
    span = high.view(np.uint64) - low.view(np.uint64)
    part, rest = (span // _PARTS)[:, np.newaxis], (span % _PARTS)[:, np.newaxis]
    number = np.arange(_PARTS, dtype=np.uint64)
    steps = part * number + rest * number // _PARTS
    return (low.view(np.uint64)[:, np.newaxis] + steps).view(np.int64)


def _count(
    ask: Ask, some: tuple[int, int], column: Ints, probes: Ints, dtype: Any
) -> Ints:
    """Return how many values of columns do not exceed probes (k, 16).

    Each probe is sent once.
    """
    first, last = some
    starts, sent, where = [0], [], np.empty(probes.shape, dtype=np.int64)
    for c in range(last - first):
        own = column == c
        keys, inverse = np.unique(probes[own], return_inverse=True)
        where[own] = inverse.reshape(-1, probes.shape[1]) + starts[-1]
        sent.append(keys)
        starts.append(starts[-1] + len(keys))
    values = values_of(np.concatenate(sent), dtype)
    counts: Ints = ask("count", first, last, np.array(starts), values)
    return counts[where]


def keys_of(values: Floats, dtype: Any) -> Ints:
    """Return integers in the order of values, which are of a type."""
    if dtype == np.float32:
        bits = values.astype(np.float32).view(np.int32)
        return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64)
    bits = values.astype(np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


def values_of(keys: Ints, dtype: Any) -> Floats:
    """Return the values of which integers are the keys."""
    if dtype == np.float32:
        short = keys.astype(np.int32)
        bits = short ^ ((short >> 31) & 0x7FFFFFFF)
        return bits.view(np.float32).astype(np.float64)
    return (keys ^ ((keys >> 63) & 0x7FFFFFFFFFFFFFFF)).view(np.float64)
