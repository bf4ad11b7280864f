"""Files take the place of files; pipes and devices are written to, and stay."""

import os
import stat
import threading

import pytest

import peckorder
from peckorder import reports
from peckorder._core.text_files import check_target, whole_file
from support.command_line import check_refused, run
from support.tables import written


def _read(path, found):
    found.append(path.read_bytes())


def check_piped(path, write):
    """Write to a pipe while somebody reads it; return what he got."""
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=_read, args=(path, found), daemon=True)
    reader.start()
    write(path)
    # One that was replaced is never written to.
    assert stat.S_ISFIFO(path.stat().st_mode)
    reader.join(10)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    return found[0]


def test_pipes_are_written_to(tmp_path):
    def write(path):
        with whole_file(path) as file:
            file.write(b"abc")

    assert check_piped(tmp_path / "p", write) == b"abc"


def test_tables_models_and_pages_go_through_pipes(trained, tmp_path):
    data, plain = trained
    model = peckorder.PRank().fit([[0.0], [1.0]], [0, 1])
    page = reports.Report("T", "L", (), "c", ())
    (tmp_path / "p").mkdir()

    def rank(path):
        assert run("rank", plain, data, "--quiet", "-o", path) == 0

    rank(tmp_path / "o.csv")
    expected = (tmp_path / "o.csv").read_bytes()
    for write, wanted in (
        (rank, expected),
        (model.save, model.to_bytes()),
        (lambda path: reports.write(page, path), reports.render(page).encode()),
    ):
        path = tmp_path / "p" / "o.csv"
        assert check_piped(path, write) == wanted
        path.unlink()


def test_devices_stay():
    before = os.stat("/dev/null")
    with whole_file("/dev/null") as file:
        file.write(b"abc")
    assert (os.stat("/dev/null").st_ino, os.stat("/dev/null").st_mode) == (
        before.st_ino,
        before.st_mode,
    )


def test_what_is_open_is_written_to_as_it_was_opened(tmp_path):
    path = written(tmp_path / "log", b"old\n")
    with path.open("ab") as log, whole_file(f"/dev/fd/{log.fileno()}") as file:
        file.write(b"new\n")
    assert path.read_bytes() == b"old\nnew\n"
    with pytest.raises(FileNotFoundError, match=r"^path must be open; got '/dev/f"):
        check_target("path", "/dev/fd/98765")


def test_standard_output_by_its_path(trained, tmp_path, capsys):
    data, model = trained
    assert run("rank", model, data, "--quiet", "-o", tmp_path / "o.csv") == 0
    assert run("rank", model, data, "-o", "/dev/stdout") == 0
    shown = capsys.readouterr()
    assert shown.out == (tmp_path / "o.csv").read_text()
    assert "120 rows" in shown.err


def test_links_stay_links(tmp_path):
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("old")
    link.symlink_to(page)
    reports.write(reports.Report("T", "L", (), "c", ()), link)
    assert link.is_symlink()
    assert page.read_text() == link.read_text() != "old"


def test_one_sentence_for_what_cannot_be_written(trained, tmp_path, capsys):
    data, _ = trained
    fit = ("fit", data, "--ranker", "MPRank", "--target", "grade")
    for out, rule in (
        (tmp_path, "a file, not a folder"),
        (tmp_path / "no" / "m", "in a folder that exists"),
    ):
        assert check_refused(capsys, *fit, "-o", out) == (
            f"{out}: the output must be {rule}; got {str(out)!r}."
        )
