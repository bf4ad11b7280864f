"""LETOR's files against a slow, obvious reader; and written, then read again."""

import gzip
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder.datasets import dump_letor, iter_letor, load_letor
from peckorder.exceptions import DataError
from support.tables import written

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def number(word):
    if not NUMBER.fullmatch(word) or np.isinf(float(word)):
        raise ValueError(word)
    return float(word)


def by_definition(text):
    """Return grades, queries and features by index, or the number of a bad line."""
    rows = []
    for place, line in enumerate(text.split("\n"), 1):
        words = re.split("[ \t\r]+", line.partition("#")[0].strip(" \t\r"))
        if words == [""]:
            continue
        try:
            grade = number(words.pop(0))
            qid = words.pop(0)[4:] if words and words[0].startswith("qid:") else None
            features = {}
            for word in words:
                index, value = re.fullmatch("([0-9]+):(.*)", word).groups()
                if int(index) in features or not 1 <= int(index) < 2**31:
                    return place
                features[int(index)] = np.nan if value == "NULL" else number(value)
        except (ValueError, AttributeError):
            return place
        if qid == "" or (rows and (rows[0][1] is None) != (qid is None)):
            return place
        rows.append((grade, qid, features))
    return rows


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[+-]?[0-9]{1,22}\.[0-9]{0,22}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["NULL", "0", "1.", ".5", "1e308", "1e309", "4.9e-324", "nan", "1e"]),
)
spaces = st.sampled_from([" ", " ", " ", "\t", "  ", " \r"])
queries = st.sampled_from(["qid:1", "qid:1", "qid:2", "qid:x", "qid:01", "qid:é", ""])
pairs = st.tuples(st.integers(0, 6), numbers).map(lambda p: f"{p[0]}:{p[1]}")
endings = st.sampled_from(["", "", " ", "#", " # x 1:2", "\r"])


@st.composite
def lines(draw):
    words = [draw(numbers), draw(queries), *draw(st.lists(pairs, max_size=3))]
    return draw(spaces).join(word for word in words if word) + draw(endings)


texts = st.one_of(
    st.lists(lines(), max_size=3).map("\n".join),
    st.text(alphabet="0123:#.e+-NULqid \t\n\r", max_size=25),
)


def equal(ours, rows, width):
    assert ours.y.tolist() == [grade for grade, _, _ in rows]
    expected = np.zeros((len(rows), width))
    for row, (_, _, features) in enumerate(rows):
        for index, value in features.items():
            expected[row, index - 1] = value
    X = ours.X
    # Compared as bits: a zero keeps its sign.
    is_nan = np.isnan(expected)
    assert_array_equal(np.isnan(X), is_nan)
    assert_array_equal(X[~is_nan].view(np.int64), expected[~is_nan].view(np.int64))
    if rows and rows[0][1] is not None:
        assert [str(q) for q in ours.qid] == [qid for _, qid, _ in rows]
    else:
        assert ours.qid is None or not rows


@given(texts)
def test_matches_the_definition(text):
    rows = by_definition(text)
    if isinstance(rows, int):
        with pytest.raises(DataError, match=rf"^load_letor: line {rows} must .*\.$"):
            load_letor(io.StringIO(text))
        return
    widths = [index for _, _, features in rows for index in features]
    if max(widths, default=0) < 1000:
        dense = load_letor(io.StringIO(text), sparse=False)
        equal(dense, rows, max(widths, default=0))
        stored = load_letor(io.StringIO(text), sparse=True).X
        assert_array_equal(stored.toarray(), dense.X)
        assert stored.has_canonical_format
        part = list(iter_letor(io.StringIO(text), n_features=1000, rows=99, qid_dtype=str))
        if part:
            equal(part[0], rows, 1000)


@given(st.one_of(st.binary(max_size=40), texts.map(str.encode)), st.binary(max_size=4))
def test_damaged_bytes_are_read_or_refused(text, tail):
    for source in (text + tail, b"0 " + text + tail, b"0 1:1" + tail + text):
        try:
            read = load_letor(io.BytesIO(source), sparse=True, comments=True)
        except DataError:
            continue
        assert read.X.shape[0] == len(read.y)


values = st.one_of(st.floats(allow_infinity=False, width=64), st.just(np.nan), st.just(-0.0))
words = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="#"))
tables = hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=values)


