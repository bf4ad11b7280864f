"""What text stands for in a whole column: amounts, dates, words that have an order."""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from math import isfinite
from typing import Final, NamedTuple, Self

import numpy as np

from peckorder._core.cells import GAPS, number_of
from peckorder._core.typing import Array, Floats
from peckorder.tables.columns import Columns

_GAPS: Final = frozenset(GAPS)
_SYMBOLS: Final = "$€£¥₹"
_CODES: Final = "USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD"
_AMOUNT: Final = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+\u2212]?)\s?(?P<before>US[$]|[{_SYMBOLS}]|(?:{_CODES})(?=\s))?\s?"
    r"(?P<inner>[-+\u2212]?)(?P<number>[.,]?\d[\d.,' \u00a0\u202f]*?)"
    rf"\s?(?P<behind>%|[{_SYMBOLS}]|[^\W\d_][\w/°²³]{{0,11}})?(?P<close>\))?"
)
# Digits with a decimal point, or comma, and perhaps marks between thousands.
_NUMBERS: Final = (
    re.compile(r"\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d*)?|\d+(\.\d*)?|\.\d+"),
    re.compile(r"\d{1,3}([.' \u00a0\u202f]\d{3})+(,\d*)?|\d+(,\d*)?|,\d+"),
)


def is_gap(text: str) -> bool:
    """Return whether text stands for an empty cell where others are amounts or dates."""
    return text.strip() in _GAPS


class AmountForm(NamedTuple):
    """How amounts are written: with which unit, with which decimal mark.

    The unit is what stands before or behind all of them: a currency, ``%``, ``km``.
    """

    unit: str
    has_comma: bool

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self | None:
        """Return the form that all texts have; None if there is no such form.

        Digits with zeros before them are ids. What could be both is read with a decimal
        point: 1,234 is more than a thousand.

        Examples
        --------
        >>> from peckorder.tables.text_cells import AmountForm
        >>> AmountForm.of(["$6,188.62", "-$5"])
        AmountForm(unit='$', has_comma=False)
        >>> AmountForm.of(["12,5 %", "1.000 %"]).parse("12,5 %")
        12.5
        >>> AmountForm.of(["5 km", "3 mi"]), AmountForm.of(["007", "12"])
        (None, None)
        """
        known = [text.strip() for text in texts if not is_gap(text)]
        if not known or any(re.match(r"0\d", text) for text in known):
            return None
        first = _AMOUNT.fullmatch(known[0])
        is_number = number_of(known[0]) is not None
        if first is None and not is_number:
            return None
        unit = "" if is_number or first is None else _unit(first)
        for has_comma in (False, True):
            form = cls(unit, has_comma)
            if all(form._number(text, is_unit_needed=True) is not None for text in known):
                return form
        return None

    def parse(self, text: str) -> float | None:
        """Return a number, NaN for a gap, None for other text; the unit may be absent."""
        if is_gap(text):
            return float("nan")
        return self._number(text.strip(), is_unit_needed=False)

    def _number(self, text: str, *, is_unit_needed: bool) -> float | None:
        is_amount = self.has_comma or (self.unit and is_unit_needed)
        plain_number = None if is_amount else number_of(text)
        if plain_number is not None:
            return plain_number if isfinite(plain_number) else None
        match = _AMOUNT.fullmatch(text)
        if match is None:
            return None
        unit, digits = _unit(match), match["number"]
        is_right = _singular(unit) == _singular(self.unit) or (not unit and not is_unit_needed)
        is_open, signs = match["open"] is not None, match["sign"] + match["inner"]
        if not is_right or is_open != (match["close"] is not None) or len(signs) > 1 - is_open:
            return None
        if not _NUMBERS[self.has_comma].fullmatch(digits):
            return None
        point, marks = (",", ".") if self.has_comma else (".", ",")
        plain = re.sub(rf"[{marks}' \u00a0\u202f]", "", digits).replace(point, ".")
        return -float(plain) if is_open or signs in ("-", "\u2212") else float(plain)


