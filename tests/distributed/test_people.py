"""Fleets in one process: the models, what is kept of them, and going on."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder import MPRank, MPRankCV, PRank, RankBoost, Ratings, SVRank, WidrowHoff
from peckorder.collaborative import (
    Correlation,
    ItemMean,
    MinNormRegression,
    NearestRanker,
    PersonalRanker,
    VectorSimilarity,
    problem,
)
from peckorder.datasets import make_ratings
from peckorder.distributed import fit_people, open_people
from peckorder.distributed.people.store_parquet import ParquetStore
from peckorder.distributed.people.store_sqlite import SqliteStore
from peckorder.metrics import disagreement, ndcg
from support.worker_tasks import all_of


def varied():
    """Return ratings of 30 people, different ones in both parts of each."""
    train, test = make_ratings(90, 25, random_state=3).split(0.4, random_state=0)
    values = [(train.of(user).values, test.of(user).values) for user in train.users]
    chosen = [
        user
        for user, parts in zip(train.users.tolist(), values, strict=True)
        if all(len(set(part.tolist())) > 1 for part in parts)
    ]
    return tuple(part.restrict(users=chosen[:30]) for part in (train, test))


TRAIN, TEST = varied()
USERS = TRAIN.users.tolist()
STORES = pytest.mark.parametrize("name", ["people", "people.sqlite"])


def alone(people, estimator, **options):
    return fit_people(TRAIN, people, estimator, n_jobs=1, **options)


# The models are those that one would learn by hand.


@pytest.mark.parametrize(
    ("estimator", "fill"),
    [
        (MPRank(C=2.0), "median"),
        (MPRankCV(), "median"),
        (SVRank(), "median"),
        (PRank(max_iter=3), "median"),
        (WidrowHoff(), "median"),
        (RankBoost(n_rounds=5), "abstain"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rows_are_those_of_the_problem(estimator, fill):
    from sklearn.base import clone

    references = USERS[5:15]
    people = alone(USERS[:8], estimator, references=references)
    assert people.about["fill"] == fill
    assert set(people) == set(USERS[:8])
    for user in USERS[:8]:
        others = [each for each in references if each != user]
        X, y = problem(TRAIN, user, others, fill)
        assert people[user].to_bytes() == clone(estimator).fit(X, y).to_bytes()


@pytest.mark.parametrize(
    "estimator",
    [ItemMean(), MinNormRegression(), NearestRanker(), VectorSimilarity(), Correlation()],
    ids=lambda value: type(value).__name__,
)
def test_viewers_models_are_given_all_items(estimator):
    from sklearn.base import clone

    references = USERS[:10]
    people = alone(USERS[:4], estimator, references=references, test=TEST)
    table = people.columns()
    for user in USERS[:4]:
        others = [each for each in references if each != user]
        X, y = problem(TRAIN, user, others, "abstain", items="all")
        model = clone(estimator).fit(X, y)
        assert people[user].to_bytes() == model.to_bytes()
        held, given = TEST.of(user)
        places = [TRAIN.item_index(item) for item in held.tolist()]
        wanted = disagreement(given, model.predict(X)[places])
        assert table["disagreement"][table["person"].index(user)] == wanted


def test_references_are_those_with_the_most_ratings():
    people = alone(USERS[:2], MPRank(), references=4)
    order = np.argsort(-TRAIN.per_user, kind="stable")[:4]
    assert people.about["references"] == TRAIN.users[order].tolist()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_features_of_items(form):
    features = np.random.default_rng(0).normal(size=(TRAIN.n_items, 3))
    people = alone(USERS[:5], MPRank(C=5.0), features=form(features))
    for user in USERS[:5]:
        items, values = TRAIN.of(user)
        places = [TRAIN.item_index(item) for item in items.tolist()]
        wanted = MPRank(C=5.0).fit(form(features[places]), values)
        assert people[user].to_bytes() == wanted.to_bytes()


@pytest.mark.parametrize("is_fitted", [False, True])
def test_a_personal_ranker_equals_its_own_people(is_fitted):
    made = PersonalRanker(n_factors=2, random_state=0)
    wanted = PersonalRanker(n_factors=2, random_state=0).fit(TRAIN)
    people = alone(None, made.fit(TRAIN) if is_fitted else made, test=TEST)
    everybody = people.ranker()
    table = people.columns()
    for place, user in enumerate(table["person"]):
        expected = wanted.predict(user)
        assert_array_equal(people[user].predict(), expected)
        assert_array_equal(everybody.predict(user), expected)
        assert people[user].recommend(3).items.tolist() == (
            wanted.recommend(user, 3).items.tolist()
        )
        held, given = TEST.of(user)
        if len(held) and given.min() < given.max():
            measured = disagreement(given, wanted.predict(user, held))
            assert table["disagreement"][place] == measured
    assert_array_equal(everybody.fit_people().to_bytes(), wanted.fit_people().to_bytes())
    item = TRAIN.items.tolist()[0]
    assert people[USERS[0]].explain(item).score == wanted.explain(USERS[0], item).score


def test_a_person_brings_no_others_along():
    ranker = PersonalRanker(n_factors=2, random_state=0)
    people = alone(USERS[:5], ranker)
    persons = [people[user] for user in USERS[:5]]
    assert [list(person.ranker._people) for person in persons] == [[user] for user in USERS[:5]]
    assert persons[0].ranker._shared is persons[1].ranker._shared
    assert persons[0].ranker._ratings is persons[1].ranker._ratings
    # Changes of one model change no other, nor one that is read later.
    before = persons[1].predict()
    persons[0].ranker.update(USERS[1], TRAIN.items.tolist()[0], 1.0)
    assert_array_equal(persons[1].predict(), before)
    assert_array_equal(people[USERS[1]].predict(), before)


def test_new_people_on_top_of_a_fitted_ranker(tmp_path):
    ranker = PersonalRanker(n_factors=2, random_state=0).fit(TRAIN)
    items = TRAIN.items.tolist()
    # In another order of items than the ranker has, and one of its people again.
    new = Ratings(
        ["eve"] * 4 + [str(USERS[0])] * 2,
        [items[i] for i in (9, 2, 5, 0, 3, 4)],
        [5, 1, 3, 2, 1, 5],
    ).restrict(items=[items[i] for i in (9, 5, 4, 3, 2, 0)])
    people = fit_people(new, None, ranker, n_jobs=1, store=tmp_path / "new.sqlite")
    for i, rating in ((9, 5), (2, 1), (5, 3), (0, 2)):
        ranker.update("eve", items[i], rating)
    assert_array_equal(people["eve"].predict(), ranker.predict("eve"))
    best = people["eve"].recommend(30)
    assert best.items.tolist() == ranker.recommend("eve", 30).items.tolist()
    assert len(best) == len(items) - 4  # what eve has rated is known
    assert people.ranker().update("eve", items[1], 4.0).predict("eve").shape == (25,)


# What is measured, and who has no model


def test_metrics_are_those_of_the_held_out_ratings():
    people = alone(USERS[:6], MPRank(), test=TEST, metrics=["ndcg@3", "disagreement"])
    table = people.columns()
    assert list(table) == ["person", "n_ratings", "seconds", "ndcg@3", "disagreement", "reason"]
    others = people.about["references"]
    for place, user in enumerate(table["person"]):
        assert table["n_ratings"][place] == len(TRAIN.of(user).items)
        assert table["seconds"][place] > 0.0
        held, given = TEST.of(user)
        viewers = [each for each in others if each != user]
        X, _ = problem(TRAIN, user, viewers, items=held)
        scores = people[user].predict(X)
        assert table["ndcg@3"][place] == ndcg(given, scores, k=3)
        assert table["disagreement"][place] == disagreement(given, scores)
    assert people.to_pandas()["person"].tolist() == table["person"]
    assert people.to_polars()["person"].to_list() == table["person"]


@STORES
def test_too_few_ratings_are_a_reason_and_no_end(name, tmp_path):
    ratings = Ratings(
        ["ann"] * 3 + ["bob"] + ["cat"] * 3, [1, 2, 3, 1, 1, 2, 3], [1, 2, 3, 1, 3, 2, 2]
    )
    path = tmp_path / name
    people = fit_people(ratings, None, RankBoost(n_rounds=3), store=path, n_jobs=1)
    assert people != open_people(path)  # which would read all models
    assert sorted(people) == ["ann", "cat"]
    assert "bob" not in people
    assert list(people.reasons) == ["bob"]
    assert people.reasons["bob"].startswith("RankBoost: ")
    table = people.columns()
    assert sorted(table["person"]) == ["ann", "bob", "cat"]
    with pytest.raises(KeyError, match="no model of 'bob': RankBoost"):
        people["bob"]
    with pytest.raises(KeyError, match="no model of 'dan': not in the store"):
        people["dan"]
    assert repr(people) == "People(2 of 3 with a model, estimator='RankBoost')"


# Stores


@STORES
def test_a_store_holds_what_memory_does(name, tmp_path, monkeypatch):
    monkeypatch.setattr(ParquetStore, "batch", 7)
    monkeypatch.setattr(SqliteStore, "batch", 7)
    in_memory = alone(None, RankBoost(n_rounds=4), test=TEST)
    stored = alone(None, RankBoost(n_rounds=4), test=TEST, store=tmp_path / name)
    again = open_people(str(tmp_path / name))
    assert all_of(stored) == all_of(again) == all_of(in_memory)
    for user, model in again.items():
        assert model.to_bytes() == in_memory[user].to_bytes()


def test_parquet_is_read_by_others(tmp_path):
    import pyarrow.dataset

    alone(None, MPRank(), store=tmp_path / "people", test=TEST)
    table = pyarrow.dataset.dataset(tmp_path / "people", format="parquet").to_table()
    assert sorted(table["person"].to_pylist()) == USERS
    assert table.column_names == [
        "row",
        "person",
        "n_ratings",
        "seconds",
        "reason",
        "disagreement",
        "model",
    ]


@STORES
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_same_call_goes_on(name, error, tmp_path):
    calls = []

    def stop(done, total):
        calls.append(done)
        if done >= 10:
            raise error

    path, model = tmp_path / name, PRank()
    with pytest.raises(error):
        alone(None, model, store=path, progress=stop)
    before = open_people(path)
    n_before = len(before)
    # All that came in is kept, the last one too.
    assert n_before == calls[-1]
    reported = []
    people = alone(None, model, store=path, progress=lambda *progress: reported.append(progress))
    assert reported[0] == (n_before, 30)
    assert reported[-1] == (30, 30)
    assert all_of(people) == all_of(alone(None, model))
    kept = all_of(before)
    assert {person: all_of(people)[person] for person in kept} == kept


@STORES
def test_more_people_may_come_later(name, tmp_path):
    path = tmp_path / name
    assert len(alone(USERS[:5], PRank(), store=path)) == 5
    assert len(alone(USERS[3:9], PRank(), store=path)) == 9
    reported = []
    people = alone(USERS[:9], PRank(), store=path, progress=lambda *a: reported.append(a))
    assert reported == [(9, 9)]
    assert all_of(people) == all_of(alone(USERS[:9], PRank()))


@STORES
def test_what_is_shared_is_learnt_once(name, tmp_path):
    # With no seed, a second fit would be another.
    path, ranker = tmp_path / name, PersonalRanker(n_factors=2)
    first = alone(USERS[:5], ranker, store=path)
    second = alone(USERS[5:], ranker, store=path)
    assert first._shared.to_bytes() == second._shared.to_bytes()
    wanted = second.ranker().fit_people()
    for user in USERS:
        assert_array_equal(second[user].predict(), wanted.predict(user))


@STORES
def test_a_batch_written_twice_is_there_once(name, tmp_path, monkeypatch):
    # Ctrl-C between the end of writing and noting that it is over.
    from peckorder.distributed.people import store

    def interrupted(self):
        place, waiting = self._state
        self._write(place, waiting)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(store.Store, "flush", interrupted)
    monkeypatch.setattr(ParquetStore, "batch", 4)
    monkeypatch.setattr(SqliteStore, "batch", 4)
    path = tmp_path / name
    with pytest.raises(KeyboardInterrupt):
        alone(None, PRank(), store=path)
    assert 4 <= len(open_people(path)) < 30
    assert all_of(alone(None, PRank(), store=path)) == all_of(alone(None, PRank()))


def test_a_line_on_a_terminal_and_none_in_a_pipe(capsys, monkeypatch):
    import sys

    alone(USERS[:2], PRank())
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    alone(USERS[:2], PRank())
    said = capsys.readouterr().err
    assert said.startswith("\r0 of 2 people, 0.0 a second")
    assert "\r2 of 2 people, " in said
    assert said.endswith("\n")
    alone(USERS[:2], PRank(), progress=False)
    assert capsys.readouterr().err == ""
