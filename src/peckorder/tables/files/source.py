"""Where bytes come from: files and standard input, inflated, within bounds."""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from peckorder._core.errors import name_caller, refusal
from peckorder._core.text_files import check_ratio, most_bytes
from peckorder.tables.columns import short
from peckorder.tables.files.paths import check_is_file, name_of
from peckorder.tables.files.standard_streams import is_standard

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
HEAD = 1 << 20
# What Arrow needs for a column of text, even if it has no cells.
_BYTES_PER_COLUMN = 1 << 14
_MOST_COLUMNS = 1 << 15


class Inflated(io.RawIOBase):
    """A file that is read once, from its beginning, through gzip or zstd if need be.

    `head` is its beginning, to be inspected before reading; `source` is the name of the
    file in messages. Reading stops with an error where a compressed file that is
    `bounded` grows far more than real data do; and where a file is larger than the
    memory, unless it is `streamed`, so that it is not kept.
    """

    def __init__(
        self, raw: IO[bytes], source: str, *, streamed: bool, bounded: bool = True
    ) -> None:
        self.source, self._streamed, self._bounded = source, streamed, bounded
        self._raw, self._counted = raw, _Counted(raw)
        kinds = (kind for mark, kind in _COMPRESSED.items() if self._counted.start.startswith(mark))
        self._kind = next(kinds, None)
        self._file: IO[bytes] | pa.NativeFile = self._counted
        if self._kind is not None:
            self._file = pa.CompressedInputStream(pa.PythonFile(self._counted, "r"), self._kind)
        self._memory = _memory()
        self._n_given, self._ahead = 0, b""
        self.head = self._ahead = self._read(HEAD)
        while self._kind and len(self.head) < HEAD and (more := self._read(HEAD)):
            self.head = self._ahead = self.head + more

    @property
    def is_compressed(self) -> bool:
        """Whether what is read is not what lies on the disk."""
        return self._kind is not None

    def readable(self) -> bool:
        """Say that this is a file to read from."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read `size` bytes, fewer at the end; all that are left if it is negative."""
        if size < 0:
            return b"".join(iter(lambda: self.read(HEAD), b""))
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        # Short pieces would be short blocks, which a line might not fit in.
        while len(data) < size and (more := self._read(size - len(data))):
            data = data + more if data else more
        return data

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return how many bytes."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read(size)
        except (pa.ArrowInvalid, OSError) as error:
            if self._kind is None or isinstance(error, InterruptedError):
                raise
            raise refusal(
                "the file", f"be sound {self._kind}", "one that is damaged or cut short"
            ) from None
        self._n_given += len(data)
        self.check_holds(self._n_given)
        return data

    def native(self, start: int) -> pa.NativeFile | None:
        """Return the file from a byte on, for Arrow to read without Python.

        None if it is compressed or a pipe, or must be counted as it is not streamed.
        """
        name = getattr(self._raw, "name", None)
        is_plain = isinstance(name, str) and Path(name).is_file()
        if self.is_compressed or not self._streamed or not is_plain:
            return None
        file = pa.OSFile(name)
        file.seek(start)
        return file

    def check_columns(self, n_columns: int) -> None:
        """Refuse text with far more columns than real data of its size have."""
        n_bytes = self._counted.n_read
        name = getattr(self._raw, "name", None)
        if isinstance(name, str) and Path(name).is_file():
            n_bytes = Path(name).stat().st_size
        most = max(_MOST_COLUMNS, most_bytes(n_bytes) // _BYTES_PER_COLUMN)
        if n_columns > most:
            rule = f"have at most {most:,} columns in a file of this size"
            raise refusal("a table", rule, f"{n_columns:,}")

    def check_holds(self, size: int, compressed: int | None = None) -> None:
        """Raise if `size` bytes are more than a file of `compressed` bytes may hold.

        By default those that were read from it so far.
        """
        if self._bounded:
            check_ratio(size, self._counted.n_read if compressed is None else compressed)
        if not self._streamed and size > self._memory:
            raise refusal(
                "the file", f"fit in memory, {self._memory >> 20} MB", "one that is larger"
            )


class _Counted(io.RawIOBase):
    """A file that counts what is read from it; `start` is its first four bytes."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self.n_read = raw, 0
        self.start = self._unread = raw.read(4)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes, or those of `start` if they are more."""
        data = self._unread + self._raw.read(size if size < 0 else max(0, size - len(self._unread)))
        self._unread = b""
        self.n_read += len(data)
        return data


@contextmanager
def opened(
    path: str | os.PathLike[str], *, streamed: bool = False, bounded: bool = True, name: str = ""
) -> Iterator[Inflated]:
    """Open a path, or standard input for "-", to be read once.

    Refusals inside begin with `name`, by default that of the file.
    """
    name = name or name_of(path)
    try:
        if is_standard(path):
            yield Inflated(sys.stdin.buffer, name, streamed=streamed, bounded=bounded)
            return
        check_is_file(path)
        with Path(path).open("rb") as raw:
            yield Inflated(raw, name, streamed=streamed, bounded=bounded)
    except Exception as error:
        # No context variable: readers are generators.
        name_caller(error, name)
        raise


def check_distinct(names: Sequence[str], hint: str = "") -> None:
    """Refuse a name that two columns have."""
    if len(set(names)) < len(names):
        known: set[str] = set()
        again = next(name for name in names if name in known or known.add(name))  # type: ignore[func-returns-value]
        raise refusal("names of columns", "differ", f"{short(again)} twice", hint=hint)


def text_of(file: Inflated) -> IO[bytes]:
    """Return a file to be read line by line; refuse one that does not begin as text."""
    check_text(file.head)
    return cast(IO[bytes], file)


def check_text(head: bytes) -> None:
    """Raise if a file does not begin as text does."""
    if head.startswith(_UTF_16):
        raise refusal(
            "text", "be UTF-8", "UTF-16", hint="Change it before, as by iconv -f utf-16 -t utf-8."
        )
    if b"\0" in head:
        raise refusal("the file", "be text", "one with zero bytes")
    first = io.BytesIO(head).readline().rstrip(b"\n")
    if not is_utf_8(first if len(first) < HEAD else first[: HEAD - 4]):
        raise not_utf_8(short(first), head)


def not_utf_8(got: str, head: bytes) -> Exception:
    """Return the refusal of a file that is not UTF-8, with the line if it is early."""
    lines = head.splitlines()
    row = next((k for k, line in enumerate(lines, 1) if not is_utf_8(line)), None)
    where = "" if row is None else f" in line {row}"
    hint = "Change it before, as by iconv -f latin1 -t utf-8."
    return refusal("text", "be UTF-8", f"{got}{where}", hint=hint)


def is_utf_8(text: bytes) -> bool:
    """Return whether bytes are UTF-8; the last letter may be cut in two."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(text) - 4 and len(text) >= HEAD - 4
    return True


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62  # unknown
