"""What the text of a cell stands for, whatever reads the file: a gap, a number, an id.

Every reader of text follows these rules: the command line and streams, which parse
with Arrow (`peckorder.tables.files.arrow_cells`), and ratings, which need no extras and
so parse with the csv module.
"""

import re
from math import nan
from typing import Final

import numpy as np

from peckorder._core.typing import Ints

_SMALL = ("?", "na", "n/a", "n.a.", "#n/a", "null", "none", "nil", "-", "--", "missing")
# What stands for a value that is not known. Among text these are text.
MARKS: Final = tuple(sorted({w for s in _SMALL for w in (s, s.upper(), s.title(), s.capitalize())}))
GAPS: Final = ("", "NaN", "nan", "-nan", "-NaN", *MARKS)
# Patterns of both re and RE2: a number, and one with a decimal comma.
NUMBER: Final = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
COMMA: Final = r"^([+-]?[0-9]*),([0-9]+)$"


def may_have_commas(delimiter: str) -> bool:
    """Return whether numbers may have decimal commas: not where commas part cells."""
    return delimiter in (";", "\t", "|")


def number_of(text: str, *, has_commas: bool = False) -> float | None:
    """Return the number that a cell stands for, NaN for a gap, None for other text.

    Examples
    --------
    >>> from peckorder._core.cells import number_of
    >>> number_of(" 1e3"), number_of("?"), number_of("1_0"), number_of("0,5")
    (1000.0, nan, None, None)
    >>> number_of("0,5", has_commas=True)
    0.5
    """
    text = text.strip()
    if text in GAPS:
        return nan
    if has_commas:
        text = re.sub(COMMA, r"\1.\2", text)
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def is_number(text: str) -> bool:
    """Return whether a cell is written as a number, also as `nan` or `inf`."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def whole_ids(texts: list[str]) -> Ints | None:
    """Return ids as integers if all are written as such, without zeros in front.

    So ``007`` and ``7`` stay apart: both are text then, and the result is None.
    """
    try:
        numbers = list(map(int, texts))
    except ValueError:
        return None
    if list(map(str, numbers)) != texts:
        return None
    if numbers and not -(2**63) <= min(numbers) <= max(numbers) < 2**63:
        return None
    return np.array(numbers, dtype=np.int64)


def has_names(cells: list[str]) -> bool:
    """Return whether the first line of a table has names, not values.

    Numbers alone are no names, nor is a line with a fraction or with a number twice.

    Examples
    --------
    >>> from peckorder._core.cells import has_names
    >>> [has_names(line.split()) for line in ("196 242 3", "M 0.45 1", "id 1990 2000")]
    [False, False, True]
    """
    numbers = [cell for cell in cells if is_number(cell)]
    if len(numbers) == len(cells) or len(set(numbers)) < len(numbers):
        return False
    return not any(re.fullmatch(r"[+-]?\d*\.\d+", cell) for cell in numbers)
