"""OrdinalBoost: what it learns, from what, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit

import peckorder.io
from peckorder import OrdinalBoost
from peckorder.exceptions import DataError
from support.helpers import raises_unchanged, real_data, same, shown

X, Y = real_data(0, n=120, k=4)
QUICK = {"n_rounds": 8, "min_samples_leaf": 2, "random_state": 0}
every_odds = pytest.mark.parametrize("odds", ["proportional", "free"])
every_choice = pytest.mark.parametrize("odds", ["proportional", "free", "auto"])


def quick(**options):
    return OrdinalBoost(**QUICK | options)


def odds_data(seed, n, slopes=(1.5, 1.5, 1.5)):
    """Rows whose classes have known log odds: slope times x minus threshold."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    log_odds = np.outer(X[:, 0], slopes) - np.array([-1.5, 0.0, 2.0])
    return X, (expit(log_odds) > rng.random((n, 1))).sum(axis=1), log_odds


@every_choice
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 6), rounds=st.integers(1, 12))
@settings(max_examples=12)
def test_probabilities_are_those_of_ordered_classes(odds, seed, n_classes, rounds):
    rows, y = real_data(seed, n=40, k=n_classes)
    model = quick(odds=odds, n_rounds=rounds, random_state=seed).fit(rows, y)
    new = np.random.default_rng(seed).normal(0, 3, (50, 3))
    new[::7, 1] = np.nan
    log_odds, shares = model.decision_function(new), model.predict_proba(new)
    assert log_odds.shape == (50, n_classes - 1)
    assert (np.diff(log_odds, axis=1) < 0.0).all()
    assert (shares >= 0.0).all()
    assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.diff(model.thresholds_) > 0.0).all()
    median = (np.cumsum(shares, axis=1) < 0.5 - 1e-12).sum(axis=1)
    assert_array_equal(model.predict(new), model.classes_[median])
    assert_allclose(model.mean_rank(new), shares @ np.arange(1, n_classes + 1))
    assert odds in (model.odds_, "auto")
    losses = np.abs(model.predict(rows) - y)
    assert model.score(rows, y) == -losses.mean()


@every_odds
def test_stages_end_where_the_model_does(odds):
    model = quick(odds=odds).fit(X, Y)
    decisions = list(model.staged_decision_function(X))
    assert len(decisions) == model.n_rounds_ == 8
    assert_array_equal(decisions[-1], model.decision_function(X))
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    first = quick(odds=odds, n_rounds=3).fit(X, Y)
    assert_array_equal(decisions[2], first.decision_function(X))


@every_odds
def test_contributions_add_up_to_the_mean_log_odds(odds):
    rows = np.hstack([X, np.zeros((len(X), 1))])
    # A class without rows has no threshold.
    model = quick(odds=odds, classes=[-1, *range(6)]).fit(rows, Y)
    added = model.explain(rows)
    log_odds = model.decision_function(rows)
    seen = np.isfinite(log_odds).all(axis=0)
    assert seen.sum() == 3
    wanted = log_odds[:, seen].mean(axis=1) - model.expected_value_
    assert_allclose(added.sum(axis=1), wanted, atol=1e-12)
    assert (added[:, :-1] != 0.0).any()
    assert (added[:, -1] == 0.0).all()
    assert_allclose(model.explain(sparse.csr_array(rows)), added)
    one = quick(odds=odds, classes=[0, 1]).fit(rows, np.ones(len(rows)))
    assert (one.explain(rows) == 0.0).all()
    assert one.expected_value_ == 0.0


@every_odds
def test_probabilities_are_calibrated(odds):
    rows, y, _ = odds_data(0, 12_000)
    # A tree of free odds splits thresholds, too.
    leaves = 4 if odds == "proportional" else 12
    model = OrdinalBoost(odds=odds, n_rounds=60, max_leaf_nodes=leaves, random_state=0)
    model.fit(rows, y)
    new, truth, log_odds = odds_data(1, 20_000)
    above = expit(model.decision_function(new))
    assert np.abs(above - expit(log_odds)).mean() < 0.03
    for k in range(3):
        for low in np.arange(0.0, 1.0, 0.2):
            within = (above[:, k] >= low) & (above[:, k] < low + 0.2)
            assert abs((truth[within] > k).mean() - above[within, k].mean()) < 0.05


def test_thresholds_are_those_of_the_data():
    rows, y, _ = odds_data(0, 4000)
    model = OrdinalBoost(odds="proportional", n_rounds=60, max_leaf_nodes=4, random_state=0)
    thresholds = model.fit(rows, y).thresholds_
    assert_allclose(np.diff(thresholds), [1.5, 2.0], atol=0.2)


