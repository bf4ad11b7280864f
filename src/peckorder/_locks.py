"""Files that one process at a time may write to."""

import sys
from typing import IO, Any


def lock(file: IO[Any]) -> bool:
    """Keep others from locking an open file; return False if one of them has.

    Until the file is closed, or the process ends in whatever way. Where the system has
    no such locks, nobody is kept out.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
