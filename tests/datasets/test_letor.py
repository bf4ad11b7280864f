"""LETOR's files: what is read, what is written, what is refused."""

import gzip
import io
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from peckorder._core import text_files
from peckorder.datasets import dump_letor, iter_letor, load_letor
from peckorder.exceptions import DataError

jit_off = pytest.mark.jit_off


def read(text, **options):
    if isinstance(text, str):
        text = text.encode()
    return load_letor(io.BytesIO(text), **options)


def raises_sentence(sentence):
    """Expect this sentence, whole."""

    class Refusal:
        def __enter__(self):
            self.raises = pytest.raises(DataError)
            self.info = self.raises.__enter__()

        def __exit__(self, *error):
            done = self.raises.__exit__(*error)
            assert str(self.info.value) == sentence
            return done

    return Refusal()


@jit_off
def test_a_line_has_a_grade_a_query_and_features():
    X, y, qid = read("2 qid:10 1:0.5 3:-2\n0 qid:7 2:1e2\n")
    assert_array_equal(X, [[0.5, 0, -2], [0, 100, 0]])
    assert_array_equal(y, [2, 0])
    assert_array_equal(qid, [10, 7])
    assert X.dtype == y.dtype == np.float64
    assert qid.dtype == np.int64


@jit_off
@pytest.mark.parametrize(
    "text",
    [
        "1 qid:3 1:2 2:5",
        "1 qid:3 1:2 2:5\r\n",
        "1\tqid:3\t1:2\t\t2:5\n",
        "  1 qid:3  1:2 2:5   \n",
        "\n\n# a comment\n \t\n1 qid:3 1:2 2:5\n\r\n#",
        "1 qid:3 1:2 2:5#close\n",
        "+1 qid:3 2:+5. 1:.2e1 # late : 1:7\n",
        "\ufeff1.0 qid:3 01:2 2:5\n",
    ],
)
def test_white_space_signs_and_comments_do_not_matter(text):
    X, y, qid = read(text)
    assert_array_equal(X, [[2, 5]])
    assert_array_equal(y, [1])
    assert_array_equal(qid, [3])


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "#\n\r\n  \n"])
def test_a_file_without_rows_is_empty(text):
    X, y, qid = read(text)
    assert X.shape == (0, 0)
    assert y.shape == qid.shape == (0,)
    assert read(text, n_features=3).X.shape == (0, 3)
    assert list(iter_letor(io.StringIO(text), n_features=3)) == []
    assert list(iter_letor(io.StringIO(text), n_features=3, rows=2)) == []


@jit_off
def test_rows_without_features_stay():
    X, y, _ = read("1 qid:1\n0 qid:1 #\n")
    assert X.shape == (2, 0)
    assert_array_equal(y, [1, 0])
    assert read("1\n0\n").qid is None
    assert read("\n1").qid is None


@jit_off
def test_null_is_missing():
    text = "1 qid:1 1:NULL 2:3\n0 qid:1 1:1 2:NULL\n"
    assert_array_equal(read(text).X, [[np.nan, 3], [1, np.nan]])
    assert_array_equal(read(text, missing=-1).X, [[-1, 3], [1, -1]])
    assert np.isnan(read(text, sparse=True).X.data).sum() == 2


@jit_off
@pytest.mark.parametrize(
    "number",
    [
        "0.1",
        "-0.0",
        "123456789012345678",
        "0.30000000000000004",
        "9007199254740993",
        "9007199254740992.99999999999999999999",
        "2.2250738585072011e-308",
        "5e-324",
        "1e-400",
        "1.7976931348623157e308",
        "0.000000000000000000000000000000000000000000012345678901234567890123",
        "1" + "0" * 300,
        "8.5e22",
        "1e23",
        "0e999999999999",
    ],
)
def test_numbers_are_those_of_python(number):
    value = read(f"{number} 1:{number}\n")
    assert value.X[0, 0].hex() == float(number).hex()
    assert value.y[0].hex() == float(number).hex()


def test_many_numbers_are_those_of_python():
    rng = np.random.default_rng(0)
    doubles = np.frombuffer(rng.bytes(160_000), dtype=np.float64)
    words = [repr(v) for v in doubles[np.isfinite(doubles)].tolist()]
    words += [f"{v:.{k}f}" for v, k in zip(rng.normal(size=9000), 300 * [*range(30)], strict=True)]
    words += [f"{v:.25e}" for v in rng.lognormal(0, 40, size=3000)]
    # Halfway between two floats, and just beside.
    halves = (2**53 + 1 + 2 * rng.integers(0, 2**50, 1000)).tolist()
    words += [f"{h}" for h in halves] + [f"{h}.{'0' * 30}1" for h in halves]
    X = read("".join(f"0 1:{word}\n" for word in words)).X
    assert_array_equal(X.ravel(), [float(word) for word in words])


