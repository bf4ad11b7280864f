import dataclasses

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from peckorder import MPRank, PRank, RankBoost
from peckorder import comparison as compare
from peckorder.comparison import OrdinalProblem, Split
from peckorder.metrics import half_width


def draw(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    y = 1 + (X[:, 0] > -0.5) + (X[:, 0] > 0.5)
    return Split(X[:80], y[:80], X[80:], y[80:])


EASY = OrdinalProblem(
    "easy", "Three classes along one axis.", draw, (1, 2, 3), settings={"unit_norm": False}
)


def compared(problem, rankers=None, **options):
    """Return the contest of one problem."""
    ((_, contest),) = compare.run([problem], rankers, **options)
    return contest


def losses(contest, place=0):
    """Return the losses of the ranker at a place, one per repetition."""
    return contest.results[place].values[contest.measures[0].name].tolist()


def draw_words(seed):
    split, words = draw(seed), np.array(["low", "middle", "high"])
    return split._replace(y_train=words[split.y_train - 1], y_test=words[split.y_test - 1])


def test_puts_the_lowest_loss_first_and_a_constant_beside_the_rankers():
    contest = compared(EASY, {"PRank": PRank()}, repeats=3)
    names = [result.name for result in contest.results]
    assert names == ["PRank", "(always the median class)"]
    assert np.mean(losses(contest)) < np.mean(losses(contest, 1))


def test_loss_is_that_of_a_fit_by_hand():
    contest = compared(EASY, {"PRank": PRank()}, repeats=2, seed=5)
    by_hand = []
    for seed in (5, 6):
        split = draw(seed)
        model = PRank(unit_norm=False).fit(split.X_train, split.y_train)
        by_hand.append(-model.score(split.X_test, split.y_test))
    assert losses(contest) == by_hand
    assert contest.best.mean(contest.measures[0]) == np.mean(by_hand)


def test_curve_is_the_running_mean_of_progressive_losses():
    contest = compared(EASY, {"PRank": PRank()}, repeats=2)
    X, y, *_ = draw(0)
    guesses = PRank(unit_norm=False).progressive(X, y, classes=[1, 2, 3])
    expected = np.abs(guesses - y).cumsum() / np.arange(1, 81)
    np.testing.assert_allclose(contest.best.curves[0], expected, rtol=1e-12)


def test_same_seed_gives_the_same_losses():
    first, second = (compared(EASY, repeats=2, seed=3) for _ in range(2))
    assert len(first.results) == len(second.results) == len(compare.ORDINAL_RANKERS) + 1
    for place in range(len(first.results)):
        assert losses(first, place) == losses(second, place)


def test_interval_is_student_t():
    # Four values 0, 0, 2, 2: mean 1, standard deviation 2 / sqrt(3), t = 3.182446.
    half = half_width(np.array([0.0, 0.0, 2.0, 2.0]))
    assert half == pytest.approx(3.182446 * 2 / 3**0.5 / 2, rel=1e-6)


def test_reports_progress_to_the_end():
    steps = []
    rankers = {"a": PRank(), "b": PRank(rule="last")}
    compare.run([EASY], rankers, repeats=2, on_progress=lambda *step: steps.append(step))
    assert [done for done, _, _ in steps] == [0, 1, 2, 3, 4]
    assert {total for _, total, _ in steps} == {4}
    assert steps[0][2] == "easy: a"


@pytest.mark.parametrize("problem", compare.PROBLEMS, ids=lambda p: p.name)
def test_embedded_problem_has_new_rows_every_time(problem):
    first, second, again = (problem.draw(seed) for seed in (0, 1, 0))
    assert first.X_train.shape[1] == second.X_train.shape[1]
    assert not np.array_equal(first.X_train, second.X_train, equal_nan=True)
    assert np.array_equal(first.X_train, again.X_train, equal_nan=True)


@pytest.mark.parametrize("problem", compare.PROBLEMS[:3], ids=lambda p: p.name)
def test_embedded_problem_has_five_classes(problem):
    split = problem.draw(0)
    assert len(set(split.y_train)) == len(set(split.y_test)) == 5


def test_every_problem_is_compared_by_the_rankers_of_its_kind(monkeypatch):
    kinds = [compare.OrdinalProblem, compare.GradedProblem, compare.MagnitudeProblem]
    names = ["PRank", "Boost", "MPRank"]
    chosen = [{"PRank": PRank()}, {"Boost": RankBoost(n_rounds=1)}]
    chosen.append({"MPRank": MPRank()})
    for kind, rankers in zip(kinds, chosen, strict=True):
        monkeypatch.setattr(kind, "rankers", rankers)
    comparisons = compare.run(compare.PROBLEMS[1:], repeats=2)
    assert [problem for problem, _ in comparisons] == [*compare.PROBLEMS[1:]]
    assert [contest.best.name for _, contest in comparisons] == names


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"repeats": 1}, r"^compare: repeats must be an integer >= 2; got 1\.$"),
        ({"seed": -1}, r"^compare: seed must be an integer from 0 to 2\*\*31; got -1\.$"),
    ],
)
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare.run(**options)


def test_losses_of_words_are_counted_in_steps():
    classes = ("low", "middle", "high")
    words = OrdinalProblem("words", "The same.", draw_words, classes)
    ranker = PRank(classes=words.classes, unit_norm=False)
    by_word = compared(words, {"PRank": ranker}, repeats=2)
    by_number = compared(EASY, {"PRank": PRank()}, repeats=2)
    for place in (0, 1):
        assert losses(by_word, place) == losses(by_number, place)
    assert np.array_equal(by_word.best.curves, by_number.best.curves)


def test_a_ranker_keeps_what_it_sets_itself():
    own = {"open": PRank(), "own": PRank(unit_norm=True, fit_intercept=False)}
    asked = dataclasses.replace(EASY, settings={"fit_intercept": True, "max_iter": 3})
    contest = compared(asked, own, repeats=2)
    place = [result.name for result in contest.results].index("own")
    split = draw(0)
    by_hand = PRank(fit_intercept=False, max_iter=3).fit(split.X_train, split.y_train)
    assert losses(contest, place)[0] == -by_hand.score(split.X_test, split.y_test)


def test_a_ranker_of_another_library_has_no_curve_and_takes_its_settings():
    tree = DecisionTreeClassifier(max_depth=2)
    contest = compared(EASY, {"tree": tree}, repeats=2)
    assert contest.best.name == "tree"
    assert np.mean(losses(contest)) < 0.1
    assert contest.best.curves == []


def test_settings_pass_by_a_ranker_whose_parameters_have_no_defaults():
    pipeline = make_pipeline(StandardScaler(), PRank(unit_norm=False))
    contest = compared(EASY, {"pipeline": pipeline}, repeats=2)
    split = draw(0)
    by_hand = clone(pipeline).fit(split.X_train, split.y_train)
    assert losses(contest)[0] == -by_hand.score(split.X_test, split.y_test)
