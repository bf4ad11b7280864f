"""Estimators in several threads: what may run together is the same, what may not is refused."""

import inspect
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

import peckorder.io  # noqa: F401  (every class is known then)
from peckorder import MPRank, PRank, RankBoost, TableRanker
from peckorder._base import _changing, all_or_nothing
from peckorder.collaborative import ItemMean
from peckorder.storage.mixin import MODELS
from support.helpers import integer_data, refuses, same
from support.stored_models import CASES

X, Y = integer_data(1)
PATIENCE = 60.0
CHANGES = {
    "PRank.fit": lambda: PRank().fit,
    "PRank.partial_fit": lambda: PRank().partial_fit,
    "PRank.progressive": lambda: PRank().progressive,
    "RankBoost.fit": lambda: RankBoost(n_rounds=3).fit,
    "MPRank.fit": lambda: MPRank().fit,
    "MPRank.partial_fit": lambda: MPRank().partial_fit,
    "ItemMean.fit": lambda: ItemMean().fit,
    "TableRanker.fit": lambda: TableRanker(MPRank()).fit,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes_of_one_model_in_two_threads_are_refused(change):
    method = change()
    model = method.__self__
    sentence = (
        f"{type(model).__name__}: a model must be changed by one thread at a time; got another "
        "thread is changing this model."
    )
    begun, go_on = threading.Event(), threading.Event()

    def hold():
        with all_or_nothing(model):
            begun.set()
            assert go_on.wait(PATIENCE)

    before = dict(vars(model))
    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        try:
            assert begun.wait(PATIENCE)
            with refuses(sentence, RuntimeError):
                method(X, Y)
            assert vars(model) == before
            # Others may be changed meanwhile, copies of it too.
            getattr(clone(model), method.__name__)(X, Y)
            getattr(pickle.loads(pickle.dumps(model)), method.__name__)(X, Y)
        finally:
            go_on.set()
        holding.result(PATIENCE)
    method(X, Y)
    assert _changing == {}


def test_a_change_within_a_change_of_the_same_thread_is_not_refused():
    model = PRank()
    with all_or_nothing(model):
        model.fit(X, Y)
        assert len(_changing) == 1
    with pytest.raises(ValueError, match="features"), all_or_nothing(model):
        model.partial_fit(X, Y).partial_fit(X[:, :1], Y)
    assert same(model.predict(X), PRank().fit(X, Y).predict(X))
    assert _changing == {}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_predictions_of_several_threads_are_those_of_one(case):
    model = case.fit()
    alone = case.ask(case.fit())
    barrier = threading.Barrier(3)

    def ask():
        barrier.wait(PATIENCE)
        return case.ask(model)

    with ThreadPoolExecutor(3) as pool:
        answers = [future.result(PATIENCE) for future in [pool.submit(ask) for _ in range(3)]]
    for answer in answers:
        for one, expected in zip(answer, alone, strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(expected))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_estimator_says_what_may_run_together(name):
    notes = inspect.getdoc(MODELS[name]).partition("\nNotes\n-----\n")[2].partition("\n---")[0]
    assert "several threads at once" in " ".join(notes.split())
    assert "may not run beside anything else" in " ".join(notes.split())
