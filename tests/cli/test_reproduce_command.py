import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from peckorder import experiments
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
    assert "What holds" in shown
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


def test_papers_as_json(capsys):
    result = result_of(capsys, "reproduce", "--json")
    assert list(result["papers"]) == list(experiments.NAMES)
