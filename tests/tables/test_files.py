import csv as lines
import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peckorder._core import text_files
from peckorder.exceptions import DataError
from peckorder.tables.files import source
from peckorder.tables.files.csv import _Watched
from peckorder.tables.files.read import iter_columns, read_columns, write_columns
from support.command_line import give_standard_input
from support.tables import table, text, written

TYPED = ("csv", "tsv", "parquet", "jsonl")
PACKED = ("", ".gz", ".zst")


def check_same(one, other):
    assert one.names == other.names
    for name in one.names:
        expected, found = one.arrays[name], other.arrays[name]
        assert (expected.dtype == object) == (found.dtype == object), name
        np.testing.assert_array_equal(found, expected)


SOME = table(size=[1, -2, 2**53], weight=[0.1, np.nan, 1e-300], name=text("a,b", None, 'say "ü"\n'))


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("kind", TYPED)
def test_what_was_written_is_read_again(tmp_path, kind, packed):
    path = tmp_path / f"some.{kind}{packed}"
    assert write_columns(path, SOME) == 3
    check_same(SOME, read_columns(path))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


numbers = st.floats(allow_nan=True, allow_infinity=False)
words = st.none() | st.text(
    st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8
).map(lambda word: f"w{word}w")


@pytest.mark.parametrize("kind", TYPED)
@given(cells=st.lists(st.tuples(numbers, words), min_size=1, max_size=30))
def test_any_cells_come_back_to_the_bit(tmp_path_factory, kind, cells):
    path = tmp_path_factory.mktemp("any") / f"any.{kind}"
    x, t = zip(*cells, strict=True)
    # A first row that shows what the columns are.
    made = table(x=[0.5, *x], t=text("word", *t))
    write_columns(path, made)
    check_same(made, read_columns(path))


@pytest.mark.parametrize("kind", TYPED)
def test_blocks_are_the_whole_cut_in_pieces(tmp_path, kind):
    path = tmp_path / f"long.{kind}"
    rng = np.random.default_rng(0)
    made = table(x=rng.normal(size=1000), t=text(*(f"t{k}" for k in range(1000))))
    write_columns(path, made)
    blocks = list(iter_columns(path, rows=64, numbers=["x"]))
    assert max(map(len, blocks)) == 64
    for name in made.names:
        joined = np.concatenate([block.arrays[name] for block in blocks])
        np.testing.assert_array_equal(joined, made.arrays[name])


def test_text_in_blocks_is_unchanged(tmp_path):
    path = written(tmp_path / "ids.csv", "id,x\n007,1\n1e3,2\n")
    (block,) = iter_columns(path, numbers=["x"])
    assert block.arrays["id"].tolist() == ["007", "1e3"]
    assert block.arrays["x"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("packed", PACKED)
def test_letor_runs_and_qrels(tmp_path, packed):
    letor = tmp_path / f"train.txt{packed}"
    made = table(
        **{"target": [2, 0], "qid": text("a", "a")},
        **{"1": [0.5, 0.0], "2": [0.0, np.nan], "docid": text("G", "H")},
    )
    write_columns(letor, made)
    check_same(made, read_columns(letor))
    run = tmp_path / f"my.run{packed}"
    listed = table(
        **{"qid": text("7", "7"), "docid": text("d2", "d1"), "rank": [1, 2]},
        **{"score": [9.5, 0.1], "tag": text("me", "me")},
    )
    write_columns(run, listed)
    check_same(listed, read_columns(run))
    qrels = tmp_path / f"my.qrels{packed}"
    known = table(qid=text("7", "7"), docid=text("d2", "d1"), grade=[1, 0])
    write_columns(qrels, known)
    check_same(known, read_columns(qrels))


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("1 qid:3 1:0.5 # said", ("target", "qid", "1", "comment")),
        ("7 Q0 d2 1 9.5 bm25", ("qid", "docid", "rank", "score", "tag")),
        ("7 0 d2 1", ("qid", "docid", "grade")),
        ("a,b\n1,2", ("a", "b")),
        ("7 x d2 1", ("qid", "docid", "grade")),
        ("a b c price\n1 2 3 4.5", ("a", "b", "c", "price")),
        ("a b c d e price\n1 2 3 4 5 6.5", ("a", "b", "c", "d", "e", "price")),
        ("7 x d2 1 9.5 bm25", ("qid", "docid", "rank", "score", "tag")),
        ("7\t0\td2\t1", ("qid", "docid", "grade")),
        ("a\tb\tc\td\n1\t2\t3\t4", ("a", "b", "c", "d")),
        ("196::0::3::9\n1::5::4::8", tuple(f"column {k}" for k in range(1, 5))),
    ],
)
@pytest.mark.parametrize("name", ["some.txt", "some.xyz", "some"])
def test_the_first_line_shows_the_format_of_a_file_without_a_known_suffix(
    tmp_path, line, names, name
):
    path = written(tmp_path / name, f"{line}\n")
    assert read_columns(path).names == names
    assert next(iter_columns(path)).names == names


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_byte_order_mark_and_any_separator(tmp_path, mark):
    path = tmp_path / "excel.csv"
    cells = (["size", "name"], ["1", "x"], ["2", ""])
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(map(mark.join, cells)).encode())
    check_same(table(size=[1, 2], name=text("x", None)), read_columns(path))


