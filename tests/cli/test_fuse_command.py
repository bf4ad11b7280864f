import numpy as np
import pandas as pd
import pytest

import peckorder
from peckorder.comparison.fusion import fuse
from peckorder.datasets import Qrels, Run, from_runs, load_run
from support.command_line import check_refused, give_standard_input, output_of, result_of, run
from support.tables import written


@pytest.fixture
def runs(tmp_path):
    """Write two runs that know something, one that knows nothing, and what is true."""
    rng = np.random.default_rng(0)
    grade = rng.integers(0, 2, (12, 15))
    noise = {"good": 0.4, "fair": 0.8, "blind": 50.0}
    for name, level in noise.items():
        lines = []
        for q in range(12):
            score = grade[q] + level * rng.normal(size=15)
            for place, d in enumerate(np.argsort(-score)[:10], 1):
                lines.append(f"{q} Q0 d{d} {place} {float(score[d])!r} {name}\n")
        (tmp_path / f"{name}.run").write_text("".join(lines))
    lines = [f"{q} 0 d{d} {grade[q, d]}\n" for q in range(10) for d in range(15)]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    return [tmp_path / f"{name}.run" for name in noise]


def test_learns_from_judgements(runs, tmp_path, capsys):
    out, model = tmp_path / "f.run", tmp_path / "f.peckorder"
    words = ("fuse", *runs, "--qrels", tmp_path / "qrels.txt", "-o", out)
    result = result_of(capsys, *words, "--save", model, "--rounds", 20, "-m", "ap", "--json")
    assert result["written"]["method"] == "RankBoost"
    found = {name: each["ap"] for name, each in result["metrics"].items()}
    assert set(found) == {
        *("RankBoost", "Borda", "reciprocal rank fusion"),
        *("good", "fair", "blind"),
    }
    assert found["RankBoost"] > max(found["Borda"], found["blind"])
    fused = load_run(out)
    assert result["written"]["rows"] == len(fused)
    assert len(np.unique(fused.qid)) == 12
    assert peckorder.load(model).feature_names_in_.tolist() == ["good", "fair", "blind"]
    # What is written is what was measured: each query by models that did not see it.
    words = ("evaluate", out, "--qrels", tmp_path / "qrels.txt", "-m", "ap", "--json")
    mean = result_of(capsys, *words)["metrics"]["ap"]["mean"]
    np.testing.assert_allclose(mean, found["RankBoost"], rtol=1e-12)


def test_borda_and_reciprocal_ranks_by_hand():
    a = Run(["q", "q"], ["x", "y"], [2.0, 1.0])
    b = Run(["q", "q"], ["y", "z"], [2.0, 1.0])
    fused = fuse({"a": a, "b": b})
    assert fused.documents.docid.tolist() == ["x", "y", "z"]
    # Three documents: a first place is worth 3, a second 2, none 0.
    assert fused.scores["Borda"].tolist() == [3.0, 5.0, 2.0]
    expected = [1 / 61, 1 / 61 + 1 / 62, 1 / 62]
    np.testing.assert_allclose(fused.scores["reciprocal rank fusion"], expected)


def test_without_judgements(runs, tmp_path, capfdbinary):
    assert run("fuse", *runs, "--out", "-", "--quiet") == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    (tmp_path / "f.run").write_text("\n".join(lines))
    fused = load_run(tmp_path / "f.run")
    listed = {n.stem: load_run(n) for n in runs}
    expected = fuse(listed)
    score = expected.scores["reciprocal rank fusion"]
    pairs = zip(expected.documents.qid, expected.documents.docid, score, strict=True)
    by_pair = {(q, d): s for q, d, s in pairs}
    for q, d, s in zip(fused.qid, fused.docid, fused.score, strict=True):
        assert by_pair[q, d] == s
    for query in np.unique(fused.qid):
        rows = np.flatnonzero(fused.qid == query)
        assert fused.rank[rows].tolist() == list(range(1, len(rows) + 1))
        assert (np.diff(fused.score[rows]) <= 0).all()


