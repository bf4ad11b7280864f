"""Text files: blocks of whole lines in, whole files out."""

import errno
import gzip
import os
import re
import secrets
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from math import isfinite
from pathlib import Path
from time import time
from typing import IO, Any, TypeAlias

import numpy as np

from peckorder._core.errors import refusal, refusal_of
from peckorder._core.file_locks import is_free, lock
from peckorder._core.parameters import Rule
from peckorder._core.typing import PathLike

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

BLOCK = 1 << 22
LONGEST_LINE = 1 << 28
# What is so much larger in memory than its file, and than this, was made to fill a memory.
_MAX_RATIO = 200
_ALWAYS_ALLOWED = 1 << 28
# Random bytes in the name of a draft.
_TOKEN = 4
# Bytes of a name, in the file systems in use.
_LONGEST_NAME = 255
# Seconds since the last write to a draft, after which nobody writes to it any more.
_OLD = 3600.0
# From when on a draft is locked by who writes it, at the latest.
_BEGUN = 1.0
# A full disk, or the end of a quota.
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
# Ids and comments come back as they went in, whatever their encoding.
ENCODING = ("utf-8", "surrogateescape")

_OPEN = re.compile(r"/dev/(stdout|stderr|fd/(\d+))|/proc/self/fd/(\d+)")
_PATH = Rule("a path", lambda value: isinstance(value, str | os.PathLike))
_SOURCE = Rule(
    "a path or an open file", lambda value: _PATH.accepts(value) or hasattr(value, "read")
)


def most_bytes(n_read: int) -> int:
    """Return how many bytes may be made of so many that were read from a file."""
    return max(_ALWAYS_ALLOWED, _MAX_RATIO * n_read)


def check_ratio(size: int, n_read: int) -> None:
    """Refuse a compressed file of which too many bytes were made."""
    if size > most_bytes(n_read):
        raise refusal(
            "a compressed file",
            f"hold less than {_MAX_RATIO} times its size",
            f"more than {size >> 20} MB out of {n_read >> 10} kB",
        )


def check_source(path: object) -> None:
    """Raise if nothing can be read from `path`."""
    _SOURCE.check("path", path)


def read_text(path: Source) -> Iterator[bytes]:
    """Yield the text of a path or file in blocks of whole lines, a few MB each.

    What begins as a gzip file is inflated, within `check_ratio`. The last line is given
    its newline.
    """
    if isinstance(path, str | os.PathLike):
        with Path(path).open("rb", buffering=0) as file:
            yield from _whole_lines(_inflated(_chunks(file)))
    else:
        yield from _whole_lines(_inflated(_chunks(path)))


def check_target(what: str, path: PathLike) -> None:
    """Raise, before any work, if `whole_file` could not write to a path.

    `what` names the path in the message. A draft is created
    and removed: the permissions of a folder are not enough, as in /proc.
    """
    _check_path(what, path)
    if _has_draft(path):
        draft = _draft_of(path)
        try:
            _create(what, path, draft).close()
        finally:
            with suppress(OSError):
                draft.unlink()


def _check_path(what: str, path: PathLike) -> None:
    """Raise if a path cannot be written to, as far as it shows."""
    _PATH.check(what, path)
    shown, final = repr(os.fspath(path)), Path(path)
    if len(os.fsencode(final.name)) > _LONGEST_NAME:
        got = f"{shown} (File name too long)"
        raise refusal(what, "be where a file can be made", got, error=OSError)
    if _descriptor(path) is not None:
        if not final.exists():
            raise refusal(what, "be open", shown, error=FileNotFoundError)
        return
    if final.is_dir():
        raise refusal(what, "be a file, not a folder", shown, error=IsADirectoryError)
    if not final.parent.is_dir():
        raise refusal(what, "be in a folder that exists", shown, error=FileNotFoundError)
    if final.exists() and not final.is_file():
        if not (final.is_fifo() or final.is_char_device()):
            raise refusal(what, "be a file or a pipe", shown, error=OSError)
        if not os.access(final, os.W_OK):
            raise refusal(what, "be one that can be written to", shown, error=PermissionError)


def _has_draft(path: PathLike) -> bool:
    """Whether a draft replaces what is there; pipes and devices are written to."""
    return _descriptor(path) is None and (Path(path).is_file() or not Path(path).exists())


def _draft_of(path: PathLike) -> Path:
    """Return a new name beside a file, for what will replace it."""
    final = Path(os.path.realpath(path))
    return final.with_name(f"{_stem(final)}{secrets.token_hex(_TOKEN)}")


def _stem(final: Path) -> str:
    """Return how the names of the drafts of a file begin."""
    name = f".{final.name}."
    if len(os.fsencode(name)) <= _LONGEST_NAME - 2 * _TOKEN:
        return name
    # A digest, where a longer name would be too long for the file system.
    return f".{sha256(os.fsencode(final.name)).hexdigest()}."


def _keep_rights(final: Path, raw: IO[bytes]) -> None:
    """Give a draft the rights and the owner of the file that it will replace."""
    if not final.exists() or not hasattr(os, "fchmod"):
        return
    status = final.stat()
    with suppress(OSError):
        os.fchown(raw.fileno(), status.st_uid, status.st_gid)
    with suppress(OSError):
        # After the owner, whose change may clear some.
        os.fchmod(raw.fileno(), stat.S_IMODE(status.st_mode))


def _create(what: str, path: PathLike, draft: Path) -> IO[bytes]:
    """Create a draft; errors name the path that it will replace."""
    shown = repr(os.fspath(path))
    try:
        return draft.open("xb")
    except PermissionError:
        raise refusal(
            what, "be in a folder that can be written to", shown, error=PermissionError
        ) from None
    except OSError as error:
        raise refusal(
            what, "be where a file can be made", f"{shown} ({error.strerror})", error=OSError
        ) from None


