"""Files of every kind give the same rows."""

import gzip
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from peckorder import PRank
from peckorder.datasets import dump_letor
from peckorder.distributed.cluster.sources import part_of_file
from peckorder.feedback import Ratings
from peckorder.streams import fit, from_arrays, from_csv, from_letor, from_parquet
from peckorder.tables.files.arrow import query_array
from peckorder.tables.files.read import read_columns
from peckorder.tables.roles import GivenRoles
from support.stream_files import KINDS, expected_sizes, frame_of, rows_of, written


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
def test_the_identity_of_a_stream(tmp_path, kind):
    X, y, _ = made([20])
    first = written(kind, tmp_path, X, y, rows=5)
    identity = first.identity()
    assert identity == first.identity()
    (tmp_path / "again").mkdir()
    X[-1, 0] += 1.0
    other = written(kind, tmp_path / "again", X, y, rows=6).identity()
    assert identity["rows"] != other["rows"]
    assert identity.get("files", identity.get("X")) != other.get("files", other.get("X"))


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


@pytest.mark.parametrize(
    ("kind", "ids", "read"),
    [
        (pa.decimal128(18, 0), [10**18 - 1, 10**18 - 2], [10**18 - 1, 10**18 - 2]),
        (pa.decimal128(20, 0), [2**53, 2**53 + 1], [str(2**53), str(2**53 + 1)]),
        (pa.decimal256(40, 0), [10**30, 10**30 + 1], [f"{10**30}", f"{10**30 + 1}"]),
        (pa.decimal128(20, 2), ["1.25", "-7.50"], ["1.25", "-7.50"]),
        (
            pa.dictionary(pa.int8(), pa.decimal128(20, 0)),
            [2**53, 2**53 + 1],
            [str(2**53), str(2**53 + 1)],
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_decimal_queries_keep_all_digits(tmp_path, kind, ids, read, suffix):
    value_type = getattr(kind, "value_type", kind)
    qid = pa.array([Decimal(one) for one in ids for _ in range(2)], value_type)
    qid = qid.dictionary_encode() if value_type is not kind else qid
    label = pa.array(map(Decimal, range(4)), pa.decimal128(9, 1))
    table = pa.table({"q": qid, "y": label, "a": label})
    if suffix == "parquet":
        pq.write_table(table, tmp_path / "f.parquet")
    else:
        with pa.ipc.new_file(tmp_path / "f.arrow", table.schema) as writer:
            writer.write_table(table)
    stream = from_parquet(tmp_path, "y", "q", rows=2)
    assert [block.qid.tolist() for block in stream] == [[one] * 2 for one in read]
    assert [block.qid.tolist() for block in stream.blocks(2)] == [[read[1]] * 2]
    assert rows_of(stream)["y"] == [0.0, 1.0, 2.0, 3.0]
    # On a cluster they are the same.
    if suffix == "parquet":
        part = part_of_file(
            tmp_path / "f.parquet", GivenRoles.of(None, target="y", qid="q", sample_weight=None)
        )
        assert part.qid.tolist() == np.repeat(read, 2).tolist()
        assert part.y.tolist() == [0.0, 1.0, 2.0, 3.0]
        assert part.X.tolist() == [[0.0], [1.0], [2.0], [3.0]]


@pytest.mark.skipif(not hasattr(pa, "decimal32"), reason="pyarrow has no short ones")
def test_short_decimals_are_whole_numbers():
    for kind in (pa.decimal32(9, 0), pa.decimal64(15, 0)):
        column = pa.array([Decimal(10**8), None], kind)
        assert_array_equal(query_array(column), [1e8, np.nan])


def test_true_and_false_in_text(tmp_path):
    (tmp_path / "f.csv").write_text("y,q,w,a,b\ntrue,t,1,True,0\nfalse,t,1,,2\n")
    stream = from_csv(tmp_path / "f.csv", "y", "q", weight="w")
    (block,) = stream
    assert_array_equal(block.X, [[1.0, 0.0], [np.nan, 2.0]])
    assert block.y.tolist() == [True, False]
    assert [labels.tolist() for labels in stream.labels()] == [[True, False]]
    assert fit(PRank(), from_csv(tmp_path / "f.csv", "y", features=["b"])).n_rounds_
    (block,) = from_csv(tmp_path / "f.csv", "b", "y", features=["w"], weight="a")
    assert block.qid.tolist() == ["true", "false"]
    assert_array_equal(block.weight, [1.0, np.nan])


def test_queries_with_zeros_in_front_stay_apart(tmp_path):
    """Every reader of tables keeps 007 and 7 apart; as numbers they would be one."""
    lines = "y,q,a\n1,007,1\n2,007,2\n1,7,3\n"
    (tmp_path / "f.csv").write_text(lines)
    stream = from_csv(tmp_path / "f.csv", "y", "q", rows=1)
    assert [block.qid.tolist() for block in stream] == [["007"] * 2, ["7"]]
    table = read_columns(tmp_path / "f.csv", ids=["q"])
    assert table.arrays["q"].tolist() == ["007", "007", "7"]
    ratings = Ratings.read_csv(tmp_path / "f.csv", user="q", item="a", rating="y")
    assert ratings.users.tolist() == ["007", "7"]
    (tmp_path / "f.csv").write_text(lines.replace("007", "12"))
    assert rows_of(from_csv(tmp_path, "y", "q"))["qid"] == [12, 12, 7]


@pytest.mark.parametrize("mark", ["?", "NA", "n/a", " - ", "null", ""])
def test_marks_of_missing_values_are_gaps_among_numbers(tmp_path, mark):
    (tmp_path / "f.csv").write_text(f"y,a,b\n1,{mark},5\n2,0.5,6\n")
    (block,) = from_csv(tmp_path / "f.csv", "y")
    assert_array_equal(block.X, [[np.nan, 5.0], [0.5, 6.0]])


def test_an_odd_cell_that_comes_late_costs_no_row(tmp_path):
    values = [f"{k}.5" for k in range(150_000)]
    values[120_000] = " ? "  # which Arrow cannot read by itself
    lines = (f"{k % 3},{k // 10},{value}" for k, value in enumerate(values))
    (tmp_path / "f.csv").write_text("y,q,a\n" + "\n".join(lines))
    stream = from_csv(tmp_path / "f.csv", "y", "q")
    X = np.concatenate([block.X[:, 0] for block in stream])
    expected = np.arange(150_000) + 0.5
    expected[120_000] = np.nan
    assert_array_equal(X, expected)
    rest = np.concatenate([block.X[:, 0] for block in stream.blocks(119_000)])
    assert_array_equal(rest, expected[119_000:])


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_decimal_commas(tmp_path, delimiter):
    lines = "y;a;w\n1;0,5;1\n2;,25;1,5\n3;-7;?\n"
    (tmp_path / "f.csv").write_text(lines.replace(";", delimiter))
    (block,) = from_csv(tmp_path / "f.csv", "y", delimiter=delimiter, weight="w")
    assert_array_equal(block.X, [[0.5], [0.25], [-7.0]])
    assert_array_equal(block.weight, [1.0, 1.5, np.nan])


@pytest.mark.parametrize("suffix", ["gz", "bz2", "zst"])
def test_text_in_quotes_may_span_lines_in_compressed_files(tmp_path, suffix):
    frame = pd.DataFrame({"y": [1.0, 2.0], "q": ["a,\nb", 'c"'], "a": [3.0, 4.0]})
    path = tmp_path / f"f.csv.{suffix}"
    text = frame.to_csv(index=False).encode()
    kind = {"gz": "gzip", "zst": "zstd"}.get(suffix, suffix)
    with pa.output_stream(path, compression=kind) as sink:
        sink.write(text)
    assert rows_of(from_csv(path, "y", "q")) == {
        "X": [[3.0], [4.0]],
        "y": [1.0, 2.0],
        "qid": ["a,\nb", 'c"'],
    }


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
        frame_of(np.full((1, 1), number), [number]).to_parquet(tmp_path / f"part.{number}.parquet")
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


def resident(path):
    """Return how many bytes of a file that is mapped are in this process's memory."""
    maps = Path("/proc/self/smaps").read_text().splitlines()
    begins = [number for number, line in enumerate(maps) if line.endswith(str(path))]
    sizes = [line for begin in begins for line in maps[begin : begin + 6]]
    return sum(int(line.split()[1]) * 1024 for line in sizes if line.startswith("Rss:"))


@pytest.mark.skipif(
    not Path("/proc/self/smaps").exists(), reason="the system tells no sizes of maps"
)
@pytest.mark.parametrize("has_queries", [pytest.param(False, marks=pytest.mark.slow), True])
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
