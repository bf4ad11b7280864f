"""TREC's runs and judgements, and runs side by side."""

import gzip
import io

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder._core import text_files
from peckorder.datasets import Qrels, Run, dump_qrels, dump_run, from_runs, load_qrels, load_run
from peckorder.exceptions import DataError

RUN = "7 Q0 d2 1 9.5 bm25\n7\tQ0  d1 2 -1e-3 bm25\r\n\né 0 d:1 0 3 other"


def run_of(text):
    return load_run(io.BytesIO(text.encode()))


def qrels_of(text):
    return load_qrels(io.StringIO(text))


@pytest.mark.parametrize("block", [1, 5, 1 << 22])
def test_a_run_has_six_columns(monkeypatch, block):
    monkeypatch.setattr(text_files, "BLOCK", block)
    run = run_of(RUN)
    assert run.qid.tolist() == ["7", "7", "é"]
    assert run.docid.tolist() == ["d2", "d1", "d:1"]
    assert run.score.tolist() == [9.5, -1e-3, 3.0]
    assert run.rank.tolist() == [1, 2, 0]
    assert run.tag.tolist() == ["bm25", "bm25", "other"]
    assert len(run) == 3


@pytest.mark.parametrize("text", ["7 0 d1 1\n7 0 d2 -1\n8 0 d1 2\n", "7\td1\t1\n7 d2 -1\r\n8 d1 2"])
def test_judgements_have_three_or_four_columns(text):
    qrels = qrels_of(text)
    assert qrels.qid.tolist() == ["7", "7", "8"]
    assert qrels.docid.tolist() == ["d1", "d2", "d1"]
    assert qrels.grade.tolist() == [1, -1, 2]
    assert qrels.grade.dtype == np.int64
    assert len(qrels) == 3


def test_grades_may_be_real():
    assert qrels_of("7 d1 0.5\n7 d2 1\n").grade.tolist() == [0.5, 1.0]
    assert qrels_of("7 d1 1.0\n7 d2 2\n").grade.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("load", [load_run, load_qrels])
def test_empty_files_are_empty(load):
    assert len(load(io.StringIO(""))) == 0
    assert len(load(io.StringIO("\n \n"))) == 0


@pytest.mark.parametrize("name", ["a.run", "a.run.gz"])
def test_runs_come_back(tmp_path, name):
    run = Run(["q", "q", 3], ["a", "b", "c"], [0.1, 1 / 3, -5e-324], tag="mine")
    assert run.rank.tolist() == [2, 1, 1]
    dump_run(run, tmp_path / name)
    again = load_run(tmp_path / name)
    for column in ("qid", "docid", "score", "rank", "tag"):
        assert_array_equal(getattr(again, column), getattr(run, column))


@pytest.mark.parametrize("grade", [[0, 3], [0.25, 3.0]])
def test_judgements_come_back(tmp_path, grade):
    dump_qrels(Qrels([1, 1], ["a", "b"], grade), tmp_path / "a.gz")
    text = gzip.decompress((tmp_path / "a.gz").read_bytes()).decode()
    assert text == f"1 0 a {grade[0]}\n1 0 b {grade[1]}\n"
    assert_array_equal(load_qrels(tmp_path / "a.gz").grade, grade)


ANY_QRELS = "'qid iteration docid grade' or 'qid docid grade'"


