"""What a table says must not change on its way through a command."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from peckorder.tables.files.read import read_columns
from support.command_line import output_of, result_of, run
from support.tables import written

# Zeros before them, more than 64 bits hold, more than a float holds.
USERS = [f"{k:03d}" for k in range(12)]
ITEMS = [str(12345678901234567890 + k) for k in range(9)]


def write_ratings(path, users=USERS, items=ITEMS, sep=",", header="user,item,rating\n"):
    lines = [
        sep.join([user, item, str(1 + (u * i + i) % 5)])
        for u, user in enumerate(users)
        for i, item in enumerate(items)
        if (u + i) % 3
    ]
    path.write_text(header + "\n".join(lines) + "\n")
    return path


def test_ids_of_people_and_items_stay_as_they_are(tmp_path, capsys):
    data, model = write_ratings(tmp_path / "r.csv"), tmp_path / "m.peckorder"
    fit = ("fit", data, "--ranker", "PersonalRanker", "--quiet", "-o", model)
    assert run(*fit) == 0
    rows = list(
        map(
            json.loads,
            output_of(capsys, "rank", model, "--user", "007", "--out-format", "jsonl").splitlines(),
        )
    )
    assert {row["user"] for row in rows} == {"007"}
    assert {row["item"] for row in rows} <= set(ITEMS)
    out = tmp_path / "ranked.csv"
    assert run("rank", model, data, "--quiet", "-o", out) == 0
    before, after = (path.read_text().splitlines()[1:] for path in (data, out))
    assert [line.split(",")[:3] for line in after] == [b.split(",") for b in before]
    explain = ("explain", model, "--user", "007", "--item", ITEMS[0], "--quiet")
    assert run(*explain) == 0


def test_numbers_of_people_are_told_apart_to_the_last_digit(tmp_path, capsys):
    users = [str(9007199254740992 + k) for k in range(12)]
    data = write_ratings(tmp_path / "r.csv", users=users, items=list("abcdefghi"))
    model = tmp_path / "m.peckorder"
    fit = ("fit", data, "--ranker", "PersonalRanker", "--quiet", "-o", model)
    assert run(*fit) == 0

    def scores(user):
        found = map(
            json.loads,
            output_of(capsys, "rank", model, "--user", user, "--out-format", "jsonl").splitlines(),
        )
        return {row["item"]: row["score"] for row in found}

    assert scores(users[0]) != scores(users[1])
    assert run("rank", model, "--user", "1.5") == 2
    assert "user must be one that the model knows; got '1.5'" in capsys.readouterr().err


def test_queries_are_named_as_in_the_file(tmp_path):
    data, out = tmp_path / "s.csv", tmp_path / "each.csv"
    data.write_text("qid,grade,score\n00,1,0.5\n00,0,0.25\n01,1,2\n01,0,1\n")
    words = ("evaluate", data, "-m", "ap", "--quiet", "--per-query", out)
    assert run(*words) == 0
    assert out.read_text() == "qid,ap\n00,1\n01,1\n"


def test_a_given_column_of_queries_is_not_changed_either(tmp_path):
    data = written(tmp_path / "s.csv", "part,x\n01,01\n1,02\n")
    assert read_columns(data).arrays["part"].tolist() == ["01", "1"]
    found = read_columns(data, ids=["part"]).arrays
    assert found["part"].tolist() == ["01", "1"]
    assert found["x"].tolist() == ["01", "02"]


def test_large_ids_beside_gaps(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"id": [2**53 + 1, None], "n": [1, None]}), path)
    found = read_columns(path).arrays
    assert found["id"].tolist() == [str(2**53 + 1), None]
    np.testing.assert_array_equal(found["n"], [1.0, np.nan])


def test_dates_stand_as_in_lines_of_json(tmp_path):
    path = written(tmp_path / "t.jsonl", '{"n": 1, "day": "2024-01-05", "x": 0.5}\n')
    found = read_columns(path)
    assert found.names == ("n", "day", "x")
    assert found.arrays["day"].tolist() == ["2024-01-05"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_times_and_truth_are_ranked_as_they_were_learnt(tmp_path, kind):
    days = ["2024-01-05T00:00:00", "2024-01-06T12:30:00", "2024-01-07T00:00:00"]
    times, truth = ["10:30", "11:30"], ["true", "false"]
    data, out = tmp_path / f"t.{kind}", tmp_path / "o.csv"
    with data.open("w") as file:
        if kind == "csv":
            file.write("day,at,is_new,grade\n")
        for k in range(36):
            cells = (days[k % 3], times[k % 2], truth[k % 4 // 2])
            grade = 10 * (k % 2) + 100 * (k % 4 // 2)
            if kind == "csv":
                file.write(",".join([*cells, f"{grade}"]) + "\n")
            else:
                row = {"day": cells[0], "at": cells[1], "is_new": cells[2] == "true"}
                file.write(json.dumps({**row, "grade": grade}) + "\n")
    model = tmp_path / "m.peckorder"
    fit = ("fit", data, "--ranker", "MPRank", "--set", "C=1e9", "--target", "grade")
    fit += ("--task", "magnitude")
    assert run(*fit, "--quiet", "-o", model) == 0
    assert run("rank", model, data, "--quiet", "-o", out) == 0
    found = read_columns(out).arrays
    apart = found["score"] - found["score"][0], found["grade"] - found["grade"][0]
    np.testing.assert_allclose(*apart, atol=1e-3)


@pytest.mark.parametrize(
    ("days", "why"),
    [
        (["2024-01-05", "2023-12-31", ""], "dates, as year, month, day, weekday, days"),
        (["5/1/2024", "31/12/23", "1/1/2024"], "dates, as year, month, day, weekday, days"),
        (["5.1.2024", "31.12.2023", "1.1.2024 10:30"], "dates, as year, month, day, "),
        (["2024-01", "2023-12", "2024-02"], "text, a column for each of 3 values"),
        (["1-2-3", "small", "2024-01-05"], "text, a column for each of 3 values"),
    ],
)
def test_dates_are_learnt_from_by_their_parts(tmp_path, capsys, days, why):
    path = tmp_path / "t.csv"
    lines = [f"{days[k % 3]},{k % 5},{k % 4}" for k in range(40)]
    path.write_text("\n".join(["seen,size,grade", *lines]) + "\n")
    command = ("fit", path, "--ranker", "MPRank", "--json", "-o", tmp_path / "m")
    role, reason = result_of(capsys, *command)["taken"]["seen"]
    assert role == "features"
    assert reason.startswith(why)
