"""Text files with one rating per line."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from operator import itemgetter
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np

from peckorder._core.cells import is_number, may_have_commas, number_of, whole_ids
from peckorder._core.column_names import rating_column
from peckorder._core.errors import refusal
from peckorder._core.text_files import Source, check_source, read_text, shown
from peckorder._core.typing import Floats, Ints, Labels
from peckorder._core.validation import Rule, boolean, did_you_mean, finite
from peckorder.feedback.ratings.ids import Ids
from peckorder.feedback.ratings.rows import RatingRows

# Stands for a separator of several characters, which the csv module cannot have.
_UNIT = "\x1f"
# Lines at a time: many lists that live long keep the garbage collector busy.
_LINES = 1 << 12
# What may stand between fields, if there seems to be one only.
_SEPARATORS = (";", "\t", "::", ",", "|")
# Text of at least so many characters repays the import of pyarrow.
_LONG: Final = 1 << 20
_ROLES: Final = ("user", "item", "rating")
# Codes of users and items, values, and lines from 1 on.
_Columns: TypeAlias = tuple[Ints, Ints, Floats, Ints]


def _is_encoding(value: Any) -> bool:
    try:
        return isinstance(value, str) and "\n".encode(value) == b"\n"
    except (LookupError, UnicodeError):
        return False


def _is_scale(value: Any) -> bool:
    if value is None:
        return True
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    return is_pair and all(map(finite.accepts, value)) and value[0] < value[1]


_COLUMN = Rule(
    "None, the name of a column or its place from 0 on",
    lambda value: value is None or isinstance(value, str) or (type(value) is int and value >= 0),
)
_SEP = Rule(
    "one or more characters, no quotes or ends of lines",
    lambda value: isinstance(value, str) and bool(value) and not set(value) & set('"\r\n'),
)
_ENCODING = Rule("the name of an encoding with plain ends of lines", _is_encoding)
_SCALE = Rule("None or (lowest, highest)", _is_scale)
_DTYPE = Rule("None, int or str", lambda value: value in (None, int, str))


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a file is laid out; as in `Ratings.read_csv`.

    `escape` is a character that takes away the meaning of the next; `advise` lets errors
    name the arguments of `Ratings.read_csv`.
    """

    user: str | int | None = None
    item: str | int | None = None
    rating: str | int | None = None
    header: bool = True
    sep: str = ","
    encoding: str = "utf-8"
    scale: tuple[float, float] | None = None
    user_dtype: type | None = None
    item_dtype: type | None = None
    escape: str | None = None
    advise: bool = False

    def check(self) -> None:
        """Raise if it cannot be."""
        for name in _ROLES:
            given = getattr(self, name)
            _COLUMN.check(name, given)
            if not (self.header or isinstance(given, int)):
                raise refusal(name, "be a place from 0 on if header=False", repr(given))
        boolean.check("header", self.header)
        _SEP.check("sep", self.sep)
        _ENCODING.check("encoding", self.encoding)
        _SCALE.check("scale", self.scale)
        _DTYPE.check("user_dtype", self.user_dtype)
        _DTYPE.check("item_dtype", self.item_dtype)


def read_rows(path: Source, form: CsvForm) -> RatingRows:
    """Read a file: O(bytes), in blocks of a few MB beside the result."""
    form.check()
    check_source(path)
    if isinstance(path, io.TextIOBase):
        form = replace(form, encoding="utf-8")  # it is decoded already
    reader = _Reader(form)
    blocks = list(reader.blocks(path))
    if not blocks:
        raise refusal("path", "hold at least one rating", "none")
    user, item, value, line = map(np.concatenate, zip(*blocks, strict=True))
    user, users = Ids.from_codes("user", user, reader.ids("user", form.user_dtype))
    item, items = Ids.from_codes("item", item, reader.ids("item", form.item_dtype))
    return RatingRows(user, users, item, items, value, line)


def _numbered() -> defaultdict[str, int]:
    known: defaultdict[str, int] = defaultdict()
    known.default_factory = known.__len__
    return known


