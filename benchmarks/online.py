"""Speed and memory of on-line ranking against peers: `make bench`.

Let nothing else run meanwhile.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numba
import numpy as np
import vowpalwabbit
from scipy import sparse
from sklearn.linear_model import SGDRegressor

from measure import at_least, at_most, grades, in_turn, show
from peckorder import PRank

CLASSES = np.arange(5)
PAPER = {"rule": "last", "fit_intercept": False, "unit_norm": False}
COLD = """
from time import perf_counter
begin = perf_counter()
import sklearn, numba
ready = perf_counter()
import peckorder
loaded = perf_counter()
import numpy as np
X = np.random.default_rng(0).normal(size=(100, 5))
begin_fit = perf_counter()
peckorder.PRank().fit(X, np.arange(100) % 5)
print(ready - begin, loaded - ready, perf_counter() - begin_fit)
"""


@numba.njit(fastmath={"reassoc", "contract"})
def total(X):
    """Sum an array: the least that reading it can cost."""
    result = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            result += X[i, j]
    return result


def learn(X: object, y: np.ndarray, **parameters: object) -> PRank:
    """Make one pass of PRank through its public interface."""
    return PRank(**parameters).partial_fit(X, y, classes=CLASSES)


def contenders(
    X: object, y: np.ndarray, vw: Callable[..., object]
) -> dict[str, Callable[[], object]]:
    """Return what is timed in turn on dense and sparse rows alike."""
    target = y.astype(float)
    return {
        "last": lambda: learn(X, y, **PAPER),
        "averaged": lambda: learn(X, y, **PAPER | {"rule": "averaged"}),
        "default": lambda: learn(X, y),
        "sgd": lambda: SGDRegressor().partial_fit(X, target),
        "vw": vw,
        "vw start": start_of_vowpal,
        "vw sgd": lambda: vw("--sgd"),
    }


def vowpal(folder: Path, name: str, X: object, y: np.ndarray) -> Callable[..., object]:
    """Write a Vowpal Wabbit cache of the rows; return what learns from it."""
    text, cache = folder / f"{name}.txt", folder / f"{name}.cache"
    matrix = sparse.csr_array(X)
    with text.open("w") as file:
        for i, label in enumerate(y):
            first, last = matrix.indptr[i : i + 2]
            pairs = zip(matrix.indices[first:last], matrix.data[first:last], strict=True)
            file.write(f"{label} | {' '.join(f'{j}:{v:.6g}' for j, v in pairs)}\n")
    options = f"--data {text} --cache_file {cache} --noconstant --quiet"
    vowpalwabbit.Workspace(options).finish()  # writes the cache
    return lambda extra="": vowpalwabbit.Workspace(f"{options} {extra}").finish()


def start_of_vowpal() -> object:
    """Start and end Vowpal Wabbit without a row, which is not counted as learning."""
    return vowpalwabbit.Workspace("--noconstant --quiet").finish()


def dense(dtype: type, repeats: int, folder: Path, n_rows: int) -> None:
    """One pass over a dense array of 100 features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 100), dtype=dtype)
    y = grades(X @ rng.standard_normal(100).astype(dtype), rng)
    few = n_rows // 5
    vw = vowpal(folder, f"dense{X.itemsize}", X[:few], y[:few])
    times = in_turn({"sum": lambda: total(X)} | contenders(X, y, vw), repeats)
    mistakes = learn(X, y, **PAPER).n_mistakes_ / n_rows
    print(f"\n{n_rows:,} x 100 {X.dtype}, 5 classes, {mistakes:.0%} mistakes, one pass")
    speed = X.nbytes / times["sum"] / 1e9
    show("a compiled loop sums the array, GB/s", f"{speed:.1f}")
    speed = X.nbytes / times["last"] / 1e9
    show("PRank, last rule, as published, GB/s", f"{speed:.1f}")
    last = times["last"]
    wanted = 0.7 if dtype is np.float32 else 0.8
    at_least("its bytes/s over those of the sum", times["sum"] / last, wanted)
    at_most("averaged rule: time over last rule", times["averaged"] / last, 1.5)
    what = "defaults (averaged, constant, unit norm): time over last rule"
    show(what, f"{times['default'] / last:.2f}")
    peers = {
        "SGDRegressor.partial_fit: time over last rule": (times["sgd"] / last, 12),
        "Vowpal Wabbit from its cache (a fifth of the rows), a row, over last": (
            5 * (times["vw"] - times["vw start"]) / last,
            30,
        ),
        "the same with --sgd, its plainest rule": (
            5 * (times["vw sgd"] - times["vw start"]) / last,
            None,
        ),
    }
    for what, (value, bound) in peers.items():
        if dtype is np.float32 and bound is not None:
            at_least(what, value, bound)
        else:
            show(what, f"{value:.2f}")


