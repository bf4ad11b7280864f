"""Speed and memory of SVRank against a regression on explicit pairs: `make bench`.

Let nothing else run meanwhile.
"""

import argparse
import os
import platform
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.svm import SVR, LinearSVR

from measure import at_least, at_most, in_turn, seconds, show
from peckorder import SVRank
from peckorder.losses import pair_loss

EPSILON = 0.1
# What the fits of the table below differ in.
KINDS = {
    "power 1": {},
    "power 2": {"power": 2},
    "power 1, hmpc": {"loss": "hmpc"},
    "power 1, top_weight 1": {"top_weight": 1.0},
}


def rows(n_rows: int, n_features: int = 50, dtype: type = np.float64) -> tuple:
    """Return rows, and labels that are linear in them but for as much noise."""
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, n_features), dtype=dtype)
    for first in range(0, n_rows, 10_000):
        some = X[first : first + 10_000]
        some[:] = rng.standard_normal(some.shape)
    coef = rng.standard_normal(n_features) / np.sqrt(n_features)
    return X, X @ coef.astype(dtype) + rng.standard_normal(n_rows)


def sparse_rows(n_rows: int, n_features: int = 1_000, a_row: int = 10) -> tuple:
    """Return rows of a few entries each, and labels linear in them but for noise."""
    rng = np.random.default_rng(0)
    width = n_features // a_row
    columns = rng.integers(0, width, (n_rows, a_row)) + width * np.arange(a_row)
    parts = (
        rng.standard_normal(columns.size),
        columns.ravel().astype(np.int32),
        np.arange(0, columns.size + 1, a_row, dtype=np.int32),
    )
    X = sparse.csr_array(parts, shape=(n_rows, n_features))
    return X, X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows)


def by_rows(sizes: list[int], C: float, repeats: int) -> None:
    """Show what an iteration costs for more and more rows."""
    print(f"\nA fit to tol 1e-3, 50 columns, C={C:g}: seconds an iteration (iterations)")
    growth = {}
    for name, settings in KINDS.items():
        cost = []
        for n_rows in sizes:
            X, y = rows(n_rows)
            model = SVRank(C=C, tol=1e-3, **settings)
            actions = {"fit": lambda X=X, y=y, model=model: model.fit(X, y)}
            best = in_turn(actions, repeats if n_rows < 1_000_000 else 1)["fit"]
            cost.append(best / model.n_iter_)
            show(f"{name}, {n_rows:,} rows", f"{cost[-1]:.5f}", f"({model.n_iter_})")
        growth[name] = np.log(cost[-1] / cost[0]) / np.log(sizes[-1] / sizes[0])
    print("\nThe power of the number of rows that an iteration costs (n log n: 1.1)")
    for name, power in growth.items():
        at_most(name, power, 1.2)


