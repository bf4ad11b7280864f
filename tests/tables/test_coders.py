"""Columns of every kind become numbers, in a table and in a model of it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import peckorder
from peckorder import MPRank, PRank, Preferences, RankBoost, TableRanker
from peckorder.comparison.contest import run_contest
from peckorder.comparison.table_case import make_table_case
from peckorder.exceptions import DataError
from peckorder.export import to_onnx
from peckorder.storage.format import Damaged, Node, pack
from peckorder.storage.format.labels import as_objects, write_labels
from peckorder.tables.coded_columns import (
    CODERS,
    category_positions,
    coded,
    joined_levels,
    read_coders,
    recoded,
    with_categories,
    with_codes,
)
from peckorder.tables.coders import ByTarget, Category, Dates, Number, OneHot, Ordered
from peckorder.tables.features import Coding
from peckorder.tables.task import recognise
from peckorder.tables.text_cells import AmountForm, DateForm, order_of_words, parse_date
from support.tables import table, text

nan = np.nan
N = 120
rng = np.random.default_rng(5)
BEGIN = rng.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    rng.bit_generator.state = BEGIN


def same(found, expected):
    return found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["53.3%", "1 %", "NA", "-0.5%"], [53.3, 1.0, nan, -0.5]),
        (["$6,188.62", "($5.00)", "-$1", "$-2"], [6188.62, -5.0, -1.0, -2.0]),
        (["1.234,56 €", "3,5 €", "1.000 €"], [1234.56, 3.5, 1000.0]),
        (["1,234", "12", "1,234,567.5"], [1234.0, 12.0, 1234567.5]),
        (["12 500 km", "3 km", "3.5km"], [12500.0, 3.0, 3.5]),
        (["USD 5", "USD 6.5"], [5.0, 6.5]),
        (["1.5", "-2e3", "?"], [1.5, -2000.0, nan]),
        (["5 km", "3 mi"], None),
        (["5th", "1st"], None),
        (["53.3%", "12"], None),
        (["$5", "5 €"], None),
        (["007", "12"], None),
        (["192.168.1.1", "10.0.0.1"], None),
        (["2024-01-31", "2024-02-01"], None),
        (["10:30", "11:30"], None),
        (["1 - 5", "5+"], None),
        (["(5", "5)"], None),
        (["--5", "5"], None),
        (["1,23,4", "5"], None),
        (["inf", "1.5"], None),
        (["NA", ""], None),
    ],
)
def test_amounts(cells, expected):
    form = AmountForm.of(cells)
    if expected is None:
        assert form is None
    else:
        assert same([form.parse(cell) for cell in cells], expected)


def test_an_amount_of_another_unit_is_no_number_and_one_without_is():
    form = AmountForm.of(["12 km"])
    assert (form.parse("7"), form.parse("7 km"), form.parse("7 mi")) == (7.0, 7.0, None)


@pytest.mark.parametrize(
    ("cells", "form", "expected"),
    [
        (["2024-01-05", "2023-12-31", ""], ("ymd", True), ["2024-01-05", "2023-12-31", "NaT"]),
        (["2024/1/5 10:30", "2024/1/6"], ("ymd", True), ["2024-01-05T10:30", "2024-01-06"]),
        (["2024-01-05T10:30:09.5Z"], ("ymd", True), ["2024-01-05T10:30:09"]),
        (["5/1/2024", "31/12/23"], ("dmy", True), ["2024-01-05", "2023-12-31"]),
        (["5/1/2024", "12/31/1999"], ("mdy", True), ["2024-05-01", "1999-12-31"]),
        (["5/1/2024 3:05 PM", "5/2/70"], ("mdy", False), ["2024-05-01T15:05", "1970-05-02"]),
        (["5.1.2024", "6.1.2024"], ("dmy", False), ["2024-01-05", "2024-01-06"]),
        (["31 Jan 2024", "1-Sept-23"], ("ymd", True), ["2024-01-31", "2023-09-01"]),
        (["January 31, 2024"], ("ymd", True), ["2024-01-31"]),
        (["31/12/2023", "12/31/2023"], None, None),
        (["2023-02-29"], None, None),
        (["2024-01"], None, None),
        (["1-2-3"], None, None),
        (["31 Jam 2024"], None, None),
        (["2024-01-05 25:00"], None, None),
    ],
)
def test_dates(cells, form, expected):
    found = DateForm.of(cells)
    assert found == form
    if form is not None:
        read = [parse_date(cell, found.order) for cell in cells]
        assert_array_equal(np.array(read), np.array(expected, "M8[s]"))


def test_parts_of_dates_are_those_of_pandas():
    days = pd.Series(pd.date_range("1965-03-01 05:00", periods=N, freq="37h"))
    X = Dates("ymd").apply("d", days.to_numpy())
    parts = days.dt
    expected = [parts.year, parts.month, parts.day, parts.day_of_week, parts.hour]
    assert_array_equal(X[:, :5], np.stack(expected, axis=1))
    assert_allclose(X[:, 5], (days - pd.Timestamp(0)) / pd.Timedelta(days=1), rtol=1e-15)
    as_text = Dates("ymd").apply("d", days.astype(str).to_numpy(object))
    assert_array_equal(as_text, X)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["medium", "low", "high"], ["low", "medium", "high"]),
        (["Good", "excellent", "POOR", "fair"], ["POOR", "fair", "Good", "excellent"]),
        (["XS", "L", "S", "M", "XL"], ["XS", "S", "M", "L", "XL"]),
        (["always", "never", "some times"], None),
        (["sometimes", "never", "always"], ["never", "sometimes", "always"]),
        (["large", "small", "medium"], ["small", "medium", "large"]),
        (["Strongly agree", "agree", "neutral"], ["neutral", "agree", "Strongly agree"]),
        (["S", "M"], None),
        (["med", "medium", "low"], None),
        (["low", "red"], None),
        (["low"], None),
    ],
)
def test_words_of_a_scale(cells, expected):
    assert order_of_words(cells) == (None if expected is None else tuple(expected))


def mixed():
    """Return a table with a column of every kind, and what is to be predicted."""
    k = np.arange(N)
    shop = np.array([f"shop {j}" for j in rng.permutation(np.arange(N) % 24)], dtype=object)
    size = rng.normal(size=N)
    columns = table(
        id=np.array([f"n{j}" for j in k], dtype=object),
        size=size,
        shop=shop,
        share=text(*[f"{j % 40 + 0.5}%" if j % 9 else None for j in k]),
        seen=text(*[f"2024-{j % 12 + 1:02}-{j % 28 + 1:02}" for j in k]),
        fit=text(*["low", "high", "medium", None] * 30),
        colour=text(*["red", "blue", "grey"] * 39, "pink", "red", "blue"),
        zip=k % 30 + 10_000,
    )
    worth = dict(zip(np.unique(shop), rng.normal(size=24), strict=True))
    y = size + np.array([worth[cell] for cell in shop])
    return columns, y


def test_every_kind_of_column_has_its_coder_and_reason():
    columns, _ = mixed()
    coding = Coding.of(columns, columns.names, category=["zip"])
    assert {role.column: role.why for role in coding.column_roles} == {
        "id": "an id, by its name",
        "size": "numbers",
        "shop": "text of 24 different values, each as the mean target of other rows with it",
        "share": "numbers written as text, in %",
        "seen": "dates, as month, day, weekday, days",
        "fit": "ordered, low < medium < high, by its words",
        "colour": "text, a column for each of 3 values, one for 1 rare ones",
        "zip": "text of 30 different values, each as the mean target of other rows with it",
    }
    assert coding.notes == (
        "fit: ordered, low < medium < high, by its words (--category 'fit' if it is not).",
    )
    assert coding.features[:7] == (
        *("size", "shop", "share", "seen.month", "seen.day", "seen.weekday", "seen.days"),
    )
    X = coding.matrix(columns)
    named = dict(zip(coding.features, X.T, strict=True))
    assert same(named["share"][:3].tolist(), [nan, 1.5, 2.5])
    assert same(named["fit"][:4].tolist(), [0.0, 2.0, 1.0, nan])
    assert np.flatnonzero(named["colour=(other)"]).tolist() == [117]
    new = table(
        size=[1],
        shop=text("new"),
        share=text("7"),
        seen=text("2030-01-01"),
        fit=text("odd"),
        colour=text("green"),
        zip=[1],
    )
    (row,) = coding.matrix(new)
    found = dict(zip(coding.features, row, strict=True))
    assert found["shop"] == 24
    assert found["zip"] == 30
    assert found["colour=(other)"] == 1
    assert found["share"] == 7
    assert np.isnan(found["fit"])


def test_users_decide_what_is_a_category_and_what_is_kept():
    columns, _ = mixed()
    asked = {"category": ["fit,zip"], "keep": ["id"]}
    coding = Coding.of(columns, columns.names, **asked)
    assert isinstance(coding.coders["fit"], OneHot)
    assert isinstance(coding.coders["zip"], ByTarget)
    assert isinstance(coding.coders["id"], ByTarget)
    assert not coding.notes
    left_out = Coding.of(table(zip=np.arange(N) % 30 + 10_000, a=rng.normal(size=N)), ["zip", "a"])
    assert list(left_out.coders) == ["a"]
    kept = Coding.of(table(id=rng.permutation(N)), ["id"], keep=["id"])
    assert kept.features == ("id",)
    for option in ("category", "keep"):
        rule = f"{option} must name columns to learn from; got 'size', which has another role"
        with pytest.raises(DataError, match=rule):
            Coding.of(columns, ["shop"], **{option: ["size"]})
        with pytest.raises(DataError, match=r"got 'shpo'\. Did you mean 'shop'"):
            Coding.of(columns, ["shop"], **{option: ["shpo"]})


def test_numbers_as_categories_are_one_whatever_their_type():
    floats = np.array([1.0, 2.0, nan, 1.0])
    coder = Coding.of(table(c=floats), ["c"], category=["c"]).coders["c"]
    assert coder.levels == ("1", "2")
    expected = [[1, 0], [0, 1], [0, 0], [1, 0]]
    for column in (floats, text(1, 2.0, None, True), np.array([1, 2, 3, 1])):
        assert coder.apply("c", column).tolist() == expected


def codes_of(levels, y, n_levels):
    """Return shrunken means, level by level: the slow, obvious way."""
    groups = [y[levels == level] for level in range(n_levels)]
    known = [group for group in groups if len(group)]
    mean, n = y.mean(), len(y)
    within = sum(((g - g.mean()) ** 2).sum() for g in known) / (n - len(known))
    size = n - sum(len(g) ** 2 for g in known) / n
    spread = sum(len(g) * (g.mean() - mean) ** 2 for g in known)
    between = max((spread - (len(known) - 1) * within) / size, 0)
    shares = [len(g) * between / (len(g) * between + within) for g in groups]
    pairs = zip(shares, groups, strict=True)
    return [mean + share * (g.mean() - mean) if len(g) else mean for share, g in pairs]


@pytest.mark.parametrize("noise", [0.1, 1.0, 5.0])
def test_codes_are_means_drawn_to_the_mean(noise):
    levels = rng.integers(0, 9, N).astype(float)
    y = rng.normal(size=9)[levels.astype(int)] + noise * rng.normal(size=N) + 100
    coder = ByTarget(tuple("abcdefghi")).learn(levels, y)
    assert_allclose(coder.codes, codes_of(levels, y, 10), rtol=1e-12)
    assert coder.codes[9] == pytest.approx(y.mean())
    cells = text("c", None, "never seen")
    expected = [[coder.codes[2]], [nan], [coder.codes[9]]]
    assert_array_equal(coder.apply("x", cells), expected)


def test_codes_of_odd_rows():
    coder = ByTarget(("a", "b"))
    assert coder.learn(np.array([]), np.array([])).codes == (0.0, 0.0, 0.0)
    assert coder.learn(np.array([nan, nan]), np.array([1.0, 2.0])).codes == (0.0, 0.0, 0.0)
    assert coder.learn(np.array([0.0]), np.array([3.0])).codes == (3.0, 3.0, 3.0)
    # One row per level says nothing about chance.
    assert coder.learn(np.arange(2.0), np.array([1.0, 3.0])).codes == (2.0, 2.0, 2.0)
    # No chance at all: the means themselves.
    codes = coder.learn(np.array([0.0, 0, 1, 1]), np.array([1.0, 1, 3, 3])).codes
    assert codes == pytest.approx((1.0, 3.0, 2.0))


def test_a_row_is_coded_by_other_rows_and_queries_are_kept_whole():
    coders = {"shop": ByTarget(tuple("abcd"))}
    levels = rng.integers(0, 4, N).astype(float)[:, None]
    y, qid = rng.normal(size=N) + levels[:, 0], np.arange(N) // 6
    for groups in ({}, {"groups": qid}, {"qid": qid}):
        before = with_codes(coders, levels, y, **groups)[1]
        row = 7
        other = y.copy()
        other[row] += 50.0
        after = with_codes(coders, levels, other, **groups)[1]
        is_same = np.isclose(before, after)[:, 0]
        assert is_same[row], "its own label is in its code"
        assert 0.15 < is_same.mean() < 0.25, "one fold in five has not seen the row"
        if groups:
            assert is_same[qid == qid[row]].all()
    coder = with_codes(coders, levels, y, qid=qid)[0]["shop"]
    means = np.bincount(qid, y) / 6
    assert_allclose(coder.codes, ByTarget(tuple("abcd")).learn(levels[:, 0], y - means[qid]).codes)


def test_text_of_many_values_does_not_leak_the_target():
    """Noise in text makes no ranker better on rows left out, and hardly worse."""
    random, n = np.random.default_rng(0), 300
    noise = {
        f"n{j}": np.array([f"v{k}" for k in random.integers(0, 100, n)], dtype=object)
        for j in range(12)
    }
    height = random.normal(size=n)
    columns = table(**noise, size=random.normal(size=n), height=height)
    case = make_table_case(columns, recognise(columns, target="height"))
    assert sum(isinstance(coder, ByTarget) for coder in case.coding.coders.values()) == 12
    contest = run_contest(case, n_splits=5, only=["MPRank", "Ridge", "RankBoost"])
    losses = {r.name: r.mean(contest.measures[0]) for r in contest.results}
    constant = losses.pop("(the same score for all)")
    for result in contest.results:
        # With labels of rows left out in their codes it was 0.39 to 0.44.
        assert result.values["disagreement"].mean() > 0.48, result.name
    # With a row's own label in its code it was 1.2 times the loss.
    assert max(losses.values()) < 1.05 * constant


def test_text_of_many_values_is_of_use_where_it_says_something():
    shop = rng.integers(0, 40, 400)
    y = rng.normal(size=40)[shop] + 0.3 * rng.normal(size=400)
    names = np.array([f"shop {k}" for k in shop], dtype=object)
    columns = table(shop=names, other=rng.normal(size=400), height=y)
    case = make_table_case(columns, recognise(columns))
    contest = run_contest(case, n_splits=4, only=["MPRank", "Ridge"])
    loss = {r.name: r.values["disagreement"].mean() for r in contest.results}
    assert max(loss["MPRank"], loss["Ridge"]) < 0.2


def frame_of(columns):
    return pd.DataFrame(dict(columns.arrays))


def test_the_class_prepares_as_the_command_does(tmp_path):
    columns, y = mixed()
    frame = frame_of(columns)
    model = TableRanker(MPRank(), category=["zip"]).fit(frame, y)
    assert model.left_out_ == {"id": "an id, by its name"}
    coding = Coding.of(columns, columns.names, category=["zip"])
    assert model.prepared_names_ == list(coding.features)
    coded, X = coding.with_codes(coding.matrix(columns), y)
    scaled = (X - model.shift_) / model.scale_
    scaled[np.isnan(scaled)] = 0.0
    assert_allclose(model.ranker_.coef_, MPRank().fit(scaled, y).coef_, rtol=1e-9)
    # New rows have the codes of all rows.
    seen = coded.matrix(columns)
    expected = (seen - model.shift_) / model.scale_
    assert_allclose(model.prepare(frame), np.nan_to_num(expected), rtol=1e-12, atol=1e-12)
    assert_array_equal(model.predict(frame.drop(columns="id")), model.predict(frame))
    model.save(tmp_path / "m.peckorder")
    loaded = peckorder.load(tmp_path / "m.peckorder")
    assert loaded.coders_ == model.coders_
    assert loaded.left_out_ == model.left_out_
    assert_array_equal(loaded.prepare(frame), model.prepare(frame))
    plain = TableRanker(RankBoost(n_rounds=5), scale=False).fit(frame, y)
    assert np.isnan(plain.prepare(frame)[0, plain.prepared_names_.index("share")])


def test_a_column_of_remarks_makes_no_thousands_of_columns():
    remarks = np.array([f"remark {k}" for k in range(4440)], dtype=object)
    frame = pd.DataFrame({"a": rng.normal(size=4440), "text": remarks})
    model = TableRanker(MPRank(), scale=True).fit(frame, frame["a"])
    assert model.prepared_names_ == ["a"]
    assert model.left_out_ == {"text": "text of 4440 different values, most of which come once"}
    with pytest.raises(DataError, match="X must have a column to learn from; got text"):
        TableRanker(MPRank()).fit(frame[["text"]], frame["a"])


def test_labels_of_every_form_code_text():
    shop = np.array([f"s{k % 25}" for k in range(N)], dtype=object)
    level = np.arange(N) % 25 // 9
    frame = pd.DataFrame({"shop": shop, "a": rng.normal(size=N)})
    names = np.array(["poor", "fair", "good"])[level]
    codes = []
    for model, y in (
        (MPRank(), level),
        (PRank(), level + 3),
        (PRank(classes=["poor", "fair", "good"]), names),
        (PRank(), pd.Series(pd.Categorical(names, ["poor", "fair", "good"], ordered=True))),
        (RankBoost(n_rounds=3), level),
        (RankBoost(n_rounds=3), Preferences.from_grades(level)),
    ):
        fitted = TableRanker(model).fit(frame, y)
        codes.append(fitted.coders_[0].codes)
    for found in codes[1:]:
        assert found == pytest.approx(codes[0])
    pairs = Preferences(better=np.arange(24, N), worse=np.arange(N - 24))
    fitted = TableRanker(RankBoost(n_rounds=3)).fit(frame, pairs)
    assert len(fitted.coders_[0].codes) == 26
    with pytest.raises(ValueError, match=f"{N - 1} labels for {N} rows"):
        TableRanker(PRank()).fit(frame, level[:-1])


def test_categoricals_of_frames_keep_their_order():
    words = ["dire", "so-so", "fine", "fine", "dire", None] * 5
    order = ["dire", "so-so", "fine", "superb"]
    expected = [0.0, 1.0, 2.0, 2.0, 0.0, nan] * 5
    y = np.arange(30) % 5
    size = y + rng.normal(size=30)
    ordered = pd.Categorical(words, categories=order, ordered=True)
    frames = [
        pd.DataFrame({"w": ordered, "size": size}),
        pl.DataFrame({"w": pl.Series(words, dtype=pl.Enum(order)), "size": size}),
    ]
    for frame in frames:
        model = TableRanker(RankBoost(n_rounds=2), scale=False).fit(frame, y)
        assert model.coders_[0] == Ordered(tuple(order))
        assert same(model.prepare(frame)[:, 0].tolist(), expected)
    numbers = pd.Categorical([3, 1, 2] * 10, categories=[3, 1, 2], ordered=True)
    model = TableRanker(MPRank(), scale=False).fit(pd.DataFrame({"n": numbers, "size": size}), y)
    assert model.prepare(pd.DataFrame({"n": [3, 1, 2], "size": 0.0}))[:, 0].tolist() == [0, 1, 2]
    unordered = pd.DataFrame({"n": pd.Categorical(["1", "2", "3"] * 10), "size": size})
    assert isinstance(TableRanker(MPRank()).fit(unordered, y).coders_[0], OneHot)


def test_frames_of_pandas_and_polars_with_gaps_are_read_alike():
    columns, y = mixed()
    frame = frame_of(columns).assign(
        mixed=pd.Series([True, 1.5, None, np.bool_(False)] * 30, dtype=object),
        flag=pd.array([True, None, False] * 40, dtype="boolean"),
        day=pd.date_range("2024-01-01 05:30", periods=N, freq="h"),
    )
    model = TableRanker(MPRank()).fit(frame, y)
    expected = model.prepare(frame)
    kinds = dict(zip(model.feature_names_in_, (c.kind for c in model.coders_), strict=True))
    assert (kinds["mixed"], kinds["flag"], kinds["day"]) == ("number", "number", "dates")
    for other in (
        pl.from_pandas(frame.assign(mixed=frame["mixed"].astype("Float64"))),
        frame.convert_dtypes(),
        frame.assign(day=frame["day"].dt.tz_localize("UTC")),
        frame.assign(day=frame["day"].astype(str)),
    ):
        assert_array_equal(model.prepare(other), expected)
    again = TableRanker(MPRank()).fit(pl.from_pandas(frame.drop(columns="mixed")), y)
    assert again.prepared_names_ == [n for n in model.prepared_names_ if n != "mixed"]


def test_cells_that_cannot_be_read_are_refused_by_their_row():
    columns, y = mixed()
    frame = frame_of(columns)
    model = TableRanker(MPRank()).fit(frame, y)
    wrong = {
        "share": ("5 km", "numbers, or none"),
        "seen": ("soon", "dates"),
        "size": ("big", "numbers"),
    }
    for name, (cell, rule) in wrong.items():
        rows = frame.astype(object)
        rows.loc[4, name] = cell
        sentence = f"column '{name}' must be {rule}; got '{cell}' in row 4."
        with pytest.raises(DataError, match=sentence):
            model.predict(rows)


def test_graphs_have_numbers_alone_and_refuse_the_rest_by_name():
    columns, y = mixed()
    frame = frame_of(columns)
    for name, what in (("seen", "dates"), ("shop", "text"), ("share", "text"), ("fit", "text")):
        model = TableRanker(MPRank()).fit(frame[["size", name]], y)
        with pytest.raises(ValueError, match=f"got {what} in '{name}'"):
            to_onnx(model)
    session = pytest.importorskip("onnxruntime").InferenceSession
    numbers = frame[["size"]].assign(id=np.arange(N), width=rng.normal(size=N))[
        ["id", "width", "size"]
    ]
    model = TableRanker(MPRank()).fit(numbers, y)
    assert model.left_out_ == {"id": "an id, by its name"}
    graph = session(to_onnx(model).SerializeToString())
    (scores,) = graph.run(["scores"], {"X": numbers.to_numpy(float)})
    assert_allclose(scores, model.predict(numbers), rtol=1e-12, atol=1e-12)


@settings(max_examples=60)
@given(data=st.data())
def test_categories_of_coded_rows_are_those_of_the_table(data):
    words, n = st.sampled_from(["a", "b", "c", "", "new"]), 12
    columns = {
        name: np.array(data.draw(st.lists(words, min_size=n, max_size=n)), dtype=object)
        for name in ("few", "rare", "many", "order")
    } | {"size": np.arange(float(n))}
    coders = {
        "few": OneHot(("a", "b", "c")),
        "size": Number(),
        "many": ByTarget(("b", "a")),
        "rare": OneHot(("a",), has_other=True),
        "order": Ordered(("c", "b", "a")),
    }
    uncoded = coded(coders, columns, n)
    learnt, X = with_codes(coders, uncoded, np.arange(float(n)))
    wanted = coded(with_categories(coders), columns, n)
    assert_array_equal(joined_levels(learnt, X, uncoded), wanted)
    assert category_positions(with_categories(learnt)) == [0, 2, 3]
    assert_array_equal(joined_levels(learnt, recoded(learnt, uncoded), uncoded), wanted)
    # More levels than a byte has keep their mean targets, and numbers remain as they are.
    others = {"size": Number(), "many": ByTarget(tuple(map(str, range(255))))}
    X = rng.normal(size=(3, 2))
    assert_array_equal(joined_levels(others, X, uncoded[:3, :2]), X)
    assert with_categories(others) == others


def stored(**entries):
    """Return the node of coders of a table with three columns."""
    arrays = []
    header = {"is_text": np.zeros(3, bool), "coders": [{"column": 1, **entries}]}
    node = Node.of(pack(header, arrays), arrays)
    node.sizes["features"] = 3
    node.values["is_text"] = node.array("is_text", "b1", "features")
    node.values |= {"levels": None, "ends": None}
    node.values["coders"] = CODERS[3].type.read(node, "coders")
    return read_coders(node)


def objects(*texts):
    return write_labels(as_objects(list(texts)))


LEVELS = {"levels": objects("a", "b"), "of_numbers": False}


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"kind": "pickle"}, "kind must be one of 'left out'"),
        ({"kind": "dates", "order": "myd", "parts": objects("year")}, "order must be one of"),
        ({"kind": "dates", "order": "ymd", "parts": objects("days", "year")}, "parts must be some"),
        ({"kind": "dates", "order": "ymd", "parts": objects()}, "parts must be some"),
        (
            {"kind": "ordered", "levels": objects("a", "a"), "of_numbers": False},
            "levels must be texts that differ",
        ),
        ({"kind": "levels", **LEVELS, "has_other": 1}, "has_other must be true or false"),
        ({"kind": "category", **LEVELS}, "has_other"),
        ({"kind": "category", **LEVELS, "has_other": None}, "has_other must be true or false"),
        ({"kind": "by target", **LEVELS, "codes": np.zeros(2)}, "codes must be one for each"),
        ({"kind": "by target", **LEVELS, "codes": np.full(3, nan)}, "codes must be finite"),
        ({"kind": "amount", "unit": 5, "has_comma": False}, "unit must be a text"),
        ({"kind": "left out", "why": "x", "column": 3}, "column must be an integer from 0 to 2"),
    ],
)
def test_stored_coders_are_not_trusted(entries, sentence):
    with pytest.raises(Damaged, match=sentence):
        stored(**entries)


def test_a_stored_coder_is_read():
    by_target = {"kind": "by target", **LEVELS, "codes": np.arange(3.0)}
    assert stored(**by_target)[1] == ByTarget(("a", "b"), codes=(0.0, 1.0, 2.0))
    category = {"kind": "category", **LEVELS, "has_other": True}
    assert stored(**category)[1] == Category(("a", "b"), has_other=True)
