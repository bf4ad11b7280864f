"""Lines of `grade qid:ID index:value ... # comment`, parsed exactly; compiled."""
# Characters are compared one by one: a search in a tuple would be a loop.
# ruff: noqa: PLR1714, SIM109

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints

# Flags of a row, one bit each.
HARD, UNSORTED, HAS_QID, TEXT_QID, NEW_QID = 1, 2, 4, 8, 16

_TAB, _NEWLINE, _RETURN, _SPACE, _HASH = 9, 10, 13, 32, 35
_PLUS, _MINUS, _DOT, _ZERO, _COLON = 43, 45, 46, 48, 58
_LARGE_E, _SMALL_E, _L, _N, _U = 69, 101, 76, 78, 85
_Q, _I, _D = 113, 105, 100

# This many digits always fit in an int64; longer numbers are truncated, and rounded
# in both directions.
_DIGITS = 18
# The product or quotient of two exact numbers is rounded once, hence correctly.
_EXACT = 2**53
_TENS = np.array([float(10**k) for k in range(23)])
# Decimal exponents for which some number of `_DIGITS` digits is a normal float64.
_LEAST, _MOST = -326, 308


def _fives() -> NDArray[np.uint64]:
    """Return the leading 128 bits of 5^q, q from `_LEAST` to `_MOST`, in two words.

    The small negative powers are rounded up, all others down, as the proof of `_round`
    requires.
    """
    words = []
    for q in range(_LEAST, _MOST + 1):
        power = 5 ** abs(q)
        size = power.bit_length()
        if q >= 0:
            leading = (power << 128) >> size
        else:
            leading = (1 << (size + 127)) // power + (q >= -27)
        words.append([leading >> 64, leading & (2**64 - 1)])
    return np.array(words, dtype=np.uint64)


_FIVES = _fives()
_LOW = np.uint64(2**32 - 1)
_ALL = np.uint64(2**64 - 1)
_TOP = np.uint64(2**63)
_NEAR = np.uint64(2**9 - 1)
_0, _1, _3, _9, _32, _63 = (np.uint64(n) for n in (0, 1, 3, 9, 32, 63))


@inlined
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the high and the low word of a product, without overflow."""
    a_high, a_low, b_high, b_low = a >> _32, a & _LOW, b >> _32, b & _LOW
    low = a_low * b_low
    middle = a_high * b_low + (low >> _32)
    other = a_low * b_high + (middle & _LOW)
    high = a_high * b_high + (middle >> _32) + (other >> _32)
    return high, (other << _32) | (low & _LOW)


@inlined
def _round(digits: int, q: int) -> float:
    """Return the float64 nearest to digits * 10^q, or -1 where this is undecided.

    The algorithm of Eisel and Lemire ("Number Parsing at a Gigabyte per Second",
    2021). digits is positive. Subnormal numbers and infinities are not handled.
    """
    if q < _LEAST or q > _MOST:
        return -1.0
    w = np.uint64(digits)
    shift = 0
    while w < _TOP:
        w = w << _1
        shift += 1
    high, low = _product(w, _FIVES[q - _LEAST, 0])
    if high & _NEAR == _NEAR:
        more, _ = _product(w, _FIVES[q - _LEAST, 1])
        if low > _ALL - more:
            high = high + _1
            low = more - (_ALL - low) - _1
        else:
            low = low + more
        if low == _ALL and (q < -27 or q > 55):
            return -1.0
    upper = high >> _63
    cut = upper + _9
    mantissa = high >> cut
    # 217706 / 65536 is log2(10), near enough for every q.
    exponent = ((217706 * q) >> 16) + 63 + int(upper) - shift
    if exponent < -1022 or exponent > 1022:
        return -1.0
    if low <= _1 and -4 <= q <= 23 and mantissa & _3 == _1 and mantissa << cut == high:
        # Halfway between two floats: to the even one.
        mantissa = mantissa - _1
    mantissa = (mantissa + (mantissa & _1)) >> _1
    return math.ldexp(float(mantissa), exponent - 52)


@inlined
def _leading_digits(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return the first digits of a long number, and how many are left out."""
    digits, kept, left_out = 0, 0, 0
    while True:
        digit = int(text[at]) - _ZERO
        if 0 <= digit <= 9:
            if kept == _DIGITS:
                left_out += 1
            elif kept > 0 or digit > 0:
                digits = 10 * digits + digit
                kept += 1
        elif digit != _DOT - _ZERO:
            return digits, left_out
        at += 1