def test_odds_are_chosen_by_what_is_lost_on_rows_held_out():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-3, 3, (900, 2))
    # Below zero the class is in the middle, above it is anything but.
    y = np.where(rows[:, 0] < 0, 1, 2 * (rng.random(900) < 0.5))
    model = OrdinalBoost(n_rounds=60, random_state=0).fit(rows, y)
    assert model.odds_ == "free"
    assert len(model.validation_losses_) > model.n_rounds_
    assert model.validation_losses_.argmin() == model.n_rounds_
    # With two classes there is one threshold.
    assert quick().fit(rows, rows[:, 0] > 0).odds_ == "proportional"


@every_choice
def test_neither_threads_nor_the_form_of_rows_matter(odds):
    rows = np.where(np.abs(X) < 0.4, 0.0, X).astype(np.float32)
    rows[3, 1] = np.nan
    expected = quick(odds=odds, n_jobs=1).fit(rows, Y)
    forms = [rows, rows.astype(float), np.asfortranarray(rows), sparse.csr_array(rows),
             sparse.csc_matrix(rows), rows.tolist()]  # fmt: skip
    for form in forms:
        model = quick(odds=odds, n_jobs=3).fit(form, Y)
        assert same(shown(model, rows), shown(expected, rows))
        assert_array_equal(model.predict_proba(form), expected.predict_proba(rows))
    frozen = rows.copy()
    frozen.flags.writeable = False
    assert same(shown(quick(odds=odds).fit(frozen, Y), rows), shown(expected, rows))


WORDS = ["poor", "fair", "good", "great"]
TEXTS = [WORDS[level - 1] for level in Y]


@pytest.mark.parametrize(
    "y",
    [pd.Categorical(TEXTS, categories=WORDS, ordered=True), pl.Series(TEXTS, dtype=pl.Enum(WORDS))],
    ids=["pandas", "polars"],
)
def test_a_declared_order_is_taken(y):
    model, given_ = quick().fit(X, y), quick(classes=WORDS).fit(X, TEXTS)
    numbers = quick().fit(X, Y)
    assert model.classes_.tolist() == given_.classes_.tolist() == WORDS
    for other in (given_, numbers):
        assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert model.score(X, y) == given_.score(X, TEXTS) == numbers.score(X, Y)


@every_odds
def test_classes_without_rows_have_no_probability(odds):
    classes = [0, 1, 1.5, 2, 3, 4, 5]
    model = quick(odds=odds, classes=classes).fit(X, Y)
    plain = quick(odds=odds).fit(X, Y)
    shares = model.predict_proba(X)
    assert_array_equal(shares[:, [1, 3, 4, 5]], plain.predict_proba(X))
    assert_array_equal(shares[:, [0, 2, 6]], 0.0)
    assert_array_equal(model.predict(X), plain.predict(X))
    low, middle, high = plain.thresholds_
    assert_array_equal(model.thresholds_, [-np.inf, low, low, middle, high, np.inf])


@every_choice
def test_one_class_is_predicted_always(odds):
    model = quick(odds=odds, classes=[1, 2, 3]).fit(X[:9], np.full(9, 2))
    assert_array_equal(model.predict_proba(X), np.tile([0.0, 1.0, 0.0], (len(X), 1)))
    assert set(model.predict(X)) == {2}
    assert model.n_rounds_ == 0
    assert_array_equal(model.thresholds_, [-np.inf, np.inf])
    if odds != "auto":
        model.set_params(warm_start=True).fit(X[:9], np.full(9, 2))
        assert model.odds_ == odds
    one = quick(odds=odds, classes=[1, 2]).fit(X[:1], [1])
    assert one.predict(X[:2]).tolist() == [1, 1]
    again = peckorder.io.from_bytes(model.to_bytes())
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@every_odds
def test_small_probabilities_keep_their_digits(odds):
    rows = np.arange(60.0).reshape(-1, 1)
    options = {"l2": 0.0, "learning_rate": 1.0, "subsample": 1.0, "max_features": 1.0}
    model = quick(odds=odds, n_rounds=90, **options).fit(rows, np.repeat([0, 1, 2], 20))
    shares, log_odds = model.predict_proba(rows), model.decision_function(rows)
    assert log_odds.max() > 38.0
    assert_allclose(shares[:, 0], 1.0 / (1.0 + np.exp(log_odds[:, 0])), rtol=1e-12)
    assert_allclose(shares[:, 2], 1.0 / (1.0 + np.exp(-log_odds[:, 1])), rtol=1e-12)
    assert not np.signbit(shares).any()


@every_choice
def test_columns_without_a_difference_leave_the_shares_of_classes(odds):
    y = np.repeat([1, 2, 3], [10, 20, 30])
    for rows in (np.ones((60, 2)), np.full((60, 2), np.nan)):
        model = quick(odds=odds, subsample=1.0).fit(rows, y)
        assert_allclose(model.predict_proba(rows[:1])[0], [1 / 6, 2 / 6, 3 / 6], atol=1e-3)
        assert not model.feature_importances_.any()


