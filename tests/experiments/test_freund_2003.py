import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from peckorder import experiments
from peckorder.experiments.freund_2003 import films, learners, lists
from support.outcomes import claims_of, shown, smaller

EXPERIMENT = experiments.find("freund-2003")
QUICK = EXPERIMENT.presets["quick"]
FOLDER = os.environ.get("PECKORDER_DATA")

# What the paper claims, in its words.
CLAIMS = (
    '"clearly outperformed" regression',
    '"clearly outperformed" nearest neighbour',
    '"when the feature set size was greater than 200"',
    '"was very close to RankBoost for feature set sizes of 100 and 200"',
    '"degraded when moving from feature sets of size 750 to size 1000"',
    "regression is worse than random guessing on AP",
    "nearest neighbour is worse than random guessing on PROT",
    'regression\'s disagreement "was little better than that of random guessing"',
    '"RankBoost was the winner again"',
    '"degraded as feature density increased"',
    '"degrades the performance of all four algorithms on coverage and AP"',
    '"RankBoost is able to improve PROT"',
    '"when the feedback density is at most 40"',
    '"for feedback densities of over 100"',
    '"did not decrease significantly after 50 rounds"',
    '"did not decrease significantly after 40 rounds"',
    'MQ2007-agg: RankBoost "closely tracked the performance of the best expert',
    'MQ2007-agg: it "outperformed the best template for k = 20, 30"',
)


@pytest.fixture(scope="module")
def outcome():
    return experiments.run(EXPERIMENT, "quick")


def labels(table):
    return [row[0] for row in table.rows]


# The run.


def test_every_part_is_shown_with_charts_and_tables(outcome):
    by_name = {each.part.name: each for each in outcome.parts}
    assert list(by_name) == [
        "figure-4",
        "figure-5",
        "figure-6",
        "figure-7",
        "figure-8",
        "ideas",
        "table-1-mq2007",
        "table-1-trec9",
        "ohsumed",
    ]
    assert not any(each.left_out for each in outcome.parts)
    assert all(each.shown.tables for each in outcome.parts)
    n_charts = {name: len(each.shown.charts) for name, each in by_name.items()}
    assert n_charts == {
        "figure-4": 2,
        "figure-5": 4,
        "figure-6": 4,
        "figure-7": 4,
        "figure-8": 2,
        "ideas": 0,
        "table-1-mq2007": 2,
        "table-1-trec9": 2,
        "ohsumed": 0,
    }


def test_tables_have_the_rows_that_figures_are_read_against(outcome):
    for name, place in (("figure-5", 0), ("figure-7", 1), ("ideas", 0)):
        rows = labels(shown(outcome, name).tables[place])
        assert {*films.PRINTED, films.MEAN, films.CONSTANT} <= set(rows)
    assert {*learners.LEARNERS, "item mean", "constant"} == set(
        labels(shown(outcome, "figure-4").tables[0])
    )
    rows = labels(shown(outcome, "table-1-mq2007").tables[0])
    assert rows[:7] == [
        "RankBoost",
        "best single list for top 1",
        "best single list for top 10",
        "best single list for top 30",
        "Borda",
        "reciprocal ranks",
        "random",
    ]
    assert len(rows) == 7 + len(lists.PRINTED["lists"])
    assert {"constant", "RankBoost, published"} <= set(labels(shown(outcome, "ohsumed").tables[0]))


def test_figure_7_says_how_many_targets_there_were(outcome):
    [found] = [each for each in outcome.parts if each.part.name == "figure-7"]
    for unit in found.units:
        assert len(unit["targets"]) == len(QUICK.bins)
        assert all(1 <= count <= QUICK.feedback_targets for count in unit["targets"])
    counts = np.mean([unit["targets"] for unit in found.units], axis=0)
    table = found.shown.tables[0]
    assert [row[1] for row in table.rows] == [f"{count:.1f}" for count in counts]


def test_captions_say_what_is_behind_a_sign(outcome):
    for each in outcome.parts:
        for table in each.shown.tables:
            cells = " ".join(str(cell) for row in table.rows for cell in row)
            if "±" in cells:
                assert "±" in table.caption
                assert "95 %" in table.caption


