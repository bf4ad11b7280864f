"""Streams of files: finding, ordering and identifying files, and blocks of their columns."""

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from peckorder._core.errors import refusal, requiring
from peckorder.streams.block import Block, Stream
from peckorder.tables.roles import RowRoles

if TYPE_CHECKING:
    import pyarrow as pa

Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# Bytes at both ends of a file that identify it.
_ENDS = 1 << 16
# Rows that are copied at a time: as many as stay in a cache while columns become rows.
_STRIP = 1024
_NUMBER = re.compile(r"(\d+)")


def found_files(path: Paths, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files of a path, or of a list of paths.

    Those of a folder, and of folders in it, have one of the suffixes, in the order of
    their names with numbers by their value; names that begin with a point or an
    underscore are left out.
    """
    if isinstance(path, str | os.PathLike):
        files = _files_of(Path(path), suffixes)
    elif isinstance(path, Iterable):
        files = []
        for one in path:
            if not isinstance(one, str | os.PathLike):
                raise refusal("path", "be paths", repr(one), error=TypeError)
            files += _files_of(Path(one), suffixes)
    else:
        raise refusal("path", "be a path or a list of paths", repr(path), error=TypeError)
    if not files:
        raise refusal(
            "path",
            f"be a file, or a folder with files whose names end in {' or '.join(suffixes)}",
            repr(path),
        )
    return files


def _files_of(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    if not path.exists():
        raise refusal(
            "path",
            "be a file or a folder",
            f"{str(path)!r}, which does not exist",
            error=FileNotFoundError,
        )
    if not path.is_dir():
        return [path]
    inside = [p for p in path.rglob("*") if p.name.endswith(suffixes) and p.is_file()]
    own = [p for p in inside if not _is_hidden(p.relative_to(path))]
    return sorted(own, key=lambda p: _natural(p.relative_to(path).as_posix()))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _natural(name: str) -> list[str | int]:
    """Return a key that sorts names by the values of the numbers in them."""
    parts = _NUMBER.split(name)
    return [*((int(p) if k % 2 else p) for k, p in enumerate(parts)), name]


def file_identity(path: Path) -> list[str | int]:
    """Return what identifies a file: name, size, time, and a digest of both ends."""
    status = path.stat()
    digest = sha256()
    with path.open("rb") as file:
        digest.update(file.read(_ENDS))
        file.seek(max(0, status.st_size - _ENDS))
        digest.update(file.read(_ENDS))
    return [path.name, status.st_size, status.st_mtime_ns, digest.hexdigest()]


class FileStream(Stream):
    """Rows of consecutive files.

    `sizes` are the numbers of their rows; those of text files are known when they have
    been read, file after file.
    """

    def __init__(self, paths: list[Path], sizes: Iterable[int] = ()) -> None:
        self._paths, self._sizes = paths, list(sizes)
        first, n = repr(paths[0].name), len(paths)
        self._shown = first if n == 1 else f"{n} files from {first} on"

    def _ended(self, position: int, n_rows: int) -> None:
        """Record how many rows a file has that was read to its end."""
        if position == len(self._sizes):
            self._sizes.append(n_rows)

    def where(self, row: int) -> str:
        """Return the location of a row that has been read."""
        position = 0
        while position < len(self._paths) - 1 and position < len(self._sizes):
            if row < self._sizes[position]:
                break
            row -= self._sizes[position]
            position += 1
        name = repr(self._paths[position].name)
        return name if len(self._paths) == 1 else f"row {row} of {name}"


def require_pyarrow() -> None:
    """Raise if pyarrow is not installed."""
    with requiring("pyarrow", "for this", "'peckorder[frames]'"):
        import pyarrow  # noqa: F401


def check_numbers(schema: "pa.Schema", roles: RowRoles, where: str) -> None:
    """Refuse features and weights that are no numbers; a feature may be empty."""
    import pyarrow as pa

    from peckorder.tables.files.arrow import is_numeric

    for name in roles.features if roles.weight is None else [*roles.features, roles.weight]:
        found = schema.field(name).type
        kind = found.value_type if pa.types.is_dictionary(found) else found
        is_weight = name == roles.weight
        if not is_numeric(kind) and (is_weight or not pa.types.is_null(kind)):
            hint = "" if is_weight else "Name the columns to learn from in features=."
            raise refusal(f"column {name!r} of {where!r}", "be numbers", found, hint=hint)


def block_of(batch: "pa.RecordBatch | pa.Table", roles: RowRoles, dtype: DTypeLike) -> Block:
    """Return the rows of a record batch."""
    from peckorder.tables.files.arrow import label_array, number_array, query_array

    X = np.empty((batch.num_rows, len(roles.features)), dtype=dtype)
    columns = [number_array(batch.column(name)) for name in roles.features]
    for first in range(0, len(X), _STRIP):
        rows = slice(first, first + _STRIP)
        strip = X[rows]
        for position, column in enumerate(columns):
            strip[:, position] = column[rows]
    qid, weight = roles.qid, roles.weight
    return Block(
        X,
        label_array(batch.column(roles.target)),
        None if qid is None else query_array(batch.column(qid)),
        None if weight is None else number_array(batch.column(weight)).astype(np.float64),
    )
