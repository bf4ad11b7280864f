import re

import numpy as np
import pytest

from peckorder.comparison.table_case import make_table_case
from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns
from peckorder.tables.features import Coding, matrix_of
from peckorder.tables.roles import Role
from peckorder.tables.scaling import Scaling
from peckorder.tables.task import ratings_of, recognise
from support.tables import table, text

N = 60
rng = np.random.default_rng(0)


SIZE = rng.normal(size=N)
GRADE = np.arange(N) % 4
QUERY = np.repeat(np.arange(6), 10)


def roles(task):
    return {t.column: t.role for t in task.column_roles}


@pytest.mark.parametrize(
    ("columns", "kind", "target"),
    [
        (table(size=SIZE, quality=GRADE), "ordinal", "quality"),
        (table(size=SIZE, last=GRADE), "ordinal", "last"),
        (table(out1=GRADE, size=SIZE), "ordinal", "out1"),
        (table(size=SIZE, last=GRADE + 0.5), "ordinal", "last"),
        (table(size=GRADE, target=SIZE), "magnitude", "target"),
        (table(size=SIZE, rings=np.arange(N) % 20), "magnitude", "rings"),
        (table(target=GRADE, qid=QUERY, size=SIZE), "graded", "target"),
        (table(size=SIZE, Query_ID=QUERY, relevance=GRADE), "graded", "relevance"),
        (table(target=SIZE, qid=QUERY, size=SIZE), "magnitude", "target"),
    ],
)
def test_rows_are_recognised_by_names_and_values(columns, kind, target):
    task = recognise(columns)
    assert (task.kind, task.target) == (kind, target)
    assert set(task.features) == {"size"} & set(columns.names)
    assert [taken.column for taken in task.column_roles] == list(columns.names)


@pytest.mark.parametrize(
    "names",
    [
        ("user", "item", "rating"),
        ("userId", "movieId", "rating"),
        ("User_ID", "ISBN", "Book_Rating"),
        ("reviewer", "product", "stars"),
    ],
)
def test_ratings_are_recognised_by_names(names):
    columns = dict(zip(names, (QUERY, np.tile(np.arange(10), 6), GRADE), strict=True))
    task = recognise(table(**columns, timestamp=np.arange(N)))
    assert (task.kind, (task.user, task.item, task.target)) == ("ratings", names)
    assert roles(task)["timestamp"] is Role.IGNORED


def test_ratings_without_names_are_recognised_by_their_shape():
    user, item = np.divmod(rng.permutation(900)[:400], 30)
    arrays = [user, item, rng.integers(1, 6, 400), rng.integers(10**9, size=400)]
    named = {f"column {k}": array for k, array in enumerate(arrays, start=1)}
    task = recognise(Columns(named, "u.data"))
    found = (task.kind, task.user, task.item, task.target)
    assert found == ("ratings", "column 1", "column 2", "column 3")
    # A pair that comes twice is no rating; then the last column is to be predicted.
    named["column 2"] = np.where(np.arange(400) < 2, item[0], item)
    named["column 1"] = np.where(np.arange(400) < 2, user[0], user)
    assert recognise(Columns(named, "u.data")).kind == "magnitude"


def test_flags_overrule():
    columns = table(quality=GRADE, size=SIZE, other=GRADE, group=QUERY)
    task = recognise(columns, target="size", qid="group", drop=["other"])
    assert (task.kind, task.target, task.query) == ("magnitude", "size", "group")
    assert task.features == ("quality",)
    assert roles(task)["other"] is Role.IGNORED
    assert {t.column: t.why for t in task.column_roles}["size"] == "--target"
    assert recognise(columns, task="magnitude").kind == "magnitude"
    one = recognise(columns, user="group", item="size", rating="other")
    assert (one.kind, one.user, one.item, one.target) == (*("ratings", "group", "size", "other"),)
    assert recognise(columns, drop=["size,other"]).features == ("group",)


@pytest.mark.parametrize("kind", ["ordinal", "magnitude", "graded"])
def test_queries_are_known_by_name_whatever_the_task(kind):
    task = recognise(table(size=SIZE, qid=QUERY, grade=GRADE), task=kind)
    assert (task.kind, task.query, task.features) == (kind, "qid", ("size",))


