"""Streams tell what they are, and where a row is that is refused."""

import numpy as np
import pytest
from scipy import sparse

from peckorder import MPRank, PRank, RankBoost
from peckorder.exceptions import DataError
from peckorder.streams import fit, from_arrays
from support.helpers import real_data
from support.stream_files import KINDS, written

FILES = {"parquet": "parquet", "arrow": "arrow", "csv": "csv"}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("estimator", [PRank(), MPRank(), RankBoost(max_bins=9)])
def test_the_file_of_a_bad_value_is_named(kind, estimator, tmp_path):
    X, y = real_data(2)
    n = len(y)
    place = 2 * n // 3 + 4
    X[place, 1] = np.inf
    qid = np.arange(n) // 5
    stream = written(kind, tmp_path, X, y, qid, rows=10, files=3)
    row = place - int(np.linspace(0, n, 4).astype(int)[2])
    with pytest.raises(DataError, match=r"^Input X contains infinity") as error:
        fit(estimator, stream)
    assert str(error.value).endswith(
        f" This is in row {place} (row {row} of 'part.2.{FILES[kind]}') of the stream."
    )


@pytest.mark.parametrize("kind", FILES)
def test_the_file_of_a_query_that_comes_again_is_named(kind, tmp_path):
    X, y = real_data(2)
    n = len(y)
    place = 2 * n // 3 + 4
    qid = np.arange(n)
    qid[place] = 1
    stream = written(kind, tmp_path, X, y, qid, rows=10, files=3)
    row = place - int(np.linspace(0, n, 4).astype(int)[2])
    said = f"again after others, in row {place} (row {row} of 'part.2.{FILES[kind]}')."
    # Also if rows before are not read again.
    for start in (0, 20):
        with pytest.raises(DataError, match="got the query 1 again") as error:
            list(stream.blocks(start))
        assert said in str(error.value)


def test_a_bad_value_among_few(tmp_path):
    X = sparse.random_array((50, 4), density=0.3, rng=0, format="csr")
    X.data[20] = np.nan
    row = int(np.flatnonzero(np.isnan(X.toarray()).any(axis=1))[0])
    with pytest.raises(DataError, match=f"This is in row {row} of the stream"):
        fit(PRank(), from_arrays(X, np.arange(50) % 3, rows=7))


def test_what_is_wrong_with_a_whole_block():
    y = np.repeat([1, 7], 15)
    with pytest.raises(ValueError, match=r"the first is row 10\.$"):
        fit(PRank(classes=[1, 2]), from_arrays(np.ones((30, 1)), y, rows=10))


@pytest.mark.parametrize("kind", KINDS)
def test_shown(kind, tmp_path):
    X, y = real_data(2)
    stream = written(kind, tmp_path, X, y, np.arange(len(y)), files=2)
    shown = repr(stream)
    assert shown.startswith(f"<{stream.source_name}: ")
    assert f"{X.shape[1]} features" in shown
    assert shown.endswith("; queries>")
    if kind == "parquet":
        assert "2 files from 'part.0.parquet' on; " in shown
        assert f"; {len(y)} rows; " in shown
        assert "features 'x0', 'x1'" in shown
