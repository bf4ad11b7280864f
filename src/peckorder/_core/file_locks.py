"""Files that one process at a time may write to."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import IOBase
from pathlib import Path
from typing import IO, Any


def lock(file: IO[Any]) -> bool:
    """Keep others from locking an open file; return False if one of them has.

    Until the file is closed, or the process ends in whatever way. Where the system, or
    the disk, has no such locks, nobody is kept out.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        # Systems that lock files of others' disks by records may say either.
        return False
    except OSError:
        return True  # a disk without locks
    return True


@contextmanager
def only_one(path: Path) -> Iterator[bool]:
    """Keep others out while inside, by a file that is taken away in the end.

    Gives False if another is in, in this process or any other of the machine; True
    where no file can be made, as nobody can write there then.
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


def _locked(path: Path) -> IOBase | bool:
    """Return the file, open and locked; or whether nobody can be in."""
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
        file.close()  # whoever was in has just taken it away
