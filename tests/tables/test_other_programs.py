"""Tables of other programs: ARFF, Excel, blanks between cells, LightGBM's files of queries."""

import io
import sys
from zipfile import ZipFile

import numpy as np
import pytest

from peckorder._core import text_files
from peckorder.exceptions import DataError, MissingExtraError
from peckorder.tables.files.read import iter_columns, letor_documents, read_columns, read_table
from peckorder.tables.task import recognise
from support.command_line import check_refused, output_of, run
from support.helpers import exactly
from support.tables import written

ARFF = """% A comment.
@RELATION 'my films'

@attribute 'the length' NUMERIC
@ATTRIBUTE "lead actor" string
@attribute colour {red, 'dark green', blue}
@attribute year {1990, 1991, 1992}
@attribute verdict {poor,fair,good}
@data
90.5,'Smith, J',red,1990,good
?,Doe,'dark green',1991,poor
100,?,?,?,fair
"""


def cells(columns):
    return {name: array.tolist() for name, array in columns.arrays.items()}


# --- ARFF ---


@pytest.mark.parametrize("name", ["t.arff", "t.csv", "t.unknown"])
def test_arff_is_read_with_its_names_and_gaps(tmp_path, name):
    found = read_columns(written(tmp_path / name, ARFF))
    length = found.arrays["the length"]
    assert (length[0], np.isnan(length[1]), length[2]) == (90.5, True, 100)
    assert found.arrays["lead actor"].tolist() == ["Smith, J", "Doe", "?"]
    assert found.arrays["colour"].tolist() == ["red", "dark green", None]
    assert found.arrays["year"][:2].tolist() == [1990, 1991]
    assert found.levels == {
        "colour": ("red", "dark green", "blue"),
        "verdict": ("poor", "fair", "good"),
    }


def test_nominal_classes_have_the_order_of_the_file(tmp_path):
    lines = [f"{k},{('good', 'poor', 'fair')[k % 3]}" for k in range(30)]
    text = "@relation r\n@attribute a real\n@attribute b {poor,fair,good,best}\n@data\n"
    columns = read_columns(written(tmp_path / "t.arff", text + "\n".join(lines)))
    task = recognise(columns)
    assert (task.kind, task.target, task.classes) == ("ordinal", "b", ("poor", "fair", "good"))
    assert task.column_roles[1].why == "the last column; poor < fair < good"
    assert recognise(columns, classes=["fair,poor,good"]).classes == ("fair", "poor", "good")


def test_nominal_numbers_out_of_order_are_text_in_the_order_of_the_file(tmp_path):
    text = "@relation r\n@attribute a real\n@attribute b {3,1,2}\n@data\n1,3\n2,1\n3,2\n"
    columns = read_columns(written(tmp_path / "t.arff", text))
    assert columns.arrays["b"].tolist() == ["3", "1", "2"]
    assert recognise(columns, target="b").classes == ("3", "1", "2")


def test_arff_is_ranked_in_blocks(tmp_path):
    found = list(iter_columns(written(tmp_path / "t.arff", ARFF), numbers=["the length"], rows=2))
    assert [len(block) for block in found] == [2, 1]
    assert found[1].arrays["colour"].tolist() == [None]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("@relation r\n@attribute a real\n1\n", "the file must have a line @data in its first "
         "1 MB; got none."),
        ("@relation r\n@data\n1\n", "the file must declare attributes before @data; got none."),
        ("@relation r\n@attribute a real\n@data\n{0 1}\n", "rows must have all their values; "
         "got sparse ones, in braces."),
        ("@relation r\n@attribute a relational\n@data\n1\n", "attribute 'a' must be numeric, "
         "real, integer, string, date or nominal; got 'relational'."),
        ("@relation r\n@attribute a {x,y\n@data\nx\n", "attribute 'a' must have its values in "
         "braces; got '{x,y'."),
        ("@relation r\n@attribute a\n@data\n1\n", "an attribute must have a name and a type; got "
         "'@attribute a'."),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n", "names of columns "
         "must differ; got 'a' twice. If the first line has no names, give them by --columns."),
        ("a,b\n1,2\n", "the file must begin with @relation, as ARFF does; got another beginning."),
    ],
)  # fmt: skip
def test_arff_that_is_refused(tmp_path, text, sentence):
    path = written(tmp_path / "t.arff", text)
    with pytest.raises(DataError, match=exactly(f"{path}: {sentence}")):
        read_columns(path)