@every_choice
def test_few_rows(odds):
    for n in (2, 3, 5):
        model = quick(odds=odds, min_samples_leaf=1).fit(np.eye(n), np.arange(n))
        assert_allclose(model.predict_proba(np.eye(n)).sum(axis=1), 1.0)


@every_odds
@pytest.mark.parametrize("scale", [1e-100, 1e-20, 1e20, 1e100])
def test_the_scale_of_features_does_not_matter(odds, scale):
    expected = quick(odds=odds).fit(X, Y).predict_proba(X)
    model = quick(odds=odds).fit(X * scale, Y)
    assert_array_equal(model.predict_proba(X * scale), expected)


@every_odds
def test_weights_repeat_rows(odds):
    times = np.random.default_rng(0).integers(0, 4, len(X))
    options = {"odds": odds, "subsample": 1.0, "min_samples_leaf": 1, "max_features": 1.0}
    weighted = quick(**options).fit(X, Y, sample_weight=times)
    repeated = quick(**options).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    seen = X[times > 0]
    assert_allclose(weighted.decision_function(seen), repeated.decision_function(seen), rtol=1e-9)
    kept = quick(odds=odds).fit(X[times > 0], Y[times > 0])
    zeros = quick(odds=odds).fit(X, Y, sample_weight=times > 0)
    assert same(shown(zeros, X), shown(kept, X))
    for scale in (2.0**-100, 2.0**100):
        model = quick(odds=odds, l2=0.0).fit(X, Y, sample_weight=np.full(len(X), scale))
        expected = quick(odds=odds, l2=0.0).fit(X, Y)
        assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@every_odds
def test_rounds_are_chosen_on_rows_held_out(odds):
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    options = {"odds": odds, "n_rounds": 40, "validation_fraction": 0.3, "random_state": 0}
    model = OrdinalBoost(**options, n_iter_no_change=5).fit(rows, y)
    losses = model.validation_losses_
    # Labels have nothing to do with rows: it ends early.
    assert len(losses) - 1 == model.n_rounds_ + 5
    assert losses.argmin() == model.n_rounds_
    assert len(model._forest) == model.n_rounds_
    patient = OrdinalBoost(**options, n_iter_no_change=None).fit(rows, y)
    assert len(patient.validation_losses_) == 41
    assert not hasattr(quick(odds=odds).fit(X, Y), "validation_losses_")
    model.set_params(validation_fraction=None, n_rounds=3).fit(X, Y)
    assert not hasattr(model, "validation_losses_")


@every_odds
@pytest.mark.parametrize("through_file", [False, True])
def test_more_rounds_are_those_of_one_fit(odds, through_file):
    model = quick(odds=odds, warm_start=True).fit(X, Y)
    if through_file:
        model = peckorder.io.from_bytes(model.to_bytes())
    model.set_params(n_rounds=13).fit(X, Y)
    assert same(shown(model, X), shown(quick(odds=odds, n_rounds=13).fit(X, Y), X))


@every_odds
def test_predictions_are_monotone_where_they_must(odds):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (400, 2))
    y = np.digitize(rows[:, 0] + np.sin(7 * rows[:, 0]) / 3 + rng.normal(0, 0.2, 400), [-0.5, 0.3])
    free = OrdinalBoost(odds=odds, n_rounds=40, random_state=0).fit(rows, y)
    model = OrdinalBoost(odds=odds, n_rounds=40, monotonic_cst=[1, 0], random_state=0).fit(rows, y)
    line = np.c_[np.linspace(-1, 1, 200), np.zeros(200)]
    assert (np.diff(model.decision_function(line), axis=0) >= 0.0).all()
    assert (np.diff(free.decision_function(line), axis=0) < 0.0).any()
    falling = model.set_params(monotonic_cst=[-1, 0]).fit(-rows, y)
    assert (np.diff(falling.decision_function(line), axis=0) <= 0.0).all()


