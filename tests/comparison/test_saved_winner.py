"""A saved model answers as the candidate whose figures were announced."""

import numpy as np
import pandas as pd
import pytest

import peckorder
from peckorder.comparison.candidates import CANDIDATES, TaskInfo
from peckorder.comparison.contest import run_contest
from peckorder.comparison.fusion import make_runs_case
from peckorder.comparison.measures import of_levels, of_lists, of_pairs
from peckorder.comparison.ratings_case import make_ratings_case
from peckorder.comparison.refit import refit
from peckorder.comparison.table_case import make_table_case
from peckorder.datasets import Qrels, Run, make_ratings
from peckorder.tables.columns import Columns, cut_out
from peckorder.tables.model_rows import ModelRows
from peckorder.tables.task import recognise

N = 150
TRAIN, TEST = slice(0, 100), slice(100, N)
WORDS = ["poor", "fair", "good", "great"]


def made(task):
    """Return a table with text and gaps, labels that suit the task, and its arguments."""
    rng = np.random.default_rng(5)
    a, b = 100 + 10 * rng.normal(size=N), rng.normal(size=N)
    kind = np.array(["red", "blue"], dtype=object)[rng.integers(0, 2, N)]
    # Of more values than are a column each, and one that is not learnt from.
    place = rng.integers(0, 30, N)
    height = (a - 100) / 5 - b + (kind == "red") + np.sin(place) + 0.5 * rng.normal(size=N)
    place = np.array([f"at {k}" for k in place], dtype=object)
    place[rng.random(N) < 0.1] = ""
    place[-1] = "elsewhere"
    level = np.searchsorted([-2.0, 0.0, 2.0], height)
    a = np.where(rng.random(N) < 0.1, np.nan, a)
    qid = {} if task in ("classes", "words", "money") else {"qid": np.arange(N) // 10}
    labels = {
        # Steps between classes are not those between their numbers.
        "classes": np.array([3, 4, 7, 9])[level],
        "words": np.array(WORDS, dtype=object)[level],
        "money": 1e5 * (height + 7),
        "money in lists": 1e5 * (height + 7),
        "grades": 1 + 2 * level,
        "grades below 0": level - 3.5,
    }[task]
    asked = {"classes": WORDS} if task == "words" else {}
    return Columns(
        {**qid, "a": a, "b": b, "kind": kind, "place": place, "label": labels}, "made.csv"
    ), asked


# Those of other libraries, whether they are installed or not.
OTHERS = {
    "ordinal": [
        *("Ridge", "LightGBM", "XGBoost", "CatBoost", "mord"),
        *(f"{trees} (median class)" for trees in ("LightGBM", "XGBoost", "CatBoost")),
    ],
    "magnitude": ["Ridge", "LightGBM", "XGBoost", "CatBoost"],
    "graded": ["Ridge", "LightGBM", "XGBoost", "CatBoost"],
}


def names_of(kind):
    """Return the names in a leaderboard that can win."""
    own = [c.name for c in CANDIDATES[kind]() if c.origin == "peckorder"]
    return [*own, *OTHERS[kind]]


def candidate_of(kind, name):
    found = [c for c in CANDIDATES[kind]() if c.name == name]
    if not found:
        pytest.skip(f"the library of {name} is not installed")
    return found[0]


def test_every_candidate_of_another_library_is_tested():
    for kind, make in CANDIDATES.items():
        found = {c.name for c in make() if c.can_be_saved and c.origin != "peckorder"}
        assert found <= set(OTHERS[kind])


TASKS = {
    "classes": "ordinal",
    "words": "ordinal",
    "money": "magnitude",
    "money in lists": "magnitude",
    "grades": "graded",
    "grades below 0": "graded",
}


@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task, kind in TASKS.items() for name in names_of(kind)]
)
def test_of_a_table(task, name, tmp_path):
    candidate = candidate_of(TASKS[task], name)
    columns, asked = made(task)
    train, test = cut_out(columns, TRAIN), cut_out(columns, TEST)
    case = make_table_case(train, recognise(train, **asked))
    assert case.kind == TASKS[task]
    contest = run_contest(case, n_splits=2, only=[name])
    assert contest.best_saved.name == name
    learnt = case.training_rows()
    fitted = candidate.fit(case.info(0), learnt)
    scores = fitted.scores(case.coding.matrix(test))
    answers = fitted.answers(scores)
    refit(case, contest, name).save(tmp_path / "m.peckorder")
    loaded = peckorder.load(tmp_path / "m.peckorder")
    frame = pd.DataFrame(dict(test.arrays))
    rows = ModelRows.of(loaded)
    added = rows.added(rows.matrix(test))
    y, zeros = test.arrays["label"], np.zeros(len(test), dtype=int)
    if case.kind == "ordinal":
        of_level = np.array(case.classes, dtype=object)
        assert loaded.predict(frame).tolist() == of_level[answers.astype(int)].tolist()
        assert added["predicted"].tolist() == loaded.predict(frame).tolist()
        score = loaded.mean_rank if name == "OrdinalBoost" else loaded.decision_function
        np.testing.assert_array_equal(added["score"], score(frame))
        if name == "OrdinalBoost":
            contributions, constant = rows.contributions(rows.matrix(test))
            mean = loaded.decision_function(frame).mean(axis=1)
            np.testing.assert_allclose(contributions.sum(axis=1) + constant, mean)
        assert loaded.classes_.tolist() == list(case.classes)
        level = {label: k for k, label in enumerate(case.classes)}
        truth = np.array([level[label] for label in y.tolist()])
        found = np.array([float(level[label]) for label in loaded.predict(frame).tolist()])
        measuring, wanted = of_levels(truth), answers
        steps = measuring(found)["mean rank loss"].mean()
        assert -loaded.score(frame, y) == pytest.approx(steps)
    else:
        found, wanted = added["score"], answers
        if "predicted" not in added:
            np.testing.assert_array_equal(loaded.predict(frame), found)
        else:
            assert set(added["predicted"].tolist()) <= set(y.tolist())
        measuring = of_pairs(y.astype(float), zeros)
        if case.kind == "graded":
            measuring = of_lists(y, test.arrays["qid"], ["disagreement"])
    np.testing.assert_array_equal(found, wanted)
    for measure, values in measuring(wanted).items():
        np.testing.assert_array_equal(measuring(found)[measure], values)
    # Without cuts or scale the figures would be others.
    assert (loaded.answer_ is None) is (fitted.answer is None)
    calibrated = {
        "classes": ("MPRank", "RankBoost", "Ridge", "LightGBM", "XGBoost", "CatBoost"),
        "money": ("SVRank", "RankBoost"),
    }
    assert (loaded.answer_ is not None) is any(
        name.startswith(word) and "median" not in name
        for kind, names in calibrated.items()
        for word in names
        if TASKS[kind] == case.kind
    )