@inlined
def _value(digits: int, q: int, is_cut: bool) -> float:
    """Return digits * 10^q, or NaN where it cannot be rounded here.

    If digits are cut, what is left out lies between 0 and 1 in the last place.
    """
    if digits == 0:
        return 0.0
    if digits <= _EXACT and -22 <= q <= 22 and not is_cut:
        return float(digits / _TENS[-q] if q < 0 else digits * _TENS[q])
    value = other = -1.0
    for more in range(2 if is_cut else 1):
        other = value
        value = _round(digits + more, q)
    return np.nan if value < 0.0 or (is_cut and other != value) else value


@inlined
def _number(text: NDArray[np.uint8], at: int) -> tuple[float, int]:
    """Return the number at a position and the position after it.

    The number is NaN if it cannot be rounded here; the position is -1 if there is no
    number.
    """
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    begin = at
    digits = 0
    digit = int(text[at]) - _ZERO
    while 0 <= digit <= 9:
        digits = 10 * digits + digit
        at += 1
        digit = int(text[at]) - _ZERO
    count = at - begin
    q = 0
    if digit == _DOT - _ZERO:
        at += 1
        point = at
        digit = int(text[at]) - _ZERO
        while 0 <= digit <= 9:
            digits = 10 * digits + digit
            at += 1
            digit = int(text[at]) - _ZERO
        q = point - at
        count -= q
    if count == 0:
        return 0.0, -1
    if text[at] == _SMALL_E or text[at] == _LARGE_E:
        at += 1
        sign = -1 if text[at] == _MINUS else 1
        if sign < 0 or text[at] == _PLUS:
            at += 1
        first = at
        power = 0
        digit = int(text[at]) - _ZERO
        while 0 <= digit <= 9:
            # Beyond this every number of less than 10^7 digits is zero or infinite.
            power = min(10 * power + digit, 10**8)
            at += 1
            digit = int(text[at]) - _ZERO
        if at == first:
            return 0.0, -1
        q += sign * power
    left_out = 0
    if count > _DIGITS:
        digits, left_out = _leading_digits(text, begin)
        q += left_out
    value = _value(digits, q, left_out > 0)
    return (-value if negative else value), at


@inlined
def _after_spaces(text: NDArray[np.uint8], at: int) -> int:
    """Return the position of the next character other than white space."""
    while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
        at += 1
    return at


@inlined
def _is_end_of_word(character: int) -> bool:
    """Whether a word or number ends before this character."""
    return (
        character == _SPACE
        or character == _NEWLINE
        or character == _TAB
        or character == _RETURN
        or character == _HASH
    )


@inlined
def _is_word(text: NDArray[np.uint8], at: int, a: int, b: int, c: int, d: int) -> bool:
    """Whether the text has these four characters at a position."""
    return bool(text[at] == a and text[at + 1] == b and text[at + 2] == c and text[at + 3] == d)


