"""Large arrays in files, for what may not fit in memory."""

import os
from collections.abc import Callable
from mmap import mmap
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from peckorder.exceptions import DataError

# A share of the memory that is free which may be taken without asking.
_SHARE = 2


class Scratch:
    """A folder for arrays in files that have no name, and vanish with the process.

    `who` speaks where the disk is too small.
    """

    def __init__(self, who: str, folder: Path) -> None:
        self.who, self.folder = who, folder

    def file(self) -> IO[bytes]:
        """Return an empty file without a name."""
        return TemporaryFile(dir=self.folder)

    def check(self, n_bytes: int, what: str) -> None:
        """Refuse to begin what the disk has no room for."""
        check_disk(self.who, "folder", self.folder, n_bytes, what)

    def zeros(self, shape: Any, dtype: Any = np.float64) -> Any:
        """Return an array of zeros in a file of its own."""
        with self.file() as file:
            return mapped(file, shape, dtype)

    def room(self, n_bytes: int) -> Callable[..., Any]:
        """Return what makes arrays of zeros, so many bytes in all.

        In memory, if there is plenty of it, else in files.
        """
        if n_bytes <= free_memory() // _SHARE:
            return np.zeros
        self.check(n_bytes, "scores and potentials")
        return self.zeros


def mapped(file: IO[bytes], shape: Any, dtype: Any) -> Any:
    """Return an array of zeros that lies in an empty file, also after it is closed."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    reserve(file, n_bytes)
    return np.frombuffer(mmap(file.fileno(), n_bytes), dtype=dtype).reshape(shape)


def reserve(file: IO[bytes], n_bytes: int) -> None:
    """Make an empty file as long as it will be."""
    if hasattr(os, "posix_fallocate"):
        # A full disk is noticed now, not by a signal when a page is written.
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    else:
        file.truncate(n_bytes)


def check_disk(who: str, name: str, folder: Path, n_bytes: int, what: str) -> None:
    """Refuse a parameter that leads to a disk without so many bytes free."""
    free = disk_usage(folder).free
    if n_bytes > free:
        raise DataError(
            f"{who}: {name} must be on a disk with {size(n_bytes)} free for {what}; "
            f"got {str(folder)!r}, with {size(free)}."
        )


def on_one_disk(folder: Path, other: Path) -> bool:
    """Tell whether what one folder takes the other lacks."""
    return folder.stat().st_dev == other.stat().st_dev


def free_memory() -> int:
    """Return how many bytes of memory could be taken now, files cached not counted."""
    limits = [_limit_of_group(), _available()]
    return min(limit for limit in limits if limit is not None)


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        facts = dict(line.split(":") for line in lines)
        return 1024 * int(facts["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 1 << 32  # nothing is known


def _limit_of_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return what a container may still take; None if it may take anything."""
    try:
        most = int((folder / "memory.max").read_text())
        facts = (folder / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):
        return None
    taken = dict(fact.split() for fact in facts)
    return max(0, most - int(taken.get("anon", 0)))


def size(n_bytes: int) -> str:
    """Return a number of bytes in words."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB")):
        if n_bytes >= 1000**power:
            return f"{n_bytes / 1000**power:.3g} {unit}"
    return f"{n_bytes:,} bytes"
