"""Numbers of a worksheet in the binary format of Excel 97 to 2003 (BIFF8)."""

from collections.abc import Iterator
from struct import Struct, error, unpack_from

import numpy as np
from numpy.typing import NDArray

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats

_MAGIC = bytes.fromhex("d0cf11e0a1b11ae1")
# In the table of sectors, the end of a chain is above all sector numbers.
_LAST_SECTOR = 0xFFFF_FFFA
_BOF, _EOF, _NUMBER, _RK, _MULRK = 0x0809, 0x000A, 0x0203, 0x027E, 0x00BD
_WORKSHEET = 0x0010
_HEAD = Struct("<HH")
_RK_CELL = np.dtype([("format", "<u2"), ("rk", "<u4")])


def read_xls(content: bytes) -> Floats:
    """Return the first worksheet as a table of numbers, NaN in other cells."""
    try:
        stream = _workbook(content)
        return _table(stream)
    except (_DamagedError, error, IndexError, ValueError) as cause:
        raise refusal(
            "a workbook", "be one of Excel 97 to 2003, whole", f"one with {cause}"
        ) from None


class _DamagedError(Exception):
    """What is wrong with a workbook."""


def _workbook(content: bytes) -> bytes:
    """Return the stream of records inside a compound file."""
    if not content.startswith(_MAGIC):
        raise _DamagedError("another beginning")
    size = 1 << unpack_from("<H", content, 30)[0]
    first_directory = unpack_from("<I", content, 48)[0]
    smallest, *_, more, n_more = unpack_from("<5I", content, 56)
    if n_more > len(content) // 512:
        raise _DamagedError("more sectors than it holds")
    if size not in (512, 4096):
        raise _DamagedError("sectors of a strange size")

    def sector(number: int) -> bytes:
        block = content[(number + 1) * size : (number + 2) * size]
        # The last sector of a file may be short.
        if not block:
            raise _DamagedError("a sector missing")
        return block

    sectors = list(unpack_from("<109I", content, 76))
    for _ in range(n_more):
        *numbers, more = np.frombuffer(sector(more), "<u4").tolist()
        sectors += numbers
    table = [sector(number) for number in sectors if number < _LAST_SECTOR]
    following = np.frombuffer(b"".join(table), "<u4")

    def chain(number: int) -> bytes:
        blocks: list[bytes] = []
        while number < _LAST_SECTOR:
            if len(blocks) > len(following):
                raise _DamagedError("a chain without end")
            blocks.append(sector(number))
            number = int(following[number])
        return b"".join(blocks)

    directory = chain(first_directory)
    for entry in range(0, len(directory), 128):
        length = unpack_from("<H", directory, entry + 64)[0]
        name = directory[entry : entry + max(length - 2, 0)].decode("utf-16-le")
        if name.lower() == "workbook":
            start, stored = unpack_from("<II", directory, entry + 116)
            if stored < smallest:
                raise _DamagedError("next to nothing inside")
            stream = chain(start)
            if len(stream) < stored:
                raise _DamagedError(f"{len(stream)} of {stored} bytes")
            return stream[:stored]
    raise _DamagedError("no Workbook inside")


def _records(stream: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the type, the position and the length of the records of a worksheet."""
    at, is_sheet = 0, False
    while at + 4 <= len(stream):
        record, length = _HEAD.unpack_from(stream, at)
        at += 4
        if at + length > len(stream):
            break
        if record == _BOF:
            is_sheet = unpack_from("<H", stream, at + 2)[0] == _WORKSHEET
        elif record == _EOF and is_sheet:
            return
        elif is_sheet:
            yield record, at, length
        at += length
    raise _DamagedError("a worksheet cut short")


def _table(stream: bytes) -> Floats:
    rows: list[int] = []
    firsts: list[int] = []
    cells: list[Floats] = []
    for record, at, length in _records(stream):
        if record not in (_NUMBER, _RK, _MULRK):
            continue
        row, first = _HEAD.unpack_from(stream, at)
        if record == _NUMBER:
            numbers = np.frombuffer(stream, "<f8", 1, at + 6)
        else:
            count = (length - 4) // 6
            numbers = _unpacked(np.frombuffer(stream, _RK_CELL, count, at + 4)["rk"])
        rows.append(row)
        firsts.append(first)
        cells.append(numbers)
    if not cells:
        raise _DamagedError("no numbers")
    sizes = np.fromiter(map(len, cells), np.int64, len(cells))
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    column = np.repeat(firsts, sizes) + np.arange(len(starts)) - starts
    if column.max() > 255:
        raise _DamagedError("a cell beyond the last column")
    table = np.full((max(rows) + 1, int(column.max()) + 1), np.nan)
    table[np.repeat(rows, sizes), column] = np.concatenate(cells)
    return table


def _unpacked(packed: NDArray[np.uint32]) -> Floats:
    """Return numbers that were packed in 30 bits: integers or halves of floats."""
    rk = np.ascontiguousarray(packed)
    half = (rk & np.uint32(0xFFFF_FFFC)).astype(np.uint64) << np.uint64(32)
    whole = (rk.view(np.int32) >> 2).astype(np.float64)
    numbers = np.where(rk & np.uint32(2), whole, half.view(np.float64))
    return np.where(rk & np.uint32(1), numbers / 100.0, numbers)
