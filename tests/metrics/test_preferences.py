"""Metrics of preferences, compared with loops over their pairs, and with those of labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from peckorder import Preferences, RankBoost
from peckorder.exceptions import DataError
from peckorder.metrics import (
    compare,
    disagreement,
    evaluate,
    kendall_tau,
    mean_absolute_difference,
    mean_squared_difference,
    misranking,
    ndcg,
    root_mean_squared_difference,
    scorer,
)
from support.helpers import exactly

N = 6
ORDER = {
    "disagreement": lambda d, _: float(d < 0) + 0.5 * (d == 0),
    "misranking": lambda d, _: float(d <= 0),
    "tau": lambda d, _: np.sign(d),
}
SIZES = {"msd": lambda d, size: (d - size) ** 2, "mad": lambda d, size: abs(d - size)}
FUNCTIONS = {
    "disagreement": disagreement,
    "misranking": misranking,
    "tau": kendall_tau,
    "msd": mean_squared_difference,
    "mad": mean_absolute_difference,
}
FEW = settings(max_examples=40, deadline=None)
scores = st.lists(st.sampled_from([0.0, 1.0, 1.5, 4.0]), min_size=N, max_size=N)
weights = st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=N, max_size=N)


@st.composite
def pairs(draw, sizes=(0.0, 1.0, 2.5), weights=(0.0, 0.25, 1.0, 3.0)):
    """Return (better, worse, weight, size) of a few pairs among N rows, some with a weight."""
    ends = st.permutations(range(N)).map(lambda rows: tuple(rows[:2]))
    one = st.tuples(ends, st.sampled_from(weights), st.sampled_from(sizes))
    found = draw(st.lists(one, min_size=1, max_size=8))
    found.append((draw(ends), 1.0, max(sizes)))
    return [(*ends, weight, size) for ends, weight, size in found]


def preferences(pairs):
    return Preferences(*map(list, zip(*pairs, strict=True)))


def mean(name, pairs, score, row_weight=None):
    """Return the mean over pairs by its definition; pairs of size 0 have no order."""
    total = mass = 0.0
    for better, worse, weight, size in pairs:
        if name in ORDER and size == 0:
            continue
        of_rows = 1.0 if row_weight is None else row_weight[better] * row_weight[worse]
        error = (ORDER | SIZES)[name](score[better] - score[worse], size)
        total, mass = total + weight * of_rows * error, mass + weight * of_rows
    return total / mass


@pytest.mark.parametrize("name", FUNCTIONS)
@FEW
@given(pairs(), scores, st.none() | weights)
def test_metrics_are_means_over_pairs(name, listed, score, weight):
    found = FUNCTIONS[name](preferences(listed), score, sample_weight=weight)
    assert_allclose(found, mean(name, listed, score, weight), atol=1e-12)


@FEW
@given(pairs(), scores)
def test_the_root_is_that_of_the_mean(listed, score):
    found = root_mean_squared_difference(preferences(listed), score)
    assert_allclose(found, mean("msd", listed, score) ** 0.5, atol=1e-12)


@pytest.mark.parametrize("ties", ["expected", "best", "worst", "order", "docid"])
@FEW
@given(st.lists(st.integers(0, 2), min_size=N, max_size=N), scores, st.permutations("abcdef"))
def test_graded_rows_give_what_labels_give(ties, y, score, names):
    y[:2] = 0, 2
    qid = list("aaabbb")
    options = {"ties": ties, "docid": names if ties == "docid" else None, "undefined": "zero"}
    for q, graded in ((None, Preferences.from_grades(y)), (qid, Preferences.from_grades(y, qid))):
        for metric in (disagreement, kendall_tau):
            found = metric(graded, score, qid=q, **options)
            assert_allclose(found, metric(y, score, qid=q, **options), atol=1e-12)


@FEW
@given(st.lists(st.integers(0, 9), min_size=N, max_size=N), scores)
def test_labels_as_pairs_lack_the_diagonal(y, score):
    margins = Preferences.from_labels(y)
    for metric in (mean_squared_difference, mean_absolute_difference):
        whole = metric(y, score) * N / (N - 1)
        assert_allclose(metric(margins, score), whole, atol=1e-12)


@FEW
@given(pairs(sizes=(0.5, 2.0)), scores, st.none() | weights, st.sampled_from(["order", "expected"]))
def test_evaluate_has_the_mean_over_pairs(listed, score, weight, ties):
    some = preferences(listed)
    options = {"sample_weight": weight, "n_bootstrap": 2}
    table = evaluate(some, score, list(FUNCTIONS), ties=ties, **options)
    for name, function in FUNCTIONS.items():
        tied = {"ties": ties} if name in ("disagreement", "tau") else {}
        value = function(some, score, sample_weight=weight, **tied)
        assert_allclose(table[name], value, atol=1e-12)
    linked = {frozenset(p[:2]) for p in listed if p[2] > 0}
    parts = components(linked)
    if len(parts) == 1:
        assert table.unit == "pairs"
        assert len(table.queries) == sum(p[2] > 0 for p in listed)
    else:
        assert table.unit == "components"
        assert table.queries.tolist() == sorted(map(min, parts))
        for first, value in zip(table.queries, table.values["msd"], strict=True):
            part = next(part for part in parts if first in part)
            among = [p for p in listed if p[0] in part]
            assert_allclose(value, mean("msd", among, score, weight), atol=1e-12)


def components(links):
    """Join sets until no two meet."""
    parts = [set(link) for link in links]
    for link in links:
        met = [part for part in parts if part & link]
        parts = [part for part in parts if not part & link] + [set().union(*met)]
    return parts


@FEW
@given(pairs(), st.lists(st.integers(0, 2), min_size=N, max_size=N))
def test_components_are_what_pairs_connect(listed, y):
    linked = {frozenset(p[:2]) for p in listed if p[2] > 0}
    graded = [(i, j) for i in range(N) for j in range(i) if y[i] != y[j] and (i < 3) == (j < 3)]
    qid = list("aaabbb")
    both = preferences(listed) + Preferences.from_grades(y, qid)
    for some, links in (
        (preferences(listed), linked),
        (both, linked | set(map(frozenset, graded))),
        (preferences(listed) + 0 * Preferences.from_grades(y, qid), linked),
    ):
        found = some.components(N + 1).tolist()
        parts = components(links | {frozenset([row]) for row in range(N + 1)})
        assert sorted(map(min, parts)) == [found.index(c) for c in range(len(parts))]
        assert all(len({found[row] for row in part}) == 1 for part in parts)


def test_two_rankings_are_compared_on_the_same_pairs():
    rng = np.random.default_rng(0)
    better, worse = np.arange(0, 80, 2), np.arange(1, 80, 2)
    some = Preferences(better, worse)
    good, poor = np.arange(80)[::-1], rng.normal(size=80)
    a, b = evaluate(some, good, ["tau"]), evaluate(some, poor, ["tau"])
    assert (a.unit, len(a.queries)) == ("components", 40)
    assert str(a).split()[:7] == [
        "metric",
        "mean",
        "95",
        "%",
        "interval",
        "components",
        "undefined",
    ]
    table = compare(a, b)
    assert table.p_values["tau"] < 0.01
    assert table.differences["tau"] == pytest.approx(1 - kendall_tau(some, poor))


def test_components_are_not_compared_with_queries():
    some, y = Preferences([1, 3], [0, 2]), [0, 1, 0, 1]
    by_component = evaluate(some, y, "tau")
    by_query = evaluate(y, y, "tau", qid=[0, 0, 2, 2])
    sentence = "compare: b must have one value per component as a; got one per query."
    with pytest.raises(DataError, match=exactly(sentence)):
        compare(by_component, by_query)


def test_queries_are_the_unit_where_they_are_given():
    y, qid, score = [1, 0, 2, 0, 1], list("aabbb"), [1, 2, 3, 2, 1]
    graded = Preferences.from_grades(y, qid)
    found = evaluate(graded, score, ["disagreement"], qid=qid)
    whole = evaluate(y, score, ["disagreement"], qid=qid)
    assert found.values["disagreement"].tolist() == whole.values["disagreement"].tolist()
    assert found.queries.tolist() == whole.queries.tolist()
    assert found.unit == "queries"


def test_pairs_without_order_are_left_out_of_metrics_of_order():
    drawn = Preferences([0, 2], [1, 3], size=[0, 1])
    assert evaluate(drawn, [1, 2, 3, 4], "tau").queries.tolist() == [0]
    assert evaluate(drawn, [1, 2, 3, 4], "msd")["msd"] == 2.5


def test_disagreement_is_what_preferences_are_measured_by_if_nothing_is_said():
    found = evaluate(Preferences([0, 1], [1, 2]), [3.0, 1.0, 2.0])
    assert list(found.values) == ["disagreement"]
    assert list(evaluate([1, 0, 2], [3.0, 1.0, 2.0], qid=[0, 0, 0]).values) == [
        "ndcg@10",
        "ap",
        "rr",
    ]


def test_estimators_and_scorers_take_preferences():
    X, some = [[1.0], [2.0], [3.0]], Preferences([2, 1], [0, 0], [1.0, 3.0])
    model = RankBoost(n_rounds=2).fit(X, Preferences.from_grades([0, 1, 2], [1, 1, 2]))
    share = 1 - disagreement(some, model.predict(X))
    assert model.score(X, some) == share  # and no warning for want of queries
    assert scorer("disagreement")(model, X, some) == share - 1


PAIR = Preferences([0], [1], size=[2.0])
REFUSED = {
    "rows there are not": (
        lambda: disagreement(Preferences([0], [5]), [1, 2]),
        "disagreement: y_true must be preferences among the 2 rows of y_score; got row 5.",
    ),
    "pairs across queries": (
        lambda: disagreement(Preferences([0, 0], [1, 2]), [1, 2, 3], qid=[7, 7, 8]),
        "disagreement: y_true must be preferences within queries, with qid; got rows 0 and 2 of "
        "two.",
    ),
    "scores too large": (
        lambda: mean_squared_difference(PAIR, [1e200, 0]),
        "mean_squared_difference: y_score must be within 1e+145 of y_true, so that squares are "
        "finite; got 1e+200.",
    ),
    "no pair": (
        lambda: disagreement(PAIR.restrict([0]), [1.0], undefined="raise"),
        "disagreement: every query must have a pair of rows whose truths differ; got query 0 "
        "without.",
    ),
    "lists": (
        lambda: ndcg(PAIR, [1, 2]),
        "ndcg: y_true must be numbers; got Preferences(n...al_weight=1.0).",
    ),
    "no pair to evaluate": (
        lambda: evaluate(0 * PAIR, [1, 2], "msd"),
        "evaluate: y must be at least one pair with a weight > 0; got weights of zero only.",
    ),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(call, sentence):
    with pytest.raises(DataError, match=exactly(sentence)):
        call()


OF_PAIRS = "names must be of pairs, tau, disagreement, misranking, msd, mad, with preferences"
REFUSED_OPTIONS = {
    "places": (lambda: evaluate(PAIR, [1, 2], "ap"), f"{OF_PAIRS}; got 'ap'."),
    "the root": (lambda: evaluate(PAIR, [1, 2], "rmsd"), f"{OF_PAIRS}; got 'rmsd'."),
    "order and sizes": (
        lambda: evaluate(Preferences([0], [1], size=[0]) + PAIR, [1, 2], ["tau", "msd"]),
        "names must be of order or of sizes, not both, with pairs of size 0, which have no order; "
        "got tau, msd.",
    ),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED_OPTIONS.values(), ids=REFUSED_OPTIONS)
def test_refused_options(call, sentence):
    with pytest.raises(ValueError, match=exactly(f"evaluate: {sentence}")):
        call()


def test_weights_of_queries_need_queries():
    with pytest.raises(DataError, match="query_weight must be left out with preferences"):
        evaluate(PAIR, [1, 2], "tau", query_weight=[1])
