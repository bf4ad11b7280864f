"""Where data sets are: folders, files in them and in archives, and their checksums."""

import hashlib
import json
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

from peckorder._core.errors import entry, refusal
from peckorder._core.text_files import read_text, shown, write_text
from peckorder._core.validation import Rule
from peckorder.datasets.fetching.publishers import PUBLISHED, Published
from peckorder.exceptions import MissingDataError

Folder: TypeAlias = str | os.PathLike[str] | None

FOLDER_RULE = Rule(
    "None or a path", lambda value: value is None or isinstance(value, str | os.PathLike)
)


def cache_folder() -> Path:
    """Return the folder of downloads: PECKORDER_CACHE, or the system's default."""
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


def roots(data: Published, folder: Folder) -> list[Path]:
    """Return the folders to search: the one given, or PECKORDER_DATA and the cache."""
    FOLDER_RULE.check("folder", folder)
    if folder is not None:
        given = Path(folder).expanduser()
        _refuse_file("folder", given)
        if not given.is_dir():
            raise refusal(
                "folder",
                "be one that exists",
                repr(str(given)),
                hint=f"{_what_to_get(data, given)}. Terms: {data.terms}.",
                error=MissingDataError,
            )
        return [given]
    named = os.environ.get("PECKORDER_DATA")
    if not named:
        return [cache_folder()]
    _refuse_file("PECKORDER_DATA", Path(named).expanduser())
    return [Path(named).expanduser(), cache_folder()]


def _refuse_file(name: str, path: Path) -> None:
    if path.is_file():
        raise refusal(
            name,
            "be a folder",
            f"the file {str(path)!r}",
            hint="Name the folder that it is in.",
            error=MissingDataError,
        )


def _what_to_get(data: Published, root: Path) -> str:
    """Return what to get, from where, and where to put it."""
    action = f"Get {data.get} from {data.page} and put it in {root / data.folder}"
    if data.archives:
        action += ", packed or unpacked"
    if data.fetch:
        action += f", or call peckorder.datasets.{data.fetch}()"
    return action


@dataclass(frozen=True, slots=True)
class DataFile:
    """An existing file, by itself or as a member of a zip archive."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.path.name if self.member is None else self.member.split("/")[-1]

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file for reading; archives are not unpacked to the disk."""
        check_record(self.path)
        if self.member is None:
            with self.path.open("rb") as file:
                yield file
            return
        with sound_zip(self.path) as archive, archive.open(self.member) as file:
            yield file

    def read(self) -> bytes:
        """Return all bytes."""
        with self.open() as file:
            return file.read()


