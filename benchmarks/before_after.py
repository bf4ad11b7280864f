"""Time two versions of peckorder in turn, to see whether a change costs anything.

    python benchmarks/before_after.py OTHER/src src

Each version runs in a process of its own; every case is timed in one, then in the
other, so that both see the same machine. Shown are the least times and their ratio.
Let nothing else run meanwhile.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from time import perf_counter

COLD = {
    "PRank": "peckorder.PRank().fit(X, y)",
    "RankBoost": "peckorder.RankBoost(n_rounds=5).fit(X, y)",
    "MPRank": "peckorder.MPRank().fit(X, y)",
    "disagreement": "peckorder.metrics.disagreement(y, X[:, 0])",
}


def cases():
    """Return a function without arguments for every case, by name."""
    import numpy as np
    from scipy import sparse

    from peckorder import (
        AggregatePRank,
        MPRank,
        MPRankCV,
        PRank,
        RankBoost,
        SVRank,
        WidrowHoff,
        metrics,
    )

    rng = np.random.default_rng(0)

    def online(n, d):
        X = rng.normal(size=(n, d))
        return X, np.digitize(X @ rng.normal(size=d), [-4.0, -1.0, 1.0, 4.0])

    X, y = online(1_000_000, 20)
    few, few_y = X[:100_000], y[:100_000]
    csr = sparse.random_array((200_000, 1_000), density=0.02, format="csr", rng=rng)
    csr_y = np.arange(200_000) % 5
    paper = {"rule": "last", "fit_intercept": False, "unit_norm": False}
    fitted = PRank().fit(few, few_y)

    def graded(n, d):
        Z = rng.normal(size=(n, d)).astype(np.float32)
        grade = np.digitize(Z[:, 0] + rng.normal(size=n), [0.5, 1.5])
        return Z, grade, np.arange(n) // 100

    small, large = graded(10_000, 50), graded(120_000, 136)

    def boost(data, **options):
        Z, grade, qid = data
        return lambda: RankBoost(**options).fit(Z, grade, qid=qid)

    wide = rng.normal(size=(1_000_000, 100)).astype(np.float32)
    value = wide[:, 0] + rng.normal(size=1_000_000)
    F = rng.normal(size=(5_000, 30))
    K = F @ F.T
    labels = F[:, 0] + rng.normal(size=5_000)
    gram, target = K[:1_000, :1_000].copy(), labels[:1_000]
    mprank = MPRank(kernel="precomputed").fit(gram, target)
    n = 10_000_000
    grades, reals = rng.integers(0, 5, n).astype(float), rng.normal(size=n)
    scores = rng.normal(size=n)
    tied = np.round(scores, 2)
    million, qid = 1_000_000, np.arange(1_000_000) // 1_000

    def people():
        for start in range(0, 2_000, 20):
            rows = slice(start, start + 20)
            MPRankCV().fit(F[rows], labels[rows])

    return {
        "online: last, dense": lambda: PRank(**paper).fit(X, y),
        "online: averaged, dense": lambda: PRank().fit(X, y),
        "online: voted, dense": lambda: PRank(rule="voted").fit(few, few_y),
        "online: averaged, CSR": lambda: PRank().fit(csr, csr_y),
        "online: Widrow-Hoff": lambda: WidrowHoff().fit(X, y),
        "online: predict": lambda: fitted.predict(X),
        "online: one row at a time": lambda: [fitted.predict(few[i : i + 1]) for i in range(500)],
        "online: 100 members": lambda: AggregatePRank(random_state=0).fit(few, few_y),
        "rankboost: 10,000 x 50": boost(small, n_rounds=200, max_bins=255),
        "rankboost: every value": boost(small, n_rounds=100),
        "rankboost: analytic": boost(small, n_rounds=50, alpha="analytic", max_bins=255),
        "rankboost: 120,000 x 136": boost(large, n_rounds=50, max_bins=255),
        "magnitudes: linear": lambda: MPRank().fit(wide, value),
        "magnitudes: kernel of 1,000": lambda: MPRank(kernel="precomputed").fit(gram, target),
        "magnitudes: kernel of 5,000": lambda: MPRank(kernel="precomputed").fit(K, labels),
        "magnitudes: leave pair out": mprank.leave_pair_out_error,
        "magnitudes: 100 people": people,
        "magnitudes: SVRank": lambda: SVRank().fit(F, labels),
        "metrics: list of grades": lambda: metrics.disagreement(grades, scores),
        "metrics: list of reals": lambda: metrics.disagreement(reals, scores),
        "metrics: list with ties": lambda: metrics.disagreement(grades, tied),
        "metrics: ndcg@10 of 1,000 queries": lambda: metrics.ndcg(
            grades[:million], scores[:million], qid=qid, k=10
        ),
        "metrics: kendall_tau": lambda: metrics.kendall_tau(reals[:million], scores[:million]),
        "metrics: one short list": lambda: [
            metrics.ndcg(grades[:20], scores[:20]) for _ in range(200)
        ],
    }


def child():
    """Time what is asked for, one repetition at a time."""
    table = cases()
    for call in table.values():
        call()
    print(json.dumps(list(table)), flush=True)
    for line in sys.stdin:
        call = table[json.loads(line)]
        begin = perf_counter()
        call()
        print(json.dumps(perf_counter() - begin), flush=True)


def start(source, folder):
    """Start a process that has one of the versions."""
    environment = os.environ | {"PYTHONPATH": source, "NUMBA_CACHE_DIR": folder}
    command = [sys.executable, __file__, "--child"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)


def cold(source, statement):
    """Return the seconds of a first fit with nothing compiled yet."""
    program = (
        "from time import perf_counter\nimport numpy as np, peckorder\n"
        "X = np.random.default_rng(0).normal(size=(100, 5))\ny = np.arange(100) % 5\n"
        f"begin = perf_counter()\n{statement}\nprint(perf_counter() - begin)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": source, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def show(name, times):
    """Print the least times of both, in milliseconds, and their ratio."""
    before, after = (min(t) for t in times)
    ratio = after / before
    print(f"| {name} | {1e3 * before:.1f} | {1e3 * after:.1f} | {ratio:.3f} |", flush=True)


def main():
    """Compare two versions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", help="folders that hold a peckorder each")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--cold", type=int, default=2, help="first fits of each kind")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        child()
        return
    print("| case | before, ms | after, ms | ratio |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        both = [start(s, f) for s, f in zip(options.sources, (a, b), strict=True)]
        names, _ = (json.loads(process.stdout.readline()) for process in both)
        for name in (n for n in names if options.only in n):
            times = [[], []]
            for _ in range(options.repeats):
                for process, taken in zip(both, times, strict=True):
                    process.stdin.write(json.dumps(name) + "\n")
                    process.stdin.flush()
                    taken.append(json.loads(process.stdout.readline()))
            show(name, times)
        for process in both:
            process.stdin.close()
            process.wait()
    for name, statement in COLD.items() if options.cold else ():
        times = [[], []]
        for _ in range(options.cold):
            for source, taken in zip(options.sources, times, strict=True):
                taken.append(cold(source, statement))
        show(f"first fit, nothing compiled: {name}", times)


if __name__ == "__main__":
    main()
