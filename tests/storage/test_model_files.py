"""Models come back from files as they went in, to the bit."""

import pickle
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import peckorder
from peckorder import MPRank, MPRankCV, PRank, Preferences, Ratings
from peckorder.collaborative import PersonalRanker
from peckorder.tables.answers import Cuts, LabelScale
from peckorder.trees.forest import Forest
from support.damaged_files import closed, opened
from support.helpers import same, shown
from support.stored_models import CASES, NEW, QUERY, RELEVANCE, X, Y

CASE = pytest.mark.parametrize("name", CASES)


def saved_and_loaded(model, tmp_path):
    path = tmp_path / "model.peckorder"
    model.save(path)
    return peckorder.load(path)


def assert_same_answers(case, one, other):
    for mine, theirs in zip(case.ask(one), case.ask(other), strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        if mine.dtype.kind == "O":
            assert mine.tolist() == theirs.tolist()
            assert list(map(type, mine.tolist())) == list(map(type, theirs.tolist()))
        else:
            assert mine.tobytes() == theirs.tobytes()


def public(model):
    names = {name for name in dir(type(model)) if name[-1] == "_" and name[0] != "_"}
    names |= {name for name in vars(model) if name[-1] == "_" and name[0] != "_"}
    return {name: getattr(model, name) for name in sorted(names) if hasattr(model, name)}


def assert_same_attributes(one, other):
    mine, theirs = public(one), public(other)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert type(theirs[name]) is type(value), name
        if isinstance(value, np.ndarray):
            assert theirs[name].dtype == value.dtype, name
            assert theirs[name].tolist() == value.tolist() or (
                theirs[name].tobytes() == value.tobytes()
            ), name
        elif isinstance(value, BaseEstimator):
            assert_same_attributes(value, theirs[name])
        elif isinstance(value, Cuts | LabelScale | Forest):
            for part in fields(value):
                found = np.asarray(getattr(theirs[name], part.name))
                wanted = np.asarray(getattr(value, part.name))
                assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist())
        elif name == "own_rankings_":
            for one_ranking, other_ranking in zip(value, theirs[name], strict=True):
                assert one_ranking.scale == other_ranking.scale
                assert_same_attributes(one_ranking.regressor, other_ranking.regressor)
        else:
            assert theirs[name] == value, name


@CASE
def test_answers_are_the_same_to_the_bit(name, tmp_path):
    model = CASES[name].fit()
    assert_same_answers(CASES[name], model, saved_and_loaded(model, tmp_path))


@CASE
def test_public_attributes_and_parameters_are_the_same(name, tmp_path):
    model = CASES[name].fit()
    loaded = saved_and_loaded(model, tmp_path)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert_same_attributes(model, loaded)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].go_on])
def test_a_loaded_model_continues_as_the_other_does(name, tmp_path):
    case = CASES[name]
    model = case.fit()
    loaded = saved_and_loaded(model, tmp_path)
    model, loaded = case.go_on(model), case.go_on(loaded)
    assert_same_answers(case, model, loaded)
    assert_same_attributes(model, loaded)


@CASE
def test_a_loaded_model_is_saved_as_the_same_bytes(name, tmp_path):
    CASES[name].fit().save(tmp_path / "one")
    peckorder.load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@CASE
