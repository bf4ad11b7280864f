"""Preferences from frames and files that name rows by ids, and back."""

import gzip
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from peckorder import Preferences
from peckorder.exceptions import DataError
from support.helpers import exactly

IDS = ["ann", "bob", "eve"]
MATCHES = {"winner": ["eve", "ann"], "loser": ["bob", "eve"], "weight": [2, 1], "size": [0.5, 3]}
TEXT = 'day,Winner ID,loser_id,weight,margin\n1,eve,bob,2,0.5\n\n2,"ann",eve,1,3\n'


def written(frame):
    file = io.BytesIO()
    pd.DataFrame(frame).to_parquet(file)
    file.seek(0)
    return file


def check(found, sizes=(0.5, 3.0)):
    columns = *found.pairs(), found.sizes()
    expected = [2, 0], [1, 2], [2.0, 1.0], list(sizes)
    assert [column.tolist() for column in columns] == list(expected)


@pytest.mark.parametrize(
    "form", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["mapping", "pandas", "polars", "pa"]
)
def test_frames_of_every_kind_are_taken(form):
    check(Preferences.from_frame(form(MATCHES), IDS))


@pytest.mark.parametrize(
    "names", [("better", "worse"), ("preferred", "other"), ("chosen", "rejected_id")]
)
def test_usual_names_are_found(names):
    renamed = dict(zip((*names, "weight", "size"), MATCHES.values(), strict=True))
    check(Preferences.from_frame(renamed, IDS))


def test_columns_may_be_named():
    other = dict(zip(("a", "b", "w", "s"), MATCHES.values(), strict=True)) | {"weight": [9, 9]}
    named = Preferences.from_frame(other, IDS, better="a", worse="b", weight="w")
    check(named, sizes=[1.0, 1.0])
    assert not named.has_sizes


def test_files_are_read(tmp_path):
    path = tmp_path / "matches.csv.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    check(Preferences.read_csv(path, IDS))
    check(Preferences.read_csv(io.StringIO(TEXT), IDS))
    commas = TEXT.replace(",", ";").replace("0.5", "0,5")
    check(Preferences.read_csv(io.StringIO(commas), IDS, sep=";"))
    check(Preferences.read_parquet(written(MATCHES), IDS))


