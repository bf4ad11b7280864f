"""What is wrong with files and arrays is said in a sentence, before rows are read."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from peckorder.exceptions import DataError
from peckorder.streams import from_arrays, from_csv, from_letor, from_parquet
from support.helpers import exactly


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a Parquet file and a CSV file of four rows."""
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": 5.0, "grade": [1, 2, 3, 1]})
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_csv(tmp_path / "f.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        (
            {"target": "grades"},
            DataError,
            "target must be a column of 'f.SUFFIX', which has 'a', 'b', 'grade'; got "
            "'grades'. Did you mean 'grade'?",
        ),
        (
            {"target": "grade", "qid": "session"},
            DataError,
            "qid must be a column of 'f.SUFFIX', which has 'a', 'b', 'grade'; got 'session'.",
        ),
        ({"target": None}, TypeError, "target must be the name of a column; got None."),
        (
            {"target": "grade", "qid": "grade"},
            DataError,
            "target, qid and weight must be different columns; got ['grade', 'grade'].",
        ),
        (
            {"target": "grade", "features": "a"},
            TypeError,
            "features must be None or a list of columns; got 'a'.",
        ),
        (
            {"target": "grade", "features": ["a", "grade"]},
            DataError,
            "features must be columns of their own, each once; got 'grade' again.",
        ),
        (
            {"target": "grade", "features": []},
            DataError,
            "features must be one column at least; got none.",
        ),
        (
            {"target": "grade", "rows": 0},
            ValueError,
            "rows must be None or an integer >= 1; got 0.",
        ),
    ],
)
@pytest.mark.parametrize("reader", [from_parquet, from_csv])
def test_columns_that_cannot_be(folder, reader, options, error, sentence):
    suffix = "parquet" if reader is from_parquet else "csv"
    sentence = f"{reader.__name__}: {sentence.replace('SUFFIX', suffix)}"
    with pytest.raises(error, match=exactly(sentence)):
        reader(folder / f"f.{suffix}", **options)


@pytest.mark.parametrize("reader", [from_parquet, from_csv, from_letor])
def test_paths_that_lead_nowhere(tmp_path, reader):
    who, target = reader.__name__, [] if reader is from_letor else ["y"]
    with pytest.raises(FileNotFoundError, match=f"^{who}: path must be a file or a folder"):
        reader(tmp_path / "none", *target)
    with pytest.raises(DataError, match=f"^{who}: path must be a file, or a folder with"):
        reader(tmp_path, *target)
    with pytest.raises(TypeError, match=f"^{who}: path must be a path or a list of"):
        reader(7, *target)
    with pytest.raises(TypeError, match=f"^{who}: path must be paths; got 7"):
        reader([7], *target)


def test_files_that_are_no_parquet(folder):
    with pytest.raises(
        DataError,
        match=exactly(
            "from_parquet: path must be Parquet or Arrow files; got 'f.csv', which "
            "does not begin as one."
        ),
    ):
        from_parquet(folder / "f.csv", "grade")
    whole = (folder / "f.parquet").read_bytes()
    (folder / "f.parquet").write_bytes(whole[:-20])
    with pytest.raises(DataError, match="must be sound Parquet or Arrow files; got 'f"):
        from_parquet(folder / "f.parquet", "grade")


