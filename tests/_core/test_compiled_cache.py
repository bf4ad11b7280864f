"""Where compiled functions are cached, and what happens where they cannot be."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import peckorder
from peckorder._core.compiled import jit
from peckorder.ordinal.compiled import linear

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
        command, env=kept, cwd=copied.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    where, n_rounds, n_hits = done.stdout.split()
    assert Path(where).parent == copied
    return int(n_rounds), int(n_hits)


def test_a_package_without_a_cache_works_all_the_same(copied):
    # A file where the folder should be stops even the superuser.
    (copied / "ordinal" / "compiled" / "__pycache__").write_text("")
    nowhere = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache"}
    n_rounds, n_hits = fit_in_another_process(copied, **nowhere)
    assert (n_rounds, n_hits) == (2, 0)


def test_a_second_process_finds_what_the_first_compiled(copied):
    _, first = fit_in_another_process(copied)
    assert list((copied / "ordinal" / "compiled" / "__pycache__").glob("linear.prank-*.nbi"))
    _, second = fit_in_another_process(copied)
    assert (first, second) == (0, 1)


@pytest.mark.parametrize(
    ("changed", "n_hits"),
    [
        # Numba itself looks at a function's own file only, not at what is inlined.
        ("ordinal/compiled/ensemble.py", 0),
        ("_core/compiled/rows.py", 0),
        ("boosting/compiled/rounds.py", 1),
    ],
)
def test_a_change_compiles_the_functions_of_its_own_family_anew(copied, changed, n_hits):
    fit_in_another_process(copied)
    with (copied / changed).open("a") as file:
        file.write("# changed\n")
    assert fit_in_another_process(copied)[1] == n_hits


MODULE = """
from typing import NamedTuple
import numpy as np
from peckorder._core.compiled.jit import compiled
class {name}(NamedTuple):
    values: np.ndarray
@compiled
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


PRIVATE = "Numba has changed: mend {} in peckorder/_core/compiled/jit.py, then {}."


def add_first(values):
    return values[0] + 1.0


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_numba_still_has_the_option_without_reference_counts():
    advice = PRIVATE.format("uncounted_references", "measure PRank.fit again")
    assert jit.uncounted_references() == {"_nrt": False}, advice
    function = numba.njit(**jit.uncounted_references())(add_first)
    assert function(np.zeros(1)) == 1.0, advice
    assert "NRT_incref" not in next(iter(function.inspect_llvm().values())), advice


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_numba_still_has_the_stamp_of_the_cache():
    advice = PRIVATE.format("set_source_stamp", "see that a change compiles anew")
    file = Path(linear.__file__)
    assert jit.set_source_stamp(linear.prank, file), advice
    stamp = linear.prank._cache._cache_file._source_stamp
    assert "ordinal/compiled/linear.py" in [name for name, *_ in stamp], advice


def test_without_the_private_parts_of_numba_functions_compile_all_the_same(monkeypatch):
    class Options:
        pass

    monkeypatch.setattr(jit, "CPUTargetOptions", Options)
    assert jit.uncounted_references() == {}
    assert jit.compiled(add_first)(np.zeros(1)) == 1.0
    assert not jit.set_source_stamp(Options(), Path(__file__))


def cache_files(copied, suffix):
    return list((copied / "ordinal" / "compiled" / "__pycache__").glob(f"linear.prank-*{suffix}"))


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"no"])
def test_a_damaged_cache_is_written_anew(copied, suffix, damage):
    fit_in_another_process(copied)
    for file in cache_files(copied, suffix):
        file.write_bytes(damage(file.read_bytes()))
    assert fit_in_another_process(copied) == (2, 0)
    assert fit_in_another_process(copied) == (2, 1)


NO_SPACE = """
import errno, numpy as np
from numba.core import caching
from peckorder._core.compiled.jit import compiled

def full(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


caching.IndexDataCacheFile._open_for_write = full

@compiled
def first(values):
    return values[0]

print(first(np.ones(1)))
"""


def test_a_full_disk_does_not_stop_a_function(tmp_path):
    (tmp_path / "full.py").write_text(NO_SPACE)
    done = subprocess.run(
        [sys.executable, "full.py"],
        env={k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("1.0", 0), done.stderr


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_numba_still_has_the_methods_of_the_cache():
    advice = PRIVATE.format("survive_cache", "see that damaged files do not stop a fit")
    assert jit.survive_cache(linear.prank), advice
    assert not jit.survive_cache(object())
