import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from rich.console import Console

from peckorder import PRank
from peckorder import comparison as engine
from peckorder.cli.compare import embedded_board
from peckorder.cli.compare.report import embedded_rows
from peckorder.comparison import Comparison
from peckorder.comparison.contest import Contest, Result
from peckorder.comparison.measures import Measure
from support.command_line import run


@pytest.fixture
def _one_problem(monkeypatch):
    small = partial(engine.run, engine.PROBLEMS[1:2], {"PRank": PRank()})
    monkeypatch.setattr(engine, "run", small)


def compare(*arguments):
    return run("compare", "--repeats", "2", *arguments)


def test_prints_a_leaderboard_and_writes_a_report(tmp_path, capsys):
    path = tmp_path / "report.html"
    assert compare("--out", str(path)) == 0
    shown = capsys.readouterr()
    page = path.read_text()
    for problem in engine.PROBLEMS:
        for name in (problem.name, *problem.measures, *problem.rankers):
            assert name in shown.out
            assert name in page
    assert "95 % interval" in shown.out
    assert str(path) in shown.out
    assert shown.err == ""
    assert page.count("<svg") > 2
    assert "peckorder compare --repeats 2 --seed 0" in page


def contest_of(measures, results):
    return Contest(tuple(map(Measure, measures)), tuple(results), (), 4, 0, "repetitions")


def test_figures_are_means_with_half_their_intervals():
    values = np.array([[0.1, 0.9], [0.3, 0.9], [0.2, 0.9], [0.2, 0.9]])
    named = {"best": [1.0, 2.0, 3.0, 9.0], "next": [np.nan] * 4}
    results = [
        Result(name, "", {"loss": values[:, 0] + 0.05 * k, "gain": values[:, 1]}, seconds)
        for k, (name, seconds) in enumerate(named.items())
    ]
    best, behind = embedded_rows(contest_of(("loss", "gain"), results))
    # The standard deviation is sqrt(0.02 / 3), Student's t is 3.182.
    assert best == ("best", "0.200 ± 0.130", "", "0.900 ± 0.000", "2.5000")
    # Both rise and fall with the repetitions, so their difference is certain.
    assert behind == ("next", "0.250 ± 0.130", "0.050 ± 0.000", "0.900 ± 0.000", "")


@pytest.mark.parametrize("problem", engine.PROBLEMS, ids=lambda p: p.name)
def test_a_leaderboard_fits_a_terminal_of_80_columns(problem, capsys):
    values = {name: np.ones(2) for name in problem.measures}
    names = (*problem.rankers, problem.baseline)
    contest = contest_of(problem.measures, [Result(name, "", values, [1.0]) for name in names])
    Console(width=80).print(embedded_board(Comparison(problem, contest)))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 3 + len(names) + 1


@pytest.mark.usefixtures("_one_problem")
def test_shows_no_progress_bar_in_a_pipe(tmp_path, capsys):
    compare("--out", str(tmp_path / "report.html"))
    assert "Comparing" not in capsys.readouterr().out


@pytest.mark.usefixtures("_one_problem")
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


def test_interrupt_leaves_nothing_behind(tmp_path, capsys, monkeypatch):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "run", interrupt)
    assert compare("--out", str(tmp_path / "report.html")) == 130
    assert "Interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_module_runs_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "peckorder", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0.1.0"


def test_missing_extra_says_what_to_install():
    script = "import sys; sys.modules['cyclopts'] = None\nfrom peckorder.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    message = "cyclopts is not installed; run pip install 'peckorder[cli]'."
    assert done.stderr.strip() == message


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["rank", "--no"]])
def test_help_and_wrong_options_wait_for_nothing(words):
    script = (
        "import sys\n"
        "from peckorder.cli.app import run\n"
        "try:\n"
        f"    run({words!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        "slow = {'sklearn', 'numba', 'scipy', 'pandas', 'pyarrow', 'matplotlib'}\n"
        "sys.exit(str(slow & set(sys.modules)) if slow & set(sys.modules) else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
