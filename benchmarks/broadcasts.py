"""What a question to all workers takes, and nothing else: `Client.run` on 2 to 50.

All workers share this machine with the driver and the scheduler, so that with more
workers than processors the time is theirs as well: more than it would be elsewhere.

    python benchmarks/broadcasts.py
"""

import argparse
import asyncio
import os
import time
from typing import Any

import numpy as np

COLUMNS, BINS = 30, 256


async def answer(n_columns: int) -> Any:
    """Return sums of some columns, from a thread, as a shard does."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, np.zeros, (n_columns, BINS), np.int64)


def milliseconds(client: Any, n_columns: int, n_questions: int) -> float:
    """Return what a question takes."""
    workers = sorted(client.nthreads())
    for _ in range(3):
        client.run(answer, n_columns, workers=workers)
    begin = time.perf_counter()
    for _ in range(n_questions):
        client.run(answer, n_columns, workers=workers)
    return 1e3 * (time.perf_counter() - begin) / n_questions


def main() -> None:
    """Measure all sizes."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 10, 25, 50])
    parser.add_argument("--questions", type=int, default=50)
    given = parser.parse_args()
    print(f"{os.cpu_count()} processors; milliseconds a question, by what is answered")
    print(f"{'workers':>8}{'nothing':>12}{f'{COLUMNS} columns':>14}")
    for n_workers in given.workers:
        cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        )
        with cluster, Client(cluster) as client:
            client.wait_for_workers(n_workers)
            time.sleep(3)  # for what workers do first
            each = [milliseconds(client, k, given.questions) for k in (0, COLUMNS)]
            print(f"{n_workers:>8}{each[0]:>12.1f}{each[1]:>14.1f}", flush=True)


if __name__ == "__main__":
    main()
