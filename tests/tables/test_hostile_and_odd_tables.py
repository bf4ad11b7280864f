"""Files and models that ask for more memory than they are worth; what is written."""

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import peckorder
from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns
from peckorder.tables.files import source
from peckorder.tables.files.read import iter_columns, read_columns, write_columns
from support.command_line import check_refused, run


def test_a_parquet_file_of_next_to_nothing_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_ALWAYS_ALLOWED", 1 << 16)
    path = tmp_path / "bomb.parquet"
    names = [f"c{k}" for k in range(20)]
    pq.write_table(pa.table({name: np.zeros(200_000) for name in names}), path)
    with pytest.raises(DataError) as caught:
        read_columns(path)
    assert str(caught.value) == (
        f"{path}: a compressed file must hold less than 200 times its size; got more "
        f"than 30 MB out of {path.stat().st_size >> 10} kB."
    )
    # In blocks it may be as large as it is.
    assert len(next(iter_columns(path, rows=100))) == 100
    honest = tmp_path / "honest.parquet"
    cells = np.random.default_rng(0).normal(size=(3, 200_000))
    pq.write_table(pa.table(dict(zip("abc", cells, strict=True))), honest)
    assert len(read_columns(honest)) == 200_000


@pytest.mark.parametrize("more", [(), ("--features",)])
def test_a_feature_with_a_large_number_takes_no_memory(tmp_path, more):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = peckorder.RankBoost(n_rounds=3).fit(X, X[:, 1] > 0)
    model.feature_names_in_ = np.array(["150000000", "2"], dtype=object)
    model.save(tmp_path / "m.peckorder")
    file, out = tmp_path / "t.letor", tmp_path / "o.csv"
    file.write_text("1 qid:1 1:9 2:0.5 3:1\n0 qid:1 2:-1 150000000:2\n")
    command = ("rank", tmp_path / "m.peckorder", file, "--quiet", "-o", out)
    tracemalloc.start()
    assert run(*command, *more) == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 27
    found = read_columns(out).arrays
    del model.feature_names_in_
    expected = model.predict([[0.0, 0.5], [2.0, -1.0]])
    np.testing.assert_allclose(found["score"], expected, rtol=1e-13)
    if more:
        assert found["2"].tolist() == [0.5, -1]
        assert found["150000000"].tolist() == [0, 2]


def test_json_has_no_infinity(tmp_path):
    path = tmp_path / "o.jsonl"
    cells = np.array([1.5, np.inf, -np.inf, np.nan])
    write_columns(path, Columns({"gap": cells}, "t"))

    def refuse(word):
        raise AssertionError(word)

    lines = path.read_text().splitlines()
    found = [json.loads(line, parse_constant=refuse)["gap"] for line in lines]
    assert found == [1.5, None, None, None]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\v", "\x85", "\u2028"])
def test_letor_remarks_stay_in_their_lines(tmp_path, end):
    path = tmp_path / "o.letor"
    ids = np.array([f"a{end}2 qid:9 1:7", "b"], dtype=object)
    write_columns(path, Columns({"target": np.array([1, 0]), "docid": ids}, "t"))
    assert path.read_text().splitlines() == ["1 #docid = a 2 qid:9 1:7", "0 #docid = b"]


def test_letor_has_no_words_for_targets(tmp_path):
    path = tmp_path / "o.letor"
    good = np.array(["1", " 2.5"], dtype=object)
    write_columns(path, Columns({"target": good, "1": np.arange(2.0)}, "t"))
    assert read_columns(path).arrays["target"].tolist() == [1, 2.5]
    bad = np.array(["1", "good"], dtype=object)
    with pytest.raises(DataError) as caught:
        write_columns(path, Columns({"target": bad}, "t"))
    assert str(caught.value) == (
        f"{path}: column 'target' must be numbers to be written as LETOR; got 'good' in row 2."
    )
    assert read_columns(path).arrays["target"].tolist() == [1, 2.5]


@pytest.mark.parametrize(
    "more",
    [
        ("--target", "nonsense"),
        ("--qid", "nonsense"),
        ("--user", "1"),
        ("--drop", "3"),
        ("--classes", "a,b"),
        ("--scale",),
    ],
)
def test_sparse_letor_takes_no_orders(tmp_path, capsys, more):
    file, out = tmp_path / "train.txt", tmp_path / "m.peckorder"
    lines = [f"{k % 2} qid:{k // 4} {1 + 7 * k % 50}:1 60:{k % 2}" for k in range(40)]
    file.write_text("\n".join(lines) + "\n")
    fit = ("fit", file, "--ranker", "RankBoost", "-o", out)
    assert check_refused(capsys, *fit, *more) == (
        f"fit: {more[0][2:]} must not be asked for where most features of a LETOR file "
        f"are absent; got {more[0]}."
    )
    assert not out.exists()
    assert run(*fit, "--target", "target", "--qid", "qid", "--quiet") == 0
