"""Files of every kind give the same rows, and say what is wrong with them."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import exactly
from peckorder import PRank
from peckorder.datasets import dump_letor
from peckorder.exceptions import DataError
from peckorder.streams import fit, from_arrays, from_csv, from_letor, from_parquet
from stream_files import KINDS, expected_sizes, frame_of, rows_of, written


def made(lengths, seed=0, texts=False):
    """Return rows of queries with lengths; numbers that all kinds of files keep."""
    rng = np.random.default_rng(seed)
    n_rows = sum(lengths)
    ids = rng.permutation(len(lengths)) + 10
    ids = np.array([f"q{one}" for one in ids]) if texts else ids
    return rng.standard_normal((n_rows, 3)), rng.integers(1, 6, n_rows) * 1.0, ids


@given(
    kind=st.sampled_from(KINDS),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=10),
    rows=st.one_of(st.none(), st.integers(1, 30)),
    group=st.integers(1, 20),
    files=st.integers(1, 3),
    texts=st.booleans(),
    has_queries=st.booleans(),
)
@settings(max_examples=60)
def test_every_kind_of_file_gives_the_same_rows(
    tmp_path_factory, kind, lengths, rows, group, files, texts, has_queries
):
    X, y, ids = made(lengths, texts=texts)
    qid = np.repeat(ids, lengths) if has_queries else None
    folder = tmp_path_factory.mktemp("files")
    files = 1 if kind == "arrays" else min(files, len(y))
    stream = written(kind, folder, X, y, qid, rows, group, files)
    blocks = list(stream)
    queries = None if qid is None else qid.tolist()
    assert rows_of(blocks) == {"X": X.tolist(), "y": y.tolist(), "qid": queries}
    assert [len(b) for b in blocks] == expected_sizes(qid, len(y), rows or 10**6)
    assert np.concatenate(list(stream.labels())).tolist() == y.tolist()
    assert stream.n_features == 3
    assert stream.n_rows in (None, len(y))
    # From a row in the middle, and again from the first.
    start = len(blocks[0])
    rest = list(stream.blocks(start))
    assert [len(b) for b in rest] == [len(b) for b in blocks[1:]]
    if rest:
        assert rows_of(rest)["X"] == X[start:].tolist()
    assert rows_of(stream)["y"] == y.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_says_who_it_is(tmp_path, kind):
    X, y, _ = made([20])
    first = written(kind, tmp_path, X, y, rows=5)
    identity = first.identity()
    assert identity == first.identity()
    (tmp_path / "again").mkdir()
    X[-1, 0] += 1.0
    other = written(kind, tmp_path / "again", X, y, rows=6).identity()
    assert identity["rows"] != other["rows"]
    assert identity.get("files", identity.get("X")) != other.get(
        "files", other.get("X")
    )


def test_types_are_kept(tmp_path):
    frame = pd.DataFrame({"a": np.float32([1, 2]), "b": np.float32([3, 4])})
    frame["y"] = np.int8([1, 2])
    frame.to_parquet(tmp_path / "f.parquet")
    stream = from_parquet(tmp_path / "f.parquet", "y")
    (block,) = stream
    assert block.X.dtype == np.float32
    assert block.y.dtype == np.int8
    assert stream.feature_names == ("a", "b")
    (block,) = from_parquet(tmp_path / "f.parquet", "y", features=["b"])
    assert block.X.tolist() == [[3.0], [4.0]]
    # An integer among them asks for more digits.
    frame.assign(a=[1, 2]).to_parquet(tmp_path / "g.parquet")
    (block,) = from_parquet(tmp_path / "g.parquet", "y")
    assert block.X.dtype == np.float64


def test_kinds_of_columns(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "w": [1.0, 2.0, 3.0],
            "y": pd.Categorical(["good", "poor", "good"]),
            "q": pd.to_datetime(["2020-01-01", "2020-01-01", "2020-01-02"]),
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    (block,) = from_parquet(tmp_path / "f.parquet", "y", "q", weight="w")
    assert block.X.tolist()[0] == [1.0, 1.0]
    assert np.isnan(block.X[1, 0])
    assert block.y.tolist() == ["good", "poor", "good"]
    assert block.weight.tolist() == [1.0, 2.0, 3.0]
    assert block.qid.dtype.kind == "M"


def test_row_groups_without_rows(tmp_path):
    table = pa.Table.from_pandas(frame_of(*made([9])[:2]), preserve_index=False)
    with pq.ParquetWriter(tmp_path / "f.parquet", table.schema) as writer:
        for begin, end in ((0, 0), (0, 4), (4, 4), (4, 9), (9, 9)):
            writer.write_table(table.slice(begin, end - begin))
    stream = from_parquet(tmp_path / "f.parquet", "y", rows=3)
    assert [len(block) for block in stream] == [3, 3, 3]
    assert [len(block) for block in stream.blocks(6)] == [3]
    assert rows_of(stream)["y"] == table.column("y").to_pylist()


def test_files_of_a_folder_are_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 9, 2):
        frame_of(np.full((1, 1), number), [number]).to_parquet(
            tmp_path / f"part.{number}.parquet"
        )
    (tmp_path / "_SUCCESS.parquet").write_text("not to be read")
    (tmp_path / "notes.txt").write_text("not to be read")
    assert rows_of(from_parquet(tmp_path, "y"))["y"] == [2, 9, 10]
    files = [tmp_path / "part.10.parquet", tmp_path / "part.2.parquet"]
    assert rows_of(from_parquet(files, "y"))["y"] == [10, 2]


def test_compressed_text(tmp_path):
    X, y, _ = made([7])
    frame_of(X, y).to_csv(tmp_path / "rows.csv.gz", index=False)
    dump_letor(X, y, tmp_path / "rows.txt.gz")
    text = gzip.decompress((tmp_path / "rows.txt.gz").read_bytes())
    with pa.output_stream(tmp_path / "rows.txt.zst", compression="zstd") as sink:
        sink.write(text)
    expected = {"X": X.tolist(), "y": y.tolist(), "qid": None}
    assert rows_of(from_csv(tmp_path / "rows.csv.gz", "y")) == expected
    assert rows_of(from_letor(tmp_path / "rows.txt.gz")) == expected
    assert rows_of(from_letor(tmp_path / "rows.txt.zst")) == expected
    sparse = from_letor(tmp_path / "rows.txt.gz", sparse=True, dtype=np.float32)
    assert next(iter(sparse)).X.format == "csr"
    assert next(iter(sparse)).X.dtype == np.float32


def test_memory_maps_are_read_as_they_are(tmp_path):
    X, y, _ = made([500])
    np.save(tmp_path / "X.npy", X)
    for mode in ("r", "r+", "c"):
        mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
        if mode == "c":
            mapped[0, 0] = 99.0  # in memory alone
        stream = from_arrays(mapped, y, rows=7)
        for _ in range(2):
            assert rows_of(stream)["X"] == mapped.tolist()
        assert all(np.shares_memory(block.X, mapped) for block in stream)
    # Every other row, whole numbers: copied block by block.
    strange = np.asfortranarray(np.arange(20).reshape(10, 2))[::2]
    (block,) = from_arrays(strange, np.arange(5))
    assert block.X.tolist() == strange.tolist()
    assert block.X.flags.c_contiguous


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
            "qid must be a column of 'f.SUFFIX', which has 'a', 'b', 'grade'; got "
            "'session'.",
        ),
        (
            {"target": None},
            TypeError,
            "target must be the name of a column; got None.",
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
@pytest.mark.parametrize("reader", [from_parquet, from_csv])
def test_columns_that_cannot_be(folder, reader, options, error, sentence):
    suffix = "parquet" if reader is from_parquet else "csv"
    sentence = f"{reader.__name__}: {sentence.replace('SUFFIX', suffix)}"
    with pytest.raises(error, match=exactly(sentence)):
        reader(folder / f"f.{suffix}", **options)


@pytest.mark.parametrize("reader", [from_parquet, from_csv, from_letor])
def test_paths_that_lead_nowhere(tmp_path, reader):
    who, target = reader.__name__, [] if reader is from_letor else ["y"]
    with pytest.raises(
        FileNotFoundError, match=f"^{who}: path must be a file or a folder"
    ):
        reader(tmp_path / "none", *target)
    with pytest.raises(
        DataError, match=f"^{who}: path must be a file, or a folder with"
    ):
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
        match=exactly("from_csv: column 'a' of 'g.csv' must be numbers; got string."),
    ):
        from_csv(folder, "grade")


def test_text_among_numbers(folder):
    frame = pd.read_parquet(folder / "f.parquet").assign(a=list("wxyz"))
    frame.to_parquet(folder / "f.parquet")
    sentence = "from_parquet: column 'a' of 'f.parquet' must be numbers; got "
    with pytest.raises(DataError, match=f"^{sentence}"):
        from_parquet(folder / "f.parquet", "grade")


def test_text_that_comes_late_in_a_csv_file(tmp_path):
    lines = ["y,q,a", *("1,7,0.123456789" for _ in range(100_000))]
    (tmp_path / "f.csv").write_text("\n".join([*lines, "2,8,none", "2,x,3", ""]))
    stream = from_csv(tmp_path / "f.csv", "y", "q")
    with pytest.raises(DataError, match=r"^from_csv: path must be sound CSV files"):
        list(stream)
    stream = from_csv(tmp_path / "f.csv", "y", "q", features=["a"], qid_dtype=str)
    assert next(stream.pieces(0, print)).qid.dtype.kind == "U"


def test_labels_that_are_not_there(tmp_path):
    (tmp_path / "f.csv").write_text("y,a\n1,2\n,3\n")
    with pytest.raises(
        DataError, match=exactly("from_csv: y must be without gaps; got nan in row 1.")
    ):
        list(from_csv(tmp_path / "f.csv", "y"))
    (tmp_path / "f.csv").write_text("y,q,a\ngood,u,2\n,u,3\n")
    with pytest.raises(
        DataError, match=r"y must be without gaps; got None in row 1\.$"
    ):
        list(from_csv(tmp_path / "f.csv", "y", "q"))
    frame = pd.DataFrame({"y": [1, 2, None], "a": 1.0})
    frame.to_parquet(tmp_path / "f.parquet")
    with pytest.raises(DataError, match=r"y must be without gaps; got nan in row 2\.$"):
        list(from_parquet(tmp_path / "f.parquet", "y"))


def test_no_rows(tmp_path):
    pd.DataFrame({"y": [1.0], "a": 1.0})[:0].to_parquet(tmp_path / "f.parquet")
    assert list(from_parquet(tmp_path / "f.parquet", "y")) == []
    (tmp_path / "f.csv").write_text("")
    with pytest.raises(
        DataError, match=r"must be sound CSV files; got 'f\.csv': Empty"
    ):
        from_csv(tmp_path / "f.csv", "y")
    (tmp_path / "f.csv").write_text("y,a\n")
    assert list(from_csv(tmp_path / "f.csv", "y")) == []
    (tmp_path / "f.txt").write_text("# nothing\n")
    with pytest.raises(DataError, match="path must hold one row at least; got none"):
        from_letor(tmp_path / "f.txt")
    (tmp_path / "f.txt").write_text("1 qid:1\n")
    with pytest.raises(
        DataError, match="path must hold one feature at least; got none"
    ):
        from_letor(tmp_path / "f.txt")


def test_lines_that_are_damaged_are_named_with_their_file(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n")
    (tmp_path / "b.txt").write_text("1 qid:2 1:2\n1 qid:3 one:2\n")
    sentence = (
        "from_letor: b.txt: line 2 must be 'grade qid:ID index:value ...'; got "
        "'1 qid:3 one:2'."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        list(from_letor(tmp_path, n_features=1))
    (tmp_path / "b.txt").write_text("1 1:2\n")
    with pytest.raises(
        DataError, match="line 1 must have a qid, as the lines before it"
    ):
        list(from_letor(tmp_path, n_features=1))
    (tmp_path / "b.txt").write_text("1 qid:x 1:2\n")
    with pytest.raises(
        DataError, match="line 1 must have an integer as qid, or qid_dty"
    ):
        list(from_letor(tmp_path, n_features=1))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ([1.0], [1]),
            "X must be numbers in rows and columns; got an array of shape (1,) and "
            "type float64.",
        ),
        (
            ([["a"]], [1]),
            "X must be numbers in rows and columns; got an array of shape (1, 1) and "
            "type <U1.",
        ),
        (
            ([[1.0]], [1, 2]),
            "y must be one value a row, 1 in all; got an array of shape (2,).",
        ),
        (
            ([[1.0]], [1], [[1]]),
            "qid must be one value a row, 1 in all; got an array of shape (1, 1).",
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


def resident(path):
    """Return how many bytes of a file that is mapped are in this process's memory."""
    maps = Path("/proc/self/smaps").read_text().splitlines()
    begins = [number for number, line in enumerate(maps) if line.endswith(str(path))]
    sizes = [line for begin in begins for line in maps[begin : begin + 6]]
    return sum(int(line.split()[1]) * 1024 for line in sizes if line.startswith("Rss:"))


@pytest.mark.skipif(
    not Path("/proc/self/smaps").exists(), reason="the system tells no sizes of maps"
)
@pytest.mark.parametrize("has_queries", [False, True])
def test_pages_of_a_map_are_given_back(tmp_path, has_queries):
    # Large beside what a system brings to memory with a page.
    n_rows = 400_000
    np.save(tmp_path / "X.npy", np.ones((n_rows, 20)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    qid = np.arange(n_rows) // 7 if has_queries else None
    stream = from_arrays(X, np.arange(n_rows) % 3, qid, rows=n_rows // 40)
    seen = []
    fit(PRank(), stream, progress=lambda *_: seen.append(resident(tmp_path / "X.npy")))
    assert 0 < max(seen) < X.nbytes / 4
    assert seen[-1] < X.nbytes / 8
    # Whoever keeps blocks keeps what is in them.
    assert all((block.X == 1.0).all() for block in list(stream))
