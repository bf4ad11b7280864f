"""What is wrong with files and arrays is said in a sentence, before rows are read."""

import pandas as pd
import pyarrow as pa
import pytest

from peckorder.exceptions import DataError
from peckorder.streams import from_arrays, from_csv, from_letor, from_parquet
from support.helpers import exactly
from support.stream_files import write_files

FRAME = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": 5.0, "grade": [1, 2, 3, 1]})
OTHER = pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0], "grade": [1, 2]})
LONGER = pd.DataFrame({"b": [1.0], "grade": [1], "c": [2.0], "a": [1.0]})
READERS = {"parquet": from_parquet, "csv": from_csv}
by_reader = pytest.mark.parametrize("suffix", READERS)


@by_reader
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
            {"target": "grade", "qid": ["a"]},
            TypeError,
            "qid must be the name of a column; got ['a'].",
        ),
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
def test_columns_that_cannot_be(tmp_path, suffix, options, error, sentence):
    write_files(tmp_path, {f"f.{suffix}": FRAME})
    sentence = f"from_{suffix}: {sentence.replace('SUFFIX', suffix)}"
    with pytest.raises(error, match=exactly(sentence)):
        READERS[suffix](tmp_path / f"f.{suffix}", **options)


@pytest.mark.parametrize("reader", [from_parquet, from_csv, from_letor])
@pytest.mark.parametrize(
    ("path", "error", "rule"),
    [
        ("none", FileNotFoundError, "path must be a file or a folder; got '"),
        ("", DataError, "path must be a file, or a folder with files whose names end in"),
        (7, TypeError, "path must be a path or a list of paths; got 7."),
        ([7], TypeError, "path must be paths; got 7."),
    ],
)
def test_paths_that_lead_nowhere(tmp_path, reader, path, error, rule):
    path = tmp_path / path if isinstance(path, str) else path
    with pytest.raises(error) as caught:
        reader(path, *([] if reader is from_letor else ["y"]))
    assert str(caught.value).startswith(f"{reader.__name__}: {rule}")


def late(line, *last):
    """Return a file whose last lines come after many others."""
    return "\n".join([line.partition("\n")[0], *[line.partition("\n")[2]] * 100_000, *last, ""])


ROW = "1,7,0.123456789"
LINES = [f"1,{value}" for value in ["0.123456789"] * 250_000]
OPEN = "\n".join(["y,a", *LINES[:90_000], '1,"2\n', *LINES[90_001:]])


