"""What a column is for is guessed by its name and its values, said, and can be set."""

import re

import numpy as np
import pytest

from peckorder.comparison.table_case import make_table_case
from peckorder.exceptions import DataError
from peckorder.tables.roles import Role, find_query, find_target, given_columns
from peckorder.tables.task import SCORES, recognise
from support.tables import table, text

N = 60
rng = np.random.default_rng(1)
SIZE = rng.normal(size=N)
GRADE = rng.permutation(np.arange(N) % 4)
QUERY = np.repeat(np.arange(6), 10)
PITCH = (rng.integers(-50, 51, N) / 100).round(2)


def roles(task):
    return {t.column: t.role for t in task.column_roles}


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("q", PITCH, "since not all are whole"),
        ("qid", SIZE, "since not all are whole"),
        ("q", text(*[f"{cell}" for cell in PITCH]), "since not all are whole"),
        ("qid", np.arange(N), "since most have one row"),
        ("query_id", text(*[f"query {k}" for k in range(N)]), "since most have one row"),
        ("qid", np.ones(N), "since there is one only"),
        ("q", rng.permutation(QUERY), "since rows of one do not stand together"),
        ("topic", text(*["sport", "news"] * 30), "since rows of one do not stand together"),
    ],
)
def test_queries_need_more_than_a_name(name, values, why):
    columns = table(size=SIZE, **{name: values}, label=GRADE)
    task = recognise(columns)
    assert (task.query, task.target) == (None, "label")
    assert task.notes == (f"{name}: not taken for queries, {why} (--qid {name!r} if they are).",)
    assert recognise(columns, qid=name).query == name
    # A feature, unless it is an id.
    assert roles(task)[name] is Role.FEATURE


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("q", QUERY),
        ("q", QUERY.astype(float)),
        ("qid", rng.permutation(QUERY)),
        ("qid", np.where(SIZE > 1, np.nan, QUERY)),
        ("topic", text(*[f"t{k}" for k in QUERY])),
        ("query", text(*rng.permutation([f"t{k}" for k in QUERY]))),
    ],
)
def test_whole_numbers_or_text_with_several_rows_are_queries(name, values):
    task = recognise(table(size=SIZE, **{name: values}, label=GRADE))
    assert (task.query, task.notes) == (name, ())


def test_a_rate_called_q_is_learnt_from():
    columns = table(q=PITCH, size=SIZE, label=GRADE)
    case = make_table_case(columns, recognise(columns))
    assert case.features == ("q", "size")
    whole = table(session=np.arange(N) * 7, size=SIZE, label=GRADE)
    assert make_table_case(whole, recognise(whole)).features == ("size",)


def test_a_file_to_be_ranked_may_have_one_query():
    columns = table(qid=np.ones(N), q=PITCH)
    assert find_query(columns, columns.names, has_lists=True) == ("qid", ())
    assert find_query(columns, ["q"], has_lists=True) == (None, ())
    as_text = table(q=text("0.5", "1"), qid=text("007", "x"))
    assert find_query(as_text, as_text.names, has_lists=True).column == "qid"


def test_of_two_columns_of_queries_the_sure_name_is_taken_and_it_is_said():
    task = recognise(table(session=QUERY, qid=QUERY // 2, size=SIZE, label=GRADE))
    assert task.query == "qid"
    assert task.notes == (
        "'qid' was taken for queries; 'session' could be that, too (--qid NAME).",
    )


def test_sure_names_of_targets_beat_others():
    columns = table(qid=QUERY, bm25=SIZE, score=SIZE**2, age=GRADE, label=GRADE)
    task = recognise(columns)
    assert (task.target, task.query) == ("label", "qid")
    assert task.notes == (
        "'label' was taken for what is to be predicted; 'score' could be that, too (--target "
        "NAME). If it is not known before, --drop 'score'.",
    )
    assert "score" in task.features
    assert recognise(columns, target="score").notes == ()
    assert recognise(columns, drop=["score"]).notes == ()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["score", "stars"], "score"),
        (["x", "y", "class"], "class"),
        (["rating", "relevance", "label"], "relevance"),
        (["x", "y"], "y"),
        (["size"], None),
    ],
)
def test_targets_by_name(names, expected):
    columns = table(**dict.fromkeys(names, GRADE))
    assert find_target(columns, names).column == expected


def test_a_target_of_one_value_is_passed_over():
    columns = table(label=np.ones(N), grade=GRADE, size=SIZE)
    assert recognise(columns).target == "grade"


