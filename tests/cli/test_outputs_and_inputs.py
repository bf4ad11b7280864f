"""No command writes over what it reads, nor a model over what is no model."""

import os

import pytest

from peckorder._core.text_files import check_target, whole_file
from support.command_line import check_refused, run, write_table

_RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("files")
    write_table(tmp_path / "t.csv", n_rows=40)
    for name in ("a.run", "b.run"):
        (tmp_path / name).write_text(_RUN)
    (tmp_path / "q.qrels").write_text("1 0 a 1\n")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.csv").symlink_to("t.csv")
    os.link(tmp_path / "a.run", tmp_path / "hard.run")
    fit = ("fit", "t.csv", "--ranker", "MPRank", "--target", "grade", "--quiet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert run(*fit, "-o", "m.peckorder") == 0
    return tmp_path


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


_FIT = ("fit", "t.csv", "--ranker", "PRank")
_FUSE = ("fuse", "a.run", "b.run", "--qrels", "q.qrels")


@pytest.mark.parametrize(
    ("words", "option", "out"),
    [
        (_FIT, "-o", "t.csv"),
        (_FIT, "-o", "link.csv"),
        (("compare", "t.csv"), "-o", "t.csv"),
        (("compare", "t.csv"), "--save", "t.csv"),
        (("compare", "a.run", "b.run", "--qrels", "q.qrels"), "-o", "q.qrels"),
        (("rank", "m.peckorder", "t.csv"), "-o", "t.csv"),
        (("rank", "m.peckorder", "t.csv"), "-o", "m.peckorder"),
        (("rank", "m.peckorder", "x=a.run", "b.run"), "-o", "a.run"),
        (_FUSE, "-o", "a.run"),
        (_FUSE, "-o", "hard.run"),
        ((*_FUSE, "-o", "o.run"), "--save", "b.run"),
        ((*_FUSE, "-o", "o.run"), "--save", "q.qrels"),
        (("evaluate", "t.csv"), "--per-query", "t.csv"),
        (("evaluate", "a.run", "--qrels", "q.qrels"), "--per-query", "q.qrels"),
        (("explain", "m.peckorder", "t.csv"), "-o", "t.csv"),
        (("explain", "m.peckorder", "t.csv"), "-o", "m.peckorder"),
    ],
)
def test_what_is_read_is_not_written(folder, capsys, words, option, out):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert check_refused(capsys, *words, option, out) == (
        f"{words[0]}: {option} must be another file than what is read; got {out!r} for both."
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_two_outputs_are_two_files(folder, capsys):
    words = (*_FUSE, "-o", "o.run", "--save", folder / "o.run")
    assert check_refused(capsys, *words) == (
        f"fuse: -o and --save must be two files; got {str(folder / 'o.run')!r} for both."
    )


def test_a_model_takes_the_place_of_models_only(folder, capsys):
    for words, option in (
        (_FIT, "-o"),
        (("compare", "t.csv"), "--save"),
        ((*_FUSE, "-o", "o.run"), "--save"),
    ):
        assert check_refused(capsys, *words, option, "notes.txt") == (
            f"{words[0]}: {option} must be a new file, or a model that is written "
            "over; got 'notes.txt', which is no model."
        )
    assert (folder / "notes.txt").read_text() == "mine"
    (folder / "empty").touch()
    (folder / "old").write_bytes((folder / "m.peckorder").read_bytes())
    for out in ("empty", "old", "/dev/null"):
        assert run(*_FIT, "--quiet", "-o", out) == 0
    assert (folder / "old").read_bytes() != (folder / "m.peckorder").read_bytes()
    assert (folder / "empty").stat().st_size > 0


def test_where_no_file_can_be_made_is_told_before_any_work(folder, capsys, monkeypatch):
    monkeypatch.setattr("peckorder.cli.compare.load_case", lambda *options: 1 / 0)
    long = "n" * 256
    for words in (("compare", "t.csv", "--save", long), ("compare", "t.csv", "-o", long)):
        assert check_refused(capsys, *words).endswith(
            f" must be where a file can be made; got {long!r} (File name too long)."
        )
    before = sorted(folder.iterdir())
    check_target("path", "new")
    assert sorted(folder.iterdir()) == before


def test_errors_name_the_path_that_was_asked_for(folder, monkeypatch):
    def refuse(*ignored):
        raise PermissionError(13, "Permission denied", ".new.01234567")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    rule = r"^path must be in a folder that can be written to; got 'new'\.$"
    with pytest.raises(PermissionError, match=rule), whole_file("new"):
        pass
    with pytest.raises(PermissionError, match=rule):
        check_target("path", "new")