@pytest.mark.parametrize(
    ("load", "line", "sentence"),
    [
        (run_of, "7 Q0 d3 1 2", "be '{form}'; got '7 Q0 d3 1 2'."),
        (run_of, "7 Q0 d3 1 2 a b", "be '{form}'; got '7 Q0 d3 1 2 a b'."),
        (run_of, "7 Q0 d3 x 2 a", "be '{form}'; got '7 Q0 d3 x 2 a'."),
        (run_of, "7 Q0 d3 1.5 2 a", "be '{form}'; got '7 Q0 d3 1.5 2 a'."),
        (run_of, "7 Q0 d3 1 x a", "be '{form}'; got '7 Q0 d3 1 x a'."),
        (run_of, "7 Q0 d3 1 nan a", "be '{form}'; got '7 Q0 d3 1 nan a'."),
        (run_of, "7 Q0 d3 1 1e999 a", "be '{form}'; got '7 Q0 d3 1 1e999 a'."),
        (run_of, "7 Q0 d3 1 1_0 a", "be '{form}'; got '7 Q0 d3 1 1_0 a'."),
        (
            run_of,
            "7 Q0 d2 3 1 a",
            "list a document that is new to its query; got 'd2' again for query '7'.",
        ),
    ],
)
def test_damaged_runs_are_refused(load, line, sentence):
    with pytest.raises(DataError) as info:
        load(f"7 Q0 d1 1 9 a\n\n7 Q0 d2 2 8 a\n{line}\n")
    sentence = sentence.format(form="qid Q0 docid rank score tag")
    assert str(info.value) == f"load_run: line 4 must {sentence}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("7 1", f"line 1 must be {ANY_QRELS}; got '7 1'."),
        ("7 0 a 1\n7 b 1", "line 2 must be 'qid iteration docid grade'; got '7 b 1'."),
        ("7 a 1\n7 0 b 1", "line 2 must be 'qid docid grade'; got '7 0 b 1'."),
        ("7 a 1\n7 b x", "line 2 must be 'qid docid grade'; got '7 b x'."),
        ("7 a 1\n7 b inf", "line 2 must be 'qid docid grade'; got '7 b inf'."),
        (
            "7 a 1\n7 a 1",
            "line 2 must list a document that is new to its query; got 'a' again for query '7'.",
        ),
    ],
)
def test_damaged_judgements_are_refused(text, sentence):
    with pytest.raises(DataError) as info:
        qrels_of(text)
    assert str(info.value) == f"load_qrels: {sentence}"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Run(["a"], ["d", "e"], [1.0]),
            "Run: docid must be one value per row, 1 in all; got an array of shape (2,).",
        ),
        (lambda: Run(["a b"], ["d"], [1.0]), "Run: qid must be words without spaces; got 'a b'."),
        (
            lambda: Run(["a", "b"], ["", "e f"], [1.0, 2.0]),
            "Run: docid must be words without spaces; got ''.",
        ),
        (
            lambda: Run([["a"]], ["d"], [1.0]),
            "Run: qid must be one-dimensional; got an array of shape (1, 1).",
        ),
        (lambda: Run(["a"], ["d"], [np.nan]), "Run: score must be finite; got nan in row 0."),
        (lambda: Run(["a"], ["d"], ["x"]), "Run: score must be numbers; got <U1 values."),
        (
            lambda: Run(["a"], ["d"], [1.0], [0.5]),
            "Run: rank must be integers; got float64 values.",
        ),
        (
            lambda: Qrels(["a"], ["d"], [1, 2]),
            "Qrels: grade must be one value per row, 1 in all; got an array of shape (2,).",
        ),
        (lambda: load_run(3), "load_run: path must be a path or an open file; got 3."),
        (lambda: load_qrels(3), "load_qrels: path must be a path or an open file; got 3."),
        (lambda: dump_run(3, "x"), "dump_run: run must be a Run; got 3."),
        (lambda: dump_qrels(3, "x"), "dump_qrels: qrels must be a Qrels; got 3."),
        (
            lambda: from_runs(3),
            "from_runs: runs must be a mapping of names to Run, or a list of Run; got "
            "an object of type int.",
        ),
        (lambda: from_runs([]), "from_runs: runs must be at least one Run; got none."),
        (lambda: from_runs({"x": 3}), "from_runs: run 'x' must be a Run; got 3."),
        (
            lambda: from_runs([Run([], [], [])], 3),
            "from_runs: qrels must be None or a Qrels; got 3.",
        ),
        (
            lambda: from_runs([Run([], [], [])], feature="scores"),
            "from_runs: feature must be one of 'reciprocal_rank', 'score', 'minus_rank'"
            "; got 'scores'. Did you mean 'score'?",
        ),
        (
            lambda: from_runs(
                {"one": Run([1], ["d"], [1]), "two": Run([1, 1], ["d", "d"], [1, 2])}
            ),
            "from_runs: run 'two' must list a document once per query; got 'd' again "
            "for query '1'.",
        ),
        (
            lambda: from_runs([Run([], [], [])], Qrels([1, 1], ["d", "d"], [1, 2])),
            "from_runs: qrels must judge a document once per query; got 'd' again for query '1'.",
        ),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError) as info:  # noqa: PT011
        make()
    assert str(info.value) == sentence