def test_saving_leaves_a_model_as_it_was_and_pickles_work(name, tmp_path):
    model = CASES[name].fit()
    before = CASES[name].ask(model)
    loaded = saved_and_loaded(model, tmp_path)
    for mine, theirs in zip(before, CASES[name].ask(model), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert_same_answers(CASES[name], loaded, pickle.loads(pickle.dumps(loaded)))
    assert repr(clone(loaded)) == repr(clone(model))


@pytest.mark.parametrize("name", ["rbf", "poly"])
@pytest.mark.parametrize("kind", [MPRank, MPRankCV])
def test_pairs_are_left_out_of_what_a_kernel_keeps(kind, name, tmp_path):
    model = kind(kernel=name).fit(X, RELEVANCE, offset=X[:, 0])
    loaded = saved_and_loaded(model, tmp_path)
    for cost in ("squared", "misranking"):
        assert loaded.leave_pair_out_error(cost) == model.leave_pair_out_error(cost)
    mine, theirs = (m.leave_one_out_predictions() for m in (model, loaded))
    assert mine.tobytes() == theirs.tobytes()


def test_a_model_fitted_with_an_offset_still_asks_for_one(tmp_path):
    model = MPRank().fit(X, RELEVANCE, offset=X[:, 0])
    with pytest.warns(UserWarning, match="fitted with an offset, asked without one"):
        saved_and_loaded(model, tmp_path).predict(X)


def test_names_of_features_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "ß", "\U0001f600"])
    model = PRank().fit(frame, Y)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "ß", "\U0001f600"]
    assert loaded.feature_names_in_.dtype == object
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"a": "b"}))


def test_parameters_set_after_learning_wait_for_the_next_call(tmp_path):
    model = PRank(fit_intercept=True, rule="averaged").fit(X, Y)
    model.set_params(fit_intercept=False, rule="voted", gamma=3.0)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    assert_same_attributes(model, loaded)
    assert loaded.predict(NEW).tolist() == model.predict(NEW).tolist()
    with pytest.raises(ValueError, match="rule must be 'averaged' as when learning"):
        loaded.partial_fit(X, Y)


@pytest.mark.parametrize(
    "classes",
    [
        [1, 2, 3, 4],
        (0.1, 0.2, 1e300, 5e-324),
        ["poor", "fair", "good", "gr\0eat"],
        [b"a", b"b", b"c", b"d"],
        [False, True, 2, "x"],
        [None, "low", "mid", "high"],
        [2**70, -(2**80), 0, 1],
        [(1, "a"), (1, "b"), (2, b""), (2, None)],
        [date(2020, 1, 1), date(2020, 1, 2), date(1, 1, 1), date(9999, 12, 31)],
        [datetime(2020, 1, d, 3, 4, 5, 6, tzinfo=UTC) for d in (1, 2, 3, 4)],
        [timedelta(days=d, microseconds=1) for d in (-5, 2, 3, 4)],
        np.array([1, 2, 3, 4], dtype=np.uint8),
        np.array(["b", "a", "dd", "ccc"]),
        np.array(["2020-01-01", "2020-01-02", "2021-01-01", "1999-01-01"], "M8[s]"),
        range(4),
    ],
    ids=lambda classes: repr(classes)[:30],
)
def test_labels_of_any_plain_kind_are_restored(classes, tmp_path):
    plain = classes.tolist() if isinstance(classes, np.ndarray) else classes
    labels = np.fromiter(plain, dtype=object, count=4)
    model = PRank(classes=classes).fit(X, labels[Y - 1])
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert list(map(type, loaded.classes_.tolist())) == list(map(type, model.classes_.tolist()))
    assert loaded.predict(NEW).tolist() == model.predict(NEW).tolist()
    loaded.partial_fit(X, labels[Y - 1])


def test_an_ordered_categorical_is_continued_after_loading(tmp_path):
    pandas = pytest.importorskip("pandas")
    words = ["poor", "fair", "good", "great"]
    y = pandas.Categorical.from_codes(Y - 1, words, ordered=True)
    model = PRank(classes=pandas.Index(words)).fit(X, y)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.classes == words
    assert loaded.partial_fit(X, y).coef_.tolist() == model.partial_fit(X, y).coef_.tolist()


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, 2],
        ["c", "a", "b"],
        np.array(["c", "a", "b"]),
        np.array([b"c", b"a", b"b"]),
        np.array(["2020-01-03", "2020-01-01", "2020-01-02"], "M8[D]"),
        np.array([3, 1, 2], "m8[25s]"),
        [("x", 3), ("x", 1), ("y", 2)],
        [1.5, "a", (2, None)],
        np.array(["c", "a", "b"], dtype=np.dtypes.StringDType()),
    ],
    ids=lambda ids: repr(ids)[:30],
)
def test_ids_of_any_plain_kind_are_restored(ids, tmp_path):
    position = [0, 0, 1, 1, 1, 2, 2]
    users = ids[position] if isinstance(ids, np.ndarray) else [ids[i] for i in position]
    ratings = Ratings(users, list("xyxyzyz"), [5, 1, 4, 2, 5, 1, 4])
    model = PersonalRanker(n_factors=1, random_state=0).fit(ratings).fit_people()
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.users_.dtype == model.users_.dtype
    assert loaded.users_.tolist() == model.users_.tolist()
    assert not loaded.users_.flags.writeable
    for user in ids:
        mine, theirs = model.predict(user), loaded.predict(user)
        assert mine.tobytes() == theirs.tobytes()


