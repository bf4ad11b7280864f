"""Where compiled kernels are kept, and what happens where they cannot be."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import peckorder

FIT = """
import peckorder
from peckorder.ordinal.compiled import linear
model = peckorder.PRank(rule="last").fit([[0.0], [1.0]], [1, 2])
print(peckorder.__file__, model.n_rounds_, sum(linear.prank.stats.cache_hits.values()))
"""


@pytest.fixture
def copied(tmp_path):
    """Copy the package without what has been compiled."""
    target = tmp_path / "site" / "peckorder"
    compiled = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(peckorder.__file__).parent, target, ignore=compiled)
    return target


def fit_in_another_process(copied, **changes):
    """Fit by the copy; return where it lies, how many rows it learnt, its hits."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    kept |= {"PYTHONPATH": str(copied.parent), **changes}
    command = [sys.executable, "-c", FIT]
    done = subprocess.run(
        command,
        env=kept,
        cwd=copied.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, n_rounds, n_hits = done.stdout.split()
    assert Path(where).parent == copied
    return int(n_rounds), int(n_hits)


def test_a_package_that_cannot_keep_kernels_works_all_the_same(copied):
    # A file where the folder should be stops even the superuser.
    (copied / "ordinal" / "compiled" / "__pycache__").write_text("")
    nowhere = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache"}
    n_rounds, n_hits = fit_in_another_process(copied, **nowhere)
    assert (n_rounds, n_hits) == (2, 0)


def test_a_second_process_finds_the_kernels_of_the_first(copied):
    _, first = fit_in_another_process(copied)
    assert list(
        (copied / "ordinal" / "compiled" / "__pycache__").glob("linear.prank-*.nbi")
    )
    _, second = fit_in_another_process(copied)
    assert (first, second) == (0, 1)


@pytest.mark.parametrize(
    ("changed", "n_hits"),
    [
        # Numba itself looks at a function's own file only, and parts live in others.
        ("ordinal/compiled/ensemble.py", 0),
        ("_core/compiled/rows.py", 0),
        ("boosting/compiled/rounds.py", 1),
    ],
)
def test_a_change_compiles_the_functions_of_its_own_family_anew(
    copied, changed, n_hits
):
    fit_in_another_process(copied)
    with (copied / changed).open("a") as file:
        file.write("# changed\n")
    assert fit_in_another_process(copied)[1] == n_hits


MODULE = """
from typing import NamedTuple
import numpy as np
from peckorder._core.compiled.jit import kernel
class {name}(NamedTuple):
    values: np.ndarray
@kernel
def first(data):
    return data.values[0]
"""
CALL = """
import numpy as np
import arrays
arrays.first(arrays.{name}(np.ones(1)))
print(sum(arrays.first.stats.cache_hits.values()))
"""


def test_a_cached_function_survives_the_renaming_of_a_named_tuple(tmp_path):
    hits = []
    for name in ("Before", "Before", "Since"):
        module = MODULE.format(name=name)
        if not (tmp_path / "arrays.py").exists() or name == "Since":
            (tmp_path / "arrays.py").write_text(module)
        done = subprocess.run(
            [sys.executable, "-c", CALL.format(name=name)],
            env={k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        hits.append(int(done.stdout))
    assert hits == [0, 1, 0]
