"""Rounds of the compiled loop are those of the loop in Python."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder import Preferences, RankBoost
from peckorder.boosting import columns, run_rounds
from peckorder.exceptions import DataError
from support.helpers import raises_unchanged, same

SHOWN = ("weak_rankers_", "bounds_", "feature_importances_", "n_rounds_")


def drawn(seed):
    """Draw rows, feedback and options."""
    rng = np.random.default_rng(seed)
    n, d = 70, 12
    X = np.round(rng.standard_normal((n, d)), 1) + 0.0
    X[rng.random((n, d)) < rng.choice([0.0, 0.2], d)] = np.nan
    y, qid = rng.integers(0, 3, n), rng.integers(0, 6, n)
    feedback = {
        "y": y,
        "qid": qid,
        "sample_weight": rng.choice([0.0, 0.5, 1.0], n) if seed % 2 else None,
        "offset": rng.standard_normal(n) if seed % 3 else None,
    }
    if seed % 4 == 0:
        kind = ["gap", "exponential"][seed % 8 == 0]
        feedback["y"] = Preferences.from_grades(y, qid, weight=kind)
        feedback["qid"] = None
    options = {
        "n_rounds": 40,
        "cumulative": bool(rng.integers(2)),
        "default": rng.choice([None, 0, 1]),
        "learning_rate": rng.choice([1.0, 0.3]),
        "max_bins": rng.choice([None, 5]),
        "query_weight": "equal" if seed % 4 == 1 else "pairs",
    }
    return X, feedback, options


@pytest.fixture(params=[0, 10**9], ids=["binned", "sorted"])
def short(request, monkeypatch):
    monkeypatch.setattr(columns, "_SHORT", request.param)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_compiled_loop_and_the_loop_in_python_give_the_same_rounds(seed, form, monkeypatch):
    X, feedback, options = drawn(seed)
    rows = X if form is np.asarray else form(np.nan_to_num(X))
    model = RankBoost(**options).fit(rows, **feedback)
    with monkeypatch.context() as patched:
        patched.setattr(run_rounds, "_ENTRIES_PER_CALL", 1)  # one round, then the next
        piecewise = RankBoost(**options).fit(rows, **feedback)
    monkeypatch.setattr(run_rounds, "has_compiled_loop", lambda _: False)
    slow = RankBoost(**options).fit(rows, **feedback)
    for name in SHOWN:
        assert same(getattr(model, name), getattr(slow, name)), name
        assert same(getattr(piecewise, name), getattr(slow, name)), name
    nothing = np.zeros(len(X))
    assert_array_equal(model.predict(rows, offset=nothing), slow.predict(rows, offset=nothing))


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_perfect_feature_needs_smoothing(is_compiled, monkeypatch):
    if not is_compiled:
        monkeypatch.setattr(run_rounds, "has_compiled_loop", lambda _: False)
    model = RankBoost(smoothing=0)
    sentence = "RankBoost: smoothing must be > 0 where a weak ranking errs on no pair; got 0."
    with raises_unchanged(model, DataError, sentence):
        model.fit([[0.0], [1.0]], [0, 1])


def test_only_the_plain_case_has_a_compiled_loop(monkeypatch):
    seen, has_compiled_loop = [], run_rounds.has_compiled_loop

    def noted(state):
        seen.append(has_compiled_loop(state))
        return seen[-1]

    monkeypatch.setattr(run_rounds, "has_compiled_loop", noted)
    X, feedback, _ = drawn(2)
    for options in (
        {},
        {"cumulative": False, "max_bins": 9},
        {"alpha": "numeric"},
        {"alpha": "analytic"},
        {"weak": ["threshold", lambda X, p: lambda X: np.zeros(len(X))]},
    ):
        RankBoost(n_rounds=2, **options).fit(X, **feedback)
    assert seen == [True, True, False, False, False]
