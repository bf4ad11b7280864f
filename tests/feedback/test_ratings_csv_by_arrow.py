"""Text files of ratings read by pyarrow: what the csv module reads, or its very words."""

import builtins
import io

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from peckorder import Ratings
from peckorder._core import text_files
from peckorder.exceptions import DataError
from peckorder.feedback.ratings import csv as reader

CELLS = ["ann", "bob", "7", "007", "-3", "é", "\u0663", "", " ", "x y", "a_b", "\x1f", "\0", "'"]
CELLS += ['"ann"', '"a b"', '"7"', '"a,b"', '"a;b"', '""', '"', '"a"b', 'a"b', '"a""b"', "\ufeff"]
NUMBERS = ["5", "0", "-0", "3.5", ".5", "1.", "1e3", "1e-400", "1e400", "4.9406564584124654e-324"]
NUMBERS += ["0.1", "123456789012345678901234567890", "nan", "inf", "", "1_0", "0,5", "+5", " 5"]
NUMBERS += ["5 ", "\t5", "0x1F", "1e", "\u0665", '"5"', '" 5"', "x", "5\x0b", "1d5", "infinity"]
ENDS = ["\n", "\r\n", "\r", "\n\n", "\n \n", "\r\r\n", "\x85"]
plain = st.sampled_from(["ann", "bob", "7", "12"])
numbers = st.one_of(
    st.sampled_from(NUMBERS),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=20).map(str),
)


@st.composite
def texts(draw):
    """Draw a separator and lines, of which a few are odd."""
    sep = draw(st.sampled_from([",", ";", "\t", "|", "::", " ", "é", "^", "]", "-", "\\"]))
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        is_odd = draw(st.integers(0, 3)) == 0
        cell = st.sampled_from(CELLS) if is_odd else plain
        value = draw(numbers) if is_odd else draw(st.sampled_from(NUMBERS[:5]))
        space = draw(st.sampled_from(["", "", " "])) if is_odd else ""
        cells = [draw(cell), space + draw(cell), space + value, draw(cell)]
        cells = cells if draw(st.integers(0, 9)) else cells[: draw(st.integers(0, 5))]
        end = draw(st.sampled_from(ENDS)) if is_odd else "\n"
        lines.append(space + sep.join(cells) + end)
    return sep, "".join(lines)


def outcome(text, by_arrow, **options):
    """Return all that was read, or the error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_LONG", 1 if by_arrow else 1 << 60)
        try:
            ratings = Ratings.read_csv(io.BytesIO(text.encode()), duplicates="last", **options)
        except DataError as error:
            return str(error)
    csr = ratings.csr
    parts = (ratings.users, ratings.items, csr.indptr, csr.indices, csr.data)
    return [(part.dtype, part.tolist(), np.signbit(csr.data).tolist()) for part in parts]


@given(texts(), st.sampled_from([None, (0.0, 5.0)]))
@example((",", "ann,7,5,x\r\nbob,9,3,\r\n"), None)
@example((",", '"ann","7","5","x"\n"bob, jr",9,3,""\n'), None)
@example((",", "ann,7,5,x\rbob,9,3,\n\n"), None)
@example((",", "\ufeffann,7,5,x\n"), None)
def test_both_readers_agree(drawn, scale):
    sep, text = drawn
    options = {"sep": sep, "header": False, "user": 0, "item": 1, "rating": 2, "scale": scale}
    assert outcome(text, True, **options) == outcome(text, False, **options)
    options |= {"header": True, "user": "u", "item": "i", "rating": "r"}
    named = sep.join(["u", "i", "r", "more"]) + "\n" + text
    assert outcome(named, True, **options) == outcome(named, False, **options)


@pytest.fixture
def found(monkeypatch):
    """The numbers of lines that were read by Arrow, None for a block that was not."""
    numbers, real = [], reader._Reader._by_arrow

    def by_arrow(self, text, before):
        columns = real(self, text, before)
        numbers.append(None if columns is None else len(columns[3]))
        return columns

    monkeypatch.setattr(reader, "_LONG", 1)
    monkeypatch.setattr(reader._Reader, "_by_arrow", by_arrow)
    return numbers


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("userId,movieId,rating,timestamp\nann,7,5,1\nbob,9,3.5,2\n", {}),
        ("user;item;rating\r\nann;7;5\r\nbob;9;3.5\r\n", {"sep": ";"}),
        ('"user","item","rating"\n"ann,jr","7","5"\nbob,"9",3.5\n', {}),
        (
            "1::7::5::9\n2::9::3.5::9\n",
            {"sep": "::", "header": False, "user": 0, "item": 1, "rating": 2},
        ),
        ("user,item,rating\nJosé,7,5\nbob,9,3.5\n", {"encoding": "latin-1"}),
    ],
    ids=["plain", "windows", "quoted", "colons", "latin"],
)
def test_usual_files_are_read_by_arrow(text, options, found):
    encoding = options.get("encoding", "utf-8")
    ratings = Ratings.read_csv(io.BytesIO(text.encode(encoding)), **options)
    assert found == [2]
    assert ratings.csr.data.tolist() == [5.0, 3.5] or ratings.users[0] == "José"


def test_blocks_by_both_readers_are_one_file(found, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", 1 << 12)
    n = 2_000
    lines = [f"u{i % 90},{i},{i % 5}\n" for i in range(n)]
    lines[n // 2] = f"u{n // 2 % 90}, {n // 2},{n // 2 % 5}\n"
    path = "user,item,rating\n" + "".join(lines)
    ratings = Ratings.read_csv(io.StringIO(path))
    assert found.count(None) == 1
    assert len(found) > 5
    monkeypatch.setattr(reader, "_LONG", 1 << 60)
    other = Ratings.read_csv(io.StringIO(path))
    assert ratings.users.tolist() == other.users.tolist()
    assert (ratings.csr != other.csr).nnz == 0
    assert len(ratings) == n
    monkeypatch.setattr(reader, "_LONG", 1)
    lines[-1] = "u1,7\n"
    with pytest.raises(DataError, match=f"line {n + 1} must be 3 fields"):
        Ratings.read_csv(io.StringIO("user,item,rating\n" + "".join(lines)))


def test_without_pyarrow_the_csv_module_reads(found, monkeypatch):
    real = builtins.__import__

    def without(name, *others, **options):
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(name)
        return real(name, *others, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert len(Ratings.read_csv(io.StringIO("user,item,rating\nann,7,5\n"))) == 1
    assert found == [None]


def test_a_long_line_is_refused_in_the_same_words():
    text = f"ann,7,5,{'x' * 140_000}\n"
    options = {"header": False, "user": 0, "item": 1, "rating": 2}
    assert "line 1 must be" in outcome(text, False, **options)
    assert outcome(text, True, **options) == outcome(text, False, **options)
