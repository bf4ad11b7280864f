"""RankBoost on a cluster of processes: what a round costs beside one in this process.

Let nothing else run meanwhile. Workers have one thread each.

    python benchmarks/distributed_rankboost.py --rows 1_000_000 --features 50
"""

import argparse
import os
import warnings
from time import perf_counter

import numpy as np

from peckorder import RankBoost
from peckorder.distributed import fit

QUERY = 100


def problem(n_rows: int, n_features: int) -> tuple[np.ndarray, ...]:
    """Return X, skewed grades and queries of 100 rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    score = X @ rng.standard_normal(n_features) / np.sqrt(n_features)
    y = np.searchsorted([0.0, 0.95, 1.8, 2.65], score + rng.standard_normal(n_rows))
    return X, y, np.arange(n_rows) // QUERY


def timed(action: object) -> float:
    """Return how many seconds a call takes."""
    begin = perf_counter()
    action()  # type: ignore[operator]
    return perf_counter() - begin


def a_round(fit_rounds: object, n_rounds: int) -> tuple[float, float]:
    """Return the seconds before the second round, and those of a round."""
    fit_rounds(1)  # type: ignore[operator]
    before = timed(lambda: fit_rounds(1))  # type: ignore[operator]
    both = timed(lambda: fit_rounds(1 + n_rounds))  # type: ignore[operator]
    return before, (both - before) / n_rounds


def main() -> None:
    """Measure all that was asked for."""
    import dask.array as da

    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 4, 16, 64])
    given = parser.parse_args()
    X, y, qid = problem(given.rows, given.features)
    n_rounds = given.rounds

    def in_process(n: int) -> RankBoost:
        return RankBoost(n_rounds=n, max_bins=255, n_jobs=1).fit(X, y, qid=qid)

    print(
        f"{given.rows:,} rows, {given.features} features, 255 bins, {os.cpu_count()} "
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
                size = QUERY * -(-given.rows // QUERY // n_partitions)
                parts = [
                    da.from_array(column, chunks=(size, *column.shape[1:])).persist()
                    for column in (X, y, qid)
                ]
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