def amounts(column: Array) -> tuple[AmountForm, Floats] | None:
    """Return the numbers of a column of amounts in text, NaN for gaps, and their form.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.tables.text_cells import amounts
    >>> amounts(np.array(["$5", None, "$1,000"], dtype=object))[1].tolist()
    [5.0, nan, 1000.0]
    """
    cells = column.tolist()
    texts = {cell for cell in cells if isinstance(cell, str)}
    form = AmountForm.of(texts) if column.dtype == object else None
    if form is None:
        return None
    return form, np.array([form.parse(cell) if cell in texts else np.nan for cell in cells], float)


def amount_notes(table: Columns, target: str) -> tuple[str, ...]:
    """Return a note if a target is amounts in text; not if the file tells its order."""
    has_order = target in {*table.levels, *table.orders}
    found = None if has_order else amounts(table.arrays[target])
    unit = None if found is None else found[0].unit
    return () if unit is None else (f"{target!r} is text that was read as numbers (unit: {unit}).",)


def with_amounts(columns: Columns, target: str) -> Columns:
    """Return columns with numbers in place of a target that is amounts in text."""
    found = amounts(columns.arrays[target])
    if found is None:
        return columns
    return replace(columns, arrays={**columns.arrays, target: found[1]})


def _singular(unit: str) -> str:
    """Return the unit of one: of 1 star and 4 stars the same."""
    return unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit


def _unit(match: re.Match[str]) -> str:
    return (match["before"] or "") + (match["behind"] or "")


_TIME: Final = (
    r"(?:(?:T|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"\s?(?P<half>[AaPp][Mm])?\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?)?"
)
_NUMERIC_DATE: Final = re.compile(
    r"(?P<a>\d{4}|\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{4}|\d{1,2})" + _TIME
)
# 31 Jan 2024, 31-Jan-24; January 31, 2024.
_NAMED_DATES: Final = (
    re.compile(
        r"(?P<day>\d{1,2})[ -](?P<month>[A-Za-z]{3,9})\.?[ ,-]+(?P<year>\d{4}|\d\d)" + _TIME
    ),
    re.compile(r"(?P<month>[A-Za-z]{3,9})\.? (?P<day>\d{1,2}),? +(?P<year>\d{4})" + _TIME),
)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_ORDERS: Final = ("mdy", "dmy")
DATE_ORDERS: Final = ("ymd", *_ORDERS)


class DateForm(NamedTuple):
    """Which of the numbers of a date comes first: ``ymd``, ``dmy`` or ``mdy``.

    `is_sure`: the dates can be read in no other way.
    """

    order: str
    is_sure: bool = True

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self | None:
        """Return the form that all texts have; None if they are no dates.

        Examples
        --------
        >>> from peckorder.tables.text_cells import DateForm
        >>> DateForm.of(["2024-01-31", "2024-02-01 10:30"]).order
        'ymd'
        >>> DateForm.of(["1/2/2024", "1/31/2024"])
        DateForm(order='mdy', is_sure=True)
        >>> DateForm.of(["1.2.2024", "3.2.2024"])
        DateForm(order='dmy', is_sure=False)
        """
        known = [text for text in texts if not is_gap(text)]
        if not known:
            return None
        read = {order: [parse_date(text, order) for text in known] for order in _ORDERS}
        fitting = [order for order in _ORDERS if None not in read[order]]
        if len(fitting) < 2:
            return cls(fitting[0]) if fitting else None
        if read["mdy"] == read["dmy"]:
            return cls("ymd")
        has_slashes = any("/" in text for text in known)
        return cls("mdy" if has_slashes else "dmy", is_sure=False)