@dataclass(slots=True)
class _Reader:
    """Reads blocks of lines; a block that cannot be read is gone through by lines."""

    form: CsvForm
    positions: tuple[int, int, int] | None = None
    n_fields: int = 0
    known: dict[str, defaultdict[str, int]] = field(
        default_factory=lambda: {"user": _numbered(), "item": _numbered()}
    )

    def blocks(self, path: Source) -> Iterator[_Columns]:
        """Yield the columns of some lines after the other."""
        before = 0
        for block in read_text(path):
            text, start = self._decoded(block, before), 0
            while self.positions is None and start < len(text):
                end = text.index("\n", start)
                if self._read_header(text[start:end], before + 1):
                    start, before = end + 1, before + 1
            text = text[start:]
            by_arrow = self._by_arrow(text, before) if len(text) >= _LONG else None
            if by_arrow is not None:
                yield by_arrow
                before += len(by_arrow[3])
                continue
            lines = text.split("\n")[:-1]
            for first in range(0, len(lines), _LINES):
                columns = self._columns(lines[first : first + _LINES], before + first)
                if len(columns[3]):
                    yield columns
            before += len(lines)

    def ids(self, name: str, dtype: type | None) -> Labels:
        """Return the ids of all lines, in the order in which they came."""
        texts = list(self.known[name])
        if dtype is not str:
            whole = whole_ids(texts)
            if whole is not None:
                return whole
            if dtype is int:
                wrong = next(t for t in texts if whole_ids([t]) is None)
                raise refusal(name, f"be integers if {name}_dtype is int", repr(wrong))
        ids = np.empty(len(texts), dtype=object)
        ids[:] = texts
        return ids

    def _decoded(self, block: bytes, before: int) -> str:
        try:
            return block.decode(self.form.encoding)
        except UnicodeDecodeError as error:
            line = before + block.count(b"\n", 0, error.start) + 1
            bad = block[: error.start].rfind(b"\n") + 1
            text = block[bad:].partition(b"\n")[0]
            raise refusal(
                f"line {line}",
                f"be {self.form.encoding} text",
                shown(text),
                hint="Give its encoding, as encoding='latin-1'.",
            ) from None

    def _read_header(self, line: str, number: int) -> int:
        """Read the first line that is not empty; return how many lines are done."""
        fields = self._fields(line, number)
        if not fields:
            return 1
        self.n_fields = len(fields)
        positions = [self._position(role, fields, number) for role in _ROLES]
        self.positions = (positions[0], positions[1], positions[2])
        return int(self.form.header)

    def _position(self, role: str, fields: list[str], number: int) -> int:
        wanted = getattr(self.form, role)
        if isinstance(wanted, int):
            if wanted < len(fields):
                return wanted
            raise refusal(
                role,
                f"be the place of a column, below {len(fields)} by line {number}",
                wanted,
                hint=self._advice(fields, number),
            )
        names = [name.strip() for name in fields]
        if wanted is None:
            wanted = rating_column(names, role) or role
        if wanted in names:
            return names.index(wanted)
        listed = ", ".join(map(repr, names))
        raise refusal(
            role,
            f"be a column in line {number} ({listed})",
            repr(wanted),
            hint=self._advice(fields, number) or did_you_mean(wanted, names, {}),
        )

    def _advice(self, fields: list[str], number: int) -> str:
        """Tell which arguments a first line asks for that has not been understood."""
        if not self.form.advise:
            return ""
        advice = ""
        if len(fields) == 1:
            sep = next((mark for mark in _SEPARATORS if mark in fields[0]), None)
            if sep is not None:
                advice = f" Give sep={sep!r}, which stands in the line."
                fields = fields[0].split(sep)
        if self.form.header and any(map(is_number, fields)):
            advice += (
                f" If line {number} is a rating and there are no names, give "
                "header=False, user=0, item=1, rating=2."
            )
        return advice

    def _by_arrow(self, text: str, before: int) -> _Columns | None:
        """Return the columns of lines; None where the csv module might read another thing.

        Some four times as fast. Whatever is unusual is left to that module, so that there is one
        meaning of a file, and one wording of what is wrong with it.
        """
        try:
            import pyarrow as pa
            from pyarrow import csv as arrow
        except ImportError:
            return None
        assert self.positions is not None
        sep, has_quotes, n_lines = self.form.sep, len(self.form.sep) == 1, text.count("\n")
        if not has_quotes:
            text, sep = text.replace(sep, _UNIT), _UNIT
        positions = [str(position) for position in self.positions]
        try:
            data = text.encode()
            is_plain = sep.isascii() and _are_plain_lines(data, self.form.escape)
            is_plain = is_plain and (not has_quotes or _are_plain_fields(data, sep))
            if len(set(positions)) < 3 or not is_plain:
                return None
            names = [str(position) for position in range(self.n_fields)]
            kinds = zip(positions, (pa.string(), pa.string(), pa.float64()), strict=True)
            table = arrow.read_csv(
                io.BytesIO(data),
                arrow.ReadOptions(use_threads=False, block_size=len(data), column_names=names),
                arrow.ParseOptions(delimiter=sep, quote_char='"' if has_quotes else False),
                arrow.ConvertOptions(
                    column_types=dict(kinds), include_columns=positions, null_values=[]
                ),
            )
        except (UnicodeEncodeError, pa.ArrowInvalid):
            return None
        value = table.column(2).to_numpy()
        encoded = [table.column(k).combine_chunks().dictionary_encode() for k in (0, 1)]
        texts = [column.dictionary.to_pylist() for column in encoded]
        if len(value) != n_lines or not self._are_ratings(value) or "" in texts[0] + texts[1]:
            return None
        user, item = (
            np.array([*map(self.known[name].__getitem__, ids)], np.int64)[column.indices]
            for name, ids, column in zip(_ROLES, texts, encoded, strict=False)
        )
        return user, item, value, np.arange(before + 1, before + n_lines + 1)

    def _are_ratings(self, value: Floats) -> bool:
        """Return whether all values are finite and on the scale."""
        low, high = self.form.scale or (-np.inf, np.inf)
        return bool((np.isfinite(value) & (value >= low) & (value <= high)).all())

    def _columns(self, lines: list[str], before: int) -> _Columns:
        assert self.positions is not None
        try:
            rows = list(self._parsed(lines))
            if len(rows) != len(lines):  # a quote that goes on in the next line
                self._refuse(lines, before)
            numbers = np.arange(before + 1, before + len(lines) + 1)
            if [] in rows:
                numbers = numbers[np.fromiter(map(bool, rows), bool, len(rows))]
                rows = list(filter(None, rows))
            if rows and set(map(len, rows)) != {self.n_fields}:
                self._refuse(lines, before)
            users, items, texts = (list(map(itemgetter(p), rows)) for p in self.positions)
        except csv.Error:
            self._refuse(lines, before)
        value = self._ratings(texts)
        if not self._are_ratings(value) or "_" in "".join(texts):
            self._refuse(lines, before)
        codes = [
            np.fromiter(map(self.known[name].__getitem__, column), np.int64, len(rows))
            for name, column in (("user", users), ("item", items))
        ]
        if "" in self.known["user"] or "" in self.known["item"]:
            self._refuse(lines, before)
        return codes[0], codes[1], value, numbers

    def _ratings(self, texts: list[str]) -> Floats:
        try:
            return np.fromiter(map(float, texts), np.float64, len(texts))
        except ValueError:  # decimal commas, or what is no number
            return np.array([self._rating(text) for text in texts])

    def _rating(self, text: str) -> float:
        """Return the number that a cell stands for; NaN if it is none."""
        value = number_of(text, has_commas=may_have_commas(self.form.sep))
        return nan if value is None else value

    def _parsed(self, lines: list[str]) -> Iterator[list[str]]:
        sep = self.form.sep
        if len(sep) == 1:
            escape = self.form.escape
            return csv.reader(
                lines, delimiter=sep, skipinitialspace=sep != " ", escapechar=escape, strict=True
            )
        # Its two halves may stand in other fields alone: what it marks is replaced.
        plain = (line.replace(sep, _UNIT) for line in lines)
        return csv.reader(plain, delimiter=_UNIT, quoting=csv.QUOTE_NONE)

    def _fields(self, line: str, number: int) -> list[str]:
        try:
            (fields,) = self._parsed([line])
        except csv.Error:
            rule = f"fields between {self.form.sep!r} whose quotes end in the line"
            self._refuse_line(number, rule, line)
        return fields

    def _refuse(self, lines: list[str], before: int) -> NoReturn:
        """Raise at the first line that is not as it must be."""
        assert self.positions is not None
        low, high = self.form.scale or (-np.inf, np.inf)
        for number, line in enumerate(lines, before + 1):
            fields = self._fields(line, number)
            if not fields:
                continue
            if len(fields) != self.n_fields:
                rule = f"{self.n_fields} fields between {self.form.sep!r}"
                self._refuse_line(number, rule, line)
            user, item, text = (fields[place] for place in self.positions)
            if not user or not item:
                self._refuse_line(number, "a line with a user and an item", line)
            value = self._rating(text)
            if not isfinite(value):
                self._refuse_line(number, "a line with a finite number as rating", line)
            elif not low <= value <= high:
                rule = f"a line with a rating from {low:g} to {high:g}"
                self._refuse_line(number, rule, line)
        raise AssertionError

    def _refuse_line(self, number: int, rule: str, line: str) -> NoReturn:
        text = shown(line.encode("utf-8", "replace"))
        raise refusal(f"line {number}", f"be {rule}", text)


def _are_plain_lines(data: bytes, escape: str | None) -> bool:
    """Return whether Arrow and the csv module see the same lines in UTF-8."""
    is_marked = data.startswith("\N{BYTE ORDER MARK}".encode())
    is_marked |= escape is not None and escape.encode() in data
    has_odd_ends = b"\r" in data and data.count(b"\r") != data.count(b"\r\n")
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    longest = np.diff(ends, prepend=-1).max(initial=0)
    return not (is_marked or has_odd_ends or longest > csv.field_size_limit())


def _are_plain_fields(data: bytes, sep: str) -> bool:
    """Return whether both see the same fields, some in quotation marks, in such lines."""
    # The csv module drops spaces before a field.
    has_space = data.startswith(b" ") or b"\n " in data or f"{sep} ".encode() in data
    if has_space and sep != " ":
        return False
    if b'"' not in data:
        return True
    # Whole fields in quotation marks, none of them double.
    mark = re.escape(sep).encode()
    quoted = re.compile(rb'"(?<![^%b\n]")[^"\r\n]*"(?=[%b\r\n])' % (mark, mark))
    return 2 * len(quoted.findall(data)) == data.count(b'"')