def test_one_of_several_files_is_unlike_the_first(folder):
    other = pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0], "grade": [1, 2]})
    other.to_parquet(folder / "g.parquet")
    sentence = (
        "from_parquet: column 'a' must be double in every file, as in 'f.parquet'; got "
        "int64 in 'g.parquet'."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        from_parquet(folder, "grade")
    assert from_parquet(folder, "grade", features=["b"]).n_rows == 6
    other.drop(columns="a").to_parquet(folder / "g.parquet")
    sentence = (
        "from_parquet: every column must be a column of 'g.parquet', which has 'b', "
        "'grade'; got 'a'."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        from_parquet(folder, "grade")
    other.drop(columns="a").to_csv(folder / "g.csv", index=False)
    with pytest.raises(DataError, match=r"must be a column of 'g\.csv', which has 'b'"):
        from_csv(folder, "grade")
    other.assign(a="x").to_csv(folder / "g.csv", index=False)
    with pytest.raises(
        DataError,
        match=exactly(
            "from_csv: g.csv: column 'a' must be numbers, as in 'f.csv'; got 'x' in row 1."
        ),
    ):
        from_csv(folder, "grade")


@pytest.mark.parametrize(("reader", "suffix"), [(from_parquet, "parquet"), (from_csv, "csv")])
def test_a_later_file_has_a_column_more(reader, suffix, folder):
    other = pd.DataFrame({"b": [1.0], "grade": [1], "c": [2.0], "a": [1.0]})
    other.to_parquet(folder / "g.parquet")
    other.to_csv(folder / "g.csv", index=False)
    sentence = (
        f"{reader.__name__}: every file must have the columns of 'f.{suffix}', and no "
        f"others unless features names some; got 'c' in 'g.{suffix}'."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        reader(folder, "grade")
    stream = reader(folder, "grade", features=["a", "b"])
    assert [len(block) for block in stream] == [5]


@pytest.mark.parametrize(
    ("first", "second", "rule"), [("true", "0.5", "true or false"), ("3", "false", "numbers")]
)
@pytest.mark.parametrize("name", ["y", "a"])
def test_numbers_beside_true_and_false(tmp_path, name, first, second, rule):
    for file, value in (("f", first), ("g", second)):
        row = {"y": "1", "a": "2", name: value}
        (tmp_path / f"{file}.csv").write_text(f"y,a\n{row['y']},{row['a']}\n")
    if name == "y":
        (tmp_path / "h.csv").write_text("y,a\n,2\n")  # nothing is of any kind
    sentence = (
        f"from_csv: g.csv: column {name!r} must be {rule}, as in 'f.csv'; got {second!r} in row 1."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        from_csv(tmp_path, "y")
    (tmp_path / "g.csv").unlink()
    from_csv(tmp_path, "y")


def test_text_among_numbers(folder):
    frame = pd.read_parquet(folder / "f.parquet").assign(a=list("wxyz"))
    frame.to_parquet(folder / "f.parquet")
    sentence = "from_parquet: column 'a' of 'f.parquet' must be numbers; got "
    with pytest.raises(DataError, match=f"^{sentence}"):
        from_parquet(folder / "f.parquet", "grade")


@pytest.mark.parametrize("ids", [[[1], [2]], [{"a": 1}, {"a": 2}]])
def test_queries_that_are_no_values(tmp_path, ids):
    table = pa.table({"y": [1, 2], "a": [1.0, 2.0], "q": ids})
    pq.write_table(table, tmp_path / "f.parquet")
    sentence = "from_parquet: qid must be numbers, texts or dates; got object."
    with pytest.raises(DataError, match=exactly(sentence)):
        list(from_parquet(tmp_path, "y", "q"))


def test_text_that_comes_late_in_a_csv_file(tmp_path):
    lines = ["y,q,a", *("1,7,0.123456789" for _ in range(100_000))]
    (tmp_path / "f.csv").write_text("\n".join([*lines, "2,8,many", "2,x,3", ""]))
    stream = from_csv(tmp_path / "f.csv", "y", "q")
    sentence = "from_csv: f.csv: column 'a' must be numbers; got 'many' in row 100001."
    with pytest.raises(DataError, match=exactly(sentence)):
        list(stream)
    stream = from_csv(tmp_path / "f.csv", "y", "q", features=["a"], qid_dtype=str)
    assert next(stream.pieces(0, print)).qid.dtype.kind == "U"


@pytest.mark.parametrize("late", ["x", "007", "1.0"])
def test_queries_that_turn_to_text_ask_for_it(tmp_path, late):
    lines = ["y,a,q", *("1,0.123456789,7" for _ in range(100_000)), f"2,1,{late}", ""]
    (tmp_path / "f.csv").write_text("\n".join(lines))
    sentence = (
        "from_csv: f.csv: column 'q' must be whole numbers without zeros in front; got "
        f"{late!r} in row 100001. Other queries need qid_dtype=str."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        list(from_csv(tmp_path / "f.csv", "y", "q"))


def test_a_quotation_mark_that_is_open(tmp_path):
    lines = ["y,a", *("1,0.123456789" for _ in range(250_000))]
    lines[90_000] = '1,"2\n'
    (tmp_path / "f.csv").write_text("\n".join(lines))
    with pytest.raises(
        DataError, match="MB; got a longer one, or a quotation mark that nothing closes"
    ):
        list(from_csv(tmp_path / "f.csv", "y"))


def test_labels_that_are_not_there(tmp_path):
    (tmp_path / "f.csv").write_text("y,a\n1,2\n,3\n")
    with pytest.raises(
        DataError, match=exactly("from_csv: y must be without gaps; got nan in row 1 ('f.csv').")
    ):
        list(from_csv(tmp_path / "f.csv", "y"))
    (tmp_path / "f.csv").write_text("y,q,a\ngood,u,2\n,u,3\n")
    with pytest.raises(
        DataError, match=r"y must be without gaps; got None in row 1 \('f\.csv'\)\.$"
    ):
        list(from_csv(tmp_path / "f.csv", "y", "q"))
    frame = pd.DataFrame({"y": [1, 2, None], "a": 1.0})
    frame.to_parquet(tmp_path / "f.parquet")
    with pytest.raises(DataError, match=r"got nan in row 2 \('f\.parquet'\)\.$"):
        list(from_parquet(tmp_path / "f.parquet", "y"))


def test_no_rows(tmp_path):
    pd.DataFrame({"y": [1.0], "a": 1.0})[:0].to_parquet(tmp_path / "f.parquet")
    assert list(from_parquet(tmp_path / "f.parquet", "y")) == []
    (tmp_path / "f.csv").write_text("")
    with pytest.raises(DataError, match="the file must begin with names of columns; got none"):
        from_csv(tmp_path / "f.csv", "y")
    (tmp_path / "f.csv").write_text("y,a\n")
    assert list(from_csv(tmp_path / "f.csv", "y")) == []
    (tmp_path / "f.txt").write_text("# nothing\n")
    with pytest.raises(DataError, match="path must hold one row at least; got none"):
        from_letor(tmp_path / "f.txt")
    (tmp_path / "f.txt").write_text("1 qid:1\n")
    with pytest.raises(DataError, match="path must hold one feature at least; got none"):
        from_letor(tmp_path / "f.txt")


def test_lines_that_are_damaged_are_named_with_their_file(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n")
    (tmp_path / "b.txt").write_text("1 qid:2 1:2\n1 qid:3 one:2\n")
    sentence = (
        "from_letor: b.txt: line 2 must be 'grade qid:ID index:value ...'; got '1 qid:3 one:2'."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        list(from_letor(tmp_path, n_features=1))
    (tmp_path / "b.txt").write_text("1 1:2\n")
    with pytest.raises(DataError, match="line 1 must have a qid, as the lines before it"):
        list(from_letor(tmp_path, n_features=1))
    (tmp_path / "b.txt").write_text("1 qid:x 1:2\n")
    with pytest.raises(DataError, match="line 1 must have an integer as qid, or qid_dty"):
        list(from_letor(tmp_path, n_features=1))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ([1.0], [1]),
            "X must be numbers in rows and columns; got an array of shape (1,) and type float64.",
        ),
        (
            ([["a"]], [1]),
            "X must be numbers in rows and columns; got an array of shape (1, 1) and type <U1.",
        ),
        (([[1.0]], [1, 2]), "y must be one value per row, 1 in all; got an array of shape (2,)."),
        (
            ([[1.0]], [1], [[1]]),
            "qid must be one value per row, 1 in all; got an array of shape (1, 1).",
        ),
    ],
)
def test_arrays_that_do_not_fit(arguments, sentence):
    with pytest.raises(DataError, match=exactly(f"from_arrays: {sentence}")):
        from_arrays(*arguments)


@pytest.mark.parametrize("reader", [from_parquet, from_csv])
def test_without_pyarrow(folder, monkeypatch, reader):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    sentence = (
        f"{reader.__name__}: pyarrow must be installed for this; "
        'pip install "peckorder[frames]" brings it.'
    )
    with pytest.raises(ImportError, match=exactly(sentence)):
        reader(folder, "grade")
