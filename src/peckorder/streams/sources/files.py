"""The files of a stream: which they are, in which order, and what tells them apart."""

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
        raise refusal(
            "path", "be a path or a list of paths", repr(path), error=TypeError
        )
    if not files:
        raise refusal(
            "path",
            "be a file, or a folder with files whose names end in "
            f"{' or '.join(suffixes)}",
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
    """Return what sorts names with numbers by the value of these."""
    parts = _NUMBER.split(name)
    return [*((int(p) if k % 2 else p) for k, p in enumerate(parts)), name]


def file_identity(path: Path) -> list[str | int]:
    """Return what tells a file from others: name, size, time, and both of its ends."""
    found = path.stat()
    mixed = sha256()
    with path.open("rb") as file:
        mixed.update(file.read(_ENDS))
        file.seek(max(0, found.st_size - _ENDS))
        mixed.update(file.read(_ENDS))
    return [path.name, found.st_size, found.st_mtime_ns, mixed.hexdigest()]


class FileRows:
    """Files one after the other, and how many rows they have as far as that is known.

    Text tells its rows when it is read, file after file.
    """

    def __init__(self, paths: list[Path], sizes: Iterable[int] = ()) -> None:
        self.paths, self._sizes = paths, list(sizes)

    def ended(self, place: int, n_rows: int) -> None:
        """Know how many rows a file has, once it is read to its end."""
        if place == len(self._sizes):
            self._sizes.append(n_rows)

    def where(self, row: int) -> str:
        """Say where a row is that has been read: all files before have been, too."""
        place = 0
        while place < len(self.paths) - 1 and place < len(self._sizes):
            if row < self._sizes[place]:
                break
            row -= self._sizes[place]
            place += 1
        name = repr(self.paths[place].name)
        return name if len(self.paths) == 1 else f"row {row} of {name}"

    def __str__(self) -> str:
        first, n = self.paths[0].name, len(self.paths)
        return repr(first) if n == 1 else f"{n} files from {first!r} on"