# --- blanks ---

AUTO = (
    '18.0   8   307.0      130.0  70  1\t"chevrolet chevelle"\n'
    '  15.0   8   350.0      165.0  70  1\t"buick, 320"  \n'
)
BLANKS = {
    "numbers": ("1 2.5 3 4 7\n4 5 6 7 8\n", 5),
    "many blanks": ("  1   2.5  3 \n 4  5 6\n", 3),
    "blanks and tabs": (AUTO, 7),
    "four numbers": ("1 2 3 4\n5 6 7 8\n", 4),
    "six numbers": ("1 2 3 4 5 6\n5 6 7 8 9 10\n", 6),
    "names": ("size colour grade\n1 red 2\n2 blue 3\n", 3),
    "tabs": ("1\t2\t3\n4\t5\t6\n", 3),
    "tabs and blank names": ("first name\tlast name\n1\t2\n3\t4\n", 2),
    "semicolons": ("1;2;3\n4;5;6\n", 3),
    "decimal commas": ("1,5 2,5 3\n1 2 3,5\n", 3),
    "commas and blanks": ("1, 2.5, 3\n4, 5, 6\n", 3),
    "returns": ("1  2.5 3\r\n4 5  6\r\n", 3),
}


@pytest.mark.parametrize("suffix", [".data", ".dat", ".txt", ".csv"])
@pytest.mark.parametrize("name", BLANKS)
def test_cells_with_blanks_between_are_cells(tmp_path, name, suffix):
    text, n_columns = BLANKS[name]
    path = written(tmp_path / f"t{suffix}", text)
    found = read_columns(path)
    assert (len(found), len(found.names)) == (2, n_columns)
    numbers = [n for n in found.names if found.arrays[n].dtype != object]
    (block,) = iter_columns(path, numbers=numbers)
    assert cells(block).keys() == cells(found).keys()
    for column in numbers:
        np.testing.assert_array_equal(block.arrays[column], found.arrays[column])


def test_quoted_blanks_are_in_their_cell(tmp_path):
    found = read_columns(written(tmp_path / "auto.data", AUTO))
    assert found.arrays["column 7"].tolist() == ["chevrolet chevelle", "buick, 320"]
    assert found.arrays["column 3"].tolist() == [307, 350]


def test_blanks_are_read_in_blocks_of_any_size(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(3000, 4)).round(3)
    text = "".join("  ".join(map(str, row)) + " \n" for row in rows.tolist())
    path = written(tmp_path / "t.data", text)
    found = list(iter_columns(path, numbers=lambda names: names, rows=700))
    assert [len(block) for block in found] == [700, 700, 700, 700, 200]
    columns = zip(*(block.arrays.values() for block in found), strict=True)
    for k, pieces in enumerate(columns):
        np.testing.assert_array_equal(np.concatenate(pieces), rows[:, k])


def test_lines_of_other_lengths_are_named(tmp_path):
    path = written(tmp_path / "t.data", "1  2 3\n4 5\n")
    sentence = f"{path}: lines must have as many cells as the first, 3; got 2 in line 2, '4 5'."
    with pytest.raises(DataError, match=exactly(sentence)):
        read_columns(path)


# --- Excel ---


def workbook(rows, *more):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in more:
        book.create_sheet(title)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


