"""Files of every format version there ever was can be read, and answer as they did."""

import json
from pathlib import Path

import numpy as np
import pytest

import peckorder
from peckorder.storage.format import VERSION
from support.stored_models import CASES

FOLDER = Path(__file__).parent.parent / "model_files"
FILES = sorted(FOLDER.glob("format-*/*.peckorder"))


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


def test_there_are_files_of_every_version_and_every_estimator():
    versions = {path.parent.name for path in FILES}
    assert versions == {f"format-{version}" for version in range(1, VERSION + 1)}
    classes = {type(peckorder.load(path)).__name__ for path in FILES}
    ours = {"ItemMean", "MinNormRegression", "NearestRanker", "PersonalRanker"}
    assert classes >= {*peckorder.estimators.__all__, *ours, "VectorSimilarity", "Correlation"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_an_old_file_gives_the_same_predictions(path):
    expected = json.loads((path.parent / "expected.json").read_text())[path.stem]
    model = peckorder.load(path)
    # Another processor may add in another order; a personal ranker adds in single precision.
    rtol = 1e-6 if type(model).__name__ == "PersonalRanker" else 1e-12
    answers = CASES[path.stem].ask(model)
    for answer, value in zip(answers, expected, strict=True):
        if answer.dtype.kind == "f":
            np.testing.assert_allclose(answer, value, rtol=rtol, atol=1e-12)
        else:
            assert answer.tolist() == value


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_model_of_an_old_file_continues_learning(path):
    case = CASES[path.stem]
    if case.go_on is not None:
        for answer in case.ask(case.go_on(peckorder.load(path))):
            assert len(answer)