def by_definition(runs, qrels, feature):
    """Put runs side by side, cell by cell."""
    keys = list(
        dict.fromkeys(pair for run in runs for pair in zip(run.qid, run.docid, strict=True))
    )
    queries = list(dict.fromkeys(q for run in runs for q in run.qid))
    keys.sort(key=lambda key: queries.index(key[0]))
    X = np.full((len(keys), len(runs)), np.nan)
    for column, run in enumerate(runs):
        rows = list(zip(run.qid, run.docid, run.score, run.rank, strict=True))
        for q, d, score, _ in rows:
            listed = [row for row in rows if row[0] == q]
            listed.sort(key=lambda row: (-row[2], row[3]))
            place = 1 + [row[1] for row in listed].index(d)
            cell = {"reciprocal_rank": 1 / place, "score": score, "minus_rank": -place}
            X[keys.index((q, d)), column] = cell[feature]
    pairs = zip(qrels.qid, qrels.docid, strict=True)
    grades = dict(zip(pairs, qrels.grade, strict=True))
    return X, [grades.get(key, 0) for key in keys], keys


@pytest.mark.parametrize("feature", ["reciprocal_rank", "score", "minus_rank"])
@pytest.mark.parametrize("seed", range(5))
def test_runs_side_by_side_match_the_definition(feature, seed):
    rng = np.random.default_rng(seed)

    def table():
        pairs = rng.permutation(40)[: rng.integers(0, 30)]
        return [f"q{p % 3}" for p in pairs], [f"d{p // 3}" for p in pairs]

    runs = []
    for _ in range(4):
        qid, docid = table()
        n = len(qid)
        runs.append(Run(qid, docid, rng.integers(0, 4, n), rng.permutation(n)))
    qid, docid = table()
    qrels = Qrels(qid, docid, rng.integers(0, 3, len(qid)))
    documents = from_runs(runs, qrels, feature=feature)
    X, y, keys = by_definition(runs, qrels, feature)
    assert_array_equal(documents.X, X)
    assert_array_equal(documents.y, y)
    assert list(zip(documents.qid, documents.docid, strict=True)) == keys


def test_runs_without_judgements_have_no_grades():
    X, y, qid = from_runs({"a": Run([2, 1], ["d", "e"], [1, 2])})
    assert_array_equal(X, [[1], [1]])
    assert_array_equal(y, [0, 0])
    assert qid.tolist() == ["2", "1"]
    empty = from_runs([Run([], [], [])], Qrels([1], ["d"], [2]))
    assert empty.X.shape == (0, 1)
    assert len(empty) == 0


def test_judgements_of_other_documents_alone_give_a_warning():
    run, qrels = Run(["1"], ["a"], [1.0]), Qrels(["1.0"], ["a"], [2])
    with pytest.warns(UserWarning, match="none of the 1 documents listed is judged"):
        assert from_runs([run], qrels).y.tolist() == [0.0]


def test_columns_of_a_run_are_as_long():
    with pytest.raises(DataError, match=r"score must be one value per row, 2 in all; got"):
        Run(["a", "b"], ["x", "y"], [1.0])
