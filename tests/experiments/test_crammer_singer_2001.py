"""The experiments of "Pranking with Ranking": protocol, report, and what comes out."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, SVR

from peckorder import PRank, Ratings, experiments
from peckorder.datasets import make_square
from peckorder.experiments.crammer_singer_2001 import batch, movies, online
from peckorder.experiments.framework.online import NOISE, lowest
from support.outcomes import claims_of, shown, smaller, verdicts_of

EXPERIMENT = experiments.find("crammer-singer-2001")
QUICK, FULL = EXPERIMENT.presets["quick"], EXPERIMENT.presets["full"]
ON_THE_SQUARE = ["square", "batch-square"]
OF_VIEWERS = ["movies-many", "movies-few", "batch-movies"]


TINY = smaller(
    EXPERIMENT,
    sequences=2,
    rounds=150,
    tested_after=100,
    test_points=50,
    targets=3,
    scales=(1.0, 0.1),
    samples=2,
    sizes=(20, 40),
    viewers=2,
    passes=(1, 3),
)


@pytest.fixture(scope="module")
def quick():
    return experiments.run(EXPERIMENT, "quick")


@pytest.fixture(scope="module")
def tiny():
    return experiments.run(TINY)


def first_column(table):
    return [row[0] for row in table.rows]


# The report


def test_all_parts_are_shown(quick):
    assert [each.part.name for each in quick.parts] == [
        "square",
        "movies-many",
        "movies-few",
        "batch-square",
        "batch-movies",
    ]
    assert not any(each.left_out for each in quick.parts)
    assert all(each.shown.tables for each in quick.parts)


def test_on_line_tables_have_the_three_rankers_and_what_they_must_beat(quick):
    wanted = {"PRank", "PRank, averaged", "multiclass perceptron", "running median"}
    wanted |= {"a constant"}
    for name in ("square", "movies-many", "movies-few"):
        found = first_column(shown(quick, name).tables[0])
        assert wanted <= set(found)
        assert any(label == online.NORMALISED for label in found)
    for name in ("movies-many", "movies-few"):
        assert movies.ITEM_MEAN in first_column(shown(quick, name).tables[0])


def test_tables_of_viewers_show_both_forms_of_features(quick):
    table = shown(quick, "movies-few").tables[0]
    forms = {row[1] for row in table.rows if row[0] == "PRank"}
    assert forms == {"as they are", "unit norm, constant"}


def test_batch_tables_have_the_machines_and_a_constant(quick):
    for name in ("batch-square", "batch-movies"):
        found = set(first_column(shown(quick, name).tables[0]))
        assert {"multiclass SVM", "support vector regression"} <= found
        assert "median of the ranks learnt" in found
        assert "PRank, 1 pass" in found


def test_tables_of_factors_have_what_looks_at_no_feature(quick):
    for name in ("movies-many", "movies-few"):
        first, second = shown(quick, name).tables
        rows = {row[0]: row[1:] for row in second.rows}
        whole_pass = {row[0]: row[3] for row in first.rows if row[0] in rows}
        assert set(whole_pass) == set(movies.BASELINES)
        assert all(rows[each] == (text, text) for each, text in whole_pass.items())


def test_the_report_says_which_passes_are_ours(quick):
    for name in ("batch-square", "batch-movies"):
        caption = shown(quick, name).tables[0].caption
        assert "Averages are ours" in caption
        (claim,) = shown(quick, name).claims
        assert claim.holds == "cannot be told"
        assert "How many passes" in claim.found
        assert "PRank, 1 pass, minus multiclass SVM" in claim.found
    assert any("1, 20, 100 and 500" in each for each in EXPERIMENT.departures)


def test_curves_have_the_three_rankers_and_the_running_median(quick):
    for name in ("square", "movies-many", "movies-few"):
        labels = [curve.label for curve in shown(quick, name).charts[0].curves]
        assert {"PRank", "multiclass perceptron", "running median"} <= set(labels)
        assert any(label.startswith("Widrow-Hoff") for label in labels)


def test_every_claim_is_judged_with_numbers(quick):
    claims = claims_of(quick)
    assert len(claims) == 3 + 2 * 4 + 2
    words = {"yes", "no", "in part", "open", "cannot be told"}
    assert {claim.holds for claim in claims} <= words
    assert all("±" in claim.found for claim in claims)
    assert all(claim.text.startswith("Synthetic: ") for claim in claims[:3])
    # The paper's sets, not the limits of the preset.
    for first, n_movies in ((3, 100), (7, 200)):
        texts = [claim.text for claim in claims[first : first + 4]]
        assert all(f"more than {n_movies} movies" in text for text in texts)


def test_the_report_says_that_no_number_is_printed(quick):
    assert any("prints no number" in text for text in EXPERIMENT.departures)
    for name in ("square", "movies-many", "movies-few", "batch-square"):
        text = " ".join(shown(quick, name).paragraphs)
        assert "no number" in text


def test_a_page_is_written(tiny, tmp_path):
    page, results = experiments.write(tiny, tmp_path, "peckorder reproduce")
    assert "Pranking with Ranking" in page.read_text(encoding="utf-8")
    assert results.exists()


def test_equal_seeds_give_equal_results(tiny):
    assert experiments.run(TINY).results() == tiny.results()
    assert experiments.run(TINY, seed=1).results() != tiny.results()


def test_a_resumed_run_gives_the_same_results(tiny, tmp_path):
    journal = tmp_path / "journal"

    def stop(done, total, label):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        experiments.run(TINY, journal=journal, on_progress=stop)
    resumed = experiments.run(TINY, journal=journal)
    assert resumed.results() == tiny.results()


def test_without_movies_the_square_is_run_all_the_same(tmp_path):
    outcome = experiments.run(smaller(TINY, synthetic=False), data=tmp_path)
    left_out = {each.part.name: each.left_out for each in outcome.parts}
    assert [name for name, why in left_out.items() if why] == OF_VIEWERS
    assert all("MovieLens 1M" in left_out[name] for name in OF_VIEWERS)
    assert all(shown(outcome, name).tables for name in ON_THE_SQUARE)


# The protocol


def test_time_averaged_losses_by_hand():
    rounds = np.array([1, 2, 4])
    lost = online.lost_after(np.array([4.0, 0.0, 1.0, 1.0]), rounds)
    assert lost == [4, 4, 6]
    units = [{"lost": {"a": lost}}, {"lost": {"a": [0, 2, 4]}}]
    expected = [[4.0, 2.0, 1.5], [0.0, 1.0, 1.0]]
    assert online.curves_of(units, rounds)["a"].tolist() == expected


def test_a_run_that_diverges_has_no_losses_and_is_never_the_best():
    X, y = make_square(300, random_state=0)
    steps = {step: online.learners([step])[online.stepped(step)] for step in (0.1, 9.0)}
    for step, learner in steps.items():
        learner.set_params(unit_norm=False)
        losses = online.progressive_losses(learner, X, y)
        assert np.isnan(losses).all() == (step == 9.0)
    losses = {"a": np.array([0.1, np.nan]), "b": np.array([3.0, 3.0])}
    assert lowest(losses, ["a", "b"]) == "b"


def test_progressive_losses_are_of_predictions_made_before():
    X, y = make_square(60, random_state=0)
    slow, learner = [], PRank(rule="last", classes=online.RANKS)
    for t in range(len(y)):
        guess = learner.predict(X[[t]])[0] if t else 5
        slow.append(abs(guess - y[t]))
        learner.partial_fit(X[[t]], y[[t]])
    fresh = PRank(rule="last", classes=online.RANKS)
    assert online.progressive_losses(fresh, X, y).tolist() == slow


def test_sides_are_of_the_rounds_that_are_judged():
    rounds = np.array([5, 10, 20, 40])
    theirs = np.zeros((4, 4))
    noise = np.array([[0.1], [-0.1], [0.1], [-0.1]])
    ours = theirs + np.array([[9.0, -1.0, 0.0, 1.0]]) + noise
    found = online.comparisons_below(ours, theirs, rounds)
    assert [one.sign for one in found if one.p < 0.05] == [1, -1]
    assert (len(found), found[1].p) == (3, 1.0)
    (found,) = online.comparisons_below(ours[:, :1], theirs[:, :1], rounds[:1])
    assert found.sign == -1


# Claims, on synthetic repetitions with a known verdict


def square_repetitions(level):
    """Return repetitions of the square whose curves are `level(ranker, rounds)`."""
    rounds = online.square_rounds(QUICK)
    names = [*online.learners(QUICK.square_steps), online.MEDIAN, online.CONSTANT]
    lost = {name: level(name.partition(",")[0], rounds) * rounds for name in names}
    return [{"lost": lost, "tested": dict.fromkeys(names, 1.0)}] * 3


def as_the_paper_says(name, rounds):
    early = np.where(rounds <= 100, 1.0, 0.0)
    return {
        "PRank": 1.0 + early,
        "Widrow-Hoff": 1.5 + 0 * early,
        "multiclass perceptron": 3.0 + 0 * early,
    }.get(name, 0 * early)


def the_reverse(name, rounds):
    return -as_the_paper_says(name, rounds)


def all_alike(name, rounds):
    return np.ones(len(rounds))


def perceptron_below(name, rounds):
    """As the paper says of PRank and Widrow-Hoff, but the perceptron is below both."""
    if name == "multiclass perceptron":
        return np.full(len(rounds), 0.5)
    return as_the_paper_says(name, rounds)


def worst_but_once(name, rounds):
    """As the paper says, but for the perceptron's last round."""
    found = as_the_paper_says(name, rounds)
    if name == "multiclass perceptron":
        found[-1] = 0.5
    return found


