"""Speed of the metrics of orders against peers: `make bench`.

Let nothing else run meanwhile.
"""

import argparse
import os
import platform
import warnings
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score

from measure import at_least, at_most, grades, in_turn, show
from peckorder.metrics import average_precision, disagreement, kendall_tau, ndcg

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def one_list(repeats: int, n_rows: int) -> None:
    """Count the pairs of one very long list."""
    rng = np.random.default_rng(0)
    score = rng.standard_normal(n_rows)
    graded = grades(score, rng)
    real = score + rng.standard_normal(n_rows)
    tied = np.round(score, 2)
    times = in_turn(
        {
            "argsort": lambda: np.argsort(score),
            "graded": lambda: disagreement(graded, score),
            "real": lambda: disagreement(real, score),
            "tied": lambda: disagreement(real, tied),
            "argsort, tied": lambda: np.argsort(tied),
        },
        repeats,
    )
    print(f"\nOne list of {n_rows:,} rows")
    show("np.argsort, seconds", f"{times['argsort']:.2f}")
    what = "disagreement, {}: time over np.argsort"
    at_most(what.format("5 grades"), times["graded"] / times["argsort"], 4)
    at_most(what.format("real truths"), times["real"] / times["argsort"], 4)
    ratio = times["tied"] / times["argsort, tied"]
    show(what.format("real truths, scores of two decimals"), f"{ratio:.2f}")


def queries(n_queries: int, n_rows: int) -> Columns:
    """Return truths, scores and queries of as many rows each, without ties."""
    rng = np.random.default_rng(0)
    score = rng.standard_normal(n_queries * n_rows)
    return grades(score, rng), score, np.repeat(np.arange(n_queries), n_rows)


def pairs(repeats: int, columns: Columns, n_queries: int) -> None:
    """Compare with SciPy, query by query; real truths, so that tau is the same."""
    _, score, qid = columns
    real = score + np.random.default_rng(1).standard_normal(score.size)
    graded = columns[0]
    shape = n_queries, -1

    def scipys(truth: np.ndarray) -> list[float]:
        rows = zip(truth.reshape(shape), score.reshape(shape), strict=True)
        return [kendalltau(*row).statistic for row in rows]

    times = in_turn(
        {
            "ours": lambda: disagreement(graded, score, qid=qid),
            "scipy": lambda: scipys(graded),
            "ours, real": lambda: disagreement(real, score, qid=qid),
            "scipy, real": lambda: scipys(real),
        },
        repeats,
    )
    what = "scipy.stats.kendalltau, query by query, {}: time over ours"
    at_least(what.format("5 grades"), times["scipy"] / times["ours"], 4)
    at_least(what.format("reals"), times["scipy, real"] / times["ours, real"], 4)
    ours = kendall_tau(real, score, qid=qid, per_query=True)
    agree = np.allclose(ours, scipys(real), rtol=0, atol=1e-12)
    show("its tau is ours", "yes" if agree else "NO")


def tops(repeats: int, columns: Columns, n_queries: int) -> None:
    """Compare gains and precisions with ranx and scikit-learn."""
    truth, score, qid = columns
    shape = n_queries, -1

    def both(scores: np.ndarray = score) -> tuple[float, float]:
        return ndcg(truth, scores, qid=qid), average_precision(truth, scores, qid=qid)

    tied = np.round(score, 2)
    actions = {
        "ours": both,
        "ours, tied": lambda: both(tied),
        "ndcg": lambda: ndcg(truth, score, qid=qid),
        "sklearn": lambda: ndcg_score(truth.reshape(shape), score.reshape(shape)),
        "sklearn, no ties": lambda: ndcg_score(
            truth.reshape(shape), score.reshape(shape), ignore_ties=True
        ),
    }
    has_ranx = find_spec("ranx") is not None
    if has_ranx:
        actions["ranx"] = ranx_evaluation(columns, n_queries)
    times = in_turn(actions, repeats)
    show("ndcg and average_precision, seconds", f"{times['ours']:.3f}")
    show("the same with scores of two decimals, seconds", f"{times['ours, tied']:.3f}")
    if has_ranx:
        what = "ranx.evaluate of both, its objects ready: time over ours"
        at_least(what, times["ranx"] / times["ours"], 4)
        theirs = actions["ranx"]()
        agree = np.allclose(both(), [theirs["ndcg"], theirs["map"]], rtol=1e-9)
        show("its values are ours", "yes" if agree else "NO")
    else:
        print("ranx is not installed: left out")
    what = "sklearn ndcg_score of the rectangle: time over {}"
    at_least(what.format("ours of both"), times["sklearn"] / times["ours"], 1)
    at_least(what.format("our ndcg"), times["sklearn"] / times["ndcg"], 1)
    what = "sklearn ndcg_score that ignores ties: time over our ndcg"
    show(what, f"{times['sklearn, no ties'] / times['ndcg']:.2f}")
    theirs = ndcg_score(truth.reshape(shape), tied.reshape(shape))
    agree = np.isclose(ndcg(truth, tied, qid=qid), theirs, rtol=1e-12)
    show("its value with ties is ours", "yes" if agree else "NO")


def ranx_evaluation(columns: Columns, n_queries: int) -> object:
    """Return a call of ranx with its objects ready."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import Qrels, Run, evaluate

    truth, score, _ = columns
    shape = n_queries, -1
    names = [f"d{i}" for i in range(truth.size // n_queries)]

    def nested(values: np.ndarray) -> dict[str, dict[str, float]]:
        return {
            f"q{q}": dict(zip(names, row, strict=True))
            for q, row in enumerate(values.reshape(shape).tolist())
        }

    qrels, run = Qrels(nested(truth)), Run(nested(score))
    return lambda: evaluate(qrels, run, ["ndcg", "map"])


def main() -> None:
    """Run all of it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=1_000)
    options = parser.parse_args()
    names = ("peckorder", "numpy", "numba", "scipy", "scikit-learn")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    columns = queries(options.queries, 1_000)
    print(f"\n{options.queries:,} queries of 1,000 rows")
    pairs(options.repeats, columns, options.queries)
    tops(options.repeats, columns, options.queries)
    one_list(options.repeats, options.rows)


if __name__ == "__main__":
    main()