def test_exact_floats_and_large_seeds_are_restored(tmp_path):
    odd = 0.1 + 0.2
    model = PRank(gamma=odd, coef0=-0.0, random_state=2**32 - 1).fit(X, Y)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.gamma.hex() == odd.hex()
    assert str(loaded.coef0) == "-0.0"
    assert loaded.random_state == 2**32 - 1


def test_numbers_of_numpy_become_those_of_python(tmp_path):
    model = PRank(gamma=np.float64(0.5), max_iter=np.int64(2), shuffle=np.True_)
    loaded = saved_and_loaded(model.fit(X, Y), tmp_path)
    assert [type(v) for v in (loaded.gamma, loaded.max_iter, loaded.shuffle)] == [float, int, bool]


def test_learning_does_not_change_what_another_load_gives(tmp_path):
    path = tmp_path / "model"
    PRank(rule="voted").fit(X, Y).save(path)
    first = peckorder.load(path).predict(NEW)
    peckorder.load(path).partial_fit(NEW, Y[:24])
    assert peckorder.load(path).predict(NEW).tolist() == first.tolist()


def test_members_of_loaded_ensembles_are_merged(tmp_path):
    case = CASES["aggregate-bagging"]
    one = case.fit()
    two = saved_and_loaded(one, tmp_path)
    merged, loaded = one.merge(two), saved_and_loaded(one.merge(two), tmp_path)
    assert loaded.n_estimators == 10
    assert_same_answers(case, merged, loaded)
    assert same(shown(merged, NEW), shown(loaded, NEW))


def test_queries_and_weights_of_a_kernel_model_are_kept(tmp_path):
    model = MPRank(kernel="rbf").fit(X, RELEVANCE, qid=QUERY, sample_weight=Y)
    loaded = saved_and_loaded(model, tmp_path)
    mine, theirs = (m.leave_pair_out_error(keep="C_prime") for m in (model, loaded))
    assert mine == theirs


def test_preferences_of_a_kernel_model_are_kept(tmp_path):
    pairs = Preferences([1, 2, 3], [5, 6, 5], weight=[1, 2, 0.3], size=[2, 0, 1])
    model = MPRank(kernel="rbf").fit(X, pairs, offset=0.1 * RELEVANCE)
    loaded = saved_and_loaded(model, tmp_path)
    for cost in ("squared", "absolute", "misranking"):
        assert loaded.leave_pair_out_error(cost) == model.leave_pair_out_error(cost)
        assert loaded.leave_row_out_error(cost) == model.leave_row_out_error(cost)


def test_a_parameter_that_a_file_does_not_know_has_its_default(tmp_path):
    path = tmp_path / "model"
    PRank(coef0=3.0).fit(X, Y).save(path)
    header, parts = opened(path.read_bytes())
    del header["parameters"]["coef0"]
    path.write_bytes(closed(header, parts))
    assert peckorder.load(path).coef0 == 1.0


def test_the_file_format_is_not_imported_with_peckorder():
    program = "import sys, peckorder; print('peckorder.storage.format' in sys.modules)"
    folder = str(Path(peckorder.__file__).parent.parent)
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{folder!r}]; {program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