def test_rows_of_people_are_not_divided_where_there_are_no_queries():
    columns = table(size=SIZE, who=QUERY, user=QUERY, grade=GRADE)
    task = recognise(columns)
    assert (task.kind, task.user, task.query) == ("ordinal", "user", None)
    assert task.features == ("size", "who")
    assert roles(task)["user"] is Role.GROUP
    assert recognise(columns, target="grade", user="who").user == "who"
    assert recognise(columns, user="who").user == "who"
    assert recognise(columns, qid="who").user is None
    assert recognise(columns, drop=["user"]).user is None
    # One row each, or all of one: there is nothing to keep whole.
    for user in (np.arange(N), np.zeros(N), np.where(SIZE > 0, np.arange(N), np.nan)):
        assert recognise(table(size=SIZE, user=user, grade=GRADE)).user is None
    gaps = text(*(None if k % 7 == 0 else f"p{k % 5}" for k in range(N)))
    columns = table(size=SIZE, user=gaps, grade=GRADE)
    case = make_table_case(columns, recognise(columns))
    assert np.bincount(case.people).tolist()[0] == 9
    assert len(case.people) == N


def test_ratings_have_no_queries():
    columns = table(user=QUERY, item=np.tile(np.arange(10), 6), rating=GRADE, q=QUERY)
    sentence = "qid must only be given where there are no ratings; got 'q'."
    with pytest.raises(DataError, match=re.escape(sentence)):
        recognise(columns, task="ratings", qid="q")


def test_classes_that_are_numbers_are_the_same_by_value():
    large = 1_000_001 + np.arange(N) % 3
    columns = table(size=SIZE, grade=large)
    order = ["1000003,1000001.0", "1000002"]
    assert recognise(columns, classes=order).classes == (1000003, 1000001, 1000002)
    halves = table(size=SIZE, grade=large / 2)
    found = recognise(halves, classes=["500000.5,500001,500001.5"]).classes
    assert found == (500000.5, 500001, 500001.5)
    beyond = 2**53 + np.arange(N) % 3
    named = [f"{2**53 + 1},{2**53},{2**53 + 2}"]
    found = recognise(table(size=SIZE, grade=beyond), classes=named).classes
    assert found == (2**53 + 1, 2**53, 2**53 + 2)
    for wrong in (["1000001", "1000002", "1e6"], ["1000001", "1000001.0", "x"]):
        with pytest.raises(DataError, match="classes must be the labels in 'grade'"):
            recognise(columns, classes=wrong)


def test_classes_that_are_text_want_an_order():
    columns = table(size=SIZE, taste=text(*["good", "bad", "fair"] * 20))
    assert recognise(columns, classes=["bad,fair,good"]).classes == (*("bad", "fair", "good"),)
    assert recognise(columns, classes=["fair,good,bad"]).classes == (*("fair", "good", "bad"),)
    colours = table(size=SIZE, taste=text(*["red", "blue", "fair"] * 20))
    with pytest.raises(DataError, match=r"classes must be given, lowest first"):
        recognise(colours)
    expected = (
        "classes must be the labels in 'taste', each once, lowest first: bad, "
        "fair, good; got bad, good."
    )
    with pytest.raises(DataError, match=re.escape(expected)):
        recognise(columns, classes=["bad", "good"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"target": "qualty"},
            "target must be a column of some.csv, which has size, quality; "
            "got 'qualty'. Did you mean 'quality'?",
        ),
        (
            {"drop": ["weight"]},
            "drop must be a column of some.csv, which has size, quality; got 'weight'.",
        ),
        (
            {"task": "graded"},
            "qid must be a column of some.csv, given by --qid, where none is "
            "named so; got size, quality.",
        ),
        (
            {"task": "ratings"},
            "user must be a column of some.csv, given by --user, where none "
            "is named so; got size, quality.",
        ),
        (
            {"task": "ranking"},
            "task must be None or one of 'ordinal', 'magnitude', 'graded', "
            "'ratings'; got 'ranking'. Did you mean 'graded'?",
        ),
        (
            {"target": "quality", "drop": ["quality"]},
            "drop must not name what --target does; got 'quality'.",
        ),
        (
            {"task": "ratings", "user": "size", "drop": ["size"]},
            "drop must not name what --user does; got 'size'.",
        ),
        (
            {"target": "quality", "qid": "quality"},
            "target and qid must be two columns; got 'quality' for both.",
        ),
        (
            {"target": "quality", "item": "size"},
            "item must only be given for ratings (--task ratings); got 'size'.",
        ),
        (
            {"qid": "size", "user": "quality"},
            "user must only be given where there are no queries ('size' has some); got 'quality'.",
        ),
        (
            {"drop": ["size"]},
            "some.csv must have a column to predict and one to learn from; got quality.",
        ),
    ],
)
def test_refusals_list_the_columns(options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        recognise(table(size=SIZE, quality=GRADE), **options)


def test_a_target_of_one_value_is_refused():
    sentence = "target must have at least two different values; got [0]"
    with pytest.raises(DataError, match=re.escape(sentence)):
        recognise(table(size=SIZE, quality=np.zeros(N, dtype=int)))


def test_columns_become_features_or_are_left_out_with_a_reason():
    columns = table(
        id=rng.permutation(N),
        row=np.arange(N),
        number=np.arange(N),
        same=np.ones(N),
        nothing=np.full(N, np.nan),
        colour=text(*["red", "blue", None] * 20),
        remark=text(*[f"text {k}" for k in range(N)]),
        size=SIZE,
    )
    coding = Coding.of(columns, columns.names)
    assert coding.features == ("colour=blue", "colour=red", "size")
    assert {t.column: t.why for t in coding.column_roles if t.role is Role.IGNORED} == {
        "id": "an id, by its name",
        "row": "an id, by its name",
        "number": "the numbers of rows, by its values",
        "same": "the same value in all rows",
        "nothing": "empty",
        "remark": "text of 60 different values, most of which come once",
    }
    X = coding.matrix(columns)
    assert X[:3, :2].tolist() == [[0, 1], [1, 0], [0, 0]]
    np.testing.assert_array_equal(X[:, 2], SIZE)


def test_a_table_with_nothing_to_learn_from_is_refused():
    with pytest.raises(DataError, match=r"must have a column to learn from; got same"):
        Coding.of(table(same=np.ones(N)), ["same"])
    wild = table(size=np.where(np.arange(N) == 7, np.inf, SIZE))
    with pytest.raises(DataError, match=r"'size' must be finite; got inf in row 8"):
        Coding.of(wild, ["size"])


def test_formulas_of_older_files_are_read_as_they_were():
    columns = table(
        **{
            "size": np.where(np.arange(N) % 7 == 0, np.nan, 1e3 * SIZE),
            "a - b) / c": GRADE,
            "x=y": text(*["p=q", "(r"] * 30),
        }
    )
    coding = Coding.of(columns, columns.names)
    X = coding.matrix(columns)
    scaling = Scaling.learn(X)
    scaled = scaling.apply(X)
    parts = zip(coding.features, scaling.mean, scaling.scale, strict=True)
    formulas = [f"({n} - {float(m)!r}) / {float(s)!r}" for n, m, s in parts]
    again = matrix_of(columns, formulas)
    np.testing.assert_array_equal(again, scaled)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-12)
    assert not np.isnan(scaled).any()
    # Without scaling gaps stay gaps.
    np.testing.assert_array_equal(matrix_of(columns, coding.features), X)