def pairs(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the differences of all pairs."""
    i, j = np.triu_indices(len(y), 1)
    return X[j] - X[i], y[j] - y[i]


def objective(coef: np.ndarray, X: np.ndarray, y: np.ndarray, C: float) -> float:
    """Return what SVRank minimises."""
    loss = pair_loss("svr", X @ coef, y, epsilon=EPSILON).value
    return float(coef @ coef + C / len(y) ** 2 * loss)


def explicit(C: float, repeats: int) -> None:
    """Compare with regressions on the differences of all pairs of 1,000 rows."""
    X, y = rows(1_000)
    D, differences = pairs(X, y)
    print(f"\n1,000 rows x 50, {len(D):,} pairs, C={C:g}")
    ours = SVRank(C=C, tol=1e-3)
    # The tolerance is the loosest with which it comes as near as ours.
    peer = LinearSVR(C=C / 1_000**2, epsilon=EPSILON, fit_intercept=False, tol=1e-2)
    actions = {
        "ours": lambda: ours.fit(X, y),
        "pairs": lambda: pairs(X, y),
        "peer": lambda: peer.fit(D, differences),
    }
    best = in_turn(actions, repeats)
    least = SVRank(C=C, tol=1e-9).fit(X, y).objective_
    show("SVRank, ms", f"{1e3 * best['ours']:.2f}")
    show("SVRank's objective above the least", f"{ours.objective_ / least - 1:.1e}")
    theirs = objective(peer.coef_, X, y, C)
    show("LinearSVR's objective above the least", f"{theirs / least - 1:.1e}")
    ratio = best["peer"] / best["ours"]
    at_least("LinearSVR on the pairs, which are ready, over ours", ratio, 100)
    ratio += best["pairs"] / best["ours"]
    show("the same, with the time to write the pairs down", f"{ratio:.2f}")
    extrapolated(X, y, C, best["ours"])


def extrapolated(X: np.ndarray, y: np.ndarray, C: float, ours: float) -> None:
    """Time SVR on the pairs of fewer rows; tell what all pairs would take."""
    sizes, taken = [100, 150, 200], []
    for n in sizes:
        D, differences = pairs(X[:n], y[:n])
        model = SVR(kernel="linear", C=C / n**2, epsilon=EPSILON, cache_size=1_000)
        taken.append(seconds(lambda m=model, D=D, t=differences: m.fit(D, t)))
        show(f"SVR(kernel='linear') on the pairs of {n} rows, s", f"{taken[-1]:.2f}")
    power = np.log(taken[-1] / taken[0]) / np.log(sizes[-1] / sizes[0])
    whole = taken[-1] * (1_000 / sizes[-1]) ** power
    show(f"extrapolated to 1,000 rows, by their power {power:.1f}, s", f"{whole:.0f}")
    at_least("that over ours", whole / ours, 100)


def by_kernel(repeats: int) -> None:
    """Show fits with an RBF kernel and a large C, tol 1e-6."""
    print("\n300 rows, RBF kernel, tol 1e-6: seconds (iterations)")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    smooth = 2.0 * np.sin(X[:, 0]) + X[:, 1]
    for name, y in {
        "noisy": smooth + 0.5 * rng.standard_t(3, size=300),
        "without noise": smooth,
    }.items():
        for C in (1e2, 1e4):
            model = SVRank(C=C, kernel="rbf")
            best = in_turn({"fit": lambda m=model, y=y: m.fit(X, y)}, repeats)["fit"]
            at_most(f"{name}, C={C:g} ({model.n_iter_})", best, 5)


def resident(what: str) -> int:
    """Return the bytes of this process in memory, now or at their peak (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(what))


def memory(form: str, n_rows: int) -> None:
    """Fit once, in a process of its own, and tell what it needs beyond X."""
    if form == "sparse":
        X, y = sparse_rows(n_rows)
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    else:
        X, y = rows(n_rows, dtype=np.dtype(form).type)
        size = X.nbytes
    y = y.astype(np.float64)
    SVRank(C=100.0, tol=1e-3).fit(X[:1_000], y[:1_000])
    model = SVRank(C=100.0, tol=1e-3)
    # Forget the peak so far, which is that of making the data.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    taken = seconds(lambda: model.fit(X, y))
    beyond = resident("VmHWM") - before
    what = f"{form}, {X.shape[0]:,} x {X.shape[1]:,}"
    show(f"{what}: X, MiB", f"{size / 2**20:.0f}")
    show(f"{what}: seconds", f"{taken:.1f}", f"({model.n_iter_} it.)")
    at_most(f"{what}: peak beyond X and y, bytes per row", beyond / n_rows, 300)


def main() -> None:
    """Run all parts, or the one named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000, help="the most rows")
    parser.add_argument("--memory", help="memory alone: float64, float32 or sparse")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.memory:
        memory(options.memory, options.rows)
        return
    names = ("peckorder", "numpy", "numba", "scipy", "scikit-learn")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    for C in (1.0, 100.0):
        explicit(C, options.repeats)
    by_kernel(options.repeats)
    sizes = [10**k for k in range(3, 7) if 10**k <= options.rows]
    by_rows(sizes, 100.0, options.repeats)
    if not Path("/proc/self/clear_refs").exists():
        print("\nno /proc: memory left out")
        return
    print("\nMemory, each in a process of its own, C=100, tol 1e-3", flush=True)
    for form in ("float64", "float32", "sparse"):
        command = [sys.executable, __file__, "--rows", str(options.rows)]
        subprocess.run([*command, "--memory", form], check=True)


if __name__ == "__main__":
    main()