@pytest.mark.parametrize("name", ["RankBoost", "MPRank", "Ridge", "LightGBM"])
def test_of_runs(name, tmp_path):
    if name == "LightGBM":
        pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    queries = np.repeat([f"q{k}" for k in range(12)], 20)
    documents = np.tile([f"d{k}" for k in range(20)], 12)
    grade = rng.integers(0, 3, 240)
    good = Run(queries, documents, grade + rng.normal(size=240))
    poor = Run(queries[::2], documents[::2], rng.normal(size=120))
    case = make_runs_case({"good": good, "poor": poor}, Qrels(queries, documents, grade))
    contest = run_contest(case, n_splits=2, only=[name])
    refit(case, contest, name).save(tmp_path / "m.peckorder")
    (candidate,) = (c for c in case.candidates if c.name == name)
    fitted = candidate.fit(case.info(0), case.training_rows())
    loaded = peckorder.load(tmp_path / "m.peckorder")
    np.testing.assert_array_equal(loaded.predict(case.X[:, :2]), fitted.scores(case.X))


@pytest.mark.parametrize("name", ["PersonalRanker", "PersonalRanker (SVD)"])
def test_of_ratings(name, tmp_path):
    triples = make_ratings(40, 30, random_state=0).triples()
    columns = Columns(dict(zip(("user", "item", "rating"), triples, strict=True)), "made.csv")
    case = make_ratings_case(columns, recognise(columns))
    contest = run_contest(case, n_splits=2, only=[name])
    refit(case, contest, name).save(tmp_path / "m.peckorder")
    (candidate,) = (c for c in case.candidates if c.name == name)
    fitted = candidate.make(TaskInfo(0, 0)).fit(case.ratings)
    loaded = peckorder.load(tmp_path / "m.peckorder")
    items = np.arange(case.ratings.n_items)
    for user in (0, 7, 39):
        found = loaded.predict(case.ratings.users[user].item())
        np.testing.assert_array_equal(found, fitted.scores(user, items))