def test_a_column_without_a_name_gets_its_number(tmp_path):
    path = written(tmp_path / "index.csv", ",x\n0,5\n1,6\n")
    assert read_columns(path).names == ("column 1", "x")


@pytest.mark.parametrize("last", ['"4', '"', '"4 ""', '4",5,"6\n7'])
def test_an_open_quotation_is_noticed(tmp_path, last):
    path = written(tmp_path / "open.csv", f"x,y\n1,2\n3,{last}")
    for read in (read_columns, lambda p: list(iter_columns(p))):
        with pytest.raises(DataError, match=r"quotation|cells"):
            read(path)


@pytest.mark.parametrize("last", ['5" disk', '""', '""""', '"4"', '"a\nb"', "", '"\n"'])
@pytest.mark.parametrize("end", ["", "\n"])
def test_quotation_marks_that_are_closed(tmp_path, last, end):
    path = written(tmp_path / "closed.csv", f'x,y\n5" disk,z\n3,{last}{end}')
    for read in (read_columns, lambda p: next(iter_columns(p))):
        expected = next(lines.reader([f"3,{last}"])) if last[:1] == '"' else ["3", last]
        found = read(path).arrays
        assert found["x"].tolist() == ['5" disk', "3"]
        assert found["y"].tolist() == ["z", expected[1] or None]


def test_two_colons_between_columns(tmp_path):
    path = written(tmp_path / "movies.dat", '1::a: "b::2\n2::c:::3\n')
    found = read_columns(path)
    assert found.names == ("column 1", "column 2", "column 3")
    assert found.arrays["column 2"].tolist() == ['a: "b', "c"]
    assert found.arrays["column 3"].tolist() == ["2", ":3"]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 99])
def test_two_colons_may_be_read_apart(size):
    data = b":1::a::::b:::c:\n::::::"
    file, parts = _Watched(io.BytesIO(data), "::"), []
    while part := file.read(size):
        parts.append(part)
    assert b"".join(parts) == data.replace(b"::", b"\x1f")


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("1,2,3", ("column 1", "column 2", "column 3")),
        ("M,0.5,3", ("column 1", "column 2", "column 3")),
        ("M,3,3", ("column 1", "column 2", "column 3")),
        ("M,3,4", ("M", "3", "4")),
        ("id,2019,2020", ("id", "2019", "2020")),
    ],
)
def test_a_first_line_of_values_is_a_row(tmp_path, first, names):
    path = written(tmp_path / "bare.csv", f"{first}\nF,0.25,4\n")
    found = read_columns(path)
    assert found.names == names
    assert len(found) == 2 - (names[0] != "column 1")
    given = read_columns(path, names=("a", "b", "c"))
    assert given.names == ("a", "b", "c")
    assert len(given) == 2  # Numbers are no names to be replaced.


def test_other_types_become_numbers_or_text(tmp_path):
    path = written(
        tmp_path / "types.csv", "yes,day,all,gap\ntrue,2024-01-05,,1\nfalse,2024-02-05,,\n"
    )
    found = read_columns(path).arrays
    assert found["yes"].tolist() == [1, 0]
    assert found["day"].tolist() == ["2024-01-05", "2024-02-05"]
    assert np.isnan(found["all"]).all()
    np.testing.assert_array_equal(found["gap"], [1.0, np.nan])


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_standard_input_is_inflated_too(monkeypatch, packed):
    give_standard_input(monkeypatch, packed(b"x,y\n1,2\n"))
    read = read_columns("-", format="csv")
    assert read.source == "standard input"
    assert read.arrays["y"].tolist() == [2]


def test_standard_output(capfdbinary):
    write_columns("-", table(x=[1.5], t=text("a b")), format="tsv")
    assert capfdbinary.readouterr().out == b"x\tt\n1.5\ta b\n"


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "parquet", "jsonl"])
def test_an_error_leaves_the_old_file_and_no_other(tmp_path, suffix):
    path = written(tmp_path / f"old.{suffix}", b"as it was")

    def blocks():
        yield SOME
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_columns(path, blocks())
    assert path.read_bytes() == b"as it was"
    assert list(tmp_path.iterdir()) == [path]