def test_a_hard_number_beside_odd_spaces_in_a_query():
    X, y, qid = read("1e-320 qid:a\x0bb 2:1e-310 1:NULL\n")
    assert_array_equal(X, [[np.nan, 1e-310]])
    assert_array_equal(y, [1e-320])
    assert qid.tolist() == ["a\x0bb"]


def test_queries_of_any_text():
    names = ["café", "a:b", "007", "-3", "1" * 30, "日本", "0"]
    text = "".join(f"0 qid:{name} 1:1\n" for name in names)
    assert read(text).qid.tolist() == names
    assert read("0 qid:12\n0 qid:0\n", qid_dtype=str).qid.tolist() == ["12", "0"]
    assert read(b"0 qid:\xff\n").qid.tolist() == ["\udcff"]


def test_comments_and_documents():
    text = "1 qid:1 1:2 #docid = GX00 inc = 1\n0 qid:1 1:1 #  docid=GX1 \r\n"
    documents = read(text, comments=True)
    assert documents.comments.tolist() == ["docid = GX00 inc = 1", "docid=GX1"]
    assert documents.docid.tolist() == ["GX00", "GX1"]
    assert read(text).comments is None
    documents = read("1 1:2\n# between\n0 1:1 # é # 1:3\n", comments=True)
    assert documents.comments.tolist() == ["", "é # 1:3"]
    assert documents.docid is None


def test_dense_or_sparse_by_density():
    assert isinstance(read("1 1:1 4:1\n").X, np.ndarray)
    few = read("1 9:1 2:3\n0 3:1\n")
    assert few.X.format == "csr"
    assert few.X.has_sorted_indices
    assert few.X.indices.dtype == few.X.indptr.dtype == np.int32
    assert_array_equal(few.X.toarray(), read("1 2:3 9:1\n0 3:1\n", sparse=False).X)
    assert read("1 1:0.1\n", dtype="float32").X.dtype == np.float32
    assert read("1 1:0.1\n", dtype="float32", sparse=True).X.dtype == np.float32


def test_the_first_index_may_be_zero():
    assert_array_equal(read("1 0:5 1:6\n", zero_based=True).X, [[5, 6]])
    assert_array_equal(read("1 0:5 1:6\n", zero_based="auto").X, [[5, 6]])
    assert_array_equal(read("1 1:5 2:6\n", zero_based="auto").X, [[5, 6]])
    assert_array_equal(read("1 1:5\n", zero_based="auto", n_features=1).X, [[5]])
    with raises_sentence("load_letor: indices must be from 0 to 1 where 0 is one of them; got 2."):
        read("1 0:5 2:6\n", zero_based="auto", n_features=2)


@pytest.mark.parametrize("kind", [str, os.fspath, lambda path: path])
@pytest.mark.parametrize("packed", [False, True])
def test_paths_and_gzip(tmp_path, kind, packed):
    path = tmp_path / "no suffix tells"
    text = b"1 qid:1 1:2\n0 qid:1 1:3\n"
    path.write_bytes(gzip.compress(text) if packed else text)
    assert_array_equal(load_letor(kind(path)).X, [[2], [3]])
    with path.open("rb") as file:
        assert_array_equal(load_letor(file).X, [[2], [3]])


def test_gzip_of_several_members_with_zeros_behind():
    packed = gzip.compress(b"1 1:2\n0 ") + gzip.compress(b"1:3\n") + bytes(9)
    assert_array_equal(read(packed).X, [[2], [3]])


@pytest.mark.parametrize("block", [1, 2, 3, 7, 16, 64])
def test_lines_may_cross_blocks(monkeypatch, block):
    lines = [f"{k % 3} qid:{k // 4} 1:{k / 7!r} 2:{-k} # {k}\n" for k in range(40)]
    text = "".join(lines).encode()
    whole = read(text, comments=True)
    monkeypatch.setattr(text_files, "BLOCK", block)
    for source in (text, text[:-1], gzip.compress(text)):
        cut = read(source, comments=True)
        for name in ("X", "y", "qid", "comments"):
            assert_array_equal(getattr(cut, name), getattr(whole, name))
    with raises_sentence("load_letor: line 42 must be 'grade qid:ID index:value ...'; got '1 x'."):
        read(text + b"\n1 x\n")