@pytest.mark.parametrize(
    ("level", "holds"),
    [
        (as_the_paper_says, ["yes", "yes", "yes"]),
        (the_reverse, ["no", "no", "no"]),
        (all_alike, ["open", "open", "open"]),
        (perceptron_below, ["no", "no", "no"]),
        (worst_but_once, ["no", "yes", "in part"]),
    ],
)
def test_each_sentence_on_the_square_has_its_verdict(level, holds):
    found = online.show_square(QUICK, square_repetitions(level), []).claims
    assert verdicts_of(found) == holds


def test_the_papers_step_is_judged_and_the_constant_one_diverges():
    units = square_repetitions(as_the_paper_says)
    for unit in units:
        unit["lost"][online.stepped(0.1)] = np.zeros(len(unit["lost"][online.LAST]))
        unit["lost"][online.stepped(1.0)] = [None] * len(unit["lost"][online.LAST])
    found = online.show_square(QUICK, units, [])
    # Another step that is below everything changes nothing.
    assert verdicts_of(found.claims) == ["yes", "yes", "yes"]
    assert "diverges in 3 of 3 sequences" in found.paragraphs[0]
    assert "Harrington (2003)" in found.paragraphs[0]


@pytest.mark.parametrize("tested_after", [20, 4_900])
def test_a_run_that_diverges_has_no_loss(tested_after):
    config = replace(QUICK, tested_after=tested_after)
    values = online.measure_square(config, {}, 0, np.random.default_rng(0)).values
    assert np.isnan(values["lost"][online.stepped(1.0)][-1])
    assert np.isfinite(values["lost"][online.NORMALISED]).all()
    assert np.isnan(values["tested"][online.stepped(1.0)]) == (tested_after == 4_900)


