"""Locks of files, and what a system says that has none."""

import errno
import os

import pytest

from peckorder._core.file_locks import lock, only_one

fcntl = pytest.importorskip("fcntl")


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
def test_where_a_disk_has_no_locks_nobody_is_kept_out(
    tmp_path, monkeypatch, number, is_free
):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (tmp_path / "lock").open("ab") as file:
        assert lock(file) is is_free
    with only_one(tmp_path / "other") as is_in:
        assert is_in is is_free