@contextmanager
def sound_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; raise DataError if it is damaged."""
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
        raise refusal(
            path.name,
            "be a sound zip file",
            f"{error} in {path}",
            hint="Remove it and get it again.",
        ) from None


def find(data: Published, names: tuple[str, ...], folder: Folder) -> DataFile | None:
    """Return the first of these files that exists: plain, with .gz, or zipped."""
    for root in roots(data, folder):
        for home in (root / data.folder, root):
            for path in (home / f"{name}{end}" for name in names for end in ("", ".gz")):
                if path.is_file():
                    return DataFile(path)
            for archive in data.archives:
                member = _member(home / archive, names)
                if member is not None:
                    return member
    return None


def find_all(data: Published, patterns: tuple[str, ...], folder: Folder) -> list[DataFile]:
    """Return the files of the first pattern that fits any: plain, else with .gz."""
    for root in roots(data, folder):
        for home in (root / data.folder, root):
            for pattern in (f"{name}{end}" for name in patterns for end in ("", ".gz")):
                if files := sorted(path for path in home.glob(pattern) if path.is_file()):
                    return [DataFile(path) for path in files]
    return []


def require(data: Published, names: tuple[str, ...], folder: Folder) -> DataFile:
    """Return the first of these files; raise with what to get if there is none."""
    file = find(data, names, folder)
    if file is not None:
        return file
    looked = roots(data, folder)
    files = " or ".join(f"{data.folder}/{name}" for name in names)
    places = " and ".join(repr(str(root)) for root in looked)
    action = _what_to_get(data, looked[0])
    if folder is None and not os.environ.get("PECKORDER_DATA"):
        action += "; set PECKORDER_DATA to look in a folder of yours"
    raise refusal(
        data.title,
        f"be there as {files}",
        f"nothing in {places}",
        hint=f"{action}. Terms: {data.terms}.",
        error=MissingDataError,
    )


def _member(archive: Path, names: tuple[str, ...]) -> DataFile | None:
    """Return the first of these files in an archive, which may not exist."""
    if not archive.is_file():
        return None
    check_record(archive)
    with sound_zip(archive) as opened:
        members = [m for m in opened.namelist() if not m.startswith("__MACOSX/")]
    for name in names:
        for member in members:
            if member.split("/")[-1] == name:
                return DataFile(archive, member)
    return None


def read_lines(source: DataFile, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a small text, without their ends, with numbers from 1 on."""
    number = 0
    with source.open() as file:
        for block in read_text(file):
            for line in block.split(b"\n")[:-1]:
                number += 1
                try:
                    yield number, line.decode(encoding).rstrip("\r")
                except UnicodeDecodeError:
                    raise refusal(
                        f"line {number} of {source.name}", f"be {encoding} text", shown(line)
                    ) from None


def refuse_line(source: DataFile, number: int, rule: str, line: str) -> NoReturn:
    """Raise for a malformed line."""
    text = shown(line.encode())
    raise refusal(f"line {number} of {source.name}", f"be {rule}", text)


@entry
def catalogue() -> list[tuple[Published, Path | None]]:
    """Return all data sets, and the folder that has files of each, if one does.

    Looks at names of folders and archives only.
    """
    return [(data, _folder_of(data)) for data in PUBLISHED.values()]


def _folder_of(data: Published) -> Path | None:
    for root in roots(data, None):
        folder = root / data.folder
        if folder.is_dir() and any(folder.iterdir()):
            return folder
        if any((root / archive).is_file() for archive in data.archives):
            return root
    return None


# Checksums of downloaded files, kept beside them.
CHECKSUMS = "checksums.json"


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Return ``algorithm:hexadecimal`` of a file."""
    with path.open("rb") as file:
        # Some publishers give MD5, which detects damage, not malice.
        content = hashlib.file_digest(file, lambda: hashlib.new(algorithm))
    return f"{algorithm}:{content.hexdigest()}"


def read_records(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records of the files in a folder, by name."""
    path = folder / CHECKSUMS
    if not path.is_file():
        return {}
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        is_valid = all(
            isinstance(record, dict) and isinstance(record.get("digest"), str)
            for record in records.values()
        )
    except (ValueError, AttributeError):
        is_valid = False
    if not is_valid:
        raise refusal(
            CHECKSUMS,
            "be what a download recorded",
            f"something else in {path}",
            hint="Remove it and the files beside it, and download again.",
        )
    return records  # type: ignore[no-any-return]


def write_record(draft: Path, name: str, url: str) -> None:
    """Record the checksum of a downloaded file under its final name."""
    records = read_records(draft.parent)
    size = draft.stat().st_size
    records[name] = {"digest": digest(draft), "bytes": size, "url": url}
    text = json.dumps(records, indent=2, sort_keys=True)
    write_text(draft.parent / CHECKSUMS, [text + "\n"])


def check_record(path: Path) -> None:
    """Raise if a downloaded file has changed; files without a record pass."""
    record = read_records(path.parent).get(path.name)
    if record is None:
        return
    found = digest(path, record["digest"].partition(":")[0])
    if found != record["digest"]:
        raise refusal(
            path.name,
            f"have the checksum {record['digest']}, recorded when it was downloaded",
            f"{found} for {path}",
            hint="Remove it and download it again.",
        )
