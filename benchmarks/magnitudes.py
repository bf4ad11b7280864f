"""Speed and memory of MPRank against peers: `make bench`.

Let nothing else run meanwhile. What is said to be on one core wants OMP_NUM_THREADS=1,
which `--personal` sets by itself in a process of its own.
"""

import argparse
import importlib.util
import os
import platform
import resource
import subprocess
import sys
from importlib.metadata import version

import numpy as np
from scipy import linalg
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from measure import at_least, at_most, in_turn, seconds, show
from peckorder import MPRank, MPRankCV


def rows(n_rows: int, n_columns: int, dtype: type = np.float64) -> tuple:
    """Return X and labels that are linear in it but for noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns)).astype(dtype)
    X += rng.standard_normal(n_columns).astype(dtype)
    y = X @ rng.standard_normal(n_columns) + rng.standard_normal(n_rows)
    return X, y


def linear(repeats: int) -> None:
    """Time a linear fit against the product it cannot do without."""
    print("\nLinear, 1,000,000 x 100, float32")
    X, y = rows(1_000_000, 100, np.float32)
    model = MPRank(C=1e6)
    best = in_turn({"product": lambda: X.T @ X, "fit": lambda: model.fit(X, y)}, repeats)
    show("X.T @ X, ms", f"{1e3 * best['product']:.0f}")
    at_most("a fit over X.T @ X", best["fit"] / best["product"], 3)
    exact = MPRank(C=1e6).fit(X.astype(np.float64), y).coef_
    error = np.linalg.norm(model.coef_ - exact) / np.linalg.norm(exact)
    show("relative error of the coefficients", f"{error:.1e}", "<= 1e-6", error <= 1e-6)


def kernel_given(m: int, bound: float, repeats: int) -> None:
    """Time a fit with a kernel matrix against one Cholesky decomposition."""
    X, y = rows(m, 20)
    K = rbf_kernel(X, gamma=0.05)
    shifted = K + np.eye(m)
    ours = MPRank(kernel="precomputed", C=m / 2)
    ridge = KernelRidge(alpha=1.0, kernel="precomputed")
    actions = {
        "cholesky": lambda: linalg.cholesky(shifted, check_finite=False),
        "ours": lambda: ours.fit(K, y),
        "ridge": lambda: ridge.fit(K, y),
    }
    best = in_turn(actions, repeats)
    print(f"\nKernel given, m = {m:,}")
    show("a bare Cholesky decomposition, ms", f"{1e3 * best['cholesky']:.1f}")
    at_most("a fit over it", best["ours"] / best["cholesky"], bound)
    at_least("scikit-learn's KernelRidge over a fit", best["ridge"] / best["ours"], 1)


def rlscore(repeats: int) -> None:
    """Time RLScore's RankRLS, if it is installed."""
    print("\nRLScore, m = 2,000")
    if importlib.util.find_spec("rlscore") is None:
        show("RankRLS", "not installed")
        return
    from rlscore.learner import GlobalRankRLS

    X, y = rows(2_000, 20)
    actions = {
        "theirs": lambda: GlobalRankRLS(
            X, y, regparam=2_000.0, kernel="GaussianKernel", gamma=0.05
        ),
        "ours": lambda: MPRank(kernel="rbf", gamma=0.05, C=1_000.0).fit(X, y),
    }
    best = in_turn(actions, repeats)
    at_least("RankRLS over a fit", best["theirs"] / best["ours"], 10)


def leave_pair_out(repeats: int) -> None:
    """Time exact leave-pair-out errors against what they cannot do without."""
    m = 2_000
    X, y = rows(m, 20)
    K = rbf_kernel(X, gamma=0.05)
    Cs = np.geomspace(1e-2, 1e8, 20)
    chooser = MPRankCV(Cs=Cs, kernel="precomputed")

    def floor() -> None:
        linalg.eigh(K, check_finite=False)
        for _ in Cs:
            K @ K

    best = in_turn({"floor": floor, "ours": lambda: chooser.fit(K, y)}, repeats)
    print("\nExact leave-pair-out, m = 2,000, 20 values of C")
    show("one eigh and 20 products, s", f"{best['floor']:.2f}")
    at_most("ours over it", best["ours"] / best["floor"], 1.5)
    rng, model = np.random.default_rng(0), MPRank(kernel="precomputed", C=m / 2)
    some = 3

    def retrain() -> None:
        for _ in range(some):
            kept = np.delete(np.arange(m), rng.choice(m, 2, replace=False))
            model.fit(K[np.ix_(kept, kept)], y[kept])

    all_pairs = min(seconds(retrain) for _ in range(2)) / some * m * (m - 1) / 2
    ratio = all_pairs * len(Cs) / best["ours"]
    at_least("retraining on all pairs (from three) over ours", ratio, 1_000)


def personal() -> None:
    """Time a thousand small problems."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1_000, 100, 300)), rng.integers(1, 6, (1_000, 100))
    model = MPRank(kernel="rbf", C=50.0)
    model.fit(X[0], y[0])

    def all_of_them() -> None:
        for one, ratings in zip(X, y, strict=True):
            model.fit(one, ratings)

    taken = min(seconds(all_of_them) for _ in range(3))
    print("\n1,000 personal problems, 100 rated items x 300 features, RBF, one core")
    at_most("all fits, s", taken, 3)


def large() -> None:
    """Fit an RBF kernel of 50,000 rows; say what memory it takes."""
    X, y = rows(50_000, 10)
    model = MPRank(kernel="rbf", gamma=0.05, C=1e4, solver="cg", tol=1e-4)
    taken = seconds(lambda: model.fit(X, y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print("\nRBF kernel, m = 50,000, conjugate gradients")
    at_most("peak of the process, GiB", peak, 2)
    show("iterations", f"{model.n_iter_}")
    show("seconds", f"{taken:.0f}")


def alone(part: str) -> None:
    """Run a part in a process of its own, on one core."""
    one_core = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, __file__, part], check=True, env=one_core)


def main() -> None:
    """Run all parts, or the one named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--personal", action="store_true", help="small problems alone")
    parser.add_argument("--large", action="store_true", help="50,000 rows alone")
    options = parser.parse_args()
    if options.personal:
        personal()
        return
    if options.large:
        large()
        return
    names = ("peckorder", "numpy", "scipy", "scikit-learn", "numba")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    linear(options.repeats)
    kernel_given(1_000, 1.5, 4 * options.repeats)
    kernel_given(5_000, 1.25, max(2, options.repeats // 2))
    rlscore(options.repeats)
    leave_pair_out(max(2, options.repeats // 2))
    alone("--personal")
    alone("--large")


if __name__ == "__main__":
    main()
