"""Writes the model files that every later version must be able to read.

Run it when a format version is new, or an estimator, from the root::

    PYTHONPATH=src:tests python tests/support/make_model_files.py

It makes ``tests/model_files/format-N``, a file for each of the models below and
`expected.json` with what they answered when they were saved. It adds what is not there
yet and touches no file that is: files of a released version are never written again.
The data that models are asked about is in `stored_models.py`, and must not change.
"""

import json
from pathlib import Path

from peckorder.storage.format import VERSION
from support.stored_models import CASES

FOLDER = Path(__file__).parent.parent / "model_files"

# One of every estimator, and of every form in which one is stored.
NAMES = [
    "prank",
    "prank-voted-sparse",
    "prank-poly",
    "prank-rbf",
    "prank-rbf-voted",
    "prank-budget",
    "prank-words",
    "aggregate-bayes-point",
    "aggregate-poly",
    "aggregate-rbf",
    "widrow-hoff",
    "perceptron",
    "calibrated",
    "mprank",
    "mprank-rbf",
    "mprank-stream",
    "mprank-stream-rbf",
    "mprank-cv",
    "svrank",
    "svrank-rbf",
    "rankboost",
    "rankboost-feature",
    "rankboost-learners",
    "ordinal-boost",
    "ordinal-boost-free",
    "table",
    "table-text",
    "table-kinds",
    "table-classes",
    "table-label-scale",
    "ridge",
    "item-mean",
    "min-norm",
    "nearest",
    "similarity",
    "correlation",
    "personal",
    "personal-references",
]


def main():
    folder = FOLDER / f"format-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    answers = folder / "expected.json"
    expected = json.loads(answers.read_text()) if answers.exists() else {}
    for name in [name for name in NAMES if name not in expected]:
        model = CASES[name].fit()
        model.save(folder / f"{name}.peckorder")
        expected[name] = [answer.tolist() for answer in CASES[name].ask(model)]
    lines = [f"{json.dumps(name)}: {json.dumps(expected[name])}" for name in NAMES]
    answers.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
