"""Functions that a table of calls and results describes."""

import numpy as np
import pyarrow as pa
import pytest

import peckorder
from peckorder._core.column_names import carried
from peckorder.tables.columns import counted, drawn
from peckorder.tables.features import Coding, matrix_of
from peckorder.tables.files.arrow_cells import numbers, remark, typed, whole_ids
from peckorder.tables.files.runs import run_names
from peckorder.tables.model_rows import contributions
from peckorder.tables.task import ordered_classes, ratings_of, recognise
from peckorder.tables.text_cells import slip_among
from support.tables import table


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (carried("Date"), "a date or time, by its name"),
        (carried("comment"), "a remark, by its name"),
        (carried("doc id"), "an id, by its name"),
        (carried("alcohol"), ""),
        (counted(1, "query is", "queries are"), "1 query is"),
        (counted(2000, "row", "rows"), "2,000 rows"),
        (drawn(6, np.array([7, 7, 7, 8, 8, 8]), 4, seed=0).tolist(), [0, 1, 2]),
        (run_names(["runs/bm25.v2.run.gz", "dense.txt"]), ["bm25.v2", "dense"]),
        (
            ordered_classes("y", [1000001, 1000002], ["1000002.0", "1000001"], is_text=False),
            (1000002, 1000001),
        ),
        (
            slip_among(["1", "5", "five", None, "2"]),
            " Or mend 'five' in row 3: all other labels are numbers.",
        ),
        (slip_among(["low", "high", "1"]), ""),
        (
            matrix_of(table(size=[1.0, 3.0]), ["size", "(size - 2.0) / 0.5"]).tolist(),
            [[1.0, -2.0], [3.0, 2.0]],
        ),
    ],
)
def test_results(found, expected):
    assert found == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "NA", " 2.5"], [1.0, None, 2.5]),
        (["True", "", "false"], [1.0, None, 0.0]),
        (["1", "two"], None),
    ],
)
def test_cells_as_numbers(cells, expected):
    found = numbers(pa.chunked_array([cells]))
    assert found == expected if expected is None else found.to_pylist() == expected


def test_ids_with_zeros_in_front_are_text():
    assert whole_ids(pa.array(["7", "-12"])).to_pylist() == [7, -12]
    assert whole_ids(pa.array(["007"])) is None


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "?", "2"], "size: '?' was taken for an empty cell, 1 time."),
        (
            [*map(str, range(19)), "3 kg"],
            "size: text, since '3 kg' in row 20 is no number; all but 1 of 20 cells are.",
        ),
    ],
)
def test_remarks_about_cells(cells, expected):
    column = pa.chunked_array([cells])
    found = typed("size", column, is_id=False, has_commas=False)
    assert remark("size", column, found) == expected


def test_text_is_coded_and_numbers_of_rows_are_left_out():
    things = table(id=np.arange(3), colour=np.array(["red", "blue", None], dtype=object))
    coding = Coding.of(things, things.names)
    assert coding.features == ("colour=blue", "colour=red")
    assert coding.matrix(things).tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]


def test_the_last_of_two_ratings_counts():
    things = table(user=[1, 1, 2], item=[7, 7, 7], rating=[1.0, 5.0, 3.0])
    ratings, notes = ratings_of(things, recognise(things))
    assert ratings.csr.toarray().ravel().tolist() == [5.0, 3.0]
    assert notes == ("1 rating was given again later: the last one counts.",)


def test_few_whole_numbers_are_classes():
    task = recognise(table(size=np.arange(30.0), grade=np.arange(30) % 3))
    assert (task.kind, task.target, task.classes) == ("ordinal", "grade", (0, 1, 2))


def test_a_gap_is_the_mean_of_a_scaled_feature():
    found = matrix_of(table(size=[3.0, np.nan]), ["size", "(size - 2.0) / 0.5"])
    np.testing.assert_array_equal(found, [[3.0, 2.0], [np.nan, 0.0]])


def test_contributions_sum_to_the_score():
    model = peckorder.MPRank().fit([[0.0], [1.0]], [0, 2])
    added, constant = contributions(model, [[2.0]])
    assert abs(added.sum() + constant[0] - model.predict([[2.0]])[0]) < 1e-12
