"""Speed and memory of RankBoost against peers: `make bench`.

Let nothing else run meanwhile. With RANKLIB_JAR naming a RankLib jar, and java at hand,
RankLib's RankBoost is timed too.
"""

import argparse
import os
import platform
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import lightgbm
import numpy as np
import xgboost
from scipy import sparse

from measure import at_least, at_most, in_turn, seconds, show
from peckorder import RankBoost
from peckorder._core.threads import Team
from peckorder.boosting.columns import cut_columns
from peckorder.datasets import dump_letor


def documents(n_rows: int, n_features: int, n_queries: int) -> tuple[np.ndarray, ...]:
    """Return X, skewed grades 0..4 and queries of equal size."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    score = X @ rng.standard_normal(n_features) / np.sqrt(n_features)
    score += rng.standard_normal(n_rows)
    y = np.searchsorted(np.quantile(score, [0.5, 0.75, 0.9, 0.97]), score)
    return X, y, np.repeat(np.arange(n_queries), n_rows // n_queries)


def a_round(fit: Callable[[int], object], many: int) -> tuple[Callable, Callable]:
    """Return fits of one round and of many, whose difference is what rounds cost."""
    return lambda: fit(1), lambda: fit(1 + many)


def peers(X: np.ndarray, y: np.ndarray, qid: np.ndarray, n_jobs: int) -> dict:
    """Return fits by the number of trees, their data ready."""
    sizes = np.unique(qid, return_counts=True)[1]
    threads = {"verbose": -1, "num_threads": n_jobs, "max_bin": 255}
    table = lightgbm.Dataset(X, y, group=sizes, params=threads)
    table.construct()
    matrix = xgboost.QuantileDMatrix(X, y, qid=qid, max_bin=256, nthread=n_jobs)
    stump = threads | {"objective": "lambdarank", "num_leaves": 2}
    tree = {
        "objective": "rank:pairwise",
        "max_depth": 1,
        "nthread": n_jobs,
        "tree_method": "hist",
        "verbosity": 0,
    }
    return {
        "LightGBM": lambda n: lightgbm.train(stump, table, n),
        "XGBoost": lambda n: xgboost.train(tree, matrix, n),
    }


def cut(X: np.ndarray, n_jobs: int) -> None:
    """Bin the columns of X, as a fit does."""
    with Team(n_jobs) as team:
        cut_columns(X, np.arange(len(X)), unstored=True, max_bins=255, team=team)


def graded(n_rows: int, n_features: int, n_queries: int, repeats: int) -> None:
    """Time rounds on graded documents."""
    X, y, qid = documents(n_rows, n_features, n_queries)
    print(f"\n{n_rows:,} documents x {n_features}, {n_queries:,} queries, grades 0..4")
    of_one = 0.0
    for n_jobs in (1, 2):
        fits = peers(X, y, qid, n_jobs)

        def ours(n: int, max_bins: int | None = 255, n_jobs: int = n_jobs) -> object:
            model = RankBoost(n_rounds=n, max_bins=max_bins, n_jobs=n_jobs)
            return model.fit(X, y, qid=qid)

        fits["ours"] = ours
        fits["ours, every value a threshold"] = lambda n, f=ours: f(n, None)
        fits["ours, rate 0.1"] = lambda n, j=n_jobs: RankBoost(
            n_rounds=n, max_bins=255, n_jobs=j, learning_rate=0.1
        ).fit(X, y, qid=qid)
        many = {name: 20 if name in {"LightGBM", "XGBoost"} else 100 for name in fits}
        actions = {}
        for name, fit in fits.items():
            actions[name, 0], actions[name, 1] = a_round(fit, many[name])
        best = in_turn(actions, repeats)
        cost = {n: (best[n, 1] - best[n, 0]) / many[n] for n in fits}
        of_one = cost["ours"] if n_jobs == 1 else of_one
        show(f"a round on {n_jobs} threads, ms", f"{1e3 * cost['ours']:.3f}")
        for name in ("ours, rate 0.1", "ours, every value a threshold"):
            show(f"the same, {name[6:]}, ms", f"{1e3 * cost[name]:.3f}")
        for name in ("LightGBM", "XGBoost"):
            at_least(f"{name}'s tree over our round", cost[name] / cost["ours"], 8)
        binning = min(seconds(partial(cut, X, n_jobs)) for _ in range(8))
        if n_rows > 100_000:
            at_most("binning, in rounds", binning / cost["ours"], 50)
        ready = best["ours", 0] - cost["ours"]
        show("all before the first round, in rounds", f"{ready / cost['ours']:.0f}")
    if "RANKLIB_JAR" in os.environ and shutil.which("java") and n_rows <= 10_000:
        theirs = ranklib(X, y, qid)
        show("a round of RankLib, ms", f"{1e3 * theirs:.1f}")
        at_least("RankLib's round over ours on one thread", theirs / of_one, 100)


def ranklib(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> float:
    """Return the seconds of a round of RankLib, with ten thresholds a feature."""

    def train(path: Path, rounds: int) -> float:
        command = ["java", "-jar", os.environ["RANKLIB_JAR"], "-train", str(path)]
        command += ["-ranker", "2", "-round", str(rounds), "-tc", "10"]
        return seconds(lambda: subprocess.run(command, check=True, capture_output=True))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        dump_letor(X, y, path, qid=qid)
        few, many = (min(train(path, n) for _ in range(3)) for n in (10, 60))
        return (many - few) / 50


def one_person(repeats: int) -> None:
    """Time a fit on what one person rated, ranked by two thousand others."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 6, (50, 2000)).astype(float)
    rated = rng.random(X.shape) < 0.15
    X = sparse.csr_matrix((X[rated], np.nonzero(rated)), X.shape)
    y = rng.integers(1, 6, 50)
    print(f"\n50 rated items, 2,000 viewers, {X.nnz:,} ratings, 240 rounds")
    model = RankBoost(n_rounds=240, missing="abstain")
    best = in_turn({"fit": lambda: model.fit(X, y)}, 10 * repeats)
    at_most("a fit, ms", 1e3 * best["fit"], 20)
    show("rounds made", f"{model.n_rounds_}")


