"""Files that one process at a time may write to."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import IOBase
from pathlib import Path
from typing import IO

# Windows locks bytes, and keeps others from reading them: one far beyond the end.
_LOCKED_BYTE = (1 << 31) - 2


def lock(file: IO[bytes] | IO[str]) -> bool:
    """Lock an open file; return False if another has locked it.

    The lock ends when the file is closed, or the process ends in whatever way. On a
    disk without locks every call succeeds.
    """
    try:
        _lock(file)
    except (BlockingIOError, PermissionError):
        # Systems that lock files of network disks by records may raise either.
        return False
    except OSError:
        return True  # a disk without locks
    return True


def is_free(path: Path) -> bool:
    """Return whether nobody has locked a file; False where locks cannot tell."""
    try:
        with path.open("rb+") as file:
            _lock(file)
    except OSError:
        return False
    return True


def _lock(file: IO[bytes] | IO[str]) -> None:
    """Lock an open file, or raise what the system raises."""
    if sys.platform == "win32":
        import msvcrt

        position = os.lseek(file.fileno(), 0, os.SEEK_CUR)
        os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(file.fileno(), position, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def only_one(path: Path) -> Iterator[bool]:
    """Hold a lock file, which is removed at the end, while inside.

    Yields False if it is held already, in this process or another of the machine; True
    where no file can be created, as nobody can write there.
    """
    file = _locked(path)
    if not isinstance(file, IOBase):
        yield file
        return
    try:
        yield True
    finally:
        with suppress(OSError):
            path.unlink()
        file.close()
        if sys.platform == "win32":
            # Open files are not removed there: not ours before, not another's now.
            with suppress(OSError):
                path.unlink()


def _locked(path: Path) -> IOBase | bool:
    """Return the file, open and locked; else whether nobody can hold it."""
    while True:
        try:
            file = path.open("ab")
        except OSError:
            return True
        if not lock(file):
            file.close()
            return False
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # its holder has just removed it
