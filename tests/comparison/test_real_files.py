"""Real files are taken for what they are; read from the folder PECKORDER_DATA names."""

import os
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from peckorder.comparison.table_case import make_table_case
from peckorder.tables.files.read import read_columns
from peckorder.tables.task import recognise

FOLDER = os.environ.get("PECKORDER_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="PECKORDER_DATA does not name a folder of real data"
)


@pytest.mark.parametrize(
    ("file", "kind", "target", "n_features"),
    [
        ("ordinal/winequality-red.csv", "ordinal", "quality", 11),
        ("ordinal/SWD.csv", "ordinal", "Out1", 10),
        ("ordinal/car-evaluation.csv", "ordinal", "out1", 21),
        ("ordinal/bank.csv", "magnitude", "out1", 8),
        ("ordinal/new-thyroid.csv", "ordinal", "column 6", 5),
        ("ohsumed_letor/part1.txt.gz", "graded", "target", 25),
    ],
)
def test_tables_are_recognised(file, kind, target, n_features):
    path = Path(FOLDER) / file
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    columns = read_columns(path)
    task = recognise(columns)
    assert (task.kind, task.target) == (kind, target)
    assert len(make_table_case(columns, task).features) == n_features


@pytest.mark.parametrize(
    ("file", "roles"),
    [
        ("ml-100k/u.data", ("column 1", "column 2", "column 3")),
        ("ml-1m/ratings.csv.gz", ("user", "movie", "rating")),
        ("book_crossing/BX_Book_Ratings_explicit_171k.csv.gz", ("User_ID", "ISBN", "Book_Rating")),
    ],
)
def test_ratings_are_recognised(file, roles):
    path = Path(FOLDER) / file
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    task = recognise(read_columns(path))
    assert (task.kind, (task.user, task.item, task.target)) == ("ratings", roles)
