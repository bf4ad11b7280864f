"""One odd cell must not silently cost a column, nor an id become a feature."""

import numpy as np
import pytest

from peckorder.tables.files.read import iter_columns, read_columns
from support.command_line import result_of
from support.tables import written


@pytest.mark.parametrize("mark", ["?", "n/a", "NA", "null", "-", " ? "])
def test_marks_of_missing_values_are_empty_cells(tmp_path, mark):
    path = written(tmp_path / "t.csv", f"size,colour\n1.5,red\n{mark},{mark}\n2,blue\n")
    table = read_columns(path)
    np.testing.assert_array_equal(table.arrays["size"], [1.5, np.nan, 2.0])
    assert table.arrays["colour"].tolist() == ["red", mark, "blue"]
    assert table.notes == (f"size: {mark.strip()!r} was taken for an empty cell, 1 time.",)
    (block,) = iter_columns(path, numbers=["size"])
    np.testing.assert_array_equal(block.arrays["size"], [1.5, np.nan, 2.0])


def test_a_column_with_few_odd_cells_is_named(tmp_path):
    path = tmp_path / "t.csv"
    cells = [*map(str, range(30)), "3 kg"]
    path.write_text("size,word\n" + "".join(f"{c},w{c}\n" for c in cells))
    (note,) = read_columns(path).notes
    assert note == ("size: text, since '3 kg' in row 31 is no number; all but 1 of 31 cells are.")


def test_decimal_commas(tmp_path):
    path = written(tmp_path / "t.csv", "size;n;mixed\n1,5;1;1,5\n-2;2;2.5\n,25;3;1\n")
    table = read_columns(path)
    np.testing.assert_array_equal(table.arrays["size"], [1.5, -2.0, 0.25])
    assert table.arrays["mixed"].tolist() == ["1,5", "2.5", "1"]
    (block,) = iter_columns(path, numbers=["size"])
    np.testing.assert_array_equal(block.arrays["size"], [1.5, -2.0, 0.25])
    path.write_text('size,n\n"1,5",1\n"2,5",2\n')
    (note,) = read_columns(path).notes
    assert "'1,5' in row 1 has a decimal comma" in note


@pytest.mark.parametrize("lacks_labels", [False, True])
def test_ids_are_not_learnt_from(tmp_path, capsys, lacks_labels):
    rng = np.random.default_rng(0)
    path, size = tmp_path / "t.csv", rng.random(80)
    lines = ["nr,member,part,made,size,grade"]
    for k, value in enumerate(size):
        grade = "" if lacks_labels and k % 11 == 5 else str(1 + int(3 * value))
        member = f"{rng.integers(10**6):08d}"
        lines.append(f"{k + 1},{member},{rng.integers(9**5)},x{k},{value},{grade}")
    path.write_text("\n".join(lines).replace("part", "sku").replace("made", "date"))
    command = ("compare", path, "--rankers", "PRank", "--json")
    taken = result_of(capsys, *command, "-o", tmp_path / "r.html")["taken"]
    assert taken["nr"] == ["left out", "the numbers of rows, by its values"]
    assert taken["member"][1].startswith("an id, by zeros before its digits")
    assert taken["sku"] == ["left out", "an id, by its name"]
    assert taken["date"] == ["left out", "a date or time, by its name"]
    assert taken["size"][0] == "feature"
