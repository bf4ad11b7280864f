"""Speed and memory of ensembles and kernels against peers: `make bench`.

Let nothing else run meanwhile.
"""

import argparse
import os
import platform
import tracemalloc
from importlib.metadata import version

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDRegressor
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from measure import at_least, grades, in_turn, show
from peckorder import AggregatePRank, PRank

CLASSES = np.arange(5)
PAPER = {"fit_intercept": False, "unit_norm": False}


def numpy_ensemble(X: np.ndarray, y: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Learn by all members at once: no loop but that over the rows."""
    n_members, n_thresholds = masks.shape[1], CLASSES.size - 1
    weights = np.zeros((n_members, X.shape[1]))
    thresholds = np.zeros((n_members, n_thresholds))
    places = np.arange(n_thresholds)
    for x, truth, coin in zip(X, y, masks, strict=True):
        member = np.flatnonzero(coin)
        score, cuts = weights[member] @ x, thresholds[member]
        wrong = (score[:, np.newaxis] >= cuts).sum(axis=1) != truth
        member, score, cuts = member[wrong], score[wrong, np.newaxis], cuts[wrong]
        side = np.where(truth > places, 1.0, -1.0)
        moves = np.where((score - cuts) * side <= 0, side, 0.0)
        weights[member] += moves.sum(axis=1)[:, np.newaxis] * x
        thresholds[member] = cuts - moves
    return thresholds


def linear(repeats: int, n_rows: int, n_members: int = 100, tau: float = 0.3) -> None:
    """One pass of a linear ensemble."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 100))
    y = grades(X @ rng.standard_normal(100), rng)
    target = y.astype(float)
    some = n_rows // 50
    options = {"n_estimators": n_members, "tau": tau, "random_state": 0, **PAPER}

    def learn(X: np.ndarray, y: np.ndarray, **more: object) -> AggregatePRank:
        return AggregatePRank(**options, **more).partial_fit(X, y, classes=CLASSES)

    model = learn(X[:some], y[:some])
    masks = model._learner.masks(slice(0, n_members), -some, some)
    theirs = numpy_ensemble(X[:some], y[:some], masks)
    same = np.array_equal(theirs, model.member_thresholds_)
    times = in_turn(
        {
            "one": lambda: learn(X, y, n_jobs=1),
            "all": lambda: learn(X, y),
            "sgd": lambda: SGDRegressor().partial_fit(X, target),
            "sgd fit": lambda: SGDRegressor().fit(X, target),
            "prank": lambda: PRank(rule="last", **PAPER).partial_fit(X, y, classes=CLASSES),
        },
        repeats,
    )
    times |= in_turn({"numpy": lambda: numpy_ensemble(X[:some], y[:some], masks)}, 3)
    model = learn(X, y)
    offered = model.votes_.sum() + model.n_mistakes_
    print(
        f"\n{n_members} members, tau {tau}, {n_rows:,} x 100 float64, 5 classes, "
        f"{model.n_mistakes_ / offered:.0%} mistakes, one pass"
    )
    show("seconds, all cores", f"{times['all']:.3f}")
    show("ns per member and row offered, one core", f"{times['one'] / offered * 1e9:.1f}")
    show("one core: time over all cores", f"{times['one'] / times['all']:.2f}")
    show("one PRank: time over the ensemble", f"{times['prank'] / times['all']:.3f}")
    what = "NumPy over members (a fiftieth of the rows), a row, over all cores"
    at_least(what, 50 * times["numpy"] / times["all"], 60)
    show("its thresholds are ours", "yes" if same else "NO")
    what = "SGDRegressor.partial_fit, one pass: time over all cores"
    at_least(what, times["sgd"] / times["all"], 1)
    what = "SGDRegressor().fit, as many passes as it takes: time over all cores"
    at_least(what, times["sgd fit"] / times["all"], 1)


def numpy_kernel(X: object, y: np.ndarray, function: object) -> list[int]:
    """Learn by PRank with a kernel: NumPy inside a round, Python between rounds."""
    support: list[int] = []
    coef: list[float] = []
    thresholds = np.zeros(CLASSES.size - 1)
    places = np.arange(thresholds.size)
    for i, truth in enumerate(y):
        score = 0.0
        if support:
            score = float(function(X[[i]], X[support])[0] @ coef)
        if (score >= thresholds).sum() == truth:
            continue
        side = np.where(truth > places, 1.0, -1.0)
        moves = np.where((score - thresholds) * side <= 0, side, 0.0)
        thresholds -= moves
        if moves.sum():
            support.append(i)
            coef.append(moves.sum())
    return support


def kernels(repeats: int, n_rows: int) -> None:
    """PRank with kernels: what a round costs for each row of the support."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 20))
    y = grades(np.sin(X[:, 0]) + X[:, 1] * X[:, 2], rng)
    wide = sparse.random_array(
        (n_rows, 10_000), density=0.002, format="csr", rng=rng, dtype=np.float64
    )
    cases = {
        "dense, 20 features, rbf": (X, "rbf", rbf_kernel, {"gamma": 0.05}),
        "dense, 20 features, poly, degree 5": (
            X,
            "poly",
            polynomial_kernel,
            {"gamma": 0.05, "coef0": 1.0, "degree": 5},
        ),
        "CSR, 10,000 features, 20 a row, rbf": (wide, "rbf", rbf_kernel, {"gamma": 0.5}),
    }
    print(f"\nPRank with a kernel, last rule, {n_rows:,} rows, 5 classes, one pass")
    for what, (rows, name, function, options) in cases.items():
        for size in (n_rows // 4, n_rows):

            def learn(
                rows: object = rows, name: str = name, n: int = size, o: dict = options
            ) -> PRank:
                return PRank(rule="last", kernel=name, **o, **PAPER).fit(rows[:n], y[:n])

            model = learn()
            seconds = in_turn({"": learn}, repeats)[""]
            held = np.searchsorted(np.sort(model.support_), np.arange(size)).sum()
            per = seconds / held * 1e9
            show(f"{what}: ns per row and support, {size:,} rows", f"{per:.1f}")

        def peer(rows: object = rows, f: object = function, o: dict = options) -> list:
            return numpy_kernel(rows[: n_rows // 4], y[: n_rows // 4], lambda a, b: f(a, b, **o))

        def ours(rows: object = rows, name: str = name, o: dict = options) -> PRank:
            return PRank(rule="last", kernel=name, **o, **PAPER).fit(
                rows[: n_rows // 4], y[: n_rows // 4]
            )

        times = in_turn({"peer": peer, "ours": ours}, 3)
        ratio = times["peer"] / times["ours"]
        show(f"{what}: scikit-learn's, row by row, over ours", f"{ratio:.1f}")
        equal = peer() == ours().support_.tolist()
        show("its support is ours", "yes" if equal else "NO")


def memory() -> None:
    """Peak memory of a pass beyond the data, for more and more members."""
    print("\nPeak memory of fit beyond the data, 20,000 x 100 float64, 5 classes")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20_000, 100)), rng.integers(0, 5, 20_000)
    AggregatePRank(n_estimators=2).fit(X, y)
    for n_members in (100, 1000, 4000):
        tracemalloc.start()
        model = AggregatePRank(n_estimators=n_members, tau=0.1).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        size = model.member_coef_.nbytes + model.member_thresholds_.nbytes
        what = f"{n_members:,} members ({size / 2**20:.1f} MiB of weights)"
        show(what, f"{peak / 2**20:.1f} MiB")


def main() -> None:
    """Run all of it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    names = ("peckorder", "numpy", "numba", "scikit-learn")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    linear(options.repeats, options.rows)
    kernels(max(1, options.repeats // 8), options.rows // 25)
    memory()


if __name__ == "__main__":
    main()