def test_text_queries_after_integers_make_all_text(monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", 8)
    text = "1 qid:1 1:1\n1 qid:b 1:1\n"
    assert read(text).qid.tolist() == ["1", "b"]
    parts = iter_letor(io.StringIO(text), n_features=1)
    assert next(parts).qid.tolist() == [1]
    with raises_sentence(
        "iter_letor: line 2 must have an integer as qid, or qid_dtype be str; got '1 qid:b 1:1'."
    ):
        next(parts)
    parts = iter_letor(io.StringIO(text), n_features=1, qid_dtype=str)
    assert [part.qid.tolist() for part in parts] == [["1"], ["b"]]


@pytest.mark.parametrize("rows", [None, 1, 3, 10, 39, 40, 41, 1000])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_parts_are_the_whole(monkeypatch, rows, is_sparse):
    monkeypatch.setattr(text_files, "BLOCK", 100)
    lines = [f"{k % 3} qid:{k // 4} 1:{k / 7!r} 3:{-k} # {k}\n" for k in range(40)]
    text = "".join(lines)
    whole = read(text, n_features=4, sparse=is_sparse, comments=True)
    parts = list(
        iter_letor(io.StringIO(text), n_features=4, rows=rows, sparse=is_sparse, comments=True)
    )
    if rows:
        assert [len(part) for part in parts[:-1]] == [rows] * ((40 - 1) // rows)
    stack = sparse.vstack if is_sparse else np.vstack
    assert not (stack([part.X for part in parts]) != whole.X).sum()
    for name in ("y", "qid", "comments"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert_array_equal(joined, getattr(whole, name))


FORM = "must be 'grade qid:ID index:value ...'"


@jit_off
@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("x qid:1 1:2", f"{FORM}; got 'x qid:1 1:2'"),
        ("1 qid: 1:2", f"{FORM}; got '1 qid: 1:2'"),
        ("1 1:2 qid:3", f"{FORM}; got '1 1:2 qid:3'"),
        ("1 qid:1 qid:2", f"{FORM}; got '1 qid:1 qid:2'"),
        ("1 qid:1 1:", f"{FORM}; got '1 qid:1 1:'"),
        ("1 qid:1 :2", f"{FORM}; got '1 qid:1 :2'"),
        ("1 qid:1 1 2", f"{FORM}; got '1 qid:1 1 2'"),
        ("1 qid:1 1: 2", f"{FORM}; got '1 qid:1 1: 2'"),
        ("1 qid:1 1:2x", f"{FORM}; got '1 qid:1 1:2x'"),
        ("1 qid:1 1:2,3", f"{FORM}; got '1 qid:1 1:2,3'"),
        ("1 qid:1 1:1e", f"{FORM}; got '1 qid:1 1:1e'"),
        ("1 qid:1 1:.", f"{FORM}; got '1 qid:1 1:.'"),
        ("1 qid:1 1:--1", f"{FORM}; got '1 qid:1 1:--1'"),
        ("1 qid:1 1:1_0", f"{FORM}; got '1 qid:1 1:1_0'"),
        ("1 qid:1 1:null", f"{FORM}; got '1 qid:1 1:null'"),
        ("1 qid:1 1:NULLS", f"{FORM}; got '1 qid:1 1:NULLS'"),
        ("1 qid:1 -1:2", f"{FORM}; got '1 qid:1 -1:2'"),
        ("1qid:1 1:2", f"{FORM}; got '1qid:1 1:2'"),
        ("NULL qid:1 1:2", f"{FORM}; got 'NULL qid:1 1:2'"),
        ("1 qid:1 " + "1:x" * 40, f"{FORM}; got '1 qid:1 {('1:x' * 40)[:49]}...'"),
        ("1 qid:1 1:nan", "must have finite numbers; got 'nan'"),
        ("-Inf qid:1 1:1", "must have finite numbers; got '-Inf'"),
        ("1 qid:1 1:1e400", "must have finite numbers; got '1e400'"),
        ("-1e999 qid:1 1:1", "must have finite numbers; got '-1e999'"),
        ("1 qid:1 0:1", "must have indices from 1 on; got 0"),
        ("1 qid:1 99999999999:1", "must have indices from 1 on; got 99999999999"),
        ("1 qid:1 " + "9" * 5000 + ":1", f"must have indices from 1 on; got {'9' * 99}"),
        ("\x0b", f"{FORM}; got ''"),
        ("\xa0", f"{FORM}; got ''"),
        ("1 qid:1 3:1 1:1 3:2", "must have each index once; got 3 again"),
        ("1 qid:1 3:1 3:1", "must have each index once; got 3 again"),
        ("1 1:2", "must have a qid, as the lines before it; got '1 1:2'"),
    ],
)
def test_damaged_lines_are_named(line, complaint):
    text = f"# first\n1 qid:1 1:2\n\n2 qid:1 1:3\n{line}\n0 qid:1 1:1\n"
    with raises_sentence(f"load_letor: line 5 {complaint}."):
        read(text)


def test_other_refused_lines():
    with raises_sentence("load_letor: line 1 must have indices from 1 to 2; got 3."):
        read("1 3:1\n", n_features=2)
    with raises_sentence("iter_letor: line 1 must have indices from 0 to 1; got 2."):
        next(iter_letor(io.StringIO("1 2:1"), n_features=2, zero_based=True))
    with raises_sentence("load_letor: line 1 must have finite numbers; got '1e39'."):
        read("1 1:1e39\n", dtype=np.float32)
    with raises_sentence(
        "load_letor: line 2 must have no qid, as the lines before it; got '1 qid:1'."
    ):
        read("1\n1 qid:1\n")
    with raises_sentence(
        "load_letor: line 1 must have an integer as qid, or qid_dtype be str; got '1 qid:a'."
    ):
        read("1 qid:a\n", qid_dtype=int)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_the_first_damaged_line_is_named(order):
    damaged = ["0 qid:1 x", "0 qid:1 1:1 1:2", "0 qid:1 1:1e400", "0 1:1"]
    text = "".join(f"{damaged[k]}\n" for k in order)
    with pytest.raises(DataError, match=r"^load_letor: line 2 must "):
        read("0 qid:1\n" + text)


def test_damaged_gzip_is_refused():
    packed = gzip.compress(b"1 1:2\n" * 1000)
    with raises_sentence("load_letor: path must be a sound gzip file; got one cut short."):
        read(packed[:-5])
    with pytest.raises(DataError, match=r"^load_letor: path must be a sound gzip file"):
        read(packed[:20] + b"xxxx" + packed[24:])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_features": 0}, "n_features must be None or an integer >= 1; got 0."),
        ({"dtype": int}, "dtype must be float64 or float32; got <class 'int'>."),
        ({"dtype": "x"}, "dtype must be float64 or float32; got 'x'."),
        ({"sparse": 1}, "sparse must be None or True or False; got 1."),
        ({"zero_based": "no"}, "zero_based must be True, False or 'auto'; got 'no'."),
        ({"missing": "x"}, "missing must be a number; got 'x'."),
        ({"qid_dtype": float}, "qid_dtype must be None, int or str; got <class 'float"),
        ({"comments": 1}, "comments must be True or False; got 1."),
    ],
)
def test_refused_parameters(options, sentence):
    with pytest.raises(ValueError) as info:  # noqa: PT011
        load_letor("nowhere", **options)
    assert str(info.value).startswith(f"load_letor: {sentence}")


