"""Jester: ratings of jokes on a continuous scale, in workbooks of Excel (BIFF8)."""

from collections.abc import Iterator
from struct import Struct, error, unpack_from

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from peckorder._core.errors import caller, entry, named, refusal
from peckorder._core.typing import Floats
from peckorder.datasets.fetching.download import fetch
from peckorder.datasets.fetching.folders import Folder, require
from peckorder.datasets.fetching.publishers import PUBLISHED, check_facts, ratings_facts
from peckorder.feedback import Ratings

_JESTER_SCALE = (-10.0, 10.0)
_NOT_RATED = 99.0
_JESTER = PUBLISHED["jester"]
_MAGIC = bytes.fromhex("d0cf11e0a1b11ae1")
# In the table of sectors, the end of a chain is above all sector numbers.
_LAST_SECTOR = 0xFFFF_FFFA
_BOF, _EOF, _NUMBER, _RK, _MULRK = 0x0809, 0x000A, 0x0203, 0x027E, 0x00BD
_WORKSHEET = 0x0010
_HEAD = Struct("<HH")
_RK_CELL = np.dtype([("format", "<u2"), ("rk", "<u4")])


@entry
def load_jester(folder: Folder = None) -> Bunch:
    """Read Jester data set 1: 4,136,360 ratings of 100 jokes by 73,421 users.

    Parameters
    ----------
    folder : path, default=None
        Where ``jester`` is, or its files: three workbooks, `jester-data-1.xls` and so
        on, or the zip files with them as they were downloaded. None: PECKORDER_DATA,
        then the cache.

    Returns
    -------
    bunch : Bunch
        `ratings`, a `Ratings` of users 1 to 73,421, in the order of rows of the three
        files, and jokes 1 to 100; their `scale`, -10 to 10.

    Raises
    ------
    MissingDataError
        If a file is not found, with what to get and where to put it.
    DataError
        If the number of ratings of a row is not the one declared, or a rating is
        outside the scale.

    Examples
    --------
    >>> from peckorder.datasets import load_jester
    >>> jokes = load_jester()  # doctest: +SKIP
    """
    return _load_jester(folder)


@entry
def fetch_jester(
    folder: Folder = None, *, url: str | None = None, progress: bool | None = None
) -> Bunch:
    """Download Jester data set 1 unless it exists, and read it.

    Free for research that cites Goldberg, Roeder, Gupta and Perkins, "Eigentaste: A
    Constant Time Collaborative Filtering Algorithm", Information Retrieval 4, 2001.

    Parameters
    ----------
    folder, url, progress
        As in `fetch_movielens_100k`.

    Returns
    -------
    bunch : Bunch
        As of `load_jester`.

    Examples
    --------
    >>> from peckorder.datasets import fetch_jester
    >>> jokes = fetch_jester()  # doctest: +SKIP
    """
    return _load_jester(fetch(_JESTER, folder, url, progress))


def _load_jester(folder: Folder) -> Bunch:
    names = [f"jester-data-{k}.xls" for k in (1, 2, 3)]
    files = [require(_JESTER, (name,), folder) for name in names]
    tables = []
    for file in files:
        table = read_xls(file.read())
        with named(f"{caller()}, {file.name}"):
            tables.append(_jokes(table))
    matrix = np.concatenate(tables)
    ratings = Ratings.from_matrix(
        matrix,
        missing=_NOT_RATED,
        users=np.arange(1, len(matrix) + 1),
        items=np.arange(1, matrix.shape[1] + 1),
    )
    values = ratings.csr.data
    facts = ratings_facts(ratings, "jokes") | {
        "as lowest": float(values.min()),
        "as highest": float(values.max()),
    }
    check_facts(_JESTER.title, _JESTER.facts, facts)
    return Bunch(ratings=ratings, scale=_JESTER_SCALE)


def _jokes(table: Floats) -> Floats:
    """Return the ratings of a workbook; raise for a contradictory row."""
    if table.shape[1] != 101:
        raise refusal("a row", "have 101 columns, the first a count", table.shape[1])
    count, matrix = table[:, 0], table[:, 1:]
    low, high = _JESTER_SCALE
    is_rating = (matrix >= low) & (matrix <= high)
    is_sound = (is_rating | (matrix == _NOT_RATED)).all(axis=1)
    if not is_sound.all():
        row = int(np.argmin(is_sound))
        value = matrix[row][~is_rating[row] & (matrix[row] != _NOT_RATED)][0]
        raise refusal(f"row {row + 1}", "have ratings from -10 to 10, or 99 for none", f"{value:g}")
    is_counted = is_rating.sum(axis=1) == count
    if not is_counted.all():
        row = int(np.argmin(is_counted))
        raise refusal(
            f"row {row + 1}",
            f"have as many ratings as it says, {count[row]:g}",
            is_rating[row].sum(),
        )
    return matrix


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
    for at in range(0, len(directory), 128):
        length = unpack_from("<H", directory, at + 64)[0]
        name = directory[at : at + max(length - 2, 0)].decode("utf-16-le")
        if name.lower() == "workbook":
            start, stored = unpack_from("<II", directory, at + 116)
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
