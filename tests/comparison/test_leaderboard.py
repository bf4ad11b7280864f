"""`peckorder.compare` gives what the command gives, for frames and files alike."""

import html

import numpy as np
import pandas as pd
import polars as pl
import pytest

import peckorder
from support.command_line import result_of

RANKERS = ["PRank", "MPRank", "RankBoost"]
N = 90
RNG = np.random.default_rng(0)
SIZE = RNG.normal(size=N)
FRAME = pd.DataFrame(
    {
        "size": SIZE,
        "colour": np.array(["red", "blue", "<b>"])[np.arange(N) % 3],
        "label": np.digitize(SIZE + 0.3 * RNG.normal(size=N), [-0.5, 0.5]) + 1,
    }
)

SPARSE = pd.SparseDtype(float, np.nan)
KINDS = {"size": SPARSE, "colour": object, "label": int}


def means(board):
    return [(row["ranker"], row["mean rank loss"]) for row in board.to_dict()]


@pytest.fixture(scope="module")
def board():
    return peckorder.compare(FRAME, rankers=RANKERS, folds=3)


def test_the_leaderboard_and_the_model_are_those_of_the_command(board, tmp_path, capsys):
    FRAME.to_parquet(tmp_path / "t.parquet")
    words = ("compare", tmp_path / "t.parquet", "--folds", "3", "--rankers", ",".join(RANKERS))
    saved, page = tmp_path / "m.peckorder", tmp_path / "page.html"
    found = result_of(capsys, *words, "--save", saved, "-o", page, "--json")
    assert [(e["ranker"], e["mean rank loss"]) for e in found["leaderboard"]] == means(board)
    assert board.task == found["task"] == "ordinal"
    assert board.best_name_ == found["saved"]["ranker"]
    rows = FRAME[["size", "colour"]]
    loaded = peckorder.load(saved)
    assert board.best_.predict(rows).tolist() == loaded.predict(rows).tolist()
    assert (board.best_.target_, loaded.target_) == ("label", "label")


@pytest.mark.parametrize(
    "data",
    [
        lambda folder: pl.from_pandas(FRAME),
        lambda folder: {name: FRAME[name].to_numpy() for name in FRAME},
        lambda folder: FRAME.set_index(FRAME.index[::-1]),
        lambda folder: FRAME.astype({"size": SPARSE, "label": pd.SparseDtype(int, 1)}),
        lambda folder: {name: FRAME[name].astype(t) for name, t in KINDS.items()},
        lambda folder: FRAME.to_csv(folder / "t.csv", index=False) or folder / "t.csv",
    ],
    ids=["polars", "arrays", "another index", "sparse columns", "sparse arrays", "a file"],
)
def test_other_forms_of_the_same_table(board, data, tmp_path):
    other = peckorder.compare(data(tmp_path), rankers=RANKERS, folds=3)
    assert means(other) == means(board)


def test_one_name_is_a_list_of_one():
    one = peckorder.compare(FRAME, rankers="PRank", drop="colour", folds=2)
    assert means(one) == means(
        peckorder.compare(FRAME, rankers=["PRank"], drop=["colour"], folds=2)
    )
    assert not any("colour" in name for name in one.best_.prepared_names_)


def test_as_text_frame_and_html(board):
    text, page = repr(board), board._repr_html_()
    assert text.splitlines()[0].split()[:4] == ["ranker", "mean", "rank", "loss"]
    assert len(text.splitlines()) == len(board.names) + 2 + len(board.notes)
    assert page.count("<tr>") == len(board.names) + 1
    frame = board.to_frame()
    assert frame["ranker"].tolist() == list(board.names)
    assert board.to_frame("polars")["ranker"].to_list() == list(board.names)
    assert frame["behind"][0] == 0.0
    assert any("colour" in note for note in board.notes) or board.notes == ()


def test_what_may_surprise_is_shown():
    rng = np.random.default_rng(0)
    size = rng.normal(size=80)
    grade = np.where(np.arange(80) % 20 < 10, 0, np.digitize(size, [0.0]))
    table = {"qid": np.arange(80) // 10, "size": size, "score": 2 * grade, "label": grade}
    board = peckorder.compare(table, rankers=["Ridge"], folds=2)
    for shown in (repr(board), html.unescape(board._repr_html_())):
        assert "'score' could be that, too" in shown
        assert "score: alone it puts 100.0% of pairs in the order of 'label'" in shown
        assert "ndcg@10 leaves out 4 of 8 queries, in which nothing is relevant." in shown
        assert all(note in shown for note in board.notes)


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_durations_are_seconds_whatever_their_unit(tmp_path, unit):
    n = np.arange(60)
    took = (n * 7919 % 60).astype("timedelta64[s]")
    frame = pd.DataFrame({"took": took, "x": np.cos(n), "y": 3.0 * (n * 7919 % 60)})
    board = peckorder.compare(frame, target="y", rankers=["MPRank"], folds=2)
    other = frame.astype({"took": f"timedelta64[{unit}]"})
    found = board.best_.predict(other)
    np.testing.assert_allclose(found, frame["y"], atol=0.1)
    other.to_parquet(tmp_path / "t.parquet")
    same = peckorder.compare(tmp_path / "t.parquet", target="y", rankers=["MPRank"], folds=2)
    np.testing.assert_allclose(same.best_.predict(frame), found)


def test_options_reach_the_comparison():
    steps = []
    board = peckorder.compare(
        FRAME,
        target="size",
        drop=["label"],
        rankers=["MPRank"],
        metric="disagreement",
        folds=2,
        seed=3,
        progress=lambda *step: steps.append(step),
    )
    assert board.task == "magnitude"
    assert next(iter(board.to_dict()[0])) == "ranker"
    assert steps[-1][0] == steps[-1][1]


def test_ratings_of_a_frame():
    rng = np.random.default_rng(0)
    user, item = np.divmod(np.flatnonzero(rng.random(900) < 0.7), 30)
    frame = pd.DataFrame({"userId": user, "movieId": item, "rating": (user * item) % 5 + 1.0})
    board = peckorder.compare(frame, rankers=["Nearest people"], folds=2)
    assert board.task == "ratings"
    sentence = "rankers must have one that can be saved; got none in the leaderboard"
    with pytest.raises(ValueError, match=sentence):
        _ = board.best_


def test_the_best_of_another_library_is_kept(tmp_path):
    board = peckorder.compare(FRAME, rankers=["Ridge"], folds=2)
    assert board.best_name_ == "Ridge"
    board.best_.save(tmp_path / "m.peckorder")
    loaded = peckorder.load(tmp_path / "m.peckorder")
    assert loaded.predict(FRAME).tolist() == board.best_.predict(FRAME).tolist()
    assert set(loaded.predict(FRAME).tolist()) <= set(FRAME["label"])


REFUSED = {
    "no frame": (lambda: peckorder.compare(3), r"compare: data must be a frame, .*; got int\."),
    "no column": (
        lambda: peckorder.compare(FRAME, target="labl"),
        r"compare: target must be a column of the table, .* Did you mean 'label'\?",
    ),
    "no ranker": (
        lambda: peckorder.compare(FRAME, rankers=["PRang"]),
        r"compare: rankers must be some of .* Did you mean 'PRank'",
    ),
    "one fold": (lambda: peckorder.compare(FRAME, folds=1), r"compare: folds must be"),
    "no rows": (lambda: peckorder.compare(FRAME[:0]), r"compare: the table must have rows"),
    "two lengths": (lambda: peckorder.compare({"a": [1, 2], "y": [1]}), r"compare: data must have"),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(call, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()
