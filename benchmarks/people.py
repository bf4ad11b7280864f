"""A ranker for every person of MovieLens: time, people a second, memory, bytes.

    python benchmarks/people.py --data DIR [--set 1m] [--people 6040] [--jobs 1 2]

reads `ml-1m` or `ml-100k` below DIR, which is PECKORDER_DATA unless given. Each line of
the table is a program of its own, so that memory is its own too: the most that the
driver, and the largest of its processes, held at a time; in brackets what that process
has to itself, since processes of one machine share what is learnt from everybody.
What PersonalRanker shares is learnt before the clock starts, and told beside. RankBoost
takes its time, and is given `--boost-people`. With `--dask`, workers of a LocalCluster
do the same. A fifth of each person's ratings is held out and measured on.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

from peckorder import MPRank, RankBoost
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import load_movielens_1m, load_movielens_100k
from peckorder.distributed import fit_people

LOADERS = {"1m": load_movielens_1m, "100k": load_movielens_100k}
RANKERS = {
    "PersonalRanker": lambda: PersonalRanker(random_state=0),
    "MPRank": lambda: MPRank(C=0.1),
    "RankBoost": lambda: RankBoost(n_rounds=100),
}
STORES = ("parquet", "sqlite")


class Watch(threading.Thread):
    """Looks at the processes below this one, and keeps the most that each held."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak: dict[int, int] = {}
        self.alone: dict[int, int] = {}
        self.is_over = False

    def run(self) -> None:
        """Look, several times per second."""
        while not self.is_over:
            for pid in below(os.getpid()):
                self.look(pid)
            sleep(0.2)

    def look(self, pid: int) -> None:
        """Read what Linux says of a process."""
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            parts = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            return  # gone
        self.peak[pid] = max(self.peak.get(pid, 0), kilobytes(status, "VmHWM"))
        own = kilobytes(parts, "Private_Clean") + kilobytes(parts, "Private_Dirty")
        self.alone[pid] = max(self.alone.get(pid, 0), own)


def kilobytes(text: str, name: str) -> int:
    """Find a figure in a file of /proc."""
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def below(pid: int) -> list[int]:
    """Return the processes that a process has started, and those of these."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in path.read_text().split()]
        except OSError:
            continue
    return found + [each for child in found for each in below(child)]


def measure(given: argparse.Namespace) -> dict:
    """Train one fleet; return what it took."""
    ratings = LOADERS[given.set](given.data).ratings
    train, test = ratings.split(0.2, random_state=0)
    people = np.random.default_rng(0).permutation(train.users)[: given.people]
    estimator, shared = RANKERS[given.ranker](), 0.0
    if given.ranker == "PersonalRanker":
        begin = perf_counter()
        estimator.fit(train)
        shared = perf_counter() - begin
    watch = Watch()
    watch.start()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / ("people.sqlite" if given.store == "sqlite" else "people")
        options = {"store": store, "test": test, "n_jobs": given.jobs[0]}
        if given.dask:
            from distributed import Client, LocalCluster

            with (
                LocalCluster(
                    n_workers=given.jobs[0], threads_per_worker=1, dashboard_address="127.0.0.1:0"
                ) as cluster,
                Client(cluster) as client,
            ):
                begin = perf_counter()
                done = fit_people(train, people, estimator, client=client, **options)
                seconds = perf_counter() - begin
        else:
            begin = perf_counter()
            done = fit_people(train, people, estimator, **options)
            seconds = perf_counter() - begin
        files = [store] if store.is_file() else store.iterdir()
        size = sum(file.stat().st_size for file in files)
        table = done.columns()
    watch.is_over = True
    largest = max(watch.peak, key=watch.peak.get, default=None)
    return {
        "shared": shared,
        "seconds": seconds,
        "people": len(table["person"]),
        "with_model": len(done),
        "learning": float(np.sum(table["seconds"])),
        "disagreement": float(np.nanmean(table["disagreement"])),
        "driver_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "worker_mb": watch.peak.get(largest, 0) / 1024,
        "alone_mb": watch.alone.get(largest, 0) / 1024,
        "store_mb": size / 2**20,
    }


def line(options: list[str], **settings: object) -> dict:
    """Measure in a program of its own."""
    command = [sys.executable, __file__, *options, "--one"]
    for name, value in settings.items():
        command += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def show(name: str, where: str, store: str, found: dict) -> None:
    """Print one line of the table."""
    worker = "" if not found["worker_mb"] else (
        f"{found['worker_mb']:.0f} ({found['alone_mb']:.0f})"
    )  # fmt: skip
    cells = [
        name,
        where,
        store,
        f"{found['people']:,}",
        f"{found['with_model']:,}",
        f"{found['shared']:.1f}" if found["shared"] else "",
        f"{found['seconds']:.1f}",
        f"{found['people'] / found['seconds']:.0f}",
        f"{1e3 * found['learning'] / found['people']:.2f}",
        f"{found['disagreement']:.4f}",
        f"{found['driver_mb']:.0f}",
        worker,
        f"{found['store_mb']:.1f}",
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PECKORDER_DATA"))
    parser.add_argument("--set", choices=LOADERS, default="1m")
    parser.add_argument("--people", type=int, default=6040)
    parser.add_argument("--boost-people", type=int, default=300)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--ranker", choices=RANKERS)
    parser.add_argument("--store", choices=STORES, default="parquet")
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given)))
        return
    print("| ranker | where | store | people | models | shared, s | s | people/s "
          "| ms a fit | disagreement | driver, MB | largest process, MB (its own) "
          "| store, MB |")  # fmt: skip
    print("|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    options = ["--set", given.set]
    options += ["--data", given.data] if given.data else []
    for ranker in [given.ranker] if given.ranker else RANKERS:
        people = given.boost_people if ranker == "RankBoost" else given.people
        same = {"ranker": ranker, "people": people}
        for jobs in given.jobs:
            where = "this process" if jobs == 1 else f"{jobs} processes"
            found = line(options, jobs=jobs, store=given.store, **same)
            show(ranker, where, given.store, found)
        if given.dask:
            for jobs in given.jobs:
                found = line(options, jobs=jobs, store=given.store, dask=True, **same)
                show(ranker, f"Dask, {jobs} workers", given.store, found)
    other = next(store for store in STORES if store != given.store)
    jobs, ranker = given.jobs[-1], given.ranker or "PersonalRanker"
    same = {"ranker": ranker, "people": given.people}
    found = line(options, jobs=jobs, store=other, **same)
    show(ranker, f"{jobs} processes", other, found)


if __name__ == "__main__":
    main()
