import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import peckorder
from peckorder.comparison.run_evaluation import judge, measure
from peckorder.metrics import evaluate, rank_loss
from peckorder.tables.columns import Columns
from peckorder.tables.files.read import read_columns
from support.command_line import (
    check_refused,
    give_standard_input,
    output_of,
    result_of,
    run,
    table,
)
from support.tables import written


@pytest.fixture
def scored(tmp_path):
    X, y, qid = table()
    path = tmp_path / "s.csv"
    rows = [f"{q},{g},{x}" for q, g, x in zip(qid, y, X[:, 1].round(1), strict=True)]
    path.write_text("\n".join(["qid,grade,score", *rows]) + "\n")
    return path, evaluate(y, X[:, 1].round(1), ["ap", "ndcg@5", "tau"], qid=qid)


def test_metrics_are_those_of_the_library(scored, capsys, tmp_path):
    path, expected = scored
    names = ("-m", "ap", "-m", "ndcg@5", "-m", "tau")
    each = tmp_path / "q.csv"
    result = result_of(capsys, "evaluate", path, *names, "--json", "--per-query", each)
    assert result["rows"] == 120
    for name in expected:
        found = result["metrics"][name]
        assert found["mean"] == expected[name]
        assert (found["low"], found["high"]) == expected.intervals[name]
    found = read_columns(each)
    assert found.names == ("qid", "ap", "ndcg@5", "tau")
    np.testing.assert_array_equal(found.arrays["ap"], expected.values["ap"])


def test_a_table_for_people(scored, capsys):
    path, expected = scored
    shown = output_of(capsys, "evaluate", path, "-m", "ap")
    assert f"{expected['ap']:.4f}" in shown
    assert "95 % intervals" in shown


def test_columns_that_are_named(capsys, monkeypatch):
    give_standard_input(monkeypatch, b'{"t": 1, "s": "2.5"}\n{"t": 0, "s": "3"}\n')
    words = ("evaluate", "-", "--format", "jsonl", "--target", "t", "--score", "s")
    assert result_of(capsys, *words, "-m", "rr", "--json")["metrics"]["rr"]["mean"] == 0.5


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--target", "grad"),
            "evaluate: target must be a column of FILE, which has qid, grade, score; "
            "got 'grad'. Did you mean 'grade'?",
        ),
        (
            ("-m", "ndgc@5"),
            "evaluate: metric must be a metric such as 'ap', 'ap(top)', 'ndcg@10'; got "
            "'ndgc@5'. Did you mean 'ndcg'?",
        ),
        (("--ties", "bets"), "evaluate: ties must be one of expected, best, worst, "),
        (("--bootstrap", "0"), "evaluate: bootstrap must be an integer >= 1; got 0."),
        (("--ties", "docid"), "evaluate: FILE must have a column of the docid, which"),
    ],
)
def test_refusals(scored, capsys, words, sentence):
    path, _ = scored
    said = check_refused(capsys, "evaluate", path, *words)
    assert said.replace(str(path), "FILE").startswith(sentence)


def columns(**arrays):
    return Columns({n: np.asarray(a) for n, a in arrays.items()}, "made")


documents = st.integers(0, 12)
lists = st.dictionaries(
    st.integers(0, 3),
    st.tuples(
        st.dictionaries(documents, st.sampled_from([0.5, 1.0, 2.0, 3.0]), max_size=8),
        st.dictionaries(documents, st.sampled_from([0, 0, 1, 2]), max_size=8),
    ),
    min_size=1,
)
NAMES = {
    "ap": "map",
    "rr": "recip_rank",
    "ndcg": "ndcg",
    "ndcg@5": "ndcg_cut_5",
    "p@5": "P_5",
    "recall@10": "recall_10",
    "hits@1": "success_1",
}


@example(lists={0: ({0: 0.5, 3: 0.5}, {0: 1, 3: 1})})
@given(lists=lists)
def test_runs_are_measured_as_by_trec_eval(lists):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    run_ = {f"q{q}": {f"d{d}": s for d, s in r.items()} for q, (r, _) in lists.items()}
    known = {f"q{q}": {f"d{d}": g for d, g in k.items()} for q, (_, k) in lists.items()}
    run_ = {q: found for q, found in run_.items() if found}
    known = {q: found for q, found in known.items() if found}
    both = sorted(run_.keys() & known.keys())
    if not both:
        return
    listed = [(q, d, s) for q in run_ for d, s in run_[q].items()]
    grades = [(q, d, g) for q in known for d, g in known[q].items()]
    names = ("qid", "docid", "score"), ("qid", "docid", "grade")
    tables = [
        columns(**dict(zip(n, zip(*rows, strict=True), strict=True)))
        for n, rows in zip(names, (listed, grades), strict=True)
    ]
    table = measure(judge(*tables), NAMES, ties="docid", n_bootstrap=1)
    assert table.queries.tolist() == both
    wanted = {name.rstrip("_0123456789") for name in NAMES.values()} | {
        "ndcg_cut.5",
        "P.5",
        "recall.10",
        "success.1",
    }
    expected = pytrec_eval.RelevanceEvaluator(known, wanted).evaluate(run_)
    for name, theirs in NAMES.items():
        for place, query in enumerate(both):
            value = table.values[name][place]
            if np.isnan(value):  # nothing good is known of the query
                assert max(known[query].values()) == 0
            else:
                np.testing.assert_allclose(value, expected[query][theirs], atol=1e-9)