LONG = b"a" * 1_000_000
WRONG = {
    "e.csv": (b"", "the file must begin with names of columns; got none."),
    "h.csv": (b"x,y\n", "the file must have rows; got none."),
    "e.jsonl": (b"\n", "the file must have rows; got none."),
    "e.parquet": (b"", "the file must be Parquet; got one of another kind."),
    "p.parquet": (b"PAR1....", "the file must be sound Parquet; got "),
    "e.run": (b"", "the file must have rows; got none."),
    "e.txt": (b"what, ever", "the file must have rows; got none."),
    "x.foo": (b"a", "the file must have rows; got none."),
    "b.foo": (b"PAR1\0", "the file must be text; got one with zero bytes."),
    "n.csv": (b"a,b\n1,\xff\n", "text must be UTF-8; got other bytes in column 'b' in line 2."),
    "n2.csv": (b"\xff,b\n1,2\n", r"text must be UTF-8; got b'\xff,b' in line 1"),
    "u.csv": ("a,b\n1,2\n".encode("utf-16"), "text must be UTF-8; got UTF-16."),
    "z.csv": (b"a,b\n1,\0\n", "the file must be text; got one with zero bytes."),
    "dup.csv": (b"a,a\n1,2\n", "names of columns must differ; got 'a' twice."),
    "no.csv": (b"1.5\n3\n", "the first line must name the columns; got '1.5'."),
    "open.csv": (
        b'x,y\n1,2\n3,"4\n',
        "quotation marks must be closed; got the end of the file behind '4\\n'.",
    ),
    "rag.csv": (b"a,b\n1,2,3\n", "lines must have as many cells as the first, 2; got"),
    "long.csv": (LONG, "the line of names must be sound CSV; got 'aaaaaa"),
    "longer.csv": (LONG + LONG, "the line of names must be shorter than 1 MB; got"),
    "long.jsonl": (LONG, "lines must be objects of JSON; got 'aaaa"),
    "long.letor": (LONG, "line 1 must be 'grade qid:ID index:value ...'; got 'aaa"),
    "m.jsonl": (
        b'{"a":1}\n{"a":"x"}\n',
        "column 'a' must be all numbers or all text; got number and string.",
    ),
    "b.jsonl": (b'{"a":1}\n{"a"\n', "lines must be objects of JSON; got '{\"a\"' in"),
    "l.jsonl": (b'{"a":[1]}\n', "column 'a' must be numbers or text; got 'list<"),
    "cut.csv.gz": (
        gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-9],
        "the file must be sound gzip; got one that is damaged or cut short.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_in_a_sentence(tmp_path, name):
    data, sentence = WRONG[name]
    path = written(tmp_path / name, data)
    for read in (read_columns, lambda p: list(iter_columns(p, numbers=["x"]))):
        with pytest.raises(ValueError, match="must") as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: {sentence}")
        assert len(str(caught.value)) < len(str(path)) + 300


def test_text_among_numbers_names_the_column(tmp_path):
    path = written(tmp_path / "mixed.csv", "x,y\n1,2\nq,3\n")
    with pytest.raises(DataError) as caught:
        list(iter_columns(path, numbers=["x"]))
    assert str(caught.value) == f"{path}: column 'x' must be numbers; got 'q' in row 2."


def test_standard_input_needs_a_format():
    with pytest.raises(ValueError, match=r"^standard input: format must be given, one"):
        read_columns("-")


@pytest.mark.parametrize("kind", ["csv", "letor", "parquet"])
@pytest.mark.parametrize("reads", [read_columns, lambda p: list(iter_columns(p))])
def test_a_bomb_is_not_inflated(tmp_path, monkeypatch, kind, reads):
    monkeypatch.setattr(text_files, "_ALWAYS_ALLOWED", 1 << 22)
    feature = b"1 1:1" + b" " * 999 + b"\n"
    line = {"csv": b"x,y\n", "letor": feature, "parquet": b"PAR1"}[kind]
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(32):
            file.write(line * (2**20 // len(line)))
    path = written(tmp_path / f"bomb.{kind}.gz", packed.getvalue())
    given = []
    check = source.Inflated.check_holds

    def counted(self, size, compressed=None):
        given.append(size)
        check(self, size, compressed)

    monkeypatch.setattr(source.Inflated, "check_holds", counted)
    with pytest.raises(DataError) as caught:
        reads(path)
    rule = "a compressed file must hold less than 200 times its size; got more than "
    assert str(caught.value).startswith(f"{path}: {rule}")
    assert max(given) < 1 << 25
