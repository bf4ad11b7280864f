"""Tests on real data, read from the folder that PECKORDER_DATA names."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from peckorder import PRank

FOLDER = os.environ.get("PECKORDER_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="PECKORDER_DATA does not name a folder of real data"
)

# file: the mean rank loss to stay below, halfway to what a constant loses
TABLES = {"ERA.csv": 1.45, "ESL.csv": 0.7, "LEV.csv": 0.56, "SWD.csv": 0.54}


@pytest.mark.parametrize(("file", "bound"), TABLES.items())
def test_standardised_columns_are_learnt(file, bound):
    path = Path(FOLDER) / "ordinal" / file
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1].astype(int)
    ranker = PRank(max_iter=20, shuffle=True, unit_norm=False, random_state=0, classes=np.unique(y))
    model = make_pipeline(StandardScaler(), ranker)
    splits = ShuffleSplit(5, random_state=0)
    assert -cross_val_score(model, X, y, cv=splits).mean() < bound