@pytest.fixture
def judged(tmp_path):
    listed, qrels = tmp_path / "my.run", tmp_path / "known"
    listed.write_text("1 Q0 a 1 9 me\n1 Q0 b 2 8 me\n2 Q0 a 1 1 me\n3 Q0 x 1 1 me\n")
    qrels.write_text("1 0 b 1\n1 0 c 1\n2 0 a 2\n4 0 a 1\n")
    return listed, qrels


def test_a_run_against_judgements(judged, capsys):
    listed, qrels = judged
    result = result_of(capsys, "evaluate", listed, "--qrels", qrels, "-m", "ap", "--json")
    assert result["metrics"]["ap"]["mean"] == (0.5 / 2 + 1) / 2
    assert result["notes"] == [
        "1 query of the run is not judged: left out.",
        "1 judged query is not in the run: left out.",
    ]


def test_judgements_of_other_queries(judged, capsys):
    listed, qrels = judged
    qrels.write_text("q1 0 b 1\n")
    assert check_refused(capsys, "evaluate", listed, "--qrels", qrels) == (
        f"evaluate: {listed} and {qrels} must have queries in common; got such as '1' and 'q1'."
    )
    words = ("evaluate", listed, "--qrels", qrels, "-m", "tau")
    assert check_refused(capsys, *words).startswith(
        "evaluate: metrics with qrels must be of ap, rr, p, recall, hits, ndcg,"
    )


@pytest.fixture
def pipeline(tmp_path):
    """Return a file to learn from, and what `rank` makes of it by PRank's words."""
    X, y, _ = table()
    words = np.array(["poor", "fair", "good"])[y]
    file = tmp_path / "w.csv"
    rows = [f"{a},{b},{c},{w}" for (a, b, c), w in zip(X, words, strict=True)]
    file.write_text("\n".join(["a,b,c,quality", *rows]) + "\n")
    model, out = tmp_path / "m.peckorder", tmp_path / "ranked.csv"
    given = ("--classes", "poor,fair,good", "--quiet")
    assert run("fit", file, "--ranker", "PRank", "-o", model, *given) == 0
    assert run("rank", model, file, "-o", out, "--quiet") == 0
    return out, peckorder.load(model).predict(pd.read_csv(file)), words


def test_predicted_words_are_measured_as_compare_does_it(pipeline, capsys):
    file, guesses, words = pipeline
    names = ["poor", "fair", "good"]
    given = ("evaluate", file, "--classes", ",".join(names), "--json")
    result = result_of(capsys, *given)
    assert result["taken"] == {
        "quality": ["target", "its name"],
        "score": ["score", "its name"],
        "predicted": ["predicted class", "its name"],
    }
    of_classes = ["mean rank loss", "exactly right", "macro_mae", "qwk"]
    assert list(result["metrics"]) == ["disagreement", *of_classes]
    found = result["metrics"]["mean rank loss"]
    assert found["mean"] == pytest.approx(rank_loss(words, guesses, classes=names))
    assert found["low"] < found["mean"] < found["high"]
    result = result_of(capsys, *given, "-m", "zero-one", "-m", "accuracy")["metrics"]
    right = (guesses == words).mean()
    assert result["exactly right"]["mean"] == pytest.approx(right)
    assert result["zero-one loss"]["mean"] == pytest.approx(1 - right)
    other = file.with_name("other.csv")
    other.write_text(file.read_text().replace("good", "oak"))
    said = check_refused(capsys, "evaluate", other)
    assert said.startswith("evaluate: classes must be given, lowest first, for labels")
    said = check_refused(capsys, "evaluate", file, "--classes", "poor,good")
    assert "'quality'" in said
    assert "must be one of poor, good; got 'fair' in row" in said