def test_a_case_knows_whether_rows_were_drawn():
    columns = table(size=SIZE, grade=np.arange(N) % 3)
    task = recognise(columns, target="grade")
    assert not make_table_case(columns, task).is_sample
    assert make_table_case(columns, task, most_rows=30).is_sample


@pytest.mark.parametrize(
    ("cells", "kind", "unit"),
    [
        ([f"${1000 + 37 * k:,.2f}" for k in range(60)], "magnitude", "$"),
        ([f"{k / 7:.1f}%" for k in range(60)], "magnitude", "%"),
        ([f"{1 + k % 4} stars" for k in range(60)], "ordinal", "stars"),
    ],
)
def test_amounts_in_text_can_be_predicted(cells, kind, unit):
    target = np.array([*cells[1:], None], dtype=object)
    columns = Columns({"a": np.arange(60.0) ** 2, "size": target}, "made.csv")
    task = recognise(columns)
    assert (task.kind, task.target) == (kind, "size")
    assert f"'size' is text that was read as numbers (unit: {unit})." in task.notes
    case = make_table_case(columns, task)
    assert len(case.y) == 59
    assert case.classes == ((1, 2, 3, 4) if kind == "ordinal" else None)
    if unit == "$":
        assert case.y[:2].tolist() == [1037.0, 1074.0]


def test_ratings_may_be_amounts():
    stars = np.array([f"{1 + k % 5} stars" for k in range(30)], dtype=object)
    arrays = {"user": np.arange(30) // 6, "item": np.arange(30) % 6, "rating": stars}
    columns = Columns(arrays, "made.csv")
    task = recognise(columns)
    assert task.kind == "ratings"
    ratings, notes = ratings_of(columns, task)
    assert notes == ("'rating' is text that was read as numbers (unit: stars).",)
    assert sorted(set(ratings.csr.data.tolist())) == [1, 2, 3, 4, 5]


def test_text_of_many_values_is_no_list_of_classes():
    dates = np.array([f"2020-01-{1 + k % 31:02} {k:02}:00" for k in range(60)], dtype=object)
    columns = Columns({"a": np.arange(60.0) ** 2, "end": dates}, "made.csv")
    sentence = "target must be numbers, or text of few different values; got 'end', text of 60, "
    with pytest.raises(DataError, match=sentence):
        recognise(columns)
