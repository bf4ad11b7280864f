"""What is left of a file that was not finished is known by its name."""

import errno
import gzip
import io
import os
import subprocess
import sys
from time import time

import pytest

from peckorder._core import text_files
from peckorder._core.text_files import remove_drafts, whole_file
from peckorder.exceptions import DataError
from support.tables import written


def test_a_draft_is_removed_whatever_name_the_file_has(tmp_path):
    path = tmp_path / "a+b.model"
    with whole_file(path) as file:
        [begun] = tmp_path.iterdir()
        file.write(b"whole")
    begun.write_bytes(b"begun")  # as if it had been killed before the end
    others = [".a+b.model.lock", ".aab.model.01234567", ".a+b.model.0123456G"]
    for name in others:
        (tmp_path / name).touch()
    remove_drafts(path)
    assert {each.name for each in tmp_path.iterdir()} == {path.name, *others}
    assert path.read_bytes() == b"whole"


def test_a_draft_is_where_a_link_leads(tmp_path):
    there, link = tmp_path / "there", tmp_path / "link"
    there.mkdir()
    try:
        link.symlink_to(there / "model")
    except OSError:
        pytest.skip("there are no links here")
    (there / ".model.01234567").touch()
    remove_drafts(link)
    assert list(there.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="files have no such rights here")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path, mode):
    path = written(tmp_path / "model", b"before")
    path.chmod(mode)
    with whole_file(path) as file:
        file.write(b"after")
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("name", ["m" * 255, "\N{GREEK SMALL LETTER MU}" * 127, "m" * 247])
def test_names_as_long_as_the_file_system_has_them(tmp_path, name):
    path = tmp_path / name
    with whole_file(path) as file:
        file.write(b"whole")
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_the_draft_of_a_killed_process_is_removed_by_the_next_that_writes_the_file(tmp_path):
    path = tmp_path / "model"
    killed = """
import os, sys
from peckorder._core.text_files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"begun")
    file.flush()
    os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    (draft,) = tmp_path.iterdir()
    with whole_file(tmp_path / "other") as file:
        file.write(b"whole")
    assert draft.exists()
    os.utime(draft, (time() - 2, time() - 2))
    with whole_file(path) as writing:
        assert not draft.exists()
        writing.write(b"first")
        writing.flush()
        (begun,) = tmp_path.glob(".model.*")
        os.utime(begun, (time() - 2, time() - 2))
        # That of a process that is writing stays.
        with whole_file(path) as file:
            file.write(b"second")
        assert begun.exists()
    assert path.read_bytes() == b"first"


def test_a_draft_of_an_hour_ago_is_removed_when_the_file_is_written(tmp_path):
    path = tmp_path / "model"
    old, new = tmp_path / ".model.01234567", tmp_path / ".model.76543210"
    for draft in (old, new):
        draft.touch()
    os.utime(old, (0, 0))
    with whole_file(path) as file:
        file.write(b"whole")
    # Another process may be writing the new one.
    assert {each.name for each in tmp_path.iterdir()} == {"model", new.name}


def test_a_line_without_an_end_is_refused_before_memory_is_full(monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", 1 << 16)
    monkeypatch.setattr(text_files, "LONGEST_LINE", 1 << 20)
    blanks = gzip.compress(b" " * (8 << 20))
    with pytest.raises(DataError, match=r"path must have lines of at most 1 MB; got a longer one"):
        next(text_files.read_text(io.BytesIO(blanks)))


def test_a_full_disk_is_named_by_the_file_that_had_no_room(tmp_path, monkeypatch):
    def fill(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "model"
    monkeypatch.setattr(os, "fsync", fill)
    with (
        pytest.raises(OSError, match=r"path must be on a disk with room .*model' \(No ") as caught,
        whole_file(path) as file,
    ):
        file.write(b"some")
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
def test_a_full_device_is_named(monkeypatch):
    with pytest.raises(OSError, match="'/dev/full'"), whole_file("/dev/full") as file:
        file.write(b"some")
