"""What `rank` says of rows that a model cannot score, or has seen before."""

import json

import numpy as np
import pytest

import peckorder
from support.command_line import check_refused, output_of, result_of, run
from support.tables import written


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(3)
    lines = [
        f"{u}\t{100 + i}\t{rng.integers(1, 6)}\t{rng.integers(9**6)}"
        for u in range(1, 21)
        for i in range(15)
        if (u + i) % 4
    ]
    (folder / "u.data").write_text("\n".join(lines) + "\n")
    model = folder / "m.peckorder"
    fit = ("fit", folder / "u.data", "--ranker", "PersonalRanker", "--quiet")
    assert run(*fit, "-o", model) == 0
    return model


def test_files_without_names_need_no_flags(people, tmp_path, capsys):
    data, out = people.parent / "u.data", tmp_path / "o.jsonl"
    (note,) = result_of(capsys, "rank", people, data, "--json", "-o", out)["notes"]
    n_rows = len(data.read_text().splitlines())
    assert note.startswith(f"{n_rows} rows have a rating that the model was fitted to")
    named = ("--columns", "user,item,rating,time", "--quiet")
    assert run("rank", people, data, *named, "-o", tmp_path / "n.jsonl") == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    same = [json.loads(x) for x in (tmp_path / "n.jsonl").read_text().splitlines()]
    assert [r["score"] for r in rows] == [r["score"] for r in same]
    assert same[0]["user"] == rows[0]["column 1"]


@pytest.mark.parametrize("how", [(), ("--sort",), ("--no-positions",)])
def test_one_unknown_item_does_not_cost_the_others(people, tmp_path, capsys, how):
    data, out = tmp_path / "t.csv", tmp_path / "o.jsonl"
    data.write_text("user,item\n1,999\n1,103\n77,103\n1,107\n")
    (note,) = result_of(capsys, "rank", people, data, "--json", *how, "-o", out)["notes"]
    assert note.startswith("2 rows have a user or an item that the model does not know")
    assert "row 1 ('1', '999')" in note
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 4
    unknown = [row for row in rows if 999 in row.values() or 77 in row.values()]
    assert [row["score"] for row in unknown] == [None, None]
    if "--no-positions" not in how:
        assert {(r["user"], r["item"], r["position"]) for r in unknown} == {
            (1, 999, 3),
            (77, 103, 1),
        }
        best = [row for row in rows if row["user"] == 1]
        best.sort(key=lambda row: row["position"])
        assert best[0]["score"] >= best[1]["score"]
    run_file = tmp_path / "o.run"
    assert run("rank", people, data, "--quiet", "-o", run_file) == 0
    assert len(run_file.read_text().splitlines()) == 2


def test_one_item_for_one_person(people, tmp_path, capsys):
    command = ("rank", people, "--user", 1, "--out-format", "jsonl")
    (line,) = output_of(capsys, *command, "--item", 103).splitlines()
    row = json.loads(line)
    assert (row["user"], row["item"], row["position"]) == ("1", "103", 1)
    assert "item must be one" in check_refused(capsys, *command, "--item", "x")


def test_scores_beyond_the_scale_are_told_and_one_is_on_it(tmp_path, capsys):
    # The first person rates all a step higher than others, and not yet what they like most.
    rows = [(u, i, value) for u in range(1, 12) for i, value in enumerate([1, 2, 3, 4, 4, 5])]
    rows += [(0, i, value) for i, value in enumerate([2, 3, 4, 5, 5])]
    data = tmp_path / "u.csv"
    data.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
    model = tmp_path / "m.peckorder"
    assert run("fit", data, "--ranker", "PersonalRanker", "-o", model, "--quiet") == 0
    loaded = peckorder.load(model)
    (expected,) = loaded.predict(0, [5])
    assert expected > 5
    shown = result_of(capsys, "rank", model, "--user", 0, "-o", tmp_path / "o.jsonl", "--json")
    note = "1 score is beyond the scale of ratings, 1 to 5: "
    assert shown["notes"][0].startswith(note)
    (row,) = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    assert row["score"] == expected
    one = ("rank", model, "--user", 0, "--item", 5, "--out-format", "jsonl", "--quiet")
    assert json.loads(output_of(capsys, *one))["score"] == 5


def test_the_cut_does_not_depend_on_how_many_rows_are_written(trained, tmp_path):
    def above(*more):
        out = tmp_path / "o.jsonl"
        assert run("rank", trained[1], trained[0], "--quiet", *more, "-o", out) == 0
        rows = map(json.loads, out.read_text().splitlines())
        return {row["docid"]: row["above_cut"] for row in rows}

    every, some = above(), above("--max-rows", 2)
    assert len(some) < len(every)
    assert some.items() <= every.items()
    cut = above("--cut", "--max-rows", 2)
    assert cut == {docid: 1 for docid, is_above in some.items() if is_above}