def movie_repetitions(levels):
    """Return repetitions with the time-averaged loss of every kind of ranker."""
    rounds = movies.curve_rounds(QUICK, 0)
    kinds = dict.fromkeys(movies.BASELINES, 1.0)
    for form in movies.FORMS:
        for name in online.learners(movies.steps_of(QUICK, form)):
            kind = name.partition(",")[0]
            kinds[movies.in_form(name, form)] = levels[kind]
    few = {"viewers": 9, "rounds": 50, "middling": 0.2, "norm": 5.0}
    scaled = dict.fromkeys(("last", "averaged"), [1.0] * len(QUICK.scales))
    lost = {name: level * rounds for name, level in kinds.items()}
    return [{**few, "scaled": scaled, "lost": lost, "whole pass": kinds}] * 3


@pytest.mark.parametrize(
    ("levels", "holds"),
    [
        ((1, 2, 3), ["yes", "yes"]),
        ((3, 2, 1), ["no", "no"]),
        ((2, 2, 2), ["open", "open"]),
        ((2, 1, 3), ["no", "yes"]),
    ],
)
def test_each_rival_on_movies_has_its_verdict(levels, holds):
    kinds = ("PRank", "Widrow-Hoff", "multiclass perceptron")
    units = movie_repetitions(dict(zip(kinds, levels, strict=True)))
    claims = movies.show(QUICK, units, [], which=0).claims
    assert verdicts_of(claims) == [*holds, *holds]
    assert [claim.text.count("as they are") for claim in claims] == [1, 1, 0, 0]