def test_steps_are_from_class_to_class(tmp_path, capsys):
    file = written(tmp_path / "r.csv", "grade,predicted,score\n1,7,2\n3,3,1\n7,1,3\n")
    result = result_of(capsys, "evaluate", file, "-m", "rank_loss", "--json")
    assert result["metrics"]["mean rank loss"]["mean"] == pytest.approx(4 / 3)
    file.write_text("grade,score\n1,7\n3,3\n")
    assert check_refused(capsys, "evaluate", file, "-m", "rank_loss") == (
        f"evaluate: {file} must have a column of the predicted for 'mean rank loss', "
        "which has grade, score; got none by its usual names. Add --predicted NAME."
    )


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("quality,score,position", {"quality": "target", "score": "score"}),
        (
            "customer,product,stars,score",
            {"stars": "target", "score": "score", "customer": "query"},
        ),
        (
            "Query ID,doc,Grade,Score,gap",
            {"Grade": "target", "Score": "score", "Query ID": "query"},
        ),
        ("y_pred,y_true", {"y_true": "target", "y_pred": "score"}),
    ],
)
def test_columns_are_found_by_the_names_that_compare_knows(tmp_path, capsys, header, taken):
    file = tmp_path / "r.csv"
    width = header.count(",") + 1
    rows = [",".join([str((k * j) % 5) for j in range(1, width + 1)]) for k in range(9)]
    file.write_text("\n".join([header, *rows]) + "\n")
    result = result_of(capsys, "evaluate", file, "-m", "disagreement", "--json")
    assert {name: role for name, (role, _) in result["taken"].items()} == taken
    shown = output_of(capsys, "evaluate", file, "-m", "disagreement")
    for name, role in taken.items():
        assert f"{name}: {role} (its name)" in shown
    assert ("all rows are one list" in shown) == ("query" not in taken.values())
    result = result_of(capsys, "evaluate", file, "-m", "disagreement", "--qid", "none", "--json")
    assert "query" not in {role for role, _ in result["taken"].values()}
    assert result["metrics"]["disagreement"]["queries"] == 1


@pytest.mark.parametrize("more", [(), ("--classes", "1000001,1000002,1000003")])
def test_classes_differ_in_their_last_digits(tmp_path, capsys, more):
    file = tmp_path / "r.csv"
    rows = ["1000001,1000002", "1000002,1000003", "1000003,1000001"]
    file.write_text("\n".join(["grade,predicted", *rows]) + "\n")
    result = result_of(capsys, "evaluate", file, "-m", "rank_loss", "--json", *more)
    found = result["metrics"]["mean rank loss"]
    assert found["mean"] == pytest.approx(4 / 3)


def test_classes_beyond_the_digits_of_a_float(tmp_path, capsys):
    file, big = tmp_path / "r.csv", 2**60
    file.write_text(f"grade,predicted\n{big},{big + 1}\n{big + 1},{big + 1}\n")
    for more in ((), ("--classes", f"{big},{big + 1}")):
        result = result_of(capsys, "evaluate", file, "-m", "accuracy", "--json", *more)
        assert result["metrics"]["exactly right"]["mean"] == 0.5


def test_cells_that_are_no_scores_are_named(tmp_path, capsys):
    runs, qrels = tmp_path / "r.csv", tmp_path / "q.qrels"
    runs.write_text("qid,docid,score\n1,a,2\n1,b,x\n")
    qrels.write_text("1 0 a 1\n")
    assert check_refused(capsys, "evaluate", runs, "--qrels", qrels) == (
        f"evaluate: column 'score' of {runs} must be numbers; got 'x' in row 2."
    )
    runs.write_text("grade,score\n1,2\n0,\n0,y\n")
    assert check_refused(capsys, "evaluate", runs) == (
        f"evaluate: column 'score' of {runs} must be numbers; got 'y' in row 3."
    )
    other = written(tmp_path / "q.csv", "query,doc,grade\n1,a,1\n")
    for command in ("evaluate", "compare"):
        (tmp_path / "a.run").write_text("1 Q0 a 1 2 me\n")
        words = (command, tmp_path / "a.run", "--qrels", other)
        said = check_refused(capsys, *words)
        assert f"qid must be a column of {other}, which has query, doc, grade" in said


def test_cuts_far_beyond_all_lists_take_no_memory(judged, capsys):
    listed, qrels = judged
    far = 3 * 10**6
    names = [f"{n}@{k}" for n in ("ndcg", "recall", "hits", "rr", "p") for k in (9, far)]
    words = [word for name in names for word in ("-m", name)]
    tracemalloc.start()
    assert run("evaluate", listed, "--qrels", qrels, *words, "--json") == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 25
    found = json.loads(capsys.readouterr().out)["metrics"]
    for name in ("ndcg", "recall", "hits", "rr"):
        assert found[f"{name}@{far}"]["mean"] == found[f"{name}@9"]["mean"]
    # Of two queries with one document each that is good, and listed.
    assert found["p@9"]["mean"] == pytest.approx(1 / 9)
    assert found[f"p@{far}"]["mean"] == pytest.approx(1 / far)
    result = result_of(capsys, "evaluate", listed, "--qrels", qrels, "-m", "p@009", "--json")
    assert result["metrics"]["p@009"]["mean"] == pytest.approx(1 / 9)
