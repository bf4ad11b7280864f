"""Ratings that a user gives, in place of the papers' own."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from peckorder import Ratings, datasets, experiments
from peckorder.datasets import load_ratings, make_ratings
from peckorder.exceptions import DataError, MissingDataError
from peckorder.experiments.cortes_2007 import given as cortes_given
from peckorder.experiments.cortes_2007.tables import PRINTED
from peckorder.experiments.crammer_singer_2001 import movies
from peckorder.experiments.framework.given import given_ranks, given_ratings
from peckorder.experiments.freund_2003 import films
from peckorder.experiments.harrington_2003 import filtering
from support.command_line import output_of
from support.command_line import run as run_command
from support.helpers import exactly

pytestmark = pytest.mark.filterwarnings("ignore:.*to be the published set")


@pytest.fixture(autouse=True)
def fresh():
    """Forget ratings of other tests."""
    given_ratings.cache_clear()
    given_ranks.cache_clear()


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(320, 260, density=0.24, min_per_user=10, random_state=3)


@pytest.fixture(scope="module")
def table(ratings, tmp_path_factory):
    """Ratings from 1 to 5 as a file of three columns."""
    path = tmp_path_factory.mktemp("given") / "mine.csv"
    rows = zip(*(column.tolist() for column in ratings.triples()), strict=True)
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
    return path


@pytest.fixture(scope="module")
def eachmovie(tmp_path_factory):
    """Ratings from 0 to 1 in steps of 0.2 as a folder of EachMovie."""
    folder = tmp_path_factory.mktemp("eachmovie")
    votes = make_ratings(320, 260, density=0.24, levels=6, min_per_user=10, random_state=4)
    rows = zip(*(column.tolist() for column in votes.triples()), strict=True)
    lines = (f"{u}\t{i}\t{(r - 1) / 5:g}\t1\t8/1/96 00:00:00\n" for u, i, r in rows)
    (folder / "Vote.txt").write_text("".join(lines))
    return folder


def tiny(name, **changes):
    experiment = experiments.find(name)
    return replace(experiment, presets={"quick": replace(experiment.presets["quick"], **changes)})


TINY = {
    "crammer-singer-2001": {"targets": 2, "scales": (1.0,), "viewers": 1},
    "harrington-2003": {"movie_trials": 2, "members": 3},
    "cortes-2007": {
        "repetitions": 1,
        "reviewers": 4,
        "held_out": 2,
        "dense_repetitions": 1,
        "dense_reviewers": 3,
        "dense_held_out": 2,
        "references": 20,
        "most_rounds": 20,
        "dense_most_rounds": 20,
        "online_reviewers": 1,
        "online_rounds": 20,
        "gammas": (0.1,),
        "Cs": (100.0,),
        "svrank_weights": (10.0,),
        "epsilons": (0.5,),
    },
    "freund-2003": {
        "learner_splits": 1,
        "learner_targets": 1,
        "splits": 1,
        "targets": 1,
        "density_splits": 1,
        "density_targets": 1,
        "feedback_splits": 1,
        "feedback_targets": 1,
        "idea_splits": 1,
        "idea_targets": 1,
        "bins": ((10, 30), (31, 60), (61, 1000)),
    },
}


@pytest.mark.parametrize("name", experiments.NAMES)
def test_every_paper_runs_on_six_ranks(name, eachmovie):
    experiment = tiny(name, **TINY[name])
    outcome = experiments.run(experiment, ratings=eachmovie)
    assert [part.left_out for part in outcome.parts] == [""] * len(experiment.rating_parts)
    n = len(load_ratings(eachmovie))
    source = f"EachMovie, {n:,} ratings from 0 to 1 of 260 items by 320 users"
    results = outcome.results()
    assert (outcome.source, outcome.is_given, results["source"]) == (source, True, source)
    assert results["settings"]["synthetic"] is False
    assert results["departures"][0].startswith(f"The data are {source}. ")
    assert results["departures"][1:] == list(experiment.departures)
    page = experiments.report(outcome, "x")
    assert f"On {source}." in page.lead
    assert "synthetic" not in page.lead
    assert all(part.shown.tables for part in outcome.parts)


def test_without_them_the_source_is_said_too():
    empty = replace(experiments.find("harrington-2003"), parts=())
    for preset, source in (("quick", "synthetic"), ("full", "as published")):
        outcome = experiments.run(empty, preset)
        assert (outcome.source, outcome.is_given) == (source, False)


@pytest.mark.parametrize(
    ("name", "module"), [("crammer-singer-2001", movies), ("freund-2003", films)]
)
def test_ratings_that_are_given_are_treated_as_the_papers(
    name, module, ratings, table, monkeypatch
):
    experiment = tiny(name, **TINY[name])
    given = experiments.run(experiment, ratings=table)
    monkeypatch.setattr(module, "load_movielens_1m", lambda folder: Bunch(ratings=ratings))
    names = {part.name for part in experiment.rating_parts}
    parts = tuple(part for part in experiment.parts if part.name in names)
    real = replace(experiment.presets["quick"], synthetic=False)
    own = experiments.run(replace(experiment, parts=parts, presets={"quick": real}))
    found = {part.part.name: part.units for part in given.parts}
    assert set(found) == names
    for part in own.parts:
        assert part.units == found[part.part.name]


def test_harringtons_protocol_is_the_same_too(ratings, table):
    config = tiny("harrington-2003", **TINY["harrington-2003"]).presets["quick"]
    own = filtering.MOVIELENS.measure(
        config, filtering.table_of(ratings, config.more_than), 0, np.random.default_rng(1)
    )
    loaded = filtering.load_given(config, table)
    given = filtering.GIVEN_RATINGS.measure(config, loaded, 0, np.random.default_rng(1))
    np.testing.assert_equal(given.values, own.values)


def test_ranks_are_the_different_ratings_in_order(tmp_path):
    path = tmp_path / "half.csv"
    path.write_text("user,item,rating\na,1,0.5\na,2,5\nb,1,3.5\nb,3,0.5\n")
    assert_array_equal(given_ranks(path).matrix(), [[1, 3, np.nan], [2, np.nan, 1]])


@pytest.mark.parametrize("values", [[1.0] * 40, np.linspace(-10, 10, 40)])
def test_too_many_or_too_few_ranks_leave_the_part_out(values, tmp_path):
    path = tmp_path / "odd.csv"
    lines = "".join(f"{k % 5},{k},{value}\n" for k, value in enumerate(values))
    path.write_text(f"user,item,rating\n{lines}")
    sentence = (
        f"odd.csv must have 2 to 20 different ratings, which are the ranks; got {len(set(values))}."
    )
    with pytest.raises(MissingDataError, match=exactly(sentence)):
        given_ranks(path)
    outcome = experiments.run(experiments.find("harrington-2003"), ratings=path)
    assert [part.left_out for part in outcome.parts] == [sentence]


@pytest.mark.parametrize("name", experiments.NAMES)
def test_too_few_users_leave_every_part_out(name, tmp_path):
    path = tmp_path / "few.csv"
    lines = "".join(f"{k % 5},{k},{1 + k % 3}\n" for k in range(500))
    path.write_text(f"user,item,rating\n{lines}")
    outcome = experiments.run(experiments.find(name), ratings=path)
    for part in outcome.parts:
        assert part.left_out.startswith("few.csv must have ")
        assert " or more users" in part.left_out


def test_subsets_are_those_of_the_paper(ratings, table):
    config = tiny("cortes-2007", **TINY["cortes-2007"]).presets["quick"]
    matrix = ratings.matrix()
    rated = ~np.isnan(matrix)
    first = rated.sum(axis=1) > config.subsets[0][0]
    subsets = cortes_given.load_subsets(config, table)
    assert len(subsets) == 2
    for subset, (least_items, least_users) in zip(subsets, config.subsets, strict=True):
        items = rated.sum(axis=0) >= least_users
        assert_array_equal(subset.ratings.matrix(), matrix[first][:, items])
        is_active = rated[first].sum(axis=1) > least_items
        assert_array_equal(subset.users, np.flatnonzero(is_active))
        share = rated[first][is_active][:, items].mean()
        assert subset.name == f"Ratings of more than {least_items} items, {share:.0%} filled"
    assert 0 < len(subsets[1].users) < len(subsets[0].users)


def test_sets_of_the_paper_have_its_names_for_their_groups(ratings, tmp_path):
    config = tiny("cortes-2007", **TINY["cortes-2007"]).presets["quick"]
    rows = zip(*(column.tolist() for column in ratings.triples()), strict=True)
    (tmp_path / "ratings.dat").write_text("".join(f"{u}::{i}::{r:g}::0\n" for u, i, r in rows))
    groups = cortes_given.load_bins(config, tmp_path).groups
    assert {group.name for group in groups} <= set(PRINTED["msd"])
    for printed in (32, 46, 58):
        for off in (-0.04, 0.04):
            share = printed / 100 + off
            name = cortes_given.subset_name("The Netflix Prize", printed, 500, share)
            assert name == f"Netflix {printed}%"
            assert name in PRINTED["msd"]
            other = cortes_given.subset_name("mine.csv", printed, 500, share)
            assert other == f"Ratings of more than 500 items, {share:.0%} filled"
    far = cortes_given.subset_name("The Netflix Prize", 46, 500, 0.32)
    assert far == "Ratings of more than 500 items, 32% filled"


def test_test_reviewers_are_a_mixture_of_the_subsets(table):
    config = tiny("cortes-2007", **TINY["cortes-2007"]).presets["quick"]
    subsets = cortes_given.load_subsets(config, table)
    drawn = cortes_given._mixture(subsets, 12, np.random.default_rng(0))
    assert len(set(drawn.tolist())) == 12
    for k, subset in enumerate(subsets):
        assert set(drawn[k :: len(subsets)]) <= set(subset.users.tolist())


def test_published_sets_are_found_in_their_folders(tmp_path):
    folder = tmp_path / "ml-100k"
    folder.mkdir()
    (folder / "u.data").write_text("1\t7\t5\t0\n2\t7\t3\t0\n")
    wanted = Ratings([1, 2], [7, 7], [5, 3]).matrix()
    for path in (tmp_path, folder, folder / "u.data"):
        assert datasets.titled_ratings(path)[0] == "MovieLens 100K"
        assert_array_equal(load_ratings(path).matrix(), wanted)
    # A table that a user wrote comes before sets.
    (folder / "ratings.csv").write_text("user,item,rating\n1,7,100\n")
    assert load_ratings(folder).of(1).values.tolist() == [100]
    assert load_ratings(str(folder), user="item", item="user").users.tolist() == [7]


def test_folders_without_ratings_are_refused(tmp_path):
    sentence = (
        "load_ratings: path must be a folder with ratings.csv, ratings.csv.gz, ratings.parquet or "
        "the files of MovieLens 1M, MovieLens 100K, The Netflix Prize, EachMovie, Jester data set "
        "1, Book-Crossing, A Netflix-style matrix; got none of them in "
        f"{str(tmp_path)!r}."
    )
    with pytest.raises(MissingDataError, match=exactly(sentence)):
        load_ratings(tmp_path)
    sentence = "load_ratings: options must be none for a folder of a published set; got sep."
    with pytest.raises(DataError, match=exactly(sentence)):
        load_ratings(tmp_path, sep=";")


def test_the_command_says_which_data_there_were(capsys, table, tmp_path, monkeypatch):
    small = tiny("harrington-2003", **TINY["harrington-2003"])
    monkeypatch.setattr(experiments, "find", lambda name: small)
    arguments = ("harrington-2003", "--ratings", str(table), "--out", str(tmp_path), "--jobs", "1")
    shown = output_of(capsys, "reproduce", *arguments)
    n = len(load_ratings(table))
    source = f"mine.csv, {n:,} ratings from 1 to 5 of 260 items by 320 users"
    assert f"Data: {source}.\n" in shown
    assert "Synthetic data" not in shown
    stem = tmp_path / "harrington-2003-quick-ratings"
    assert f"--ratings {table}" in stem.with_suffix(".html").read_text()
    assert json.loads(stem.with_suffix(".json").read_text())["source"] == source
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".html", ".json"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--ratings", "nowhere.csv"), "ratings must be a file or folder; got 'nowhere.csv'."),
        (
            ("--ratings", ".", "--data", "."),
            "data must be left out with --ratings, which takes its place; got '.'.",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    arguments, sentence, capsys, tmp_path
):
    out = tmp_path / "new"
    assert run_command("reproduce", "freund-2003", *arguments, "--out", str(out)) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert not out.exists()