def test_unjudged_queries_are_scored_by_the_whole_model():
    rng = np.random.default_rng(1)
    qid, docid = np.repeat(np.arange(8), 6).astype(str), np.tile(list("abcdef"), 8)
    runs = {n: Run(qid, docid, rng.normal(size=48)) for n in "xy"}
    known = qid.astype(int) < 6
    grade = rng.integers(0, 2, known.sum())
    qrels = Qrels(qid[known], docid[known], grade)
    # A query in which nothing is relevant teaches nothing.
    known = np.isin(qid, qid[known][grade > 0])
    assert 0 < known.sum() < 36
    fused = fuse(runs, qrels, n_rounds=5, n_folds=3)
    assert fused.is_judged.tolist() == known.tolist()
    expected = fused.model.predict(fused.documents.X[~known])
    np.testing.assert_array_equal(fused.scores["RankBoost"][~known], expected)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("good.run", "fuse: runs must be two or more; got 1."),
        ("good.run good.run", "fuse: runs must differ; got 'good.run' twice."),
        (
            "good.run fair.run --method rankboost",
            "fuse: method must be borda or rrf without qrels to learn from; got 'rankboost'.",
        ),
        (
            "good.run fair.run --method bord",
            "fuse: method must be one of borda, rrf, rankboost; got 'bord'. Did you mean 'borda'?",
        ),
        (
            "good.run fair.run --qrels few.qrels",
            "fuse: qrels must tell documents apart in 5 of the runs' queries or more, one "
            "a fold; got 2.",
        ),
    ],
)
def test_refusals(runs, tmp_path, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.qrels").write_text("0 0 d1 1\n1 0 d1 1\n")
    assert check_refused(capsys, "fuse", *words.split(), "-o", "f.run") == sentence
    assert not (tmp_path / "f.run").exists()


def test_a_txt_file_is_a_run_and_a_run_may_come_from_standard_input(runs, tmp_path, monkeypatch):
    plain, text = tmp_path / "f.run", tmp_path / "f.txt"
    assert run("fuse", *runs[:2], "-o", plain, "--quiet") == 0
    give_standard_input(monkeypatch, runs[0].read_bytes())
    assert run("fuse", "-", runs[1], "-o", text, "--quiet") == 0
    assert text.read_text() == plain.read_text()


def test_judgements_below_zero_earn_nothing(runs, tmp_path, capsys):
    judged = (tmp_path / "qrels.txt").read_text()
    (tmp_path / "spam.txt").write_text(judged.replace(" 0\n", " -2\n"))
    found = []
    for qrels in ("qrels.txt", "spam.txt"):
        words = ("evaluate", runs[1], "--qrels", tmp_path / qrels, "--json")
        found.append(result_of(capsys, *words)["metrics"])
    assert found[0] == found[1]
    words = ("compare", *runs, "--qrels", tmp_path / "spam.txt", "--rankers", "Ridge")
    assert run(*words, "--folds", 2, "--quiet", "-o", tmp_path / "r.html") == 0


@pytest.fixture
def tied(runs):
    """Round scores, so that many are equal in a run."""
    for path in runs:
        lines = [line.split() for line in path.read_text().splitlines()]
        for words in lines:
            words[4] = str(round(float(words[4])))
        path.write_text("\n".join(map(" ".join, lines)) + "\n")
    return runs


@pytest.mark.parametrize("metric", ["ndcg@10", "ap"])
def test_all_commands_tell_the_same_figures(tied, tmp_path, capsys, metric):
    qrels = ("--qrels", tmp_path / "qrels.txt", "--json")
    words = ("--folds", 3, "--metric", metric)
    fused = result_of(capsys, "fuse", *tied, *qrels, *words, "-o", tmp_path / "f.run")
    board = ("--rankers", "RankBoost", "-o", tmp_path / "r.html")
    each = [name for path in tied for name in ("--rankers", path.stem)]
    compared = result_of(capsys, "compare", *tied, *qrels, *words, *board, *each)["leaderboard"]
    compared = {row["ranker"]: row for row in compared}
    for name in ("good", "fair", "blind", "RankBoost"):
        one, other = fused["metrics"][name][metric], compared[name][metric]
        np.testing.assert_allclose(one, other, rtol=1e-12)
    for path in tied:
        alone = result_of(capsys, "evaluate", path, *qrels, "-m", metric)["metrics"][metric]["mean"]
        np.testing.assert_allclose(alone, compared[path.stem][metric], rtol=1e-12)


def test_how_far_behind_and_what_a_single_run_does(runs, tmp_path, capsys):
    words = ("fuse", *runs, "--qrels", tmp_path / "qrels.txt", "-o", tmp_path / "f.run")
    result = result_of(capsys, *words, "--method", "borda", "-m", "ap", "--json")
    first = next(iter(result["metrics"]))
    assert result["behind"][first] == {"mean": 0.0, "half_width": 0.0}
    for name, found in result["metrics"].items():
        gap = result["metrics"][first]["ap"] - found["ap"]
        assert result["behind"][name]["mean"] == pytest.approx(gap)
        assert gap >= 0
    assert result["notes"][0].startswith(f"{first} is first")
    assert result["notes"][1].startswith("By ap Borda, which is written, ")
    shown = output_of(capsys, *words, "--method", "borda", "-m", "ap")
    assert "behind the first" in shown
    assert "the run good alone" in shown


@pytest.mark.parametrize("command", ["fuse", "compare"])
def test_a_learnt_fusion_is_used_on_other_runs(runs, tmp_path, capsys, command):
    model, out = tmp_path / "f.peckorder", tmp_path / "new.run"
    words = (command, *runs, "--qrels", tmp_path / "qrels.txt", "--folds", 3, "--quiet")
    if command == "compare":
        words += ("--rankers", "MPRank")
    assert run(*words, "--save", model, "-o", tmp_path / "x.txt") == 0
    loaded = peckorder.load(model)
    # In any order; one by another name, one left out.
    other = written(tmp_path / "other.run", runs[1].read_bytes())
    ranked = ("rank", model, f"fair={other}", runs[0], "-o", out, "--json", "--sort")
    result = result_of(capsys, *ranked)
    assert result["lists"] == 12
    assert result["taken"]["fair"] == ["run", f"of {other}"]
    assert result["notes"] == ["No run is given for blind: taken to list no document."]
    listed = {n.stem: load_run(n) for n in runs[:2]}
    documents = from_runs(listed)
    X = np.c_[documents.X, np.full(len(documents), np.nan)]
    expected = loaded.predict(pd.DataFrame(X, columns=["good", "fair", "blind"]))
    pairs = zip(documents.qid, documents.docid, strict=True)
    by_pair = dict(zip(pairs, expected.tolist(), strict=True))
    found = load_run(out)
    assert len(found) == len(documents)
    for q, d, s in zip(found.qid, found.docid, found.score, strict=True):
        assert by_pair[q, d] == pytest.approx(s, rel=1e-12)
    assert check_refused(capsys, "rank", model, other, runs[0]) == (
        "rank: runs must be called as those that the model learnt from, good, fair, "
        "blind; got 'other'. Say which it is: good=FILE; or give a table "
        "if these are its columns."
    )