def csr(repeats: int, folder: Path, n_rows: int) -> None:
    """One pass over a sparse matrix of 100,000 features, 50 a row."""
    rng = np.random.default_rng(0)
    n_features, per_row = 100_000, 50
    columns = np.sort(rng.integers(0, n_features, (n_rows, per_row)), axis=1)
    X = sparse.csr_array(
        (
            rng.standard_normal(columns.size),
            columns.ravel().astype(np.int32),
            np.arange(0, columns.size + 1, per_row, dtype=np.int32),
        ),
        shape=(n_rows, n_features),
    )
    X.sum_duplicates()
    y = grades(X @ rng.standard_normal(n_features), rng)
    few = n_rows // 4
    vw = vowpal(folder, "csr", X[:few], y[:few])
    times = in_turn(contenders(X, y, vw), repeats)
    mistakes = learn(X, y, **PAPER).n_mistakes_ / n_rows
    shape = f"{n_rows:,} x {n_features:,}, {per_row} entries a row"
    print(f"\nCSR float64, {shape}, 5 classes, {mistakes:.0%} mistakes, one pass")
    last = times["last"]
    per_row_ns = last / n_rows * 1e9
    show("PRank, last rule, as published, ns per row", f"{per_row_ns:.0f}")
    show("averaged rule: time over last rule", f"{times['averaged'] / last:.2f}")
    what = "SGDRegressor.partial_fit: time over last rule"
    at_least(what, times["sgd"] / last, 5)
    what = "Vowpal Wabbit from its cache (a quarter of the rows), a row, over last"
    at_least(what, 4 * (times["vw"] - times["vw start"]) / last, 10)
    what = "the same with --sgd, its plainest rule"
    show(what, f"{4 * (times['vw sgd'] - times['vw start']) / last:.2f}")


def memory() -> None:
    """Peak memory of a pass beyond the data, for more and more rows."""
    print("\nPeak memory of fit beyond the data, 100 features, 5 classes")
    rng = np.random.default_rng(0)
    for n_rows in (100_000, 400_000, 1_600_000):
        X = rng.standard_normal((n_rows, 100), dtype=np.float32)
        y = rng.integers(0, 5, n_rows)
        tracemalloc.start()
        PRank().fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        show(f"{n_rows:,} rows ({X.nbytes / 2**20:.0f} MiB)", f"{peak / 2**20:.2f} MiB")


def start() -> None:
    """Time from nothing to a first result, in processes of their own."""
    print("\nTime to the first result")
    cold, warm = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"NUMBA_CACHE_DIR": cache}
            for record in (cold, warm):
                command = [sys.executable, "-c", COLD]
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=True
                )
                record.append([float(word) for word in done.stdout.split()])
    middle = np.median(warm, axis=0)
    show("import sklearn, numba", f"{middle[0]:.2f} s")
    at_most("import peckorder on top of them", middle[1], 0.2, " s")
    at_most("first fit, nothing cached", float(np.median(cold, axis=0)[2]), 3, " s")
    show("first fit, compiled before", f"{middle[2]:.2f} s")


def main() -> None:
    """Run all of it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    names = ("peckorder", "numpy", "numba", "scikit-learn", "vowpalwabbit")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, one is used")
    start()
    with tempfile.TemporaryDirectory() as folder:
        for dtype in (np.float32, np.float64):
            dense(dtype, options.repeats, Path(folder), options.rows)
        csr(options.repeats, Path(folder), options.rows // 5)
    memory()


if __name__ == "__main__":
    main()