def some_viewers():
    """Return three viewers of four movies.

    Movies 0 to 3 are rated 5, 3, -, 1 by the first, 4, -, 2, 1 by the second,
    -, 1, 3, - by the third.
    """
    table = np.array([[5, 3, 0, 1], [4, 0, 2, 1], [0, 1, 3, 0]])
    viewer, movie = np.nonzero(table)
    ratings = Ratings(viewer, movie, table[viewer, movie])
    return movies.Viewers(ratings.csr, ratings.csr.T.tocsr(), 3)


def test_a_stream_by_hand():
    stream = movies.stream_of(some_viewers(), 0, np.random.default_rng(0))
    order = np.argsort(-stream.y)
    assert stream.y[order].tolist() == [5, 3, 1]
    expected = [[0, 1, 0], [0, 0, -2], [0, -2, 0]]
    assert stream.X.toarray()[order].tolist() == expected
    assert stream.item_means[order].tolist() == [4, 1, 1]
    assert stream.middling == 0


def test_what_is_rated_in_the_middle_looks_unrated():
    stream = movies.stream_of(some_viewers(), 1, np.random.default_rng(0))
    order = np.argsort(-stream.y)
    assert stream.y[order].tolist() == [4, 2, 1]
    assert stream.X.toarray()[order].tolist() == [[2, 0, 0], [0, 0, 0], [-2, 0, 0]]
    assert stream.item_means[order].tolist() == [5, 3, 1]
    assert stream.middling == pytest.approx(1 / 3)


def test_a_movie_that_no_other_rated_has_the_middle_for_a_mean():
    table = sparse.csr_array(np.array([[5.0, 3.0, 1.0], [4.0, 0.0, 0.0]]))
    viewers = movies.Viewers(table, table.T.tocsr(), 3)
    stream = movies.stream_of(viewers, 0, np.random.default_rng(0))
    assert stream.item_means[np.argsort(-stream.y)].tolist() == [4, 3, 3]


def test_sets_are_of_viewers_with_more_ratings():
    many = movies.load_many(QUICK, None)
    few = movies.load_few(QUICK, None)
    assert np.diff(many.by_viewer.indptr).min() == QUICK.more_than[0] + 1
    assert np.diff(few.by_viewer.indptr).min() > QUICK.more_than[1]
    assert few.by_viewer.shape[0] < many.by_viewer.shape[0]
    assert (few.by_movie != few.by_viewer.T).nnz == 0


@pytest.mark.parametrize("name", batch.PEERS)
def test_machines_on_products_are_machines_on_rows(name):
    X, y = make_square(80, random_state=0)
    learnt, asked = np.arange(50), np.arange(50, 80)
    found = batch.predicted(name, 10.0, X @ X[learnt].T, y, learnt, asked)
    kind = SVC if name == batch.MACHINE else SVR
    plain = kind(kernel="linear", C=10.0).fit(X[:50], y[:50]).predict(X[50:])
    assert found.tolist() == np.clip(np.floor(plain + 0.5), 1, 5).tolist()


def test_one_class_alone_is_what_is_predicted():
    y = np.array([2, 2, 2, 5])
    gram = np.eye(4)[:, :3]
    for name in batch.PEERS:
        found = batch.predicted(name, 1.0, gram, y, np.arange(3), np.array([3]))
        assert found.tolist() == [2]


