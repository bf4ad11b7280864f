import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from rich.console import Console

from peckorder import experiments
from peckorder.cli.published import print_outcome
from peckorder.exceptions import MissingDataError
from peckorder.reports import Table
from support.command_line import output_of, result_of
from support.command_line import run as run_command


def run(*arguments):
    return run_command("reproduce", *arguments)


def test_without_a_name_it_lists_the_papers(capsys):
    shown = output_of(capsys, "reproduce")
    for name in experiments.NAMES:
        assert name in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nobody-1999",), "name must be one of crammer-singer-2001"),
        (("freund-2003", "--preset", "slow"), "preset must be one of quick, full"),
        (("freund-2003", "--seed", "-1"), "seed must be an integer >= 0"),
        (("freund-2003", "--jobs", "0"), "jobs must be an integer >= 1"),
    ],
)
def test_wrong_arguments_are_one_sentence_and_nothing_is_written(
    arguments, sentence, capsys, tmp_path
):
    out = tmp_path / "new"
    assert run(*arguments, "--out", str(out)) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_a_folder_that_is_a_file_is_one_sentence(capsys, tmp_path):
    path = tmp_path / "file"
    path.touch()
    assert run("crammer-singer-2001", "--out", str(path)) == 2
    assert "out must be a folder" in " ".join(capsys.readouterr().err.split())


def test_writes_the_page_and_the_results_and_prints_the_tables(capsys, tmp_path, monkeypatch):
    whole = experiments.find("crammer-singer-2001")
    small = replace(whole, parts=whole.parts[:1])
    monkeypatch.setattr(experiments, "find", lambda name: small)
    shown = output_of(
        capsys, "reproduce", "crammer-singer-2001", "--out", str(tmp_path), "--jobs", "1"
    )
    assert shown.startswith("A trial run on small synthetic data: it shows that the machinery")
    assert "What holds" not in shown
    assert "PRank" in shown
    stem = tmp_path / "crammer-singer-2001-quick"
    page = stem.with_suffix(".html").read_text()
    assert "peckorder reproduce crammer-singer-2001 --preset quick --seed 0" in page
    results = json.loads(stem.with_suffix(".json").read_text())
    assert results["seed"] == 0
    assert not stem.with_suffix(".journal").exists()


def test_a_folder_without_data_leaves_earlier_files_alone(capsys, tmp_path):
    page, data = tmp_path / "freund-2003-full.html", tmp_path / "data"
    page.write_text("earlier")
    assert run("freund-2003", "--preset", "full", "--data", str(data)) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert "data must be a folder that exists" in shown
    data.mkdir()
    arguments = ("--preset", "full", "--data", str(data), "--out", str(tmp_path))
    assert run("freund-2003", *arguments, "--jobs", "1") == 2
    assert "nothing could be run" in " ".join(capsys.readouterr().err.split())
    assert page.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", page.name]


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def outcome_of(preset, *parts):
    experiment = experiments.Experiment(
        "toy", "A toy", "Somebody (1999).", {"quick": preset}, parts
    )
    return experiments.run(experiment)


@dataclass(frozen=True)
class Real:
    synthetic: bool = False


def table_of(config, units, seconds):
    headings = ("ranker", "first hundred", "second hundred", "third hundred", "fourth hundred")
    cell = "0.1234 ± 0.1234"
    names = ("WeakLearn.2.cum", "Widrow-Hoff, step 0.05", "disagreement-of-a-name-too-long-by-far")
    rows = tuple((name, *[cell] * 4) for name in names)
    claim = experiments.Claim("It holds.", (experiments.Comparison(1, 0.001),), "It does.")
    return experiments.Shown(tables=(Table(headings, rows, ""),), claims=(claim,))


def part_of(name, load=lambda config, folder: 0):
    return experiments.Part(
        name,
        f"Table {name}",
        load,
        lambda config: 1,
        lambda *given: experiments.Measured({}),
        table_of,
    )


def test_names_are_whole_on_a_narrow_screen(capsys, narrow):
    print_outcome(Console(), outcome_of(Real(), part_of("1")))
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    firsts = [line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")]
    assert "WeakLearn.2.cum" in firsts
    assert "disagreement-of-a-name-too-long-by-far" in "".join(firsts)
    assert "1 for" in shown


def test_what_to_get_is_said_once(capsys, narrow):
    def load(config, folder):
        raise MissingDataError("load_it: it must be there. Get it from its publisher.")

    outcome = outcome_of(Real(), part_of("1", load), part_of("2", load), part_of("3"))
    print_outcome(Console(), outcome)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("Get it from its publisher.") == 1
    assert "Table 1; Table 2: left out." in shown


def test_nothing_to_run_says_once_what_to_get(capsys, tmp_path):
    arguments = ("--preset", "full", "--data", str(tmp_path), "--out", str(tmp_path / "out"))
    assert run("freund-2003", *arguments, "--jobs", "1") == 2
    err = " ".join(capsys.readouterr().err.split())
    assert err.count("Get ml-1m.zip") == 1


def test_ctrl_c_keeps_what_is_done_and_the_next_run_goes_on(tmp_path):
    command = [sys.executable, "-m", "peckorder", "reproduce", "crammer-singer-2001"]
    command += ["--out", str(tmp_path), "--jobs", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "crammer-singer-2001-quick.journal"
    deadline = time.monotonic() + 120
    while not journal.exists() or len(journal.read_bytes().splitlines()) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "Interrupted. The same command goes on from here.\n"
    assert [path.name for path in tmp_path.iterdir()] == [journal.name]
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "repetitions were those of an earlier run" in again.stdout
    assert not journal.exists()
    found = json.loads((tmp_path / "crammer-singer-2001-quick.json").read_text())
    fresh = experiments.run(experiments.find("crammer-singer-2001"))
    assert found == fresh.results()


def workers_of(pid):
    """Return the processes that joblib started for a process."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"popen_loky" in (path / "cmdline").read_bytes():
                found.add(int(path.name))
        except (OSError, IndexError):
            pass  # it has ended meanwhile
    return found


def is_running(pid):
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed in /proc")
def test_sigterm_leaves_no_worker(tmp_path):
    command = [sys.executable, "-m", "peckorder", "reproduce", "crammer-singer-2001"]
    command += ["--out", str(tmp_path), "--jobs", "2"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    workers, deadline = set(), time.monotonic() + 120
    while len(workers) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        workers |= workers_of(process.pid)
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert err == "Terminated. The same command goes on from here.\n"
    deadline = time.monotonic() + 20
    while any(map(is_running, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [path.name for path in tmp_path.iterdir()] == ["crammer-singer-2001-quick.journal"]


def test_papers_as_json(capsys):
    result = result_of(capsys, "reproduce", "--json")
    assert list(result["papers"]) == list(experiments.NAMES)