# Files, how they are read, and what is said: all of a sentence if it ends, or its beginning.
REFUSED = {
    "no Parquet": (
        {"f.csv": FRAME},
        lambda folder: from_parquet(folder / "f.csv", "grade"),
        "from_parquet: path must be Parquet or Arrow files; got 'f.csv', which does not "
        "begin as one.",
    ),
    "another type": (
        {"f.parquet": FRAME, "g.parquet": OTHER},
        lambda folder: from_parquet(folder, "grade"),
        "from_parquet: column 'a' must be double in every file, as in 'f.parquet'; got "
        "int64 in 'g.parquet'.",
    ),
    "no such column": (
        {"f.parquet": FRAME, "g.parquet": OTHER.drop(columns="a")},
        lambda folder: from_parquet(folder, "grade"),
        "from_parquet: every column must be a column of 'g.parquet', which has 'b', "
        "'grade'; got 'a'.",
    ),
    "no such column in CSV": (
        {"f.csv": FRAME, "g.csv": OTHER.drop(columns="a")},
        lambda folder: from_csv(folder, "grade"),
        "from_csv: every column must be a column of 'g.csv', which has 'b', 'grade'; got 'a'.",
    ),
    "text in the second file": (
        {"f.csv": FRAME, "g.csv": OTHER.assign(a="x")},
        lambda folder: from_csv(folder, "grade"),
        "from_csv: g.csv: column 'a' must be numbers, as in 'f.csv'; got 'x' in row 1.",
    ),
    "one more column": (
        {"f.parquet": FRAME, "g.parquet": LONGER},
        lambda folder: from_parquet(folder, "grade"),
        "from_parquet: every file must have the columns of 'f.parquet', and no others "
        "unless features names some; got 'c' in 'g.parquet'.",
    ),
    "one more column in CSV": (
        {"f.csv": FRAME, "g.csv": LONGER},
        lambda folder: from_csv(folder, "grade"),
        "from_csv: every file must have the columns of 'f.csv', and no others unless "
        "features names some; got 'c' in 'g.csv'.",
    ),
    "text among numbers": (
        {"f.parquet": FRAME.assign(a=list("wxyz"))},
        lambda folder: from_parquet(folder, "grade"),
        "from_parquet: column 'a' of 'f.parquet' must be numbers; got ",
    ),
    "weights that are all missing": (
        {"f.parquet": pa.table({"y": [1, 2], "a": [1.0, 2.0], "w": pa.nulls(2)})},
        lambda folder: from_parquet(folder, "y", weight="w"),
        "from_parquet: column 'w' of 'f.parquet' must be numbers; got null",
    ),
    "lists as queries": (
        {"f.parquet": pa.table({"y": [1, 2], "a": [1.0, 2.0], "q": [[1], [2]]})},
        lambda folder: list(from_parquet(folder, "y", "q")),
        "from_parquet: qid must be numbers, texts or dates; got object.",
    ),
    "records as queries": (
        {"f.parquet": pa.table({"y": [1, 2], "a": [1.0, 2.0], "q": [{"a": 1}, {"a": 2}]})},
        lambda folder: list(from_parquet(folder, "y", "q")),
        "from_parquet: qid must be numbers, texts or dates; got object.",
    ),
    "late text": (
        {"f.csv": late(f"y,q,a\n{ROW}", "2,8,many", "2,x,3")},
        lambda folder: list(from_csv(folder, "y", "q")),
        "from_csv: f.csv: column 'a' must be numbers; got 'many' in row 100001.",
    ),
    **{
        f"late query {query}": (
            {"f.csv": late(f"y,q,a\n{ROW}", f"2,{query},1")},
            lambda folder: list(from_csv(folder, "y", "q")),
            "from_csv: f.csv: column 'q' must be whole numbers without zeros in front; got "
            f"{query!r} in row 100001. Other queries need qid_dtype=str.",
        )
        for query in ("x", "007", "1.0")
    },
    "an open quotation": (
        {"f.csv": OPEN},
        lambda folder: list(from_csv(folder, "y")),
        "from_csv: f.csv: lines must be shorter than 1 MB; got a longer one, or a quotation "
        "mark that nothing closes.",
    ),
    "no label": (
        {"f.csv": "y,a\n1,2\n,3\n"},
        lambda folder: list(from_csv(folder, "y")),
        "from_csv: y must be without gaps; got nan in row 1 ('f.csv').",
    ),
    "no label of text": (
        {"f.csv": "y,q,a\ngood,u,2\n,u,3\n"},
        lambda folder: list(from_csv(folder, "y", "q")),
        "from_csv: y must be without gaps; got None in row 1 ('f.csv').",
    ),
    "no label in Parquet": (
        {"f.parquet": pd.DataFrame({"y": [1, 2, None], "a": 1.0})},
        lambda folder: list(from_parquet(folder, "y")),
        "from_parquet: y must be without gaps; got nan in row 2 ('f.parquet').",
    ),
    "an empty file": (
        {"f.csv": ""},
        lambda folder: from_csv(folder, "y"),
        "from_csv: f.csv: the file must begin with names of columns; got none.",
    ),
    "no rows of LETOR": (
        {"f.txt": "# nothing\n"},
        from_letor,
        "from_letor: path must hold one row at least; got none.",
    ),
    "no features of LETOR": (
        {"f.txt": "1 qid:1\n"},
        from_letor,
        "from_letor: path must hold one feature at least; got none.",
    ),
    "a damaged line of LETOR": (
        {"a.txt": "1 qid:1 1:2\n", "b.txt": "1 qid:2 1:2\n1 qid:3 one:2\n"},
        lambda folder: list(from_letor(folder, n_features=1)),
        "from_letor: b.txt: line 2 must be 'grade qid:ID index:value ...'; got '1 qid:3 one:2'.",
    ),
    "a line without query": (
        {"a.txt": "1 qid:1 1:2\n", "b.txt": "1 1:2\n"},
        lambda folder: list(from_letor(folder, n_features=1)),
        "from_letor: b.txt: line 1 must have a qid, as the lines before it",
    ),
    "a query of text": (
        {"a.txt": "1 qid:1 1:2\n", "b.txt": "1 qid:x 1:2\n"},
        lambda folder: list(from_letor(folder, n_features=1)),
        "from_letor: b.txt: line 1 must have an integer as qid, or qid_dty",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_refused(tmp_path, name):
    files, read, sentence = REFUSED[name]
    write_files(tmp_path, files)
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    said = str(caught.value)
    assert said == sentence if sentence.endswith(".") else said.startswith(sentence)


@pytest.mark.parametrize(
    ("suffix", "rule"),
    [
        ("parquet", "from_parquet: path must be sound Parquet or Arrow files; got 'f.parquet': "),
        ("zst", "from_letor: f.txt.zst: the file must be sound zstd; got one that is damaged"),
    ],
)
def test_files_that_are_cut_short(tmp_path, suffix, rule):
    path = tmp_path / ("f.parquet" if suffix == "parquet" else "f.txt.zst")
    if suffix == "parquet":
        FRAME.to_parquet(path)
    else:
        with pa.output_stream(path, compression="zstd") as sink:
            sink.write(b"1 qid:1 1:2\n" * 99)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError) as caught:
        from_parquet(path, "grade") if suffix == "parquet" else from_letor(path)
    assert str(caught.value).startswith(rule)


def test_columns_that_are_not_read_may_differ(tmp_path):
    write_files(tmp_path, {"f.parquet": FRAME, "g.parquet": OTHER})
    assert from_parquet(tmp_path, "grade", features=["b"]).n_rows == 6


@by_reader
def test_a_later_file_may_have_a_column_more_if_features_are_named(suffix, tmp_path):
    write_files(tmp_path, {f"f.{suffix}": FRAME, f"g.{suffix}": LONGER})
    stream = READERS[suffix](tmp_path, "grade", features=["a", "b"])
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


def test_late_text_among_queries_that_are_text(tmp_path):
    write_files(tmp_path, {"f.csv": late(f"y,q,a\n{ROW}", "2,x,3")})
    stream = from_csv(tmp_path / "f.csv", "y", "q", features=["a"], qid_dtype=str)
    assert next(stream.pieces(0, print)).qid.dtype.kind == "U"


def test_no_rows(tmp_path):
    empty = pd.DataFrame({"y": [1.0], "a": 1.0})[:0]
    write_files(tmp_path, {"f.parquet": empty, "f.csv": "y,a\n"})
    assert list(from_parquet(tmp_path / "f.parquet", "y")) == []
    assert list(from_csv(tmp_path / "f.csv", "y")) == []


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


@by_reader
def test_without_pyarrow(tmp_path, monkeypatch, suffix):
    import sys

    write_files(tmp_path, {f"f.{suffix}": FRAME})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    sentence = (
        f"from_{suffix}: pyarrow must be installed for this; got none. "
        "Type pip install 'peckorder[frames]'."
    )
    with pytest.raises(ImportError, match=exactly(sentence)):
        READERS[suffix](tmp_path, "grade")