@pytest.mark.parametrize("more", [("--max-rows", 2), ("--cut",), ("--sort",)])
def test_what_needs_positions_is_refused_without(trained, capsys, more):
    said = check_refused(capsys, "rank", trained[1], trained[0], "--no-positions", *more)
    assert "must be left out with --no-positions" in said


def test_values_that_were_not_learnt_are_counted(trained, tmp_path, capsys):
    data, out = tmp_path / "t.csv", tmp_path / "o.csv"
    text = trained[0].read_text()
    data.write_text(text.replace("red", "mauve", 3))
    words = ("rank", trained[1], data, "--rows", 50, "--json", "-o", out)
    (note,) = result_of(capsys, *words)["notes"]
    assert note.startswith("colour: 3 rows have a value that the model has not learnt")
    assert "'mauve'" in note


def _ranked(model, file, out, *more):
    assert run("rank", model, file, "--quiet", *more, "-o", out) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("how", [(), ("--cut",), ("--sort",)])
def test_a_file_that_was_ranked_before_is_ranked_anew(people, tmp_path, capsys, how):
    fresh, old = tmp_path / "t.csv", tmp_path / "old.csv"
    items = [str(100 + k) for k in range(12)]
    fresh.write_text("\n".join(["user,item", *(f"1,{i}" for i in items), "zed,100"]))
    head = "user,item,score,position,gap,above_cut"
    rows = [f"1,{i},{k},{12 - k},1,0" for k, i in enumerate(items)]
    old.write_text("\n".join([head, *rows, "zed,100,5,1,,1"]) + "\n")
    found = _ranked(people, old, tmp_path / "o.jsonl", *how)
    assert found == _ranked(people, fresh, tmp_path / "f.jsonl", *how)
    assert found
    notes = result_of(capsys, "rank", people, old, "--json", "-o", tmp_path / "o.csv")["notes"]
    assert notes[0].startswith("score, position, gap, above_cut of ")


def test_rows_without_a_user_come_last_without_a_score(people, tmp_path):
    data = written(tmp_path / "t.csv", "user,item\n,103\n1,103\n,107\n1,107\n")
    found = _ranked(people, data, tmp_path / "o.jsonl")
    gone = [row for row in found if row["user"] is None]
    assert [(row["score"], row["position"]) for row in gone] == [(None, 1), (None, 2)]
    assert {row["position"] for row in found if row["user"] == "1"} == {1, 2}


@pytest.mark.parametrize("other", ["1_0", "010", "+10", "10.0"])
def test_ids_are_those_that_are_written_so(people, tmp_path, capsys, other):
    data = written(tmp_path / "t.csv", f"user,item\n{other},103\n10,103\n")
    rows = _ranked(people, data, tmp_path / "o.jsonl")
    assert [row["score"] is None for row in rows] == [True, False]
    for command in ("rank", "explain"):
        said = check_refused(capsys, command, people, "--user", other, "--item", 103, "--quiet")
        assert f"{command}: user must be one that the model knows" in said


def test_a_person_is_not_asked_by_files_or_rows(people, tmp_path, capsys):
    ask = ("explain", people, "--user", 1, "--item", 103)
    for more in (("-o", tmp_path / "x.csv"), ("--row", 2)):
        assert "must not be given for a PersonalRanker" in check_refused(capsys, *ask, *more)
    assert not (tmp_path / "x.csv").exists()
    assert run(*ask, "--quiet") == 0


def test_a_score_of_the_file_is_not_lost_without_a_word(trained, tmp_path, capsys):
    data, out = tmp_path / "t.csv", tmp_path / "o.csv"
    data.write_text(trained[0].read_text().replace(",grade\n", ",score\n"))
    command = ("rank", trained[1], data, "--rows", 50, "--json", "-o", out)
    (note,) = result_of(capsys, *command)["notes"]
    assert note == (
        f"score of {data}: left out, since `rank` writes its own. Give what you want "
        "to keep another name."
    )


def test_a_row_that_is_not_there_leaves_no_file(trained, tmp_path, capsys):
    out = tmp_path / "ex.csv"
    command = ("explain", trained[1], trained[0], "-o", out, "--row", 999)
    assert "row must be from 1 to 120; got 999." in check_refused(capsys, *command)
    assert not out.exists()
