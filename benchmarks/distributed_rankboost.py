"""RankBoost on a cluster of processes: what a round costs beside one in this process.

Let nothing else run meanwhile. Workers have one thread each.

    python benchmarks/distributed_rankboost.py --rows 1_000_000 --features 50
"""

import argparse
import os
import warnings
from time import perf_counter
from typing import Any

import numpy as np

from peckorder import RankBoost
from peckorder.distributed import fit

QUERY = 100


def problem(n_rows: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return X, skewed grades and queries of 100 rows; the seed shifts the queries."""
    weight = np.random.default_rng(0).standard_normal(n_features)
    rng = np.random.default_rng([1, seed])
    X = rng.standard_normal((n_rows, n_features))
    score = X @ weight / np.sqrt(n_features)
    y = np.searchsorted([0.0, 0.95, 1.8, 2.65], score + rng.standard_normal(n_rows))
    return X, y, (seed * n_rows + np.arange(n_rows)) // QUERY


def partitions_of(n_partitions: int, n_pieces: int, *size: int) -> list[Any]:
    """Return X, y and qid whose rows are made where they are to be, and stay there."""
    import dask
    import dask.array as da

    each = n_pieces // n_partitions

    def partition(first: int) -> list[np.ndarray]:
        pieces = [problem(*size, seed) for seed in range(first, first + each)]
        return [np.concatenate(columns) for columns in zip(*pieces, strict=True)]

    made = [dask.delayed(partition, nout=3)(each * k) for k in range(n_partitions)]
    n_rows, n_features = each * size[0], size[1]
    shapes = [(n_rows, n_features), (n_rows,), (n_rows,)]
    dtypes = [np.float64, np.int64, np.int64]
    return list(
        dask.persist(
            *(
                da.concatenate([da.from_delayed(part[c], shapes[c], dtypes[c]) for part in made])
                for c in range(3)
            )
        )
    )


def timed(action: Any) -> float:
    """Return how many seconds a call takes."""
    begin = perf_counter()
    action()
    return perf_counter() - begin


def a_round(fit_rounds: Any, n_rounds: int) -> tuple[float, float]:
    """Return the seconds before the second round, and those of a round."""
    fit_rounds(1)
    before = timed(lambda: fit_rounds(1))
    both = timed(lambda: fit_rounds(1 + n_rounds))
    return before, (both - before) / n_rounds


def main() -> None:
    """Measure all that was asked for."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 4, 16, 64])
    given = parser.parse_args()
    n_rounds, n_pieces = given.rounds, max(given.partitions)
    size = QUERY * -(-given.rows // QUERY // n_pieces), given.features
    pieces = [problem(*size, seed) for seed in range(n_pieces)]
    X, y, qid = map(np.concatenate, zip(*pieces, strict=True))
    del pieces

    def in_process(n: int) -> RankBoost:
        return RankBoost(n_rounds=n, max_bins=255, n_jobs=1).fit(X, y, qid=qid)

    print(
        f"{len(X):,} rows, {given.features} features, 255 bins, {os.cpu_count()} "
        "processors; n_jobs=1, workers of one thread"
    )
    print("workers partitions  before (s)  a round (ms)  questions  columns   bytes")
    expected = in_process(1 + n_rounds)
    before, each = a_round(in_process, n_rounds)
    print(f"in this process    {before:>12.2f}  {1e3 * each:>12.2f}")
    warnings.filterwarnings("ignore", message="Port")
    for n_workers in given.workers:
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
        )
        with cluster, Client(cluster) as client:
            for n_partitions in given.partitions:
                parts = partitions_of(n_partitions, n_pieces, *size)
                model = RankBoost(max_bins=255)

                def on_cluster(n: int, parts: list = parts, model=model) -> None:
                    model.set_params(n_rounds=n)
                    fit(model, parts[0], parts[1], qid=parts[2], client=client)

                before, each = a_round(on_cluster, n_rounds)
                assert (model.weak_rankers_ == expected.weak_rankers_).all()
                assert (model.bounds_ == expected.bounds_).all()
                traffic = model.traffic_
                there = min(n_workers, n_partitions)
                formula = 10 + traffic["questions"] + traffic["columns"] * 256
                assert (traffic["bytes"] == 8 * there * formula).all()
                mean = {name: traffic[name].mean() for name in traffic.dtype.names}
                print(
                    f"{n_workers:>7} {n_partitions:>10} {before:>11.2f}  "
                    f"{1e3 * each:>12.2f} {mean['questions']:>10.2f} "
                    f"{mean['columns']:>8.1f} {mean['bytes']:>8,.0f}",
                    flush=True,
                )
    print("All models are equal; bytes are 8 W (10 + q + 256 k), as counted.")


if __name__ == "__main__":
    main()
