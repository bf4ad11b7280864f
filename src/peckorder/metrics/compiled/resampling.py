"""Sums over samples of queries.

Random numbers are counter-based: each is a function of a key and of two numbers. So
threads can share the samples, and no draw is stored.
"""

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, inlined_sum
from peckorder._core.typing import Floats, Ints

_STEP = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)
_LOW_BYTE = np.uint64(255)
# Signs drawn at a time, one bit each; a word has those of as many samples.
GROUP = 8


@inlined
def random_word(key: np.uint64, i: int) -> np.uint64:
    """Return the i-th word of a key: the generator known as SplitMix64."""
    z = key + (np.uint64(i) + np.uint64(1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined_sum
def weighted_sum(count: Ints, values: Floats, c: int) -> float:
    """Return the sum of a row of values, each times its count."""
    total = 0.0
    for i in range(count.shape[0]):
        total += count[i] * values[c, i]
    return total


@compiled
def bootstrap(
    first: int, last: int, key: np.uint64, values: Floats, count: Ints, sums: Floats
) -> None:
    """Write to sums (c, samples) those of n items drawn from n, with replacement.

    values (c, n), n < 2**32; count (n,) is scratch. The samples first..last are
    drawn: O(n c) time each, the draws of a sample being the same for all c.
    """
    n = count.shape[0]
    for sample in range(first, last):
        own = random_word(key, sample)
        for i in range(n):
            count[i] = 0
        for i in range(n):
            count[((random_word(own, i) >> _32) * np.uint64(n)) >> _32] += 1
        for c in range(values.shape[0]):
            sums[c, sample] = weighted_sum(count, values, c)


@compiled
def random_signs(
    first: int, last: int, key: np.uint64, values: Floats, table: Floats, sums: Floats
) -> None:
    """Add to sums (c, samples) those of values (c, n) with random signs.

    The samples 8 first..8 last are drawn, the signs being the same for all c. Of eight
    values the 256 sums are tabulated in table (c, 256), and one of them is drawn: O(c)
    time for a sample and eight values.
    """
    columns, n = values.shape
    for group in range((n + GROUP - 1) // GROUP):
        start = group * GROUP
        for c in range(columns):
            table[c, 0] = 0.0
            for bit in range(GROUP):
                value = values[c, start + bit] if start + bit < n else 0.0
                # Those below have the sums of the bits before.
                for byte in range(1 << bit):
                    table[c, byte + (1 << bit)] = table[c, byte] + value
                    table[c, byte] -= value
        own = random_word(key, group)
        for eight in range(first, last):
            word = random_word(own, eight)
            for c in range(columns):
                for s in range(GROUP):
                    drawn = (word >> np.uint64(8 * s)) & _LOW_BYTE
                    sums[c, GROUP * eight + s] += table[c, drawn]
