"""Where data are: folders that are looked at, files in them, files in archives."""

import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

from peckorder._core.text_files import read_text, shown
from peckorder._core.validation import Rule
from peckorder.datasets.fetching.checksums import check_record
from peckorder.datasets.fetching.publishers import Published
from peckorder.exceptions import DataError, MissingDataError

Folder: TypeAlias = str | os.PathLike[str] | None

_FOLDER = Rule(
    "None or a path",
    lambda value: value is None or isinstance(value, str | os.PathLike),
)


def cache_folder() -> Path:
    """Return where downloads are kept: PECKORDER_CACHE, or the system's own place."""
    named = os.environ.get("PECKORDER_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "peckorder"


def roots(who: str, data: Published, folder: Folder) -> list[Path]:
    """Return the folders to look at: the one given, or else PECKORDER_DATA, the cache.

    A folder that is given must be there, and neither may be a file.
    """
    _FOLDER.check(who, "folder", folder)
    if folder is not None:
        given = Path(folder).expanduser()
        _refuse_file(who, "folder", given)
        if not given.is_dir():
            raise MissingDataError(
                f"{who}: folder must be one that exists; got {str(given)!r}. "
                f"{_what_to_get(data, given)}. Terms: {data.terms}."
            )
        return [given]
    named = os.environ.get("PECKORDER_DATA")
    if not named:
        return [cache_folder()]
    _refuse_file(who, "PECKORDER_DATA", Path(named).expanduser())
    return [Path(named).expanduser(), cache_folder()]


def _refuse_file(who: str, name: str, path: Path) -> None:
    if path.is_file():
        raise MissingDataError(
            f"{who}: {name} must be a folder; got the file {str(path)!r}. Name the "
            "folder that it is in."
        )


def _what_to_get(data: Published, root: Path) -> str:
    """Return the start of a sentence: what, from where, and where to put it."""
    action = f"Get {data.get} from {data.page} and put it in {root / data.folder}"
    if data.archives:
        action += ", packed or unpacked"
    if data.fetch:
        action += f", or call peckorder.datasets.{data.fetch}()"
    return action


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is there, by itself or as a member of a zip archive."""

    who: str
    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """What the file is called in messages."""
        return self.path.name if self.member is None else self.member.split("/")[-1]

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open it for reading; a damaged archive is refused in a sentence.

        A member is read where it is: nothing is unpacked to the disk.
        """
        check_record(self.who, self.path)
        if self.member is None:
            with self.path.open("rb") as file:
                yield file
            return
        with (
            sound_zip(self.who, self.path) as archive,
            archive.open(self.member) as file,
        ):
            yield file

    def read(self) -> bytes:
        """Return all bytes."""
        with self.open() as file:
            return file.read()


@contextmanager
def sound_zip(who: str, path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; say in a sentence that it is damaged if it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,  # a password
        NotImplementedError,  # a method of compression
    ) as error:
        raise DataError(
            f"{who}: {path.name} must be a sound zip file; got {error} in {path}. "
            "Remove it and get it again."
        ) from None


def find(
    who: str, data: Published, names: tuple[str, ...], folder: Folder
) -> Found | None:
    """Return the first of some files that is there: plain, with .gz, or zipped."""
    for root in roots(who, data, folder):
        for place in (root / data.folder, root):
            for name in names:
                for path in (place / name, place / f"{name}.gz"):
                    if path.is_file():
                        return Found(who, path)
            for archive in data.archives:
                if (place / archive).is_file():
                    found = _member(who, place / archive, names)
                    if found:
                        return found
    return None


def require(who: str, data: Published, names: tuple[str, ...], folder: Folder) -> Found:
    """Return the first of some files; without one, say what to get and where to put it.

    Raises
    ------
    MissingDataError
        If none is there.
    """
    found = find(who, data, names, folder)
    if found is None:
        refuse_missing(who, data, names, folder)
    return found


def refuse_missing(
    who: str, data: Published, names: tuple[str, ...], folder: Folder
) -> NoReturn:
    """Say what to get, and where to put it."""
    looked = roots(who, data, folder)
    files = " or ".join(f"{data.folder}/{name}" for name in names)
    places = " and ".join(repr(str(root)) for root in looked)
    action = _what_to_get(data, looked[0])
    if folder is None and not os.environ.get("PECKORDER_DATA"):
        action += "; set PECKORDER_DATA to look in a folder of yours"
    raise MissingDataError(
        f"{who}: {data.title} must be there as {files}; got nothing in {places}. "
        f"{action}. Terms: {data.terms}."
    )


def _member(who: str, archive: Path, names: tuple[str, ...]) -> Found | None:
    check_record(who, archive)
    with sound_zip(who, archive) as opened:
        members = [m for m in opened.namelist() if not m.startswith("__MACOSX/")]
    for name in names:
        for member in members:
            if member.split("/")[-1] == name:
                return Found(who, archive, member)
    return None


def read_lines(found: Found, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a small text with their numbers from 1 on, without ends."""
    number = 0
    with found.open() as file:
        for block in read_text(found.who, file):
            for line in block.split(b"\n")[:-1]:
                number += 1
                try:
                    yield number, line.decode(encoding).rstrip("\r")
                except UnicodeDecodeError:
                    raise DataError(
                        f"{found.who}: line {number} of {found.name} must be "
                        f"{encoding} text; got {shown(line)}."
                    ) from None


def refuse_line(found: Found, number: int, rule: str, line: Any) -> NoReturn:
    """Raise for a line that is not as it must be."""
    text = shown(line if isinstance(line, bytes) else str(line).encode())
    raise DataError(
        f"{found.who}: line {number} of {found.name} must be {rule}; got {text}."
    )
