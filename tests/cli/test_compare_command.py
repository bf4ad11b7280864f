import subprocess
import sys

import pytest

from peckorder import compare as engine
from peckorder.cli import _app


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def run(*arguments):
    """Run the command in this process; return its exit code."""
    with pytest.raises(SystemExit) as left:
        _app.run(list(arguments))
    return left.value.code


def compare(*arguments):
    return run("compare", "--repeats", "2", *arguments)


def test_prints_a_leaderboard_and_writes_a_report(tmp_path, capsys):
    path = tmp_path / "report.html"
    assert compare("--out", str(path)) == 0
    shown = capsys.readouterr()
    page = path.read_text()
    for name in (*engine.RANKERS, *(problem.name for problem in engine.PROBLEMS)):
        assert name in shown.out
        assert name in page
    assert "95 % interval" in shown.out
    assert str(path) in shown.out
    assert shown.err == ""
    assert page.count("<svg") > 2
    assert "peckorder compare --repeats 2 --seed 0" in page


def test_shows_no_progress_bar_in_a_pipe(tmp_path, capsys):
    compare("--out", str(tmp_path / "report.html"))
    assert "Comparing" not in capsys.readouterr().out


def test_quiet_prints_nothing(tmp_path, capsys):
    assert compare("--quiet", "--out", str(tmp_path / "report.html")) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_missing_folder_is_refused_before_any_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(engine, "run", lambda **_: pytest.fail("worked in vain"))
    assert compare("--out", str(tmp_path / "absent" / "report.html")) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("write: path must be in a folder that exists; got ")
    assert shown.count("\n") == 1


def test_bad_number_of_repetitions_exits_with_two(tmp_path, capsys):
    path = tmp_path / "report.html"
    assert run("compare", "--repeats", "1", "--out", str(path)) == 2
    expected = "compare: repeats must be an integer >= 2; got 1.\n"
    assert capsys.readouterr().err == expected
    assert not path.exists()


def test_interrupt_leaves_nothing_behind(tmp_path, capsys, monkeypatch):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "run", interrupt)
    assert compare("--out", str(tmp_path / "report.html")) == 130
    assert "Interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_module_runs_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "peckorder", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0.1.0"


def test_missing_extra_says_what_to_install():
    script = (
        "import sys; sys.modules['cyclopts'] = None\n"
        "from peckorder.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    message = "cyclopts is not installed; run pip install 'peckorder[cli]'."
    assert done.stderr.strip() == message
