import json

import numpy as np
import pytest

import peckorder
from command_line import check_refused, give_standard_input, run
from peckorder.compare._fusion import fuse
from peckorder.datasets import Qrels, Run, load_run


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
    assert run(*words, "--save", model, "--rounds", 20, "-m", "ap", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["written"]["method"] == "RankBoost"
    found = {name: each["ap"] for name, each in told["metrics"].items()}
    assert set(found) == {
        *("RankBoost", "Borda", "reciprocal rank fusion"),
        *("good", "fair", "blind"),
    }
    assert found["RankBoost"] > max(found["Borda"], found["blind"])
    fused = load_run(out)
    assert told["written"]["rows"] == len(fused)
    assert len(np.unique(fused.qid)) == 12
    assert peckorder.load(model).feature_names_in_.tolist() == ["good", "fair", "blind"]
    # What is written is what was measured: each query by models that did not see it.
    words = ("evaluate", out, "--qrels", tmp_path / "qrels.txt", "-m", "ap", "--json")
    assert run(*words) == 0
    mean = json.loads(capsys.readouterr().out)["metrics"]["ap"]["mean"]
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
    qrels = Qrels(qid[known], docid[known], rng.integers(0, 2, known.sum()))
    fused = fuse(runs, qrels, n_rounds=5, n_folds=3)
    assert fused.is_judged.tolist() == known.tolist()
    expected = fused.model.predict(fused.documents.X[~known])
    np.testing.assert_array_equal(fused.scores["RankBoost"][~known], expected)


def test_refusals(runs, tmp_path, capsys):
    out = ("-o", tmp_path / "f.run")
    assert check_refused(capsys, "fuse", runs[0], *out) == (
        "fuse: runs must be two or more; got 1."
    )
    assert check_refused(capsys, "fuse", *runs, *out, "--method", "rankboost") == (
        "fuse: method must be borda or rrf without qrels to learn from; got "
        "'rankboost'."
    )
    assert check_refused(capsys, "fuse", *runs, *out, "--method", "bord").endswith(
        "got 'bord'. Did you mean 'borda'?"
    )
    assert check_refused(capsys, "fuse", runs[0], runs[0], *out) == (
        f"fuse: runs must differ; got {str(runs[0])!r} twice."
    )
    few = tmp_path / "few.qrels"
    few.write_text("0 0 d1 1\n1 0 d1 1\n")
    assert check_refused(capsys, "fuse", *runs, *out, "--qrels", few) == (
        "fuse: qrels must tell documents apart in 5 of the runs' queries or more, one "
        "a fold; got 2."
    )
    assert not (tmp_path / "f.run").exists()


def test_a_txt_file_is_a_run_and_a_run_may_come_from_standard_input(
    runs, tmp_path, monkeypatch
):
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
        assert run(*words) == 0
        found.append(json.loads(capsys.readouterr().out)["metrics"])
    assert found[0] == found[1]
    words = ("compare", *runs, "--qrels", tmp_path / "spam.txt", "--rankers", "Ridge")
    assert run(*words, "--folds", 2, "--quiet", "-o", tmp_path / "r.html") == 0
