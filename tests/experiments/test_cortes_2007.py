"""The experiments of Cortes, Mohri and Rastogi: the protocol, the tables, real data."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge

from peckorder import MPRank, Ratings, experiments
from peckorder.datasets import make_ratings
from peckorder.exceptions import MissingDataError
from peckorder.experiments.cortes_2007 import data, figure_1, rankers, tables
from peckorder.experiments.cortes_2007 import leave_pair_out as left_out
from peckorder.experiments.framework.statistics import column
from peckorder.magnitude.compiled.mprank import sweep
from support.outcomes import claims_of, shown, smaller

PAPERS = experiments.find("cortes-2007")
QUICK, FULL, PAPER = PAPERS.presets.values()
FOLDER = os.environ.get("PECKORDER_DATA")
NAMES = ("movielens", "jester", "netflix", "books", "convergence", "time", "left-out")


@pytest.fixture(scope="module")
def outcome():
    return experiments.run(PAPERS, "quick")


@pytest.fixture
def reviews():
    ratings = make_ratings(300, 120, density=0.4, random_state=0)
    return data.Reviews(ratings, (data.Group("few", 20, 40),), 50, 300)


@pytest.fixture
def problem(reviews):
    rng = np.random.default_rng(0)
    [reviewer] = data.draw_reviewers(reviews, 1, rng)
    table = data.draw_features(reviews, reviews.groups[0], [reviewer], 30, rng)
    return data.Features.of(reviews.ratings, table).problem(reviewer)


def test_every_part_is_shown(outcome):
    assert tuple(each.part.name for each in outcome.parts) == NAMES
    for each in outcome.parts:
        assert not each.left_out
        assert each.shown.tables
        assert shown(outcome, each.part.name).claims
    assert shown(outcome, "time").timed_tables
    assert shown(outcome, "time").timed_charts
    for name in ("movielens", "convergence", "left-out"):
        assert shown(outcome, name).charts


@pytest.mark.parametrize("name", ["movielens", "jester", "netflix"])
def test_tables_have_printed_figures_and_baselines(outcome, name):
    msd, m1d, misranking = shown(outcome, name).tables
    groups = {row[0] for row in msd.rows}
    assert len(groups) == (4 if name == "netflix" else 3)
    for group in groups:
        for table in (msd, m1d, misranking):
            rows = {row[1]: row for row in table.rows if row[0] == group}
            assert {"MPRank", "SVRank", "RankBoost", "kernel ridge"} <= set(rows)
            assert {"item mean", "constant"} <= set(rows)
            assert "±" in rows["MPRank"][2]
        share = next(r for r in msd.rows if r[:2] == (group, "MPRank / constant"))
        assert 0.0 < float(share[2].split(" ")[0]) < 1.5
        constant = next(r for r in misranking.rows if r[:2] == (group, "constant"))
        assert constant[2] == "1.000 ± 0.000"
        assert constant[5] == "0.500 ± 0.000"


def test_printed_figures_stand_in_their_rows(outcome):
    rows = {row[:2]: row for row in shown(outcome, "jester").tables[0].rows}
    assert rows["Jester 20-40", "MPRank"][3] == "51.34 ± 2.90"
    rows = {row[:2]: row for row in shown(outcome, "netflix").tables[2].rows}
    assert rows["Netflix 46%", "RankBoost"][3] == "0.327 ± 0.008"
    assert rows["Netflix whole", "RankBoost"][3] == ""


def test_claims_are_judged(outcome):
    claims = claims_of(outcome)
    assert len(claims) == 3 * 5 + 4 + 1 + 3 + 1
    for claim in claims:
        assert claim.holds in {"yes", "no", "in part", "open"}
        assert any(letter.isdigit() for letter in claim.found)


def test_other_tables_have_baselines(outcome):
    for name in ("books", "convergence", "left-out"):
        labels = {row[0] for row in shown(outcome, name).tables[0].rows}
        assert {"item mean", "constant"} <= labels


def test_a_seed_decides_everything():
    one = smaller(PAPERS, "movielens", "convergence", "left-out", repetitions=1, online_reviewers=1)
    first = experiments.run(one, "quick").results()
    assert experiments.run(one, "quick").results() == first
    assert experiments.run(one, "quick", seed=1).results()["parts"] != first["parts"]


def test_a_run_goes_on_from_its_journal(tmp_path):
    few = smaller(PAPERS, "left-out", "jester", repetitions=1, reviewers=4, held_out=3)
    journal = tmp_path / "journal"
    whole = experiments.run(few, "quick", journal=journal).results()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 1 + QUICK.left_out_repetitions
    journal.write_bytes(b"".join(lines[:2]) + lines[2][:20])
    assert experiments.run(few, "quick", journal=journal).results() == whole


def test_missing_data_leave_parts_out(tmp_path, monkeypatch):
    monkeypatch.delenv("PECKORDER_DATA", raising=False)
    monkeypatch.setenv("PECKORDER_CACHE", str(tmp_path))
    found = experiments.run(PAPERS, "full", data=tmp_path)
    assert all(each.left_out for each in found.parts)
    assert "load_jester" in found.parts[1].left_out
    assert "load_book_crossing" in found.parts[3].left_out


def test_presets_say_what_the_paper_did():
    assert (PAPER.repetitions, PAPER.reviewers, PAPER.references) == (10, 300, 300)
    assert (FULL.reviewers, FULL.references, FULL.online_train) == (300, 300, 700)
    reviews = data.load_movielens(QUICK, None)
    assert (reviews.low, reviews.high) == (50, 300)
    limits = [(group.low, group.high) for group in reviews.groups]
    assert limits == [(20, 40), (40, 60), (60, 80)]


def test_halves_are_disjoint_and_whole(reviews):
    drawn = data.draw_reviewers(reviews, 20, np.random.default_rng(1))
    assert len({reviewer.row for reviewer in drawn}) == 20
    for reviewer in drawn:
        rated = reviews.ratings.csr[[reviewer.row]]
        assert 50 <= len(reviewer.items) <= 300
        assert reviewer.n_train == len(reviewer.items) // 2
        np.testing.assert_array_equal(np.sort(reviewer.items), rated.indices)
        order = np.argsort(reviewer.items)
        np.testing.assert_array_equal(reviewer.values[order], rated.data)


def test_features_are_of_the_group_and_of_nobody_tested(reviews):
    rng = np.random.default_rng(2)
    group = reviews.groups[0]
    ratings = reviews.ratings
    sizes = ratings.per_user
    members = np.flatnonzero((sizes >= group.low) & (sizes <= group.high))
    tested = [data.halved(ratings, int(row), rng) for row in members[:5]]
    table = data.draw_features(reviews, group, tested, 10**6, rng)
    assert table.shape == (ratings.n_items, len(members) - 5)
    # Everybody in the group is drawn: columns are theirs, in some order.
    matrix = ratings.matrix()
    wanted = []
    for row in members[5:]:
        theirs = matrix[row]
        wanted.append(np.where(np.isnan(theirs), np.nanmedian(theirs), theirs))
    assert {tuple(column) for column in table.T} == {tuple(each) for each in wanted}


def test_thinned_references_have_the_density(reviews):
    ratings = make_ratings(60, 400, density=0.9, random_state=1)
    dense = data.Reviews(ratings, (data.Group("thin", density=0.3),), 1, 400)
    rng = np.random.default_rng(0)
    table = data.draw_features(dense, dense.groups[0], [], 60, rng)
    matrix = ratings.matrix()
    whole = data.draw_features(dense, data.Group("all"), [], 60, rng)
    # Those that differ from the median are a share that falls with the density.
    shares = [
        np.mean(each != np.median(each, axis=0)) / np.mean(~np.isnan(matrix))
        for each in (table, whole)
    ]
    there = np.mean(~np.isnan(matrix))
    assert shares[0] / shares[1] == pytest.approx(0.3 / there, rel=0.1)


def test_distances_and_item_means_by_hand(reviews, problem):
    rng = np.random.default_rng(0)
    [reviewer] = data.draw_reviewers(reviews, 1, rng)
    table = data.draw_features(reviews, reviews.groups[0], [reviewer], 30, rng)
    among = cdist(table, table, "sqeuclidean").mean()
    rows = table[reviewer.items]
    np.testing.assert_allclose(
        problem.distances, cdist(rows, rows, "sqeuclidean") / among, atol=1e-12
    )
    matrix = reviews.ratings.matrix()
    matrix[reviewer.row] = np.nan
    means = np.nanmean(matrix[:, reviewer.items], axis=0)
    np.testing.assert_allclose(problem.popular, means)


def test_an_item_that_nobody_else_rated_has_the_mean_of_all():
    ratings = Ratings([0, 0, 1], ["a", "b", "a"], [1, 5, 3])
    features = data.Features.of(ratings, np.array([[1.0, 2.0], [3.0, 4.0]]))
    reviewer = data.Reviewer(0, np.array([0, 1]), np.array([1.0, 5.0]), 1)
    assert features.problem(reviewer).popular.tolist() == [3.0, 3.0]


def test_measures_are_means_over_all_pairs():
    rng = np.random.default_rng(0)
    tests = [rng.integers(1, 4, size=n).astype(float) for n in (6, 9)]
    scores = [np.round(rng.standard_normal(n), 1) for n in (6, 9)]
    for name, cost in {
        "msd": lambda dh, dy: (dh - dy) ** 2,
        "m1d": lambda dh, dy: abs(dh - dy),
    }.items():
        wanted = [
            np.mean([cost(h - g, y - z) for h, y in zip(s, t, strict=True)
                     for g, z in zip(s, t, strict=True)])
            for s, t in zip(scores, tests, strict=True)
        ]  # fmt: skip
        np.testing.assert_allclose(rankers.judge(tests, scores, name), wanted)
    wrong = [
        np.mean([h <= g for h, y in zip(s, t, strict=True)
                 for g, z in zip(s, t, strict=True) if y > z])
        for s, t in zip(scores, tests, strict=True)
    ]  # fmt: skip
    np.testing.assert_allclose(rankers.judge(tests, scores, "misranking"), wrong)


@pytest.mark.parametrize("C", [1.0, 1e3])
def test_a_path_is_mprank_and_kernel_ridge(problem, C):
    n = problem.n_train
    K = np.exp(-0.3 * problem.distances)
    model = MPRank(C=C, kernel="precomputed").fit(K[:n, :n], problem.train)
    wanted = model.predict(K[n:, :n]) - model.intercept_
    [path] = rankers.mprank_path(problem, 0.3, replace(QUICK, Cs=(C,))).T
    np.testing.assert_allclose(path, wanted, atol=1e-9)
    ridge = KernelRidge(alpha=0.5, kernel="precomputed")
    centred = problem.train - problem.train.mean()
    wanted = ridge.fit(K[:n, :n], centred).predict(K[n:, :n])
    [path] = rankers.ridge_path(problem, 0.3, np.array([0.5]), is_free=False).T
    np.testing.assert_allclose(path, wanted, atol=1e-9)


def test_kernel_ridge_with_a_free_constant_is_mprank(problem):
    n, C = problem.n_train, 50.0
    K = np.exp(-0.3 * problem.distances)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = K[:n, :n] + n / (2 * C) * np.eye(n)
    system[n, :n] = system[:n, n] = 1.0
    solution = np.linalg.solve(system, np.append(problem.train, 0.0))
    model = MPRank(C=C, kernel="precomputed").fit(K[:n, :n], problem.train)
    scores = K[n:, :n] @ solution[:n] + solution[n]
    np.testing.assert_allclose(model.predict(K[n:, :n]), scores, atol=1e-9)


def test_chosen_parameters_have_the_least_error(reviews):
    rng = np.random.default_rng(3)
    drawn = data.draw_reviewers(reviews, 4, rng)
    table = data.draw_features(reviews, reviews.groups[0], drawn, 30, rng)
    features = data.Features.of(reviews.ratings, table)
    problems = [features.problem(reviewer) for reviewer in drawn]
    chosen = rankers.choose(problems, QUICK, 1.0, 20)
    errors = {}
    for gamma in QUICK.gammas:
        for C in QUICK.Cs:
            found = []
            for each in problems:
                n, K = each.n_train, np.exp(-gamma * each.distances)
                model = MPRank(C=C, kernel="precomputed").fit(K[:n, :n], each.train)
                found.append(2 * np.var(model.predict(K[n:, :n]) - each.test))
            errors[gamma, C] = np.mean(found)
    assert (chosen.gamma, chosen.C) == min(errors, key=errors.get)
    assert chosen.n_rounds in (10, 20)
    assert chosen.epsilon in QUICK.epsilons


@pytest.mark.parametrize("name", ["coordinate", "gradient"])
def test_sweeps_are_those_of_the_estimator(problem, name):
    n, C = problem.n_train, 100.0
    K = np.exp(-0.3 * problem.distances[:n, :n])
    inner = rankers.centred(K)
    target = problem.train - problem.train.mean()
    alpha, step = np.zeros(n), figure_1.steps(inner, C, name)
    for _ in range(5):
        sweep(inner, target, n / (2 * C), step, alpha)
    model = MPRank(C=C, kernel="precomputed", solver=name, max_iter=5, tol=1e-300)
    with pytest.warns(match="not converged"):
        model.fit(K, problem.train)
    ours = figure_1.objective(inner, alpha, target, C)
    assert ours == pytest.approx(model.objective_, rel=1e-9)


def test_rounds_end_at_the_first_small_change():
    assert figure_1.rounds_to_stop(np.array([10.0, 5.0, 4.0, 3.9999, 3.9999])) == 3
    assert figure_1.rounds_to_stop(np.array([10.0, 5.0, 4.0])) == 3


def test_errors_of_the_other_half_are_over_pairs_of_two(problem):
    found = left_out.held_out(problem, QUICK)
    n, gamma, C = problem.n_train, QUICK.gammas[1], QUICK.Cs[2]
    K = np.exp(-gamma * problem.distances)
    model = MPRank(C=C, kernel="precomputed").fit(K[:n, :n], problem.train)
    off = model.predict(K[n:, :n]) - problem.test
    pairs = [(a - b) ** 2 for i, a in enumerate(off) for b in off[:i]]
    assert found[1, 2] == pytest.approx(np.mean(pairs))


def test_books_are_kept_as_the_paper_says(tmp_path):
    ratings = Ratings([0, 0, 0, 1, 1, 2, 2, 2], list("abcabbcd"), [5, 4, 3, 2, 1, 5, 4, 3])
    kept = data.frequent(ratings, 3, 2)
    assert kept.users.tolist() == [0, 2]
    assert kept.items.tolist() == ["b", "c"]
    assert data.frequent(ratings, 4, 1) is None


def test_a_part_of_the_books_has_another_name(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["User_ID,ISBN,Book_Rating"]
    for user in range(60):
        chosen = rng.choice(200, 110, replace=False)
        lines += [f"{user},b{book},{1 + book % 10}" for book in chosen]
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    found = data.load_books(FULL, tmp_path)
    assert found.groups[0].name == "Books, a part"
    assert found.ratings.n_users == 60


def test_too_few_books_leave_the_part_out(tmp_path):
    (tmp_path / "ratings.csv").write_text("User_ID,ISBN,Book_Rating\n1,a,5\n2,a,4\n")
    with pytest.raises(MissingDataError, match="got none in 2 ratings"):
        data.load_books(FULL, tmp_path)


def test_a_reviewer_of_books_is_no_feature_for_themselves():
    ratings = Ratings([0, 0, 1, 2], ["a", "b", "a", "b"], [1, 2, 7, 9])
    reviews = data.Reviews(ratings, (data.Group("Books"),), 1, 10)
    assert tables.others(reviews, 0).tolist() == [[7.0, 9.0], [7.0, 9.0]]


RANGES = {
    "MovieLens 20-40": ((0.96, 0.985), (0.43, 0.46)),
    "MovieLens 40-60": ((0.935, 0.965), (0.40, 0.43)),
    "MovieLens 60-80": ((0.925, 0.955), (0.385, 0.41)),
    "Jester 20-40": ((0.91, 0.95), (0.408, 0.432)),
    "Jester 40-60": ((0.875, 0.915), (0.383, 0.407)),
    "Jester 60-80": ((0.805, 0.845), (0.353, 0.377)),
    "Netflix whole": ((0.65, 0.69), (0.222, 0.252)),
}


@pytest.mark.paper
@pytest.mark.skipif(not FOLDER, reason="PECKORDER_DATA does not name a folder of real data")
@pytest.mark.parametrize("name", ["movielens", "jester", "netflix"])
def test_ranges_on_real_data(name):
    # RankBoost and SVRank take most of the time, and have no ranges.
    short = {"most_rounds": 10, "dense_most_rounds": 10, "epsilons": (0.5,)}
    parts = tuple(part for part in PAPERS.parts if part.name == name)
    config = replace(FULL, repetitions=3, dense_repetitions=3, **short)
    fewer = replace(PAPERS, parts=parts, presets={"full": config})
    found = experiments.run(fewer, "full", data=Path(FOLDER))
    units = found.parts[0].units
    for group in units[0]["groups"]:
        if group not in RANGES:
            continue
        (low, high), (least, most) = RANGES[group]
        of = partial(column, units, "groups", group)
        assert low <= tables.ratio(of, "MPRank").mean() <= high
        assert least <= of("MPRank", "misranking").mean() <= most
        if name == "movielens":
            assert 1.03 <= of("MPRank", "m1d").mean() <= 1.10
