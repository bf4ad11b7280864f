"""Blocks of LETOR lines, converted to arrays."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import NoReturn, Self

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.text_files import ENCODING, Source, read_text, shown
from peckorder._core.typing import Floats, Ints, Labels
from peckorder.datasets.formats import letor_compiled as compiled
from peckorder.datasets.formats.letor_compiled import RowArrays

_MOST_COLUMNS = 2**31 - 1
_SPACES = re.compile(rb"[ \t\r]+")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_FORM = "'grade qid:ID index:value ...'"


@dataclass(frozen=True, slots=True)
class LetorBlock:
    """A block of rows: row i has the entries from ends[i] to ends[i + 1]."""

    grade: Floats
    qid: Labels | None
    comments: Labels | None
    ends: Ints
    column: Ints
    value: Floats

    def __len__(self) -> int:
        return len(self.grade)

    def rows(self, begin: int, end: int) -> Self:
        """Return the rows of a range, as views."""
        entries = slice(self.ends[begin], self.ends[end])
        return type(self)(
            self.grade[begin:end],
            None if self.qid is None else self.qid[begin:end],
            None if self.comments is None else self.comments[begin:end],
            self.ends[begin : end + 1] - self.ends[begin],
            self.column[entries],
            self.value[entries],
        )

    @classmethod
    def join(cls, blocks: list[Self]) -> Self:
        """Return the rows of one or more blocks."""
        if len(blocks) == 1:
            return blocks[0]
        starts = np.cumsum([0, *(len(block.column) for block in blocks[:-1])])
        ends = [b.ends[1:] + start for b, start in zip(blocks, starts, strict=True)]
        return cls(
            np.concatenate([block.grade for block in blocks]),
            join_labels([block.qid for block in blocks]),
            join_labels([block.comments for block in blocks]),
            np.concatenate([[0], *ends]),
            np.concatenate([block.column for block in blocks]),
            np.concatenate([block.value for block in blocks]),
        )


def rechunk(blocks: Iterator[LetorBlock], n_rows: int | None) -> Iterator[LetorBlock]:
    """Yield blocks of `n_rows` rows, the last of fewer; None keeps them."""
    waiting: list[LetorBlock] = []
    for block in blocks:
        waiting.append(block)
        n_waiting = sum(len(part) for part in waiting)
        if n_rows is None or n_waiting < n_rows:
            if n_rows is None and len(block):
                yield waiting.pop()
            continue
        joined = LetorBlock.join(waiting)
        whole = n_waiting - n_waiting % n_rows
        for begin in range(0, whole, n_rows):
            yield joined.rows(begin, begin + n_rows)
        waiting = [joined.rows(whole, n_waiting)]
    if n_rows is not None and any(len(part) for part in waiting):
        yield LetorBlock.join(waiting)


@dataclass(slots=True)
class LetorReader:
    """Reads blocks, and checks that all have the same form of queries."""

    base: int
    n_columns: int | None
    largest: float
    missing: float
    qid_dtype: type | None
    keeps_comments: bool
    first_block_decides: bool = False
    n_lines: int = 0
    has_qid: bool | None = None

    def blocks(self, path: Source) -> Iterator[LetorBlock]:
        """Yield the rows of a path or file, in at least one block."""
        text = b""
        for text in read_text(path):
            yield self._block(text)
        if not text:
            yield self._block(text)

    def _block(self, text: bytes) -> LetorBlock:
        characters = np.frombuffer(text, dtype=np.uint8)
        n_lines = compiled.count(characters, ord("\n"))
        n_entries = compiled.count(characters, ord(":"))
        rows = _allocate(n_lines, n_entries)
        n_columns = self.n_columns or _MOST_COLUMNS
        n_rows, wrong = compiled.read_rows(characters, self.base, n_columns, rows)
        rows = _first(rows, n_rows)
        malformed: list[tuple[int, str | None]] = [(wrong, None)] if wrong >= 0 else []
        malformed += [(rows.line[row], None) for row in self._complete(text, rows)]
        malformed += [(rows.line[row], rule) for row, rule in self._odd_queries(rows)]
        if malformed:
            self._refuse(text, *min(malformed, key=itemgetter(0)))
        if not np.isnan(self.missing):
            rows.value[np.isnan(rows.value)] = self.missing
        block = LetorBlock(
            rows.grade,
            self._queries(text, rows),
            self._comments(text, rows) if self.keeps_comments else None,
            rows.ends,
            rows.column,
            rows.value,
        )
        self.n_lines += n_lines
        return block

    def _complete(self, text: bytes, rows: RowArrays) -> Iterator[int]:
        """Complete the few rows that need it; yield those that are malformed."""
        for row in np.flatnonzero(rows.flags & compiled.HARD).tolist():
            words = _words(_line(text, rows.line[row]))
            pairs = words[2:] if rows.flags[row] & compiled.HAS_QID else words[1:]
            numbers = (pair.partition(":")[2] for pair in pairs)
            values = [np.nan if n == "NULL" else float(n) for n in numbers]
            rows.grade[row] = float(words[0])
            rows.value[rows.ends[row] : rows.ends[row + 1]] = values
            if np.isinf([rows.grade[row], *values]).any():
                yield row
        if self.largest < np.finfo(np.float64).max:
            large = np.flatnonzero(np.abs(rows.value) > self.largest)
            if len(large):
                yield int(np.searchsorted(rows.ends, large[0], side="right")) - 1
        for row in np.flatnonzero(rows.flags & compiled.UNSORTED).tolist():
            entries = slice(rows.ends[row], rows.ends[row + 1])
            order = np.argsort(rows.column[entries], kind="stable")
            column = rows.column[entries][order]
            if (column[1:] == column[:-1]).any():
                yield row
            rows.column[entries] = column
            rows.value[entries] = rows.value[entries][order]

    def _odd_queries(self, rows: RowArrays) -> Iterator[tuple[int, str]]:
        """Yield the first row whose query has another form, and the violated rule."""
        has_qid = rows.flags & compiled.HAS_QID > 0
        is_text = rows.flags & compiled.TEXT_QID > 0
        if self.has_qid is None and len(has_qid):
            self.has_qid = bool(has_qid[0])
        if self.first_block_decides and self.qid_dtype is None and len(has_qid):
            self.qid_dtype = str if is_text.any() else int
        for row in np.flatnonzero(has_qid != bool(self.has_qid))[:1].tolist():
            rule = "have a qid" if self.has_qid else "have no qid"
            yield row, f"{rule}, as the lines before it"
        if self.qid_dtype is int:
            for row in np.flatnonzero(is_text)[:1].tolist():
                yield row, "have an integer as qid, or qid_dtype be str"

    def _queries(self, text: bytes, rows: RowArrays) -> Labels | None:
        if self.has_qid is False:
            return None
        is_text = rows.flags & compiled.TEXT_QID > 0
        if self.qid_dtype is not str and not is_text.any():
            return rows.qid
        # Equal neighbours are decoded once.
        starts = np.flatnonzero(rows.flags & compiled.NEW_QID)
        names = [text[b:e].decode(*ENCODING) for b, e in rows.qid_span[starts].tolist()]
        lengths = np.diff(np.append(starts, len(is_text)))
        return np.repeat(np.array(names, dtype=str), lengths)

    @staticmethod
    def _comments(text: bytes, rows: RowArrays) -> Labels:
        comments = np.empty(len(rows.grade), dtype=object)
        comments[:] = [
            text[begin + 1 : end].decode(*ENCODING).strip()
            for begin, end in rows.comment_span.tolist()
        ]
        return comments

    def _refuse(self, text: bytes, start: int, rule: str | None = None) -> NoReturn:
        """Raise for the line that starts at a position; without a rule, find one."""
        number = self.n_lines + text.count(b"\n", 0, start) + 1
        line = _line(text, start)
        broken = (rule, shown(line)) if rule else self._broken_rule(line)
        raise refusal(f"line {number}", *broken)

    def _broken_rule(self, line: bytes) -> tuple[str, str]:
        """Return the first rule that a line breaks, and what it has instead."""
        grade, *pairs = _words(line)
        if pairs and pairs[0].startswith("qid:"):
            del pairs[0]
        split = [pair.partition(":")[::2] for pair in pairs]
        for number in (grade, *(value for _, value in split)):
            if _NOT_FINITE.fullmatch(number) or _is_too_large(number, self.largest):
                return "have finite numbers", repr(number)
        keys = [key for key, _ in split]
        if not all(key.isascii() and key.isdecimal() for key in keys):
            return f"be {_FORM}", shown(line)
        # Longer integers than any index are no work for `int`.
        columns = [int(key) if len(key) < 100 else 10**99 for key in keys]
        end = self.base + (self.n_columns or _MOST_COLUMNS)
        for key, column in zip(keys, columns, strict=True):
            if not self.base <= column < end:
                last = f"to {end - 1}" if self.n_columns else "on"
                return f"have indices from {self.base} {last}", key[:99]
        for i, column in enumerate(columns):
            if column in columns[:i]:
                return "have each index once", f"{column} again"
        return f"be {_FORM}", shown(line)


def _allocate(n_rows: int, n_entries: int) -> RowArrays:
    return RowArrays(
        np.empty(n_rows),
        np.empty(n_rows, dtype=np.int64),
        np.empty((n_rows, 2), dtype=np.int64),
        np.empty((n_rows, 2), dtype=np.int64),
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows, dtype=np.uint8),
        np.empty(n_rows + 1, dtype=np.int64),
        np.empty(n_entries, dtype=np.int32),
        np.empty(n_entries),
    )


def _first(rows: RowArrays, n_rows: int) -> RowArrays:
    """Return the first rows and their entries, as views."""
    n_entries = rows.ends[n_rows]
    sizes = {"ends": n_rows + 1, "column": n_entries, "value": n_entries}
    return RowArrays(*(array[: sizes.get(n, n_rows)] for n, array in rows._asdict().items()))


def _words(line: bytes) -> list[str]:
    """Return the words of a line, at least one, split as by `read_rows`."""
    body = line.partition(b"#")[0].strip(b" \t\r")
    return [word.decode(*ENCODING) for word in _SPACES.split(body)]


def _line(text: bytes, start: int) -> bytes:
    return text[start : text.index(b"\n", start)]


def _is_too_large(number: str, largest: float) -> bool:
    try:
        return abs(float(number)) > largest
    except ValueError:
        return False


def join_labels(columns: list[Labels | None]) -> Labels | None:
    """Join columns; integers become text if others are text."""
    filled = [column for column in columns if column is not None and len(column)]
    if not filled:
        # A block without rows has an empty column; one with rows may have none.
        return None if any(column is None for column in columns) else columns[0]
    if len({column.dtype.kind for column in filled}) > 1:
        filled = [column.astype(str) for column in filled]
    return np.concatenate(filled)