def test_refused_sources():
    with pytest.raises(ValueError, match=r"^load_letor: path must be a path or an open"):
        load_letor(3)
    with pytest.raises(FileNotFoundError):
        load_letor("/nowhere/at all")
    with pytest.raises(ValueError, match=r"^iter_letor: rows must be None or an integer"):
        iter_letor("nowhere", n_features=1, rows=0)
    with pytest.raises(ValueError, match=r"^iter_letor: n_features must be an integer"):
        iter_letor("nowhere", n_features=None)


def test_agrees_with_scikit_learn(tmp_path):
    rng = np.random.default_rng(3)
    X = sparse.random_array((200, 30), density=0.4, rng=rng, format="csr")
    y, qid = rng.integers(0, 5, 200), rng.integers(0, 20, 200)
    path = tmp_path / "theirs"
    dump_svmlight_file(X, y, str(path), query_id=qid, zero_based=False)
    theirs = load_svmlight_file(str(path), query_id=True)
    ours = load_letor(path, sparse=True)
    assert not (theirs[0] != ours.X).sum()
    assert_array_equal(ours.y, theirs[1])
    assert_array_equal(ours.qid, theirs[2])
    dump_letor(X, y, path, qid=qid)
    again = load_svmlight_file(str(path), query_id=True)
    assert not (again[0] != X).sum()
    assert_array_equal(again[2], qid)