@pytest.mark.parametrize("suffix", [".txt", ".gz"])
@given(X=tables, data=st.data())
def test_what_is_written_is_read(tmp_path_factory, suffix, X, data):
    n = len(X)
    y = data.draw(st.lists(st.floats(-1e9, 1e9), min_size=n, max_size=n))
    ids = st.one_of(st.integers(0, 9), words.filter(bool))
    qid = data.draw(st.lists(ids, min_size=n, max_size=n))
    comments = data.draw(st.lists(words, min_size=n, max_size=n))
    path = tmp_path_factory.mktemp("letor") / f"rows{suffix}"
    dump_letor(X, y, path, qid=np.array(qid, dtype=object), comments=comments)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == (suffix == ".gz")
    again = load_letor(path, comments=True, sparse=False)
    assert_array_equal(again.X, X)
    assert_array_equal(np.signbit(again.X), np.signbit(np.where(np.isnan(X), 0, X)))
    assert again.y.tolist() == y
    assert [str(q) for q in again.qid] == [str(q) for q in qid]
    assert again.comments.tolist() == comments
    assert list(path.parent.iterdir()) == [path]


@given(tables, st.booleans())
def test_sparse_rows_are_written_as_stored(tmp_path_factory, X, zero_based):
    path = tmp_path_factory.mktemp("letor") / "rows"
    y = np.zeros(len(X))
    dump_letor(sparse.csr_array(X), y, path, zero_based=zero_based)
    again = load_letor(path, n_features=X.shape[1], sparse=True, zero_based=zero_based)
    assert again.qid is None
    assert_array_equal(again.X.toarray(), X + 0.0)


def test_entries_in_parts_are_written_as_one(tmp_path):
    X = sparse.csr_array(([1.0, 2.0, 4.0], [1, 0, 1], [0, 3]), shape=(1, 2))
    dump_letor(X, [0], tmp_path / "rows")
    assert (tmp_path / "rows").read_text() == "0 1:2.0 2:5.0\n"
    assert X.nnz == 3


def test_equal_rows_are_equal_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        dump_letor([[1.5]], [1], tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"1 1:1.5\n"


def test_a_failure_leaves_the_old_file(tmp_path):
    path = written(tmp_path / "rows.txt", "as it was")
    expected = r"^dump_letor: qid must be words without spaces and '#'; got 'a b'\.$"
    with pytest.raises(DataError, match=expected):
        dump_letor([[1.0]], [1], path, qid=["a b"])
    # What no encoding can write is noticed in the middle of the file.
    with pytest.raises(UnicodeEncodeError):
        dump_letor([[1.0]] * 2, [1, 2], path, qid=["a", "\ud800"])
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("")
    link.symlink_to(target)
    dump_letor([[1.0]], [1], link)
    assert link.is_symlink()
    assert target.read_text() == "1 1:1.0\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"y": [1, 2]}, "y must be one value per row, 1 in all; got 2."),
        ({"qid": [1, 2]}, "qid must be one value per row, 1 in all; got 2."),
        ({"qid": [""]}, "qid must be words without spaces and '#'; got ''."),
        ({"qid": ["a#"]}, "qid must be words without spaces and '#'; got 'a#'."),
        ({"comments": []}, "comments must be one value per row, 1 in all; got 0."),
        ({"comments": ["a\nb"]}, r"comments must be lines of text; got 'a\nb'."),
        ({"path": 3}, "path must be a path; got 3."),
        ({"zero_based": "x"}, "zero_based must be True or False; got 'x'."),
    ],
)
def test_refused_arguments(tmp_path, arguments, sentence):
    everything = {"X": [[1.0]], "y": [1], "path": tmp_path / "rows"} | arguments
    with pytest.raises(ValueError) as info:  # noqa: PT011
        dump_letor(**everything)
    assert str(info.value) == f"dump_letor: {sentence}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("X", [[[np.inf]], [1.0], [["a"]]])
def test_refused_features(tmp_path, X):
    with pytest.raises(ValueError, match=r"."):
        dump_letor(X, [1], tmp_path / "rows")
    with pytest.raises(ValueError, match="NaN"):
        dump_letor([[1.0]], [np.nan], tmp_path / "rows")