@inlined
def _index(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return the index at a position, at most 2**40, and the position after it."""
    index = 0
    digit = int(text[at]) - _ZERO
    while 0 <= digit <= 9:
        index = min(10 * index + digit, 2**40)
        at += 1
        digit = int(text[at]) - _ZERO
    return index, at


@inlined
def _query(text: NDArray[np.uint8], at: int, row: int, qid: Ints, span: Ints, flags: Ints) -> int:
    """Record the query whose id begins at a position; return the position after it."""
    begin, number = at, 0
    is_text = False
    while not _is_end_of_word(text[at]):
        digit = int(text[at]) - _ZERO
        is_text = is_text or digit < 0 or digit > 9
        if at - begin < _DIGITS:
            number = 10 * number + digit
        at += 1
    length = at - begin
    # Only text that an integer is printed as may be read as an integer.
    if is_text or length > _DIGITS or (text[begin] == _ZERO and length > 1):
        flags[row] |= TEXT_QID
    qid[row] = number
    span[row, 0], span[row, 1] = begin, at
    is_new = row == 0 or span[row - 1, 1] - span[row - 1, 0] != length
    k = 0
    while not is_new and k < length:
        is_new = text[begin + k] != text[span[row - 1, 0] + k]
        k += 1
    flags[row] |= HAS_QID | NEW_QID if is_new else HAS_QID
    return at


class RowArrays(NamedTuple):
    """The arrays that `read_rows` writes.

    Per row: grade, qid (if an integer), positions of the query and of the comment in
    the text (n, 2), position of the line, flags. ends (n + 1,): row i has the entries
    from ends[i] to ends[i + 1]. Per entry: column, value.
    """

    grade: Floats
    qid: Ints
    qid_span: Ints
    comment_span: Ints
    line: Ints
    flags: Ints
    ends: Ints
    column: Ints
    value: Floats


@compiled
def read_rows(
    text: NDArray[np.uint8], base: int, n_columns: int, rows: RowArrays
) -> tuple[int, int]:
    """Parse whole lines and write them to `rows`.

    text (n,) ends in a newline; column `index - base` must be in 0..n_columns-1. NULL
    becomes NaN, and so do numbers that are hard to round, with the flag HARD.
    Returns the number of rows and the position of a malformed line, or -1.
    """
    grade, qid, qid_span, comment_span, line, flags, ends, column, value = rows
    at, row, entry = 0, 0, 0
    ends[0] = 0
    while at < text.shape[0]:
        start = at
        at = _after_spaces(text, at)
        if text[at] != _NEWLINE and text[at] != _HASH:
            line[row], flags[row] = start, 0
            grade[row], at = _number(text, at)
            if at < 0 or not _is_end_of_word(text[at]):
                return row, start
            if np.isnan(grade[row]):
                flags[row] |= HARD
            before = at
            at = _after_spaces(text, at)
            if _is_word(text, at, _Q, _I, _D, _COLON):
                at += 4
                if _is_end_of_word(text[at]):
                    return row, start
                before = at = _query(text, at, row, qid, qid_span, flags)
                at = _after_spaces(text, at)
            last = -1
            while text[at] != _NEWLINE and text[at] != _HASH:
                first = at
                index, at = _index(text, at)
                index -= base
                if (
                    first == before
                    or first == at
                    or text[at] != _COLON
                    or index < 0
                    or index >= n_columns
                ):
                    return row, start
                at += 1
                if _is_word(text, at, _N, _U, _L, _L):
                    value[entry] = np.nan
                    at += 4
                else:
                    value[entry], at = _number(text, at)
                    if at < 0:
                        return row, start
                    if np.isnan(value[entry]):
                        flags[row] |= HARD
                if index <= last:
                    flags[row] |= UNSORTED
                column[entry] = last = index
                entry += 1
                before = at
                at = _after_spaces(text, at)
            row += 1
            ends[row] = entry
            comment_span[row - 1, 0] = at
            comment_span[row - 1, 1] = at
        while text[at] != _NEWLINE:
            at += 1
        if row > 0 and line[row - 1] == start:
            comment_span[row - 1, 1] = at
        at += 1
    return row, -1


@compiled
def count(text: NDArray[np.uint8], character: int) -> int:
    """Return the number of occurrences of a character in text (n,)."""
    wanted = np.uint8(character)
    n = 0
    for i in range(text.shape[0]):
        n += text[i] == wanted
    return n


@compiled
def scatter(column: Ints, value: Floats, ends: Ints, X: Floats) -> None:
    """Write entries to the rows of X (n, d), which is zero otherwise.

    column, value (m,); row i has the entries from ends[i] to ends[i + 1].
    """
    for i in range(X.shape[0]):
        for k in range(ends[i], ends[i + 1]):
            X[i, column[k]] = value[k]
