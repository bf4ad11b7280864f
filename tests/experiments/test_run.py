"""Running experiments: seeds, interrupts, missing data, processes."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from peckorder import Ratings, experiments
from peckorder.exceptions import MissingDataError
from peckorder.experiments import Claim, Comparison, Experiment, Measured, Part, Shown
from peckorder.experiments.framework.run import Journal, measured_json
from peckorder.experiments.framework.statistics import (
    beside_printed,
    column,
    mean_curve,
    mean_text,
    printed_text,
)
from peckorder.metrics import half_width
from peckorder.reports import Table
from support.tables import written


@dataclass(frozen=True)
class Config:
    repeats: int = 4
    scale: float = 1.0


def load(config, folder):
    return np.arange(5.0) * config.scale


def load_missing(config, folder):
    raise MissingDataError("load_it: folder must be one that exists. Get it from there")


def measure(config, data, unit, rng):
    return Measured({"x": rng.normal() + data.sum(), "unit": unit, "bad": np.nan})


def show(config, units, seconds):
    x = column(units, "x")
    table = beside_printed("what", [("x", x, (0.5, 0.1))], "A caption.")
    return Shown(tables=(table,), claims=(Claim("x is", (Comparison(1, 0.0),), mean_text(x)),))


def count(config):
    return config.repeats


def toy(**changes):
    part = Part("first", "Table 1", load, count, measure, show)
    gone = Part("second", "Table 2", load_missing, count, measure, show)
    return Experiment(
        name="toy",
        title="A toy",
        citation="Somebody (1999).",
        presets={"quick": Config(), "full": Config(repeats=6)},
        parts=(replace(part, **changes), gone),
        departures=("It is a toy.",),
    )


def test_equal_seeds_give_equal_results_and_others_do_not():
    first, again = experiments.run(toy()).results(), experiments.run(toy()).results()
    assert first == again
    other = experiments.run(toy(), seed=1).results()
    assert other["parts"]["first"]["repetitions"] != (first["parts"]["first"]["repetitions"])
    assert json.loads(json.dumps(first, allow_nan=False)) == first


def test_repetitions_do_not_depend_on_how_many_there_are_or_on_processes():
    few = experiments.run(toy()).results()["parts"]["first"]["repetitions"]
    many = experiments.run(toy(), "full", jobs=2).results()["parts"]["first"]
    assert many["repetitions"][:4] == few
    assert [unit["unit"] for unit in many["repetitions"]] == list(range(6))


def test_what_is_not_a_number_is_none():
    units = experiments.run(toy()).results()["parts"]["first"]["repetitions"]
    assert units[0]["bad"] is None
    assert np.isnan(column(units, "bad")).all()


def test_a_part_without_data_is_left_out_and_the_rest_runs():
    outcome = experiments.run(toy())
    parts = outcome.results()["parts"]
    assert "Get it from there" in parts["second"]["left_out"]
    assert len(parts["first"]["repetitions"]) == 4
    page = experiments.report(outcome, "peckorder reproduce toy")
    assert "Table 2" in page.lead
    sections = {section.title: section for section in page.sections}
    assert "Get it from there" in sections["Table 2"].paragraphs[0]
    assert sections["What holds"].tables[0].rows[0][:2] == ("x is", "yes")
    assert sections["Departures from the paper"].paragraphs == ("It is a toy.",)


@dataclass(frozen=True)
class Trial(Config):
    synthetic: bool = True


def test_a_trial_run_says_what_it_is_and_has_no_verdict():
    trial = replace(toy(), presets={"quick": Trial(), "full": Trial(synthetic=False)})
    outcome = experiments.run(trial)
    page = experiments.report(outcome, "c")
    assert page.lead.startswith("A trial run on small synthetic data")
    assert "What holds" not in {section.title for section in page.sections}
    shown = outcome.results()["parts"]["first"]
    assert shown["claims"] == []
    assert shown["tables"][0]["columns"] == ["what", "ours"]
    assert [len(row) for row in shown["tables"][0]["rows"]] == [2]
    real = experiments.run(trial, "full").results()["parts"]["first"]
    assert real["claims"][0]["holds"] == "yes"
    assert real["tables"][0]["columns"] == ["what", "ours", "printed", "gap"]


def show_many(config, units, seconds):
    return Shown(claims=(Claim("x is", (Comparison(1, 0.02),), ""),))


def test_claims_of_all_parts_are_judged_together():
    one = toy(show=show_many)
    assert experiments.run(one).parts[0].shown.claims[0].holds == "yes"
    part = one.parts[0]
    three = replace(one, parts=tuple(replace(part, name=name) for name in "abc"))
    found = [each.shown.claims[0] for each in experiments.run(three).parts]
    assert [claim.holds for claim in found] == ["open"] * 3
    assert [claim.sides for claim in found] == [(0,)] * 3


def test_parts_without_the_same_data_say_once_what_to_get():
    experiment = toy(load=load_missing)
    page = experiments.report(experiments.run(experiment), "c")
    texts = [text for section in page.sections for text in section.paragraphs]
    assert sum("Get it from there" in text for text in texts) == 1
    assert "Left out, for want of the same data." in texts


def interrupted(config, data, unit, rng):
    flag = Path(config_folder) / "went"
    if unit == 2 and not flag.exists():
        flag.touch()
        raise KeyboardInterrupt
    with (Path(config_folder) / "log").open("a") as file:
        file.write(f"{unit}\n")
    return measure(config, data, unit, rng)


config_folder = "."


def test_an_interrupted_run_goes_on_and_ends_with_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.config_folder", str(tmp_path))
    journal = tmp_path / "toy.journal"
    broken = toy(measure=interrupted)
    with pytest.raises(KeyboardInterrupt):
        experiments.run(broken, journal=journal)
    resumed = experiments.run(broken, journal=journal)
    assert resumed.results() == experiments.run(toy()).results()
    # Nothing was done twice.
    assert (tmp_path / "log").read_text().split() == ["0", "1", "2", "3"]


def entries(path, run):
    journal = Journal(path, run)
    found = [journal.find("p", unit, "d") for unit in range(3)]
    journal.close()
    return found


def test_a_journal_survives_a_line_cut_short(tmp_path):
    path, run = tmp_path / "j", {"seed": 0}
    journal = Journal(path, run)
    for unit in range(3):
        journal.add("p", unit, "d", ({"x": unit / 3}, {}))
    journal.close()
    whole = path.read_bytes()
    assert entries(path, run) == [({"x": unit / 3}, {}) for unit in range(3)]
    for cut in range(1, 60):
        path.write_bytes(whole[:-cut])
        found = entries(path, run)
        assert found[:2] == [({"x": 0.0}, {}), ({"x": 1 / 3}, {})]
        assert found[2] is None
    # What follows a damaged line is no part of it any more.
    assert path.read_bytes() == whole[: whole.rindex(b"\n", 0, -1) + 1]


@pytest.mark.parametrize("content", [b"", b"\n", b"not json\n", b"\xff\xfe\n{}\n"])
def test_a_journal_of_something_else_is_begun_anew(content, tmp_path):
    path = written(tmp_path / "j", content)
    assert entries(path, {"seed": 0}) == [None] * 3
    assert path.read_bytes() == b'{"run": {"seed": 0}}\n'
    aside = tmp_path / "j.old"
    assert (aside.read_bytes() if content else b"") == content
    assert aside.exists() == bool(content)


def test_a_journal_of_other_settings_or_data_does_not_count(tmp_path):
    path = tmp_path / "j"
    journal = Journal(path, {"seed": 0})
    journal.add("p", 0, "d", ({}, {}))
    journal.close()
    journal = Journal(path, {"seed": 0})
    assert journal.find("p", 0, "other") is None
    assert journal.find("p", 0, "d") == ({}, {})
    journal.close()
    assert entries(path, {"seed": 1}) == [None] * 3


def test_two_runs_cannot_share_a_journal(tmp_path):
    first = Journal(tmp_path / "j", {})
    with pytest.raises(FileExistsError, match="one run at a time"):
        Journal(tmp_path / "j", {})
    first.close()
    Journal(tmp_path / "j", {}).close()


def test_a_run_says_what_it_took_over(tmp_path):
    journal = tmp_path / "j"
    assert experiments.run(toy(), journal=journal).n_resumed == 0
    again = experiments.run(toy(), journal=journal)
    assert (again.n_resumed, again.put_aside) == (4, None)
    other = experiments.run(toy(), seed=1, journal=journal)
    assert (other.n_resumed, other.put_aside) == (0, tmp_path / "j.old")


def test_data_are_read_anew_in_every_run(tmp_path):
    path = written(tmp_path / "x", "1")
    experiment = toy(load=lambda config, folder: np.array([float(path.read_text())]))
    first = experiments.run(experiment).parts[0].data
    path.write_text("2")
    assert experiments.run(experiment).parts[0].data != first


def test_results_of_other_data_are_not_said_to_be_taken_over(tmp_path):
    path, journal = written(tmp_path / "x", "1"), tmp_path / "j"
    experiment = toy(load=lambda config, folder: np.array([float(path.read_text())]))
    experiments.run(experiment, journal=journal)
    path.write_text("2")
    assert experiments.run(experiment, journal=journal).n_resumed == 0
    assert experiments.run(experiment, journal=journal).n_resumed == 4


def test_messages_on_missing_data_name_a_file(tmp_path):
    def load_from(config, folder):
        raise MissingDataError(f"{folder} must have 15 users; got 3.")

    path = written(tmp_path / "mine.csv", "1")
    part = experiments.run(toy(load=load_from), data=path).parts[0]
    assert part.left_out == "mine.csv must have 15 users; got 3."


def test_messages_on_missing_data_do_not_name_the_users_folder(tmp_path, monkeypatch):
    def load_from(config, folder):
        raise MissingDataError(f"load_it: nothing in {folder or tmp_path}/it.")

    part = toy(load=load_from)
    assert experiments.run(part, data=tmp_path).parts[0].left_out == (
        "load_it: nothing in <data>/it."
    )
    monkeypatch.setenv("PECKORDER_DATA", str(tmp_path))
    assert "<data>/it" in experiments.run(part).parts[0].left_out


@pytest.mark.parametrize("folder", [".", "a"])
def test_a_short_name_of_a_folder_is_replaced_as_a_whole(folder):
    def load_from(config, folder):
        places = f"'{folder}' or {folder}/a."
        raise MissingDataError(f"a.b must be there as x/a.csv; got nothing in {places}")

    assert experiments.run(toy(load=load_from), data=Path(folder)).parts[0].left_out == (
        "a.b must be there as x/a.csv; got nothing in '<data>' or <data>/a."
    )


@pytest.mark.parametrize(
    ("argument", "value"), [("preset", "slow"), ("seed", -1), ("seed", 0.5), ("jobs", 0)]
)
def test_wrong_arguments_are_refused_before_any_work(argument, value, tmp_path):
    journal = tmp_path / "j"
    with pytest.raises(ValueError, match=f"experiments: {argument} must be"):
        experiments.run(toy(), journal=journal, **{argument: value})
    assert not journal.exists()


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(TypeError, match="got set"):
        measured_json({"x": {1, 2}})
    assert measured_json({1: (np.float32(0.5), np.inf, True, None, np.arange(2))}) == {
        "1": [0.5, None, True, None, [0, 1]]
    }


def test_fingerprints_tell_data_apart():
    values = [
        np.arange(3),
        np.arange(3.0),
        np.arange(3.0).reshape(3, 1),
        [np.arange(3)],
        {"a": 1},
        {"a": 2},
        "a",
        ("a", "b"),
        ("ab",),
        None,
        Ratings(["u"], ["i"], [1.0]),
        Ratings(["u"], ["j"], [1.0]),
        np.array(["x", None], dtype=object),
        sparse.csr_array(np.eye(2)),
        sparse.csr_array(np.eye(2, 3)),
        sparse.csr_array(np.eye(3, 2)),
    ]
    prints = [experiments.fingerprint(value) for value in values]
    assert len(set(prints)) == len(values)
    assert experiments.fingerprint(np.arange(3)) == prints[0]
    with pytest.raises(TypeError, match="got set"):
        experiments.fingerprint({1, 2})


def test_intervals_are_students():
    values = np.array([0.1, 0.3, 0.2, 0.2])
    # The standard deviation is sqrt(0.02 / 3), Student's t is 3.182.
    assert half_width(values) == pytest.approx(3.182 * np.sqrt(0.02 / 12), rel=1e-3)
    assert mean_text(values) == "0.200 ± 0.130"
    assert mean_text(values[:1]) == "0.100"
    assert mean_text(np.array([np.nan])) == ""
    assert printed_text((0.37, 0.07)) == "0.37 ± 0.07"
    assert printed_text(4.38) == "4.38"
    assert printed_text(None) == ""
    curve = mean_curve("x", [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]))
    assert curve.y.tolist() == [2.0, 2.0]
    assert curve.high[1] == 2.0 < curve.high[0]
    assert mean_curve("x", [1, 2], np.array([[1.0, 2.0]])).low is None


def test_gaps_are_ours_less_the_printed():
    table = beside_printed(
        "method",
        [
            ("a", np.array([0.4, 0.6]), (0.75, 0.1)),
            ("b", np.array([0.4, 0.6]), None),
            ("c", np.array([np.nan]), 0.5),
        ],
        "",
        decimals=2,
    )
    assert isinstance(table, Table)
    assert table.rows[0][2:] == ("0.75 ± 0.10", "\N{MINUS SIGN}0.25")
    assert table.rows[1][2:] == ("", "")
    assert table.rows[2] == ("c", "", "0.50", "")


def test_files_are_written_whole(tmp_path):
    outcome = experiments.run(toy())
    page, results = experiments.write(outcome, tmp_path, "peckorder reproduce toy")
    assert json.loads(results.read_text()) == outcome.results()
    assert "peckorder reproduce toy" in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy-quick.html", "toy-quick.json"]


def timed(config, data, unit, rng):
    return Measured({"x": 1.0}, {"fit": 0.25})


def test_times_stand_apart_from_results(tmp_path):
    outcome = experiments.run(toy(measure=timed, alone=True))
    written = experiments.write(outcome, tmp_path, "c")
    assert written[-1].name == "toy-quick-seconds.json"
    assert "0.25" not in json.dumps(outcome.results())
    assert outcome.seconds()["first"]["repetitions"] == [{"fit": 0.25}] * 4


def test_progress_is_reported_from_nothing_to_all():
    reported = []
    experiments.run(toy(), on_progress=lambda *args: reported.append(args))
    assert reported[0][:2] == (0, 8)
    assert reported[-1][:2] == (8, 8)
    assert [done for done, _, _ in reported] == sorted(done for done, _, _ in reported)
