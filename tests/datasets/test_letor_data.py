"""LETOR's and TREC's files against what is known of them."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_svmlight_file

from peckorder.datasets import dump_letor, from_runs, load_letor, load_qrels, load_run

FOLDER = os.environ.get("PECKORDER_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="PECKORDER_DATA does not name a folder of real data"
)


def folder(name):
    path = Path(FOLDER) / name
    if not path.is_dir():
        pytest.skip(f"{path} is not there")
    return path


def parts(name):
    files = sorted(folder(name).glob("*.txt.gz"))
    return [load_letor(file, comments=True) for file in files]


def test_ohsumed():
    read = parts("ohsumed_letor")
    y = np.concatenate([part.y for part in read])
    qid = np.concatenate([part.qid for part in read])
    assert all(part.X.shape[1] == 25 for part in read)
    assert all(part.docid is not None for part in read)
    assert len(np.unique(qid)) == 106
    assert_array_equal(np.unique(y, return_counts=True)[1], [11303, 2585, 2252])


def test_rank_aggregation():
    read = parts("mq2007_agg")
    X = np.concatenate([part.X for part in read])
    assert X.shape == (69_623, 21)
    assert len(np.unique(np.concatenate([part.qid for part in read]))) == 1692
    assert np.unique(np.concatenate([part.y for part in read])).tolist() == [0, 1, 2]
    assert np.nanmin(X) == 1
    assert 0 < np.isnan(X).mean() < 1
    assert read[0].docid[0] == "GX000-00-0000000"


@pytest.mark.parametrize(("file", "n_rows"), [("rank.train", 3005), ("rank.test", 768)])
def test_lightgbm_as_scikit_learn_reads_it(file, n_rows):
    path = folder("lightgbm_lambdarank") / file
    X, y, qid = load_letor(path, sparse=True)
    theirs = load_svmlight_file(str(path), n_features=X.shape[1])
    assert X.shape[0] == n_rows
    assert qid is None
    assert set(y) <= {0, 1, 2, 3, 4}
    assert not (theirs[0] != X).sum()
    assert_array_equal(y, theirs[1])


def test_a_real_file_is_written_and_read_again(tmp_path):
    part = parts("ohsumed_letor")[1]
    dump_letor(*list(part)[:2], tmp_path / "a.gz", qid=part.qid, comments=part.comments)
    again = load_letor(tmp_path / "a.gz", comments=True)
    for name in ("X", "y", "qid", "docid"):
        assert_array_equal(getattr(again, name), getattr(part, name))


def test_runs_of_trec_nine():
    path = folder("ohsumed_trec9")
    qrels = load_qrels(path / "qrels.ohsu.88-91")
    assert len(qrels) == 3205
    assert len(np.unique(qrels.qid)) == 63
    assert np.unique(qrels.grade).tolist() == [1, 2]
    runs = {file.stem: load_run(file) for file in sorted((path / "runs").glob("*.run"))}
    assert len(runs) == 12
    assert sum(map(len, runs.values())) == 34_880
    documents = from_runs(runs, qrels)
    assert documents.X.shape[1] == 12
    assert np.isfinite(documents.X).sum() == 34_880
    assert np.isfinite(documents.X).any(axis=1).all()
    assert np.nanmax(documents.X) == 1
    # Every run has one first document a query.
    firsts = (documents.X == 1).sum(axis=0)
    assert_array_equal(firsts, [len(np.unique(run.qid)) for run in runs.values()])
    pairs = zip(qrels.qid, qrels.docid, strict=True)
    judged = dict(zip(pairs, qrels.grade, strict=True))
    pairs = zip(documents.qid, documents.docid, strict=True)
    expected = [judged.get(pair, 0) for pair in pairs]
    assert_array_equal(documents.y, expected)