@pytest.mark.parametrize("name", ["t.xlsx", "t.unknown"])
def test_a_workbook_is_read(tmp_path, name):
    rows = [("id", "size", "colour", "good"), ("007", 1.5, "red", True), (8, None, "blue", False)]
    path = written(tmp_path / name, workbook(rows))
    found = read_columns(path)
    assert len(found) == 2
    assert found.arrays["id"].tolist() == ["007", "8"]
    assert found.arrays["size"][0] == 1.5
    assert np.isnan(found.arrays["size"][1])
    assert found.arrays["colour"].tolist() == ["red", "blue"]
    assert found.arrays["good"].tolist() == [1, 0]
    (block,) = iter_columns(path, numbers=["size"])
    assert block.arrays["size"][0] == 1.5


def test_other_sheets_of_a_workbook_are_told_not_to_be_read(tmp_path):
    path = written(tmp_path / "t.xlsx", workbook([("a", "b"), (1, 2)], "more", "rest"))
    with pytest.warns(
        UserWarning, match="only the first sheet, 'Sheet', is read, not 'more', 'rest'"
    ):
        assert cells(read_columns(path)) == {"a": [1], "b": [2]}


def test_empty_rows_of_a_workbook_are_no_rows(tmp_path):
    rows = [(None, None), ("a", "b", None), (1, 2), (None, None, None), (3, 4, None)]
    found = read_columns(written(tmp_path / "t.xlsx", workbook(rows)))
    assert cells(found) == {"a": [1, 3], "b": [2, 4]}
    path = written(tmp_path / "u.xlsx", workbook([*rows, (5, 6, 7)]))
    sentence = "rows must have as many cells as the first, 2; got more in row 4 of those that are "
    with pytest.raises(DataError, match=exactly(f"{path}: {sentence}not empty.")):
        read_columns(path)
    with pytest.raises(DataError, match="the file must have rows; got none"):
        read_columns(written(tmp_path / "v.xlsx", workbook([])))


def test_a_workbook_that_grows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_ALWAYS_ALLOWED", 1 << 16)
    book = workbook([("a", "b")] + [(1.0, 2.0)] * 20_000)
    path = written(tmp_path / "t.xlsx", book)
    data = io.BytesIO(book)
    with ZipFile(data, "a") as parts:
        parts.writestr("bomb", bytes(300 * len(book)), compress_type=8)
    written(path, data.getvalue())
    with pytest.raises(DataError, match="must hold less than 200 times its size"):
        read_columns(path)


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"PK\x03\x04" + bytes(500)])
def test_a_broken_workbook_is_refused(tmp_path, data):
    pytest.importorskip("openpyxl")
    with pytest.raises(DataError, match="the file must be a sound workbook of Excel"):
        read_columns(written(tmp_path / "t.xlsx", data))


def test_without_openpyxl_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = written(tmp_path / "t.xlsx", b"PK\x03\x04")
    sentence = (
        f"{path}: openpyxl must be installed to read .xlsx; got none. Type pip install openpyxl, "
        "or save the table as .csv."
    )
    with pytest.raises(MissingExtraError, match=exactly(sentence)):
        read_columns(path)


def test_old_workbooks_are_refused_by_name(tmp_path):
    path = written(tmp_path / "t.xls", b"\xd0\xcf\x11\xe0" + bytes(100))
    with pytest.raises(DataError, match="got Excel's format of before 2007"):
        read_columns(path)


@pytest.mark.parametrize("name", ["o.arff", "o.xlsx"])
def test_formats_that_are_only_read_are_not_written(tmp_path, capsys, name):
    data = written(
        tmp_path / "t.csv", "a,grade\n" + "".join(f"{k % 7},{k % 3}\n" for k in range(30))
    )
    model = tmp_path / "m.peckorder"
    assert run("fit", data, "--ranker", "MPRank", "--quiet", "-o", model) == 0
    said = check_refused(capsys, "rank", model, data, "-o", tmp_path / name)
    assert "the suffix must be one of .csv, " in said
    assert ".arff" not in said.partition("suffix")[2].partition("; got")[0]
    more = ("--out-format", name.partition(".")[2])
    assert "to be written; got" in check_refused(capsys, "rank", model, data, *more)