def test_all_claims_are_judged(outcome):
    claims = claims_of(outcome)
    assert {claim.holds for claim in claims} <= {"yes", "no", "in part", "open"}
    for words in CLAIMS:
        assert sum(words in claim.text for claim in claims) >= 1, words
    assert all(claim.found and claim.comparisons for claim in claims)
    assert len({claim.text for claim in claims}) == len(claims)


def test_the_constant_disagrees_by_half_everywhere(outcome):
    for each in outcome.parts:
        for unit in each.units:
            for values in unit.get("rankers", {}).get("constant", {}).items():
                if values[0] == "disagreement":
                    assert values[1] == [0.5] * len(values[1])


def test_a_resumed_run_finds_the_same(tmp_path):
    small = smaller(EXPERIMENT, "figure-5", "table-1-trec9", splits=2, targets=2, run_partitions=1)
    first = experiments.run(small, "quick", seed=3)

    class Stop(Exception):
        pass

    def stop(done, total, label):
        if done == 2:
            raise Stop

    journal = tmp_path / "journal"
    with pytest.raises(Stop):
        experiments.run(small, "quick", seed=3, journal=journal, on_progress=stop)
    assert len(journal.read_text().splitlines()) == 3
    again = experiments.run(small, "quick", seed=3, journal=journal)
    assert again.results() == first.results()
    other = experiments.run(small, "quick", seed=4)
    assert other.results()["parts"] != first.results()["parts"]


def test_without_data_every_part_says_what_to_get(tmp_path):
    real = dataclasses.replace(
        EXPERIMENT, presets={"full": dataclasses.replace(QUICK, synthetic=False)}
    )
    outcome = experiments.run(real, "full", data=tmp_path)
    reasons = {each.part.name: each.left_out for each in outcome.parts}
    assert reasons["figure-5"].startswith("load_movielens_1m: ")
    assert reasons["table-1-mq2007"].startswith("load_mq2007_agg_fold: ")
    assert reasons["table-1-trec9"].startswith("load_ohsumed_trec9: ")
    assert reasons["ohsumed"].startswith("load_ohsumed_fold: ")
    assert all("Get " in each for each in reasons.values())


def test_presets_differ_in_size_alone():
    quick, full, paper = (EXPERIMENT.presets[k] for k in ("quick", "full", "paper"))
    assert quick.synthetic
    assert not full.synthetic
    assert not paper.synthetic
    assert full.sizes == paper.sizes == (100, 200, 500, 750, 1000, 2000)
    assert (paper.splits, paper.targets) == (5, 2000)
    assert full.fold_rounds == paper.fold_rounds == 50


@pytest.mark.paper
@pytest.mark.skipif(not FOLDER, reason="PECKORDER_DATA does not name a folder of real data")
def test_films_are_ordered_as_well_as_measured_before():
    full = EXPERIMENT.presets["full"]
    config = dataclasses.replace(full, sizes=(100, 1000), splits=10, targets=40)
    parts = tuple(part for part in EXPERIMENT.parts if part.name == "figure-5")
    real = dataclasses.replace(EXPERIMENT, parts=parts, presets={"full": config})
    outcome = experiments.run(real, "full", data=Path(FOLDER), jobs=os.cpu_count())
    if outcome.parts[0].left_out:
        pytest.skip(outcome.parts[0].left_out)
    mean = {
        name: np.mean([u["rankers"][name]["disagreement"][1] for u in outcome.parts[0].units])
        for name in outcome.parts[0].units[0]["rankers"]
    }
    assert 0.325 <= mean[films.BOOST] <= 0.35
    assert 0.04 <= mean[films.NEAREST] - mean[films.BOOST] <= 0.07
    assert 0.015 <= mean[films.BOOST] - mean[films.SIMILARITY] <= 0.045
    assert mean[films.PLAIN] > mean[films.BOOST]
    assert mean[films.MEAN] < mean[films.SIMILARITY]