def by_entries(repeats: int) -> None:
    """Show that a round costs in proportion to the entries stored."""
    print("\nCost of a round by entries stored (sparse, 20,000 rows x 200, abstaining)")
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 5, 20_000), np.repeat(np.arange(200), 100)
    fits = {}
    for times in (1, 2, 4, 8):
        X = sparse.random(20_000, 200, 0.02 * times, "csr", random_state=0)

        def fit(n: int, X: sparse.csr_matrix = X) -> object:
            model = RankBoost(n_rounds=n, missing="abstain", n_jobs=1)
            return model.fit(X, y, qid=qid)

        fits[times], fits[times, "many"] = a_round(fit, 50)
        fits[times, "entries"] = lambda X=X: X.nnz
    best = in_turn(fits, repeats)
    for times in (1, 2, 4, 8):
        cost = (best[times, "many"] - best[times]) / 50
        show(f"{times} x {80_000:,} entries, ms per round", f"{1e3 * cost:.3f}")


def methods(repeats: int) -> None:
    """Show what the exact choice by Z costs."""
    X, y, qid = documents(10_000, 50, 100)
    fits = {}
    for alpha in ("approximate", "numeric", "analytic"):

        def fit(n: int, alpha: str = alpha) -> object:
            model = RankBoost(n_rounds=n, alpha=alpha, n_jobs=1, learning_rate=1.0)
            return model.fit(X, y, qid=qid)

        fits[alpha, 0], fits[alpha, 1] = a_round(fit, 20)
    best = in_turn(fits, repeats)
    cost = {a: (best[a, 1] - best[a, 0]) / 20 for a, _ in fits}
    print("\nMethods, every value a threshold, 10,000 x 50")
    for alpha in ("numeric", "analytic"):
        ratio = cost[alpha] / cost["approximate"]
        at_most(f"a round of {alpha!r} over one of 'approximate'", ratio, 10)


def memory(max_bins: int | None) -> None:
    """Show what a fit needs beyond X."""
    X, y, qid = documents(120_000, 136, 1000)
    model = RankBoost(n_rounds=50, max_bins=max_bins)
    model.fit(X[:2000], y[:2000], qid=qid[:2000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model.fit(X, y, qid=qid)
    beyond = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    how = "every value a threshold" if max_bins is None else f"{max_bins} bins"
    print(f"\nMemory, 120,000 x 136, {how} (in a process of its own)")
    show("peak beyond X, MiB", f"{beyond / 1024:.0f}")
    show("the same, bytes per entry", f"{1024 * beyond / X.size:.1f}")


def main() -> None:
    """Run all parts, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", type=int, help="memory alone; bins, or 0")
    options = parser.parse_args()
    if options.memory is not None:
        memory(options.memory or None)
        return
    names = ("peckorder", "numpy", "numba", "lightgbm", "xgboost")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    graded(10_000, 50, 100, options.repeats)
    graded(120_000, 136, 1000, max(2, options.repeats // 2))
    one_person(options.repeats)
    by_entries(options.repeats)
    methods(options.repeats)


if __name__ == "__main__":
    main()
