"""The files of a stream: finding, ordering and identifying them."""

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from peckorder._core.errors import refusal

Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# So many bytes at both ends of a file are looked at.
_ENDS = 1 << 16
_NUMBER = re.compile(r"(\d+)")


def found_files(path: Paths, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files that a path, or a list of paths, stands for.

    Those of a folder, and of folders in it, are those with one of the suffixes, in the
    order of their names with numbers by their value; names that begin with a point or a
    stroke are left out.
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


class FileRows:
    """Consecutive files and their numbers of rows.

    The rows of text files are known when they have been read, file after file.
    """

    def __init__(self, paths: list[Path], sizes: Iterable[int] = ()) -> None:
        self.paths, self._sizes = paths, list(sizes)

    def ended(self, position: int, n_rows: int) -> None:
        """Record how many rows a file has, once it is read to its end."""
        if position == len(self._sizes):
            self._sizes.append(n_rows)

    def where(self, row: int) -> str:
        """Return the location of a row that has been read."""
        position = 0
        while position < len(self.paths) - 1 and position < len(self._sizes):
            if row < self._sizes[position]:
                break
            row -= self._sizes[position]
            position += 1
        name = repr(self.paths[position].name)
        return name if len(self.paths) == 1 else f"row {row} of {name}"

    def __str__(self) -> str:
        first, n = self.paths[0].name, len(self.paths)
        return repr(first) if n == 1 else f"{n} files from {first!r} on"