def parse_date(text: str, order: str) -> np.datetime64 | None:
    """Return a date and time, to the second; None for other text, or NaT for a gap.

    Time zones are not looked at: hours are those that are written.
    """
    if is_gap(text):
        return np.datetime64("NaT", "s")
    text = text.strip()
    match = _NUMERIC_DATE.fullmatch(text)
    if match is not None:
        numbers = match["a"], match["b"], match["c"]
        is_first = len(numbers[0]) == 4
        # One year, of four digits, or of two at the end.
        if len(numbers[2]) == 4 if is_first else len(numbers[2]) not in (2, 4):
            return None
        by_letter = dict(
            zip("ymd" if is_first else order.replace("ymd", "dmy"), numbers, strict=True)
        )
        year, month, day = (by_letter[letter] for letter in "ymd")
    else:
        match = next(filter(None, (form.fullmatch(text) for form in _NAMED_DATES)), None)
        if match is None:
            return None
        name = match["month"].lower()
        found = [k for k, full in enumerate(_MONTHS, 1) if name in (full, full[:3], full[:4])]
        if not found:
            return None
        year, month, day = match["year"], str(found[0]), match["day"]
    hour = int(match["hour"] or 0)
    if match["half"]:
        hour = hour % 12 + 12 * (match["half"].lower() == "pm")
    minute, second = int(match["minute"] or 0), int(match["second"] or 0)
    # Two digits of a year mean those from 1969 to 2068, as in POSIX.
    century = 0 if len(year) == 4 else 1900 if int(year) >= 69 else 2000
    try:
        moment = datetime(century + int(year), int(month), int(day), hour, minute, second)
    except ValueError:
        return None
    return np.datetime64(moment, "s")


# Words for the steps of a scale, lowest first.
_SCALES: Final = (
    "very_low vlow | low lo | medium med mid middle moderate normal average | high hi | "
    "very_high vhigh | extreme",
    "tiny | very_small | small | medium med mid | large big | very_large very_big | huge",
    "xxxs 3xs | xxs 2xs | xs | s | m | l | xl | xxl 2xl | xxxl 3xl | xxxxl 4xl",
    "never | rarely seldom hardly_ever | sometimes occasionally | often frequently | "
    "usually mostly | always",
    "unacceptable unacc | terrible awful | very_poor very_bad | poor bad | "
    "fair average ok okay acceptable acc | good | very_good vgood | excellent great premium | "
    "outstanding ideal perfect",
    "strongly_disagree | disagree | neutral neither neither_agree_nor_disagree undecided | "
    "agree | strongly_agree",
    "very_dissatisfied | dissatisfied | neutral | satisfied | very_satisfied",
    "very_unlikely | unlikely | neutral | likely | very_likely",
    "none absent | minimal | mild | moderate | severe | very_severe",
    "beginner novice | intermediate | advanced | expert",
    "cold | cool | mild | warm | hot",
    "first | second | third | fourth | fifth",
)
_STEPS: Final = tuple(
    {word: k for k, step in enumerate(scale.split("|")) for word in step.split()}
    for scale in _SCALES
)


def order_of_words(texts: Iterable[str]) -> tuple[str, ...] | None:
    """Return texts lowest first, if all are different steps of one usual scale.

    Examples
    --------
    >>> from peckorder.tables.text_cells import order_of_words
    >>> order_of_words(["High", "low", "very high"])
    ('low', 'High', 'very high')
    >>> order_of_words(["low", "red"]), order_of_words(["S", "M"])
    (None, None)
    """
    plain = {text: re.sub(r"[\W_]+", "_", text.strip().lower()).strip("_") for text in texts}
    # S and M may be single and married; three letters are sizes.
    fewest = 3 if all(len(word) == 1 for word in plain.values()) else 2
    if len(plain) < fewest:
        return None
    for steps in _STEPS:
        found = {steps.get(word) for word in plain.values()}
        if None not in found and len(found) == len(plain):
            return tuple(sorted(plain, key=lambda text: steps[plain[text]]))
    return None


# At most this share of labels that are no numbers may be slips.
_FEW: Final = 0.1


def slip_among(labels: Sequence[Hashable]) -> str:
    """Point at the first text among labels that are numbers, all but a few."""
    known = [label for label in labels if label is not None]
    wrong = [label for label in known if not _is_number(label)]
    if not wrong or len(wrong) > max(1, _FEW * len(known)) or len(known) < 3:
        return ""
    row = list(labels).index(wrong[0]) + 1
    others = "all other" if len(wrong) == 1 else f"all but {len(wrong)}"
    return f" Or mend {wrong[0]!r} in row {row}: {others} labels are numbers."


def _is_number(label: Hashable) -> bool:
    try:
        float(label)  # type: ignore[arg-type]
    except ValueError:
        return False
    return True
