"""Text files of ratings: what is read, and at which line it is refused."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from peckorder import Ratings
from peckorder.datasets import load_ratings, load_ratings_matrix
from peckorder.exceptions import DataError
from support.helpers import exactly
from support.tables import written


def read(text, **options):
    return Ratings.read_csv(io.BytesIO(text.encode()), **options)


def rows(ratings):
    return list(zip(*(column.tolist() for column in ratings.triples()), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "user,item,rating\nann,7,5\nbob,9,3\n",
        "user,item,rating\r\nann,7,5\r\nbob,9,3\r\n",
        "\ufeffuser,item,rating\nann,7,5\nbob,9,3",
        '\n"user", "item","rating"\n\nann,"7",5.0\n\n"bob",9, 3\n\n',
    ],
    ids=["plain", "windows", "mark", "quoted"],
)
def test_ways_to_write_the_same(text):
    assert rows(read(text)) == [("ann", 7, 5.0), ("bob", 9, 3.0)]


def test_other_columns_and_places():
    text = "5;x;ann;7\n3;y;bob;9\n"
    ratings = read(text, user=2, item=3, rating=0, sep=";", header=False)
    assert rows(ratings) == [("ann", 7, 5.0), ("bob", 9, 3.0)]


@pytest.mark.parametrize(
    "names",
    ["userId,movieId,rating,timestamp", "user_id,film,stars,user", "User-ID,ISBN,Book-Rating,year"],
)
def test_usual_names_of_columns(names):
    text = f"{names}\nann,7,5,bob\n"
    user = "bob" if names.endswith(",user") else "ann"  # the name itself comes first
    assert rows(read(text)) == [(user, 7, 5.0)]
    frame = pd.read_csv(io.StringIO(text))
    assert rows(Ratings.from_frame(frame)) == [(user, 7, 5.0)]
    frame.to_parquet(stored := io.BytesIO())
    assert rows(Ratings.read_parquet(stored)) == [(user, 7, 5.0)]


def test_separators_of_several_characters():
    ratings = read('1::"x:y::5::9\n', user=0, item=1, rating=2, sep="::", header=False)
    assert rows(ratings) == [(1, '"x:y', 5.0)]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["10", "9"], [9, 10]),
        (["-3", "9"], [-3, 9]),
        (["010", "9"], ["010", "9"]),
        (["10", "9X"], ["10", "9X"]),
        (["99999999999999999999", "9"], ["9", "99999999999999999999"]),
    ],
)
def test_ids_are_integers_if_all_are_written_so(items, expected):
    text = "user,item,rating\n" + "".join(f"u,{item},1\n" for item in items)
    assert read(text).items.tolist() == expected
    assert read(text, item_dtype=str).items.tolist() == sorted(items)


def test_many_blocks_of_lines():
    n = 9000
    text = "user,item,rating\n" + "".join(f"u{i % 90},{i},{i % 5}\n" for i in range(n))
    ratings = read(text)
    user, item, value = ratings.triples()
    assert len(ratings) == n
    assert ratings.n_users == 90
    assert all(name == f"u{i % 90}" for name, i in zip(user, item, strict=True))
    assert np.array_equal(value, item % 5)
    wrong = text.replace("u8,8918,3\n", "u8,8918\n")
    with pytest.raises(DataError, match="line 8920 must be 3 fields"):
        read(wrong)


def test_latin_letters(tmp_path):
    path = written(
        tmp_path / "a.csv.gz", gzip.compress("user,item,rating\nJosé,1,5\n".encode("latin-1"))
    )
    assert load_ratings(path, encoding="latin-1").users.tolist() == ["José"]
    sentence = (
        "read_csv: line 2 must be utf-8 text; got 'Jos\ufffd,1,5'. Give its encoding, "
        "as encoding='latin-1'."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        load_ratings(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="sound gzip file; got one cut short"):
        load_ratings(path, encoding="latin-1")


@pytest.mark.parametrize("name", ["a.tsv", "a.TSV.gz"])
def test_tabs_by_the_name_of_the_file(tmp_path, name):
    text = b"user\titem\trating\nann\t7\t5\n"
    path = written(tmp_path / name, gzip.compress(text) if name.endswith("gz") else text)
    assert rows(load_ratings(path)) == [("ann", 7, 5.0)]
    path.write_bytes(text.replace(b"\t", b";"))
    assert rows(load_ratings(path, sep=";")) == [("ann", 7, 5.0)]


def test_ratings_of_an_open_file_of_home_and_of_a_name_in_capitals(tmp_path, monkeypatch):
    text = "user,item,rating\nann,7,5\n"
    assert rows(load_ratings(io.StringIO(text))) == [("ann", 7, 5.0)]
    path = written(tmp_path / "a.csv", text.encode())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert rows(load_ratings("~/a.csv")) == [("ann", 7, 5.0)]
    pytest.importorskip("pyarrow")
    pd.read_csv(path).to_parquet(tmp_path / "A.PARQUET")
    assert rows(load_ratings(tmp_path / "A.PARQUET")) == [("ann", 7, 5.0)]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_ratings(tmp_path / "a.csv")


HEAD = "user,item,rating\nann,7,5\n\n"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ann,7", "line 4 must be 3 fields between ','; got 'ann,7'."),
        ("ann,7,5,1", "line 4 must be 3 fields between ','; got 'ann,7,5,1'."),
        ("ann,8,x", "line 4 must be a line with a finite number as rating; got "
         "'ann,8,x'."),
        ("ann,8,nan", "line 4 must be a line with a finite number as rating; got "
         "'ann,8,nan'."),
        ("ann,8,1_0", "line 4 must be a line with a finite number as rating; got "
         "'ann,8,1_0'."),
        ("ann,8,6", "line 4 must be a line with a rating from 1 to 5; got 'ann,8,6'."),
        (",8,5", "line 4 must be a line with a user and an item; got ',8,5'."),
        ("ann,,5", "line 4 must be a line with a user and an item; got 'ann,,5'."),
        ('ann,"8,5', "line 4 must be fields between ',' whose quotes end in the line; "
         "got 'ann,\"8,5'."),
        ('ann,8,"5', "line 4 must be fields between ',' whose quotes end in the line; "
         "got 'ann,8,\"5'."),
        (
            "ann,7,3",
            "a user must rate an item once; got user 'ann' and item 7 again in line 4. "
            "With duplicates='last', 'mean' or 'max' such ratings are merged.",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", ["", "\nbob,7,3\n"])
def test_damaged_lines_are_refused(line, more, sentence):
    with pytest.raises(DataError, match=exactly(f"read_csv: {sentence}")):
        read(HEAD + line + more, scale=(1, 5))


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("", {}, "path must hold at least one rating; got none."),
        ("user,item,rating\n", {}, "path must hold at least one rating; got none."),
        (
            "users,item,rating\na,1,1\n",
            {},
            "user must be a column in line 1 ('users', 'item', 'rating'); got 'user'. "
            "Did you mean 'users'?",
        ),
        (
            "user;item;rating\na;1;1\n",
            {},
            "user must be a column in line 1 ('user;item;rating'); got 'user'. Give "
            "sep=';', which stands in the line.",
        ),
        (
            "user\titem\na\t1\n",
            {},
            "user must be a column in line 1 ('user\\titem'); got 'user'. Give "
            "sep='\\t', which stands in the line.",
        ),
        (
            "a;1;1\n",
            {"user": 0, "item": 1, "rating": 2, "header": False},
            "item must be the place of a column, below 1 by line 1; got 1. Give "
            "sep=';', which stands in the line.",
        ),
        (
            "a,1,1\n",
            {},
            "user must be a column in line 1 ('a', '1', '1'); got 'user'. If line 1 is "
            "a rating and there are no names, give header=False, user=0, item=1, "
            "rating=2.",
        ),
        (
            "a;1;1\n",
            {},
            "user must be a column in line 1 ('a;1;1'); got 'user'. Give sep=';', "
            "which stands in the line. If line 1 is a rating and there are no names, "
            "give header=False, user=0, item=1, rating=2.",
        ),
        (
            "a,1,1\n",
            {"user": 0, "item": 1, "rating": 3, "header": False},
            "rating must be the place of a column, below 3 by line 1; got 3.",
        ),
        (
            HEAD,
            {"header": False},
            "user must be a place from 0 on if header=False; got None.",
        ),
        (
            HEAD,
            {"sep": ""},
            "sep must be one or more characters, no quotes or ends of lines; got ''.",
        ),
        (
            HEAD,
            {"encoding": "utf-16"},
            "encoding must be the name of an encoding with plain ends of lines; got "
            "'utf-16'.",
        ),
        (HEAD, {"scale": (5, 1)}, "scale must be None or (lowest, highest); got "
         "(5, 1)."),
        (
            HEAD,
            {"user_dtype": int},
            "user must be integers if user_dtype is int; got 'ann'.",
        ),
        (HEAD, {"item_dtype": float}, "item_dtype must be None, int or str; got "
         "<class 'float'>."),
        (HEAD, {"user": -1}, "user must be None, the name of a column or its place from "
         "0 on; got -1."),
    ],
)  # fmt: skip
def test_refusals(text, options, sentence):
    with pytest.raises(ValueError, match=exactly(f"read_csv: {sentence}")):
        read(text, **options)


def test_a_matrix():
    text = io.StringIO("5 0 1\n\n0 0 3\n")
    assert rows(load_ratings_matrix(text, scale=(1, 5))) == [(0, 0, 5.0), (0, 2, 1.0), (1, 2, 3.0)]
    ratings = load_ratings_matrix(io.StringIO("5,99\n0,1\n"), missing=99, sep=",")
    assert rows(ratings) == [(0, 0, 5.0), (1, 0, 0.0), (1, 1, 1.0)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 2\n1\n", "line 2 must be 2 numbers; got '1'."),
        ("1 2\n1 x\n", "line 2 must be 2 numbers; got '1 x'."),
        ("1 2\n\n1 6\n", "line 3 must be ratings from 1 to 5, or 0 for none; got 6."),
        ("1 nan\n", "line 1 must be ratings from 1 to 5, or 0 for none; got nan."),
        ("", "path must hold at least one row; got none."),
    ],
)
def test_damaged_matrices_are_refused(text, sentence):
    with pytest.raises(DataError, match=exactly(f"load_ratings_matrix: {sentence}")):
        load_ratings_matrix(io.StringIO(text), scale=(1, 5))


def test_text_that_is_decoded_already_is_not_decoded_again():
    text = io.StringIO("user,item,rating\nzo\u00e9,tea,5\n")
    assert Ratings.read_csv(text, encoding="latin-1").users.tolist() == ["zo\u00e9"]


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_decimal_commas_where_commas_do_not_separate(sep):
    text = "user;item;rating\n1;7;0,5\n1;8;3\n2;7;-1,25\n".replace(";", sep)
    ratings = Ratings.read_csv(io.StringIO(text), sep=sep)
    assert sorted(ratings.csr.data.tolist()) == [-1.25, 0.5, 3.0]
    with pytest.raises(DataError, match="line 3 must be a line with a finite number"):
        Ratings.read_csv(io.StringIO(text.replace(f"8{sep}3", f"8{sep}?")), sep=sep)
