"""All candidates try as many settings; those of other libraries choose their size."""

import re

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from peckorder import OrdinalBoost, RankBoost, third_party
from peckorder.comparison import candidates
from peckorder.comparison.candidates import CANDIDATES, TaskInfo, boosted_trees, plain_name
from peckorder.comparison.contest import choose_candidates
from peckorder.comparison.tuning import ROUNDS, Wrapper, boosted_stages, step_loss
from peckorder.exceptions import DataError


@pytest.mark.parametrize("kind", CANDIDATES)
def test_no_ranker_tries_more_settings_than_another(kind, monkeypatch):
    # Those that are not installed too.
    monkeypatch.setattr(candidates, "installed", lambda package: True)
    numbers = {}
    for candidate in CANDIDATES[kind]():
        model = candidate.make(TaskInfo(0, 4, 3))
        while isinstance(model, Wrapper):
            if getattr(model, "grid", None):
                numbers[candidate.name] = len(ParameterGrid(model.grid))
            model = model.model
    assert set(numbers.values()) == {3}
    assert {"LightGBM", "XGBoost", "CatBoost", "RankBoost", "RankBoost (trees)"} <= set(numbers)
    assert ("OrdinalBoost" in numbers) is (kind == "ordinal")
    assert ("LightGBM (median class)" in numbers) is (kind == "ordinal")


class Shares(third_party.Trees):
    """Says the probabilities of classes that are in the rows themselves."""

    package = "sklearn"

    def _boosted(self, library, kind, X, y, qid):
        assert kind == "classes"
        assert set(np.unique(y)) == set(range(len(self.seen_)))
        return self

    def _scores(self, X, rounds):
        return X if len(self.seen_) > 2 else X[:, 1]

    _contributions = _text = _loaded = _check_text = None


def test_the_median_class_is_where_half_of_the_probability_is_passed():
    shares = np.array([[0.6, 0.1, 0.3], [0.5, 0.2, 0.3], [0.2, 0.3, 0.5], [0.1, 0.2, 0.7]])
    classes = [0, 1, 2, 3, 5]
    model = Shares(classes=classes).fit(shares, np.array([0.0, 2.0, 5.0, 2.0]))
    assert model.predict(shares).tolist() == [0, 0, 2, 5]
    np.testing.assert_allclose(model.predict_proba(shares)[0], [0.6, 0, 0.1, 0, 0.3])
    np.testing.assert_allclose(model.decision_function(shares), [1.4, 1.6, 2.6, 3.2])
    two = Shares(classes=classes).fit(shares[:, :2], np.array([0.0, 2.0, 2.0, 2.0]))
    assert two.predict(np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])).tolist() == [0, 0, 2]
    one = Shares(classes=classes).fit(shares, np.full(4, 3.0))
    assert one.predict(shares).tolist() == [3, 3, 3, 3]
    assert one.predict_proba(shares).tolist() == [[0, 0, 0, 1, 0]] * 4
    renamed = model.rename(["a", "b", "c", "d", "e"])
    assert renamed.predict(shares).tolist() == ["a", "a", "c", "e"]


@pytest.mark.parametrize("trees", ["LightGBM", "XGBoost", "CatBoost"])
@pytest.mark.parametrize("way", ["scores", "classes", "two classes", "queries"])
def test_trees_of_other_libraries(trees, way):
    kind = getattr(third_party, trees)
    pytest.importorskip(kind.package)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.searchsorted([0.0] if way == "two classes" else [-1.0, 1.0], X[:, 0] * 2).astype(float)
    qid = np.arange(240) // 10 if way == "queries" else None
    make = boosted_trees(kind, classes="classes" in way)
    model = make(TaskInfo(0, 3, 3)).fit(X, y, qid)
    assert set(model.chosen_) == {*kind.sizes, "n_estimators"}
    assert (model.loss is step_loss) is ("classes" in way)
    said = model.predict(X)
    if "classes" in way:
        assert (said == y).mean() > 0.9
    else:
        assert np.corrcoef(said, y)[0, 1] > 0.8
    # After all rounds as after the number that was chosen.
    np.testing.assert_array_equal(model.model_.predict(X, model.chosen_["n_estimators"]), said)


@pytest.mark.parametrize("trees", ["LightGBM", "XGBoost", "CatBoost"])
@pytest.mark.parametrize(
    ("y", "qid", "sentence"),
    [
        (np.arange(8.0), [0, 1], "qid must be one value per row, 8 in all; got 2."),
        (np.arange(8.0), np.full(8, np.nan), "qid must be "),
        (np.arange(5.0), None, "y must be one label per row; got 5 labels for 8 rows."),
        (np.full(8, np.nan), None, "y must be finite numbers; got nan in row 0."),
        (np.full(8, "a"), None, "y must be numbers or an ordered categorical; got 'a' in row 0."),
        (np.ones((8, 2)), None, "y should be a 1d array, got an array of shape (8, 2) instead."),
    ],
)
def test_trees_of_other_libraries_check_labels_and_queries(trees, y, qid, sentence):
    model = getattr(third_party, trees)(n_estimators=2)
    pytest.importorskip(model.package)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        model.fit(np.arange(16.0).reshape(8, 2), y, qid)
    assert not hasattr(model, "n_features_in_")


def test_boosting_without_rounds_predicts_what_it_does_in_the_end():
    X = np.arange(8.0).reshape(-1, 1)
    alone = OrdinalBoost(classes=[0, 1, 2]).fit(X, np.ones(8, dtype=int))
    assert [stage.tolist() for stage in boosted_stages(alone, X)] == [[1] * 8] * len(ROUNDS)
    short = RankBoost(n_rounds=2).fit(X, X[:, 0])
    stages = list(boosted_stages(short, X))
    np.testing.assert_array_equal(stages[2:], [short.predict(X)] * (len(ROUNDS) - 2))


def test_names_are_found_in_any_case_and_in_the_old_spelling():
    every = CANDIDATES["ordinal"]()
    for name in ("MPRank (RBF kernel)", "mprank, rbf kernel", "MPRANK (rbf KERNEL)"):
        chosen = choose_candidates("ordinal", every, [name])
        assert [c.name for c in chosen if c.origin] == ["MPRank (RBF kernel)"]
    both = choose_candidates("ordinal", every, ["prank,oap-bpm (100 pranks)"])
    assert [c.name for c in both if c.origin] == ["PRank", "OAP-BPM (100 PRanks)"]
    by_class = choose_candidates("ordinal", every, ["AggregatePRank"])
    assert [c.name for c in by_class if c.origin] == ["OAP-BPM (100 PRanks)"]
    assert not any("," in c.name for kind in CANDIDATES for c in CANDIDATES[kind]())
    assert len({plain_name(c.name) for c in every}) == len(every)
    with pytest.raises(DataError, match=r"got 'MPRank \(rbf\)'\. Did you mean"):
        choose_candidates("ordinal", every, ["MPRank (rbf)"])