@every_odds
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_are_learnt(odds, library):
    rng = np.random.default_rng(0)
    kinds = np.array(["a", "b", "c", "d", "e", "f"], dtype=object)[rng.integers(0, 6, 300)]
    y = np.isin(kinds, ["b", "e"]).astype(int) + np.isin(kinds, ["c", "e"])
    if library == "pandas":
        frame = pd.DataFrame({"kind": pd.Categorical(kinds), "x": rng.normal(size=300)})
        new = pd.DataFrame({"kind": pd.Categorical(["e", "zebra", None]), "x": [0.0] * 3})
    else:
        kind = pl.Series(kinds.tolist(), dtype=pl.Categorical)
        frame = pl.DataFrame({"kind": kind, "x": rng.normal(size=300)})
        kind = pl.Series(["e", "zebra", None], dtype=pl.Categorical)
        new = pl.DataFrame({"kind": kind, "x": [0.0] * 3})
    model = OrdinalBoost(odds=odds, n_rounds=60, random_state=0).fit(frame, y)
    assert model.score(frame, y) == 0.0
    assert model.feature_importances_.argmax() == 0
    assert model.predict(new)[0] == 2
    shares = model.predict_proba(new)
    # A category that never occurred is a missing one.
    assert_array_equal(shares[1], shares[2])
    again = peckorder.io.from_bytes(model.to_bytes())
    assert_array_equal(again.predict_proba(new), shares)


def test_a_file_is_read_with_suspicion():
    model = quick(odds="free").fit(X, Y)
    for name, value in (
        ("_path", model._path[:, ::-1]),
        ("_path", model._path[:, 1:]),
        ("_present", np.array([0, 1, 2, 4])),
        ("odds_", "proportional"),
    ):
        damaged = quick(odds="free").fit(X, Y)
        setattr(damaged, name, value)
        with pytest.raises(ValueError, match="a model must be sound to be saved"):
            damaged.to_bytes()


REFUSED = [
    ({"odds": "equal"}, {}, "odds must be one of 'auto', 'proportional', 'free'; got 'equal'."),
    ({"n_rounds": 0}, {}, "n_rounds must be an integer >= 1; got 0."),
    ({"max_leaf_nodes": 1}, {}, "max_leaf_nodes must be an integer >= 2; got 1."),
    ({"max_depth": 0}, {}, "max_depth must be None or an integer >= 1; got 0."),
    ({"l2": -1.0}, {}, "l2 must be a finite number >= 0; got -1.0."),
    ({"subsample": 0.0}, {}, "subsample must be a number > 0 and <= 1; got 0.0."),
    ({"max_bins": 256}, {}, "max_bins must be an integer from 2 to 255; got 256."),
    (
        {"warm_start": True},
        {},
        "odds must be 'proportional' or 'free' with warm_start; got 'auto'.",
    ),
    (
        {"warm_start": True, "odds": "free", "validation_fraction": 0.1},
        {},
        "validation_fraction must be None with warm_start; got 0.1.",
    ),
    ({"monotonic_cst": [1]}, {}, "monotonic_cst must have one number per column, 3 in all; got 1."),
    ({}, {"y": Y[:-1]}, "y must be one label per row; got 119 labels for 120 rows."),
    ({}, {"y": np.ones(120)}, "y must hold at least two classes; got one class, [1.0]."),
    ({"classes": [1, 2]}, {"y": Y}, None),
    (
        {},
        {"sample_weight": np.zeros(120)},
        "sample_weight must be positive for one row at least; got every weight zero.",
    ),
    (
        {},
        {"sample_weight": np.full(120, 1e200)},
        "sample_weight must be at most 1e+60; got 1e+200.",
    ),
    (
        {"validation_fraction": 0.5},
        {"X": X[:4], "y": [1, 2, 3, 4]},
        "validation_fraction must be None where no class has two rows, one to be held out; "
        "got 0.5.",
    ),
]


@pytest.mark.parametrize(("options", "data", "sentence"), REFUSED)
def test_what_is_refused_changes_nothing(options, data, sentence):
    model = quick(odds="proportional").fit(X, Y)
    model.set_params(**{"odds": "auto"} | options)
    if sentence is None:
        row = int(np.argmax(Y > 2))
        sentence = (
            f"y must be one of the classes [1, 2]; got {Y[row]} in row {row}. Name every class in "
            "classes=, lowest first."
        )
    of_data = "weight" in sentence or "classes" in sentence
    error = DataError if of_data else ValueError
    with raises_unchanged(model, error, f"OrdinalBoost: {sentence}"):
        model.fit(**{"X": X, "y": Y} | data)


def test_going_on_otherwise_is_refused():
    model = quick(odds="free", warm_start=True).fit(X, Y)
    for options, y, sentence in (
        (
            {"n_rounds": 7},
            Y,
            "n_rounds must be >= 8, the rounds there are, with warm_start; got 7.",
        ),
        (
            {"odds": "proportional"},
            Y,
            "odds must be 'free' as in the last fit, with warm_start; got 'proportional'.",
        ),
        ({}, Y + 1, "y must have the classes of the last fit, with warm_start; got [2, 3, 4, 5]."),
    ):
        model.set_params(**{"odds": "free", "n_rounds": 9} | options)
        with raises_unchanged(model, ValueError, f"OrdinalBoost: {sentence}"):
            model.fit(X, y)
