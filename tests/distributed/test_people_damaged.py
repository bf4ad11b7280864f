"""Stores of people that were damaged, or changed by hand: our own error, or the same models."""

import json
import shutil
import sqlite3
from contextlib import closing, suppress

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from peckorder import MPRank
from peckorder.collaborative import PersonalRanker
from peckorder.distributed import fit_people, open_people
from peckorder.exceptions import DataError, ModelFileError
from support.worker_tasks import SMALL_RATINGS

OURS = (DataError, ModelFileError)
MODELS = {"MPRank": MPRank(C=9), "PersonalRanker": PersonalRanker(n_factors=1)}


@pytest.fixture(scope="module", params=["folder", "file.sqlite"])
def stored(request, tmp_path_factory):
    """Return a function that makes a copy of a store of people."""
    made = {}
    for name, model in MODELS.items():
        made[name] = tmp_path_factory.mktemp("people") / f"{name}-{request.param}"
        fit_people(SMALL_RATINGS, None, model, test=SMALL_RATINGS, n_jobs=1, store=made[name])

    def copy(name, folder):
        path = folder / request.param
        if path.is_dir():
            shutil.rmtree(path)
        (shutil.copytree if made[name].is_dir() else shutil.copy)(made[name], path)
        return path

    return copy


def used(path):
    """Read all that a store has; return how many models there were."""
    people = open_people(path)
    people.columns()
    for person in people:
        found = people[person]
        found.predict() if hasattr(found, "person") else found.predict(np.zeros((1, 2)))
    if people.about["estimator"] == "PersonalRanker":
        people.ranker()
    return len(people)


def about_of(path):
    if path.is_dir():
        return (path / "_people.json").read_text()
    with closing(sqlite3.connect(path)) as base:
        return base.execute("SELECT value FROM about WHERE name = 'about'").fetchone()[0]


def set_about(path, text):
    if path.is_dir():
        (path / "_people.json").write_text(text)
        return
    with closing(sqlite3.connect(path)) as base:
        base.execute("UPDATE about SET value = ? WHERE name = 'about'", (text,))
        base.commit()


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": ["row"]},
        {"metrics": [1]},
        {"metrics": ["ndcg", "ndcg"]},
        {"metrics": "ndcg"},
        {"estimator": None},
        {"estimator": ["MPRank"]},
        "[" * 100_000,
        "null",
        "",
    ],
    ids=str,
)
def test_descriptions_are_checked(stored, tmp_path, change):
    path = stored("MPRank", tmp_path)
    if isinstance(change, dict):
        change = json.dumps(json.loads(about_of(path)) | change)
    set_about(path, change)
    with pytest.raises(DataError, match="people: "):
        used(path)


ODD = [None, 1.5, b"\xff", "a\x00", -1, 2**40, [1], True]


def change_cells(path, name, value):
    """Give all records another value; False if the store cannot hold it."""
    if path.is_dir():
        (part,) = path.glob("part-*")
        table = pq.read_table(part)
        odd = pa.array([value] * len(table))
        table = table.set_column(table.column_names.index(name), name, odd)
        pq.write_table(table, part)
        return True
    if isinstance(value, list):
        return False
    name = (
        name if name in ("row", "person", "n_ratings", "seconds", "reason", "model") else "measures"
    )
    with closing(sqlite3.connect(path)) as base:
        try:
            base.execute(f'UPDATE OR REPLACE people SET "{name}" = ?', (value,))
        except sqlite3.Error:
            return False
        base.commit()
    return True


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize(
    "name", ["row", "person", "n_ratings", "seconds", "reason", "model", "measures"]
)
@pytest.mark.parametrize("model", MODELS)
def test_cells_are_checked(stored, tmp_path, model, name, value):
    path = stored(model, tmp_path)
    if name == "measures":
        name = json.loads(about_of(path))["metrics"][0]
    if not change_cells(path, name, value):
        pytest.skip("the store cannot hold it")
    with suppress(*OURS):
        used(path)


@pytest.mark.parametrize("model", [pytest.param(name, marks=pytest.mark.slow) for name in MODELS])
def test_damaged_bytes(stored, tmp_path, model):
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(150):
        path = stored(model, tmp_path)
        files = sorted(f for f in path.iterdir() if f.name != "_lock") if path.is_dir() else [path]
        file = files[rng.integers(len(files))]
        data = bytearray(file.read_bytes())
        if rng.random() < 0.2:
            del data[rng.integers(len(data)) :]
        for place in rng.integers(0, max(len(data), 1), rng.integers(0, 8))[: len(data)]:
            data[place] = rng.integers(256)
        file.write_bytes(bytes(data))
        try:
            used(path)
        except OURS:
            n_refused += 1
    assert n_refused > 50