def test_a_target_by_its_place_is_said_to_be_a_guess():
    said = "'b' is to be predicted because it comes last (--target NAME)."
    assert recognise(table(a=SIZE, b=GRADE)).notes == (said,)
    assert recognise(table(a=SIZE, b=GRADE), target="b").notes == ()
    unnamed = {"column 1": GRADE, "column 2": SIZE, "column 3": text(*["u", "v"] * 30)}
    notes = recognise(table(**unnamed)).notes
    assert notes == ("'column 1' is to be predicted because it comes first (--target NAME).",)


def test_every_role_can_be_unset():
    columns = table(qid=QUERY, user=QUERY // 2, size=SIZE, label=GRADE)
    assert recognise(columns).query == "qid"
    for nothing in ("none", ""):
        task = recognise(columns, qid=nothing)
        assert (task.query, task.user, task.kind) == (None, "user", "ordinal")
        assert roles(task)["qid"] is Role.FEATURE
        task = recognise(columns, qid=nothing, user=nothing)
        assert (task.query, task.user) == (None, None)
        assert task.features == ("qid", "user", "size")
    ratings = table(user=QUERY, item=np.tile(np.arange(10), 6), rating=GRADE, size=SIZE)
    assert recognise(ratings).kind == "ratings"
    assert recognise(ratings, item="none").kind == "ordinal"
    with pytest.raises(DataError, match=r"item must be a column of some\.csv, given by --item"):
        recognise(ratings, item="none", task="ratings")
    with pytest.raises(DataError, match="target must be the column to predict; got 'none'"):
        recognise(ratings, target="none")
    with pytest.raises(DataError, match=r"qid must be a column of some\.csv, given by --qid"):
        recognise(columns, qid="none", task="graded")


def test_a_column_called_none_can_be_named():
    columns = table(none=QUERY, qid=QUERY, size=SIZE, label=GRADE)
    assert recognise(columns, qid="none").query == "none"
    assert recognise(columns, qid="").query is None
    assert given_columns(columns, {"qid": "none", "user": "", "item": None}) == {
        "qid": "none",
        "user": None,
    }


def test_rankers_of_scores_learn_grades_where_there_are_queries():
    columns = table(qid=QUERY, size=SIZE, label=GRADE)
    assert recognise(columns, task=SCORES).kind == "graded"
    assert recognise(columns, task=SCORES, qid="none").kind == "magnitude"
    assert recognise(table(q=PITCH, size=SIZE, label=GRADE), task=SCORES).kind == "magnitude"


def test_ordered_words_are_classes_in_their_order():
    words = np.array(["low", "medium", "high"], dtype=object)[GRADE % 3]
    task = recognise(table(size=SIZE, label=words))
    assert task.classes == ("low", "medium", "high")
    said = "'label' has the classes low < medium < high (--classes for another order)."
    assert task.notes == (said,)
    other = recognise(table(size=SIZE, label=words), classes=["high,medium,low"])
    assert (other.classes, other.notes) == (("high", "medium", "low"), ())


def leaks(columns, **options):
    case = make_table_case(columns, recognise(columns, **options))
    return [note for note in case.notes if "alone it puts" in note]


def test_a_feature_that_is_the_target_in_disguise_is_pointed_at():
    columns = table(copy=-2.5 * GRADE, size=SIZE, noisy=GRADE + 1.5 * SIZE, label=GRADE)
    (note,) = leaks(columns)
    assert note == (
        "copy: alone it puts 100.0% of pairs in the order of 'label'. If it is not known before "
        "that is, --drop 'copy'."
    )
    assert leaks(columns, drop=["copy"]) == []
    words = np.array(["a", "c", "b", "d"], dtype=object)[GRADE]
    (note,) = leaks(table(size=SIZE, word=words, label=GRADE))
    assert note.startswith("word: alone it puts 100.0%")
    # Within queries.
    by_query = table(qid=QUERY, copy=GRADE + 10.0 * QUERY, size=SIZE, label=GRADE)
    assert len(leaks(by_query)) == 1
    assert leaks(by_query, qid="none", drop=["qid"]) == []


def test_few_rows_gaps_and_ids_are_no_leaks():
    few = table(copy=np.arange(15.0), size=SIZE[:15], label=np.arange(15) % 3)
    assert leaks(few) == []
    gaps = np.where(np.arange(N) < 50, np.nan, GRADE)
    assert leaks(table(copy=gaps, size=SIZE, label=GRADE)) == []
    # Each text comes twice: in the rows at hand its mean says nearly all.
    names = text(*[f"n{k // 2}" for k in range(N)])
    assert leaks(table(name_=names, size=SIZE, height=SIZE + rng.normal(size=N))) == []


def test_refusals_of_names_list_the_columns():
    with pytest.raises(DataError, match=re.escape("must be a column of some.csv, which has size")):
        recognise(table(size=SIZE, label=GRADE), qid="non")