def test_the_cost_is_chosen_among_the_rows_learnt_alone():
    X, y = make_square(60, random_state=0)
    learnt = np.arange(40)
    gram = X @ X[learnt].T
    cost = batch.chosen_cost(batch.MACHINE, QUICK, gram, y, learnt, 0)
    other = np.concatenate([y[:40], 6 - y[40:]])
    assert cost in QUICK.class_costs
    assert batch.chosen_cost(batch.MACHINE, QUICK, gram, other, learnt, 0) == cost


def test_batches_are_tested_on_rows_that_were_not_learnt(monkeypatch):
    seen = []

    def record(config, X, y, learnt, asked, rng, n_ranks=5):
        seen.append((set(learnt.tolist()), set(asked.tolist()), len(y)))
        return {"a": 0.0}

    monkeypatch.setattr(batch, "losses_of", record)
    batch.measure_square(QUICK, {}, 0, np.random.default_rng(0))
    few = batch.load_few(QUICK, None)
    batch.measure_movies(QUICK, few, 0, np.random.default_rng(0))
    assert [len(learnt) for learnt, _, _ in seen[:-1]] == list(QUICK.sizes)
    assert all(learnt.isdisjoint(asked) for learnt, asked, _ in seen)
    learnt, asked, n = seen[-1]
    assert learnt | asked == set(range(n))
    assert len(learnt) == n // 2


# What comes out


def trials(config, n):
    """Return the values of some sequences of the square."""
    data = online.load_square(config, None)
    generators = [np.random.default_rng(seed) for seed in range(n)]
    return [online.measure_square(config, data, 0, rng).values for rng in generators]


def test_losses_of_the_square_are_in_the_accepted_ranges(golden):
    file = golden("experiment_synthetic")
    protocol = file["protocol"]
    config = replace(FULL, rounds=6_000, square_steps=(0.2, 0.1, 0.05, 0.01))
    assert config.tested_after == protocol["T"]
    assert config.test_points == protocol["test"]
    assert protocol["noise_sd"] == NOISE
    units = trials(config, protocol["trials"])
    names = {"PRank": "PRank", "PRank-avg": "PRank, averaged"}
    names |= {"MCP": "multiclass perceptron"}
    names |= {f"WH{step}": online.stepped(step) for step in config.square_steps}
    for key, name in names.items():
        low, high = file["reference"][key]["accept_mean_of_20_trials"]
        assert low <= np.mean([unit["tested"][name] for unit in units]) <= high
    # On the way there are means of 100 trials to compare with, and no ranges.
    rounds = online.square_rounds(config)
    for key in ("PRank", "PRank-avg", "MCP", "WH0.2", "WH0.1"):
        curves = online.curves_of(units, rounds)[names[key]]
        for mark in (100, 1_000, 5_000):
            expected = file["online_mean_loss"][key][str(mark)]
            curve = curves[:, rounds.tolist().index(mark)]
            error = curve.std(ddof=1) * np.sqrt(1 / len(units) + 1 / 100)
            assert abs(curve.mean() - expected) < 4 * error


@pytest.mark.paper
def test_losses_on_movies_are_in_the_expected_ranges():
    folder = os.environ.get("PECKORDER_DATA")
    if not folder or not (Path(folder) / "ml-1m").is_dir():
        pytest.skip("PECKORDER_DATA names no folder with MovieLens 1M")
    # Targets differ so much that fewer of them would give means out of the ranges.
    part_of = replace(
        EXPERIMENT,
        parts=movies.PARTS,
        presets={"reduced": replace(FULL, scales=(1.0,), raw_steps=(0.001,))},
    )
    for each in experiments.run(part_of, "reduced", data=Path(folder)).parts:
        mean = {
            key: np.mean([unit["whole pass"][key] for unit in each.units])
            for key in each.units[0]["whole pass"]
        }
        unit_norm = movies.in_form("PRank, averaged", movies.UNIT)
        assert 0.64 <= mean[unit_norm] <= 0.71
        # The published rule loses more than a median of what was seen; raw, far more.
        assert mean[movies.in_form("PRank", movies.UNIT)] > mean[online.MEDIAN]
        assert mean[movies.in_form("PRank", movies.RAW)] > 1.3