@contextmanager
def whole_file(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file to write that appears, on the disk, when all is written, or never.

    Pipes and devices are written to directly.
    """
    _check_path("path", path)
    with _full_disk_named(path):
        yield from _written(path)


@contextmanager
def _full_disk_named(path: PathLike) -> Iterator[None]:
    """Let the error of a full disk name the file that had no room."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or refusal_of(error) is not None:
            raise
        got = f"{os.fspath(path)!r} ({error.strerror})"
        named = refusal("path", "be on a disk with room for the file", got, error=OSError)
        named.errno = error.errno  # type: ignore[attr-defined]
        raise named from None


def _written(path: PathLike) -> Iterator[IO[bytes]]:
    descriptor = _descriptor(path)
    if descriptor is not None:
        # As the shell opened it: at its end, where it appends.
        with open(os.dup(descriptor), "wb") as stream:
            yield stream
        return
    if not _has_draft(path):
        with Path(path).open("wb") as stream:
            yield stream
        return
    final = Path(os.path.realpath(path))
    _remove_old_drafts(final)
    draft = _draft_of(path)
    try:
        with _create("path", path, draft) as raw:
            lock(raw)
            _keep_rights(final, raw)
            yield raw
            raw.flush()
            os.fsync(raw.fileno())
        draft.replace(final)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    _sync_folder(final.parent)


def remove_drafts(path: PathLike) -> None:
    """Remove the drafts of processes that were killed in `whole_file`.

    Only for a process that holds the lock of the file: drafts of others would be
    removed, too.
    """
    for draft in _drafts(Path(os.path.realpath(path))):
        with suppress(OSError):
            draft.unlink()


def _remove_old_drafts(final: Path) -> None:
    """Remove drafts of killed processes: locked by nobody, or not written to for an hour."""
    with suppress(OSError):  # folders may be written to and not listed
        for draft in _drafts(final):
            age = time() - draft.stat().st_mtime
            if age > _OLD or (age > _BEGUN and is_free(draft)):
                draft.unlink()


def _drafts(final: Path) -> list[Path]:
    stem = _stem(final)
    token = re.compile(f"[0-9a-f]{{{2 * _TOKEN}}}")
    with os.scandir(final.parent) as folder:
        names = [file.name for file in folder if file.name.startswith(stem)]
    return [final.with_name(name) for name in names if token.fullmatch(name[len(stem) :])]


def _descriptor(path: PathLike) -> int | None:
    """Return the number of an open file that a path stands for, as /dev/stdout does."""
    match = _OPEN.fullmatch(os.fsdecode(path))
    if match is None:
        return None
    return {"stdout": 1, "stderr": 2}.get(match[1]) or int(match[2] or match[3])


def _sync_folder(folder: Path) -> None:
    """Make a new name survive a power cut, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(path: PathLike, lines: Iterable[str]) -> None:
    """Write lines to a file that appears when all of them are written, or never."""
    with whole_file(path) as raw:
        if Path(os.path.realpath(path)).suffix == ".gz":
            # Without a date equal data are equal bytes.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                packed.writelines(line.encode(*ENCODING) for line in lines)
        else:
            raw.writelines(line.encode(*ENCODING) for line in lines)


def as_json(value: object, otherwise: Callable[[object], Any] = str) -> Any:
    """Return a value as JSON has it: lists, Python's numbers, null for what is not finite.

    Values of other types are what `otherwise` makes of them.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): as_json(item, otherwise) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item, otherwise) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return value if is_plain else otherwise(value)


def shown(line: bytes) -> str:
    """Return how a line is quoted in a message."""
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _chunks(file: IO[bytes] | IO[str]) -> Iterator[bytes]:
    while chunk := file.read(BLOCK):
        yield chunk.encode(*ENCODING) if isinstance(chunk, str) else chunk


def _inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    head = next(chunks, b"")
    while 0 < len(head) < 3 and (more := next(chunks, b"")):
        head += more
    if not head.startswith(b"\x1f\x8b"):
        yield head.removeprefix("\N{BYTE ORDER MARK}".encode())
        yield from chunks
        return
    engine = zlib.decompressobj(wbits=31)
    packed, n_read, size = head, 0, 0
    try:
        while packed or (packed := next(chunks, b"")):
            if engine.eof:
                # Members may follow each other, or zeros fill up a block.
                packed = packed.lstrip(b"\0")
                if not packed:
                    continue
                engine = zlib.decompressobj(wbits=31)
            block = engine.decompress(packed, BLOCK)
            left = engine.unused_data if engine.eof else engine.unconsumed_tail
            n_read, size = n_read + len(packed) - len(left), size + len(block)
            check_ratio(size, n_read)
            yield block
            packed = left
        # The rest that did not fit into a block.
        yield engine.flush()
    except zlib.error as error:
        raise refusal("path", "be a sound gzip file", error) from None
    if not engine.eof:
        raise refusal("path", "be a sound gzip file", "one cut short")


def _whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    pieces: list[bytes] = []
    size = 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join([*pieces, memoryview(chunk)[:cut]])
            pieces, size = [], 0
        pieces.append(chunk[cut:])
        size += len(pieces[-1])
        # A few bytes of a compressed file may be one line of any length.
        if size > LONGEST_LINE:
            raise refusal("path", f"have lines of at most {LONGEST_LINE >> 20} MB", "a longer one")
    rest = b"".join(pieces)
    if rest:
        yield rest + b"\n"