# --- queries beside a table ---

LETOR = "".join(f"{k % 3} 1:{k} 2:{k % 5}\n" for k in range(12))
SPARSE = "".join(f"{k % 3} {1 + 7 * k}:{k}\n" for k in range(12))


@pytest.mark.parametrize("text", [LETOR, SPARSE, LETOR.replace(":", ",").replace(" ", ",")])
def test_sizes_of_queries_beside_a_file_are_its_queries(tmp_path, text):
    path = written(tmp_path / "train.txt", text)
    written(tmp_path / "train.txt.query", "5\n0\n4\n3\n")
    expected = [1] * 5 + [3] * 4 + [4] * 3
    table = read_table(path)
    qid = table.qid if hasattr(table, "qid") else table.arrays["qid"]
    assert qid.tolist() == expected
    if text == SPARSE:
        found = [block.qid for block in letor_documents(path, rows=5)]
    else:
        found = [block.arrays["qid"] for block in iter_columns(path, rows=5)]
    assert np.concatenate(found).tolist() == expected
    (note,) = read_columns(path).notes
    assert note == f"The queries are those of {path}.query, whose numbers are the column qid."


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ("5\n4\n", "the numbers in FILE.query must sum to the number of rows, 12; got 9."),
        ("5\n40\n", "the numbers in FILE.query must sum to the number of rows, 12; got 45."),
        ("5\nx\n", "FILE.query: lines must be numbers of rows; got 'x'."),
        ("-5\n17\n", "FILE.query: lines must be numbers of rows, one for each query; got -5."),
        ("9000000000000000000\n9000000000000000000\n", "FILE.query: lines must be numbers of "
         "rows, one for each query; got 9000000000000000000."),
        ("", "FILE.query: lines must be numbers of rows, one for each query; got none."),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_are_refused(tmp_path, sizes, sentence):
    path = written(tmp_path / "train.txt", LETOR)
    written(tmp_path / "train.txt.query", sizes)
    for read in (read_columns, lambda path: list(iter_columns(path, rows=5))):
        with pytest.raises(DataError) as caught:
            read(path)
        said = str(caught.value).replace(str(path), "FILE").removeprefix("FILE: ")
        assert said.replace("10 or more", "12") == sentence


def test_weights_beside_a_file_are_told_not_to_be_used(tmp_path, capsys):
    rows = np.random.default_rng(0).normal(size=(40, 2)).round(3)
    text = "".join(f"{int(a > 0) + int(b > 0)},{a},{b}\n" for a, b in rows.tolist())
    path = written(tmp_path / "train.csv", "grade,a,b\n" + text)
    written(tmp_path / "train.csv.query", "10\n" * 4)
    written(tmp_path / "train.csv.weight", "1\n" * 40)
    fit = ("fit", path, "--ranker", "MPRank", "-o", tmp_path / "m.peckorder")
    shown = output_of(capsys, *fit)
    assert "qid: query (its name)" in shown
    assert f"The queries are those of {path}.query" in shown
    assert f"{path}.weight: not used." in shown


@pytest.mark.parametrize("mark", ["\t", ",", " "])
def test_labels_come_first_in_a_file_of_lightgbm(tmp_path, mark):
    rows = np.random.default_rng(0).normal(size=(40, 2)).round(3)
    lines = (mark.join(map(str, (k % 3, *row))) + "\n" for k, row in enumerate(rows.tolist()))
    path = written(tmp_path / "rank.train", "".join(lines))
    assert recognise(read_columns(path)).target == "column 3"
    written(tmp_path / "rank.train.query", "10\n" * 4)
    task = recognise(read_columns(path))
    assert (task.kind, task.target, task.query) == ("graded", "column 1", "qid")
    assert "'column 1' is to be predicted because it comes first (--target NAME)." in task.notes
