"""The exponential function, so written that compilers can make it a vector's."""

from math import factorial

from peckorder._core.compiled.jit import bits_of, from_bits, inlined_exact

# Added and taken away again, it leaves the nearest integer, and that in the last bits.
_ROUND = 1.5 * 2.0**52
_LOG2_E = 1.4426950408889634
# log 2 in two pieces, the first so short that it times a small integer is exact.
_LOG_2, _LOG_2_REST = 0.6931471803691238, 1.9082149292705877e-10
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(k) for k in range(2, 14)
)
# What the bits of such a sum exceed n by, and what 2**n has for an exponent of zero.
_ROUND_BITS, _BIAS = 0x4338000000000000, 1023


@inlined_exact
def exp_moderate(x: float) -> float:
    """Return exp(x) for x between -700 and 700, to one unit in the last place.

    With ``x = n log 2 + s`` it is ``2**n exp(s)``, by Taylor's series up to s**13,
    which is exact to rounding for |s| <= log(2) / 2. The same bits on every machine.
    """
    shifted = x * _LOG2_E + _ROUND
    n = shifted - _ROUND
    s = (x - n * _LOG_2) - n * _LOG_2_REST
    s2 = s * s
    s4 = s2 * s2
    # By halves, so that few operations wait for each other.
    low = (_C2 + s * _C3) + s2 * (_C4 + s * _C5)
    middle = (_C6 + s * _C7) + s2 * (_C8 + s * _C9)
    high = (_C10 + s * _C11) + s2 * (_C12 + s * _C13)
    rest = low + s4 * (middle + s4 * high)
    power = from_bits((bits_of(shifted) - _ROUND_BITS + _BIAS) << 52)
    return (1.0 + (s + s2 * rest)) * power