def test_text_of_numbers_is_numbers_if_ids_are():
    text = io.StringIO("better,worse\n7,9\n")
    assert Preferences.read_csv(text, np.array([9, 7])).pairs().better.tolist() == [1]
    text = io.StringIO("better,worse\n7,9\n")
    assert Preferences.read_csv(text, ["9", "7"]).pairs().better.tolist() == [1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@settings(max_examples=20)
@given(st.lists(st.permutations(range(5)).map(lambda p: p[:2]), min_size=1), st.booleans())
def test_there_and_back(library, pairs, has_sizes):
    better, worse = np.transpose(pairs)
    size = np.arange(len(pairs)) if has_sizes else None
    original = Preferences(better, worse, np.arange(len(pairs)), size)
    ids = [("a", 1), "b", 3, 4.5, "e"] if library == "pandas" else list("dacbe")
    frame = getattr(original, f"to_{library}")(ids)
    assert list(frame.columns) == ["better", "worse", "weight", "size"][: 4 if has_sizes else 3]
    again = Preferences.from_frame(frame, ids)
    assert again.has_sizes == has_sizes
    for one, other in zip(
        (*original.pairs(), original.sizes()), (*again.pairs(), again.sizes()), strict=True
    ):
        assert_array_equal(one, other)
    assert_array_equal(getattr(original, f"to_{library}")()["better"], better)


def from_csv(text, **options):
    return lambda: Preferences.read_csv(io.StringIO(text), IDS, **options)


REFUSED = {
    "unknown id": (
        lambda: Preferences.from_frame({"better": ["Ann"], "worse": ["bob"]}, IDS),
        "better must be one of the 3 that are known; got 'Ann'. Did you mean 'ann'?",
    ),
    "ids of another type": (
        lambda: Preferences.from_frame({"better": ["seven"], "worse": ["9"]}, [7, 9]),
        "better must be one of the 2 that are known; got 'seven'.",
    ),
    "no id": (
        lambda: Preferences.from_frame({"better": [None], "worse": ["bob"]}, IDS),
        "better must be without gaps; got None in row 0.",
    ),
    "itself": (
        lambda: Preferences.from_frame({"better": ["eve", "bob"], "worse": ["ann", "bob"]}, IDS),
        "worse must be another id than better; got 'bob' for both in pair 1.",
    ),
    "an id twice": (
        lambda: Preferences.from_frame(MATCHES, [*IDS, "bob"]),
        "ids must be distinct; got 'bob' again.",
    ),
    "no pair": (
        lambda: Preferences.from_frame({"better": [], "worse": []}, IDS),
        "better must be at least one row number; got [].",
    ),
    "no columns": (
        lambda: Preferences.from_frame({"a": ["ann"], "b": ["bob"]}, IDS),
        "frame must have a column 'better', or one with another usual name; got 'a', 'b'. Give "
        "better=NAME.",
    ),
    "no such column": (
        lambda: Preferences.from_frame(MATCHES, IDS, weight="wieght"),
        "weight must be a column of the frame; got 'wieght'. Did you mean 'weight'?",
    ),
    "no frame": (
        lambda: Preferences.from_frame([1, 2], IDS),
        "frame must have columns; got a list.",
    ),
    "empty file": (
        from_csv(""),
        "path must hold at least one pair, under a line of names; got none.",
    ),
    "names alone": (
        from_csv("better,worse\n"),
        "path must hold at least one pair, under a line of names; got none.",
    ),
    "short line": (
        from_csv("better,worse\nann,bob\nann\n"),
        "line 3 must be 2 fields between ','; got 'ann'.",
    ),
    "weight in words": (
        from_csv("better,worse,weight\nann,bob,much\n"),
        "line 2 must have a finite number as weight; got 'much'.",
    ),
    "no size": (
        from_csv("better,worse,size\nann,bob,\n"),
        "line 2 must have a finite number as size; got ''.",
    ),
    "few ids": (
        lambda: Preferences([0], [2]).to_pandas(["a", "b"]),
        "ids must be one per row, 3 at least; got 2.",
    ),
    "no Parquet": (
        lambda: Preferences.read_parquet(io.BytesIO(b"better,worse"), IDS),
        "path must be a sound Parquet file; got ",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(make, sentence):
    is_whole = not sentence.endswith("got ")
    pattern = exactly(f"Preferences: {sentence}") if is_whole else f"Preferences: {sentence}"
    with pytest.raises(DataError, match=pattern):
        make()


def test_other_encodings_are_refused():
    with pytest.raises(DataError, match="path must be UTF-8 text; got other bytes"):
        Preferences.read_csv(io.BytesIO("better,worse\nß,a\n".encode("latin-1")), ["ß", "a"])


@pytest.mark.parametrize("sep", ["", ",,", "\n", '"', None])
def test_other_separators_are_refused(sep):
    sentence = "sep must be one character, but no quote and no end of a line; got "
    with pytest.raises(ValueError, match=f"Preferences: {sentence}"):
        Preferences.read_csv(io.StringIO(TEXT), IDS, sep=sep)


@pytest.mark.parametrize("name", ['"a\nn"', "a\u2028n", "a\x85n", "a\x0cn"])
def test_ids_may_contain_what_ends_lines_elsewhere(name):
    text = f"winner,loser\r\n{name},bob\r\nbob,{name}\r\n"
    found = Preferences.read_csv(io.BytesIO(text.encode()), [name.strip('"'), "bob"])
    assert found.pairs().better.tolist() == [0, 1]
