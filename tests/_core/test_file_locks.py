"""Locks of files on both kinds of systems, and on disks without locks."""

import errno
import os
import sys
from types import SimpleNamespace

import pytest

from peckorder._core.file_locks import lock, only_one
from support.tables import written

fcntl = pytest.importorskip("fcntl")


class Msvcrt(SimpleNamespace):
    """The locks of Windows: of bytes from the position of a descriptor on."""

    LK_NBLCK = 2

    def __init__(self):
        super().__init__(holders={}, error=errno.EACCES)

    def locking(self, descriptor, mode, n_bytes):
        assert (mode, n_bytes) == (self.LK_NBLCK, 1)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > os.fstat(descriptor).st_size
        key = os.fstat(descriptor).st_ino
        if self.holders.setdefault(key, descriptor) != descriptor:
            raise OSError(self.error, os.strerror(self.error))


@pytest.fixture
def windows(monkeypatch):
    msvcrt = Msvcrt()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    return msvcrt


def test_one_at_a_time_on_windows(tmp_path, windows):
    path = written(tmp_path / "lock", b"abc")
    with path.open("ab") as one, path.open("r+b") as other:
        other.read(2)
        assert lock(one)
        assert not lock(other)
        assert other.read() == b"c"
        windows.holders.clear()
        assert lock(other)


@pytest.mark.parametrize(("number", "is_free"), [(errno.EACCES, 0), (errno.EINVAL, 1)])
def test_what_windows_says_of_a_lock(tmp_path, windows, number, is_free):
    windows.error = number
    with only_one(tmp_path / "lock") as is_in:
        assert is_in
        with only_one(tmp_path / "lock") as is_in_too:
            assert is_in_too is bool(is_free)
    assert list(tmp_path.iterdir()) == []


def test_one_at_a_time(tmp_path):
    path = tmp_path / "lock"
    with path.open("ab") as one, path.open("ab") as other:
        assert lock(one)
        assert not lock(other)
        one.close()
        assert lock(other)


@pytest.mark.parametrize(
    ("number", "is_free"),
    [
        (errno.EWOULDBLOCK, False),
        (errno.EACCES, False),
        (errno.ENOLCK, True),
        (errno.ENOSYS, True),
        (errno.EOPNOTSUPP, True),
    ],
)
def test_where_a_disk_has_no_locks_nobody_is_kept_out(tmp_path, monkeypatch, number, is_free):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (tmp_path / "lock").open("ab") as file:
        assert lock(file) is is_free
    with only_one(tmp_path / "other") as is_in:
        assert is_in is is_free
