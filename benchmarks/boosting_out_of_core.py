"""RankBoost on rows that are never all in memory, beside RankBoost in memory.

Let nothing else run meanwhile. Rows are made block by block; each size runs in a
process of its own, so that the peak of one is not that of another.

    python benchmarks/boosting_out_of_core.py --rows 1_000_000 10_000_000
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from peckorder import RankBoost
from peckorder._core.threads import Team
from peckorder.boosting import blocks as in_blocks
from peckorder.streams import Block, Stream
from peckorder.streams.fitting import rankboost as boosting

QUERY, BLOCK = 100, 20_000


class Made(Stream):
    """Queries of 100 rows with skewed grades, as many as wanted, the same each time."""

    source_name, rows, has_queries = "Made", BLOCK, True

    def __init__(self, n_rows: int, n_features: int) -> None:
        self.n_rows, self.n_features = n_rows, n_features

    def pieces(self, start: int, skipped: object) -> Iterator[Block]:
        """Yield blocks, each from its own generator."""
        weight = np.random.default_rng(0).standard_normal(self.n_features)
        weight = (weight / np.sqrt(self.n_features)).astype(np.float32)
        for first in range(start, self.n_rows, BLOCK):
            rng = np.random.default_rng([1, first])
            n = min(BLOCK, self.n_rows - first)
            X = rng.standard_normal((n, self.n_features), dtype=np.float32)
            score = X @ weight + rng.standard_normal(n, dtype=np.float32)
            y = np.searchsorted([0.0, 0.95, 1.8, 2.65], score)
            yield Block(X, y, np.arange(first, first + n) // QUERY)

    def identity(self) -> dict[str, int]:
        """Return what it is."""
        return {"rows": self.n_rows, "features": self.n_features}


class Peaks:
    """The most anonymous memory, and the most disk taken, while it is entered."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._done = folder, threading.Event()
        self.memory = self.disk = 0

    def __enter__(self) -> "Peaks":
        self._free = os.statvfs(self._folder)
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.memory = max(self.memory, 1024 * int(line.split()[1]))
            now = os.statvfs(self._folder)
            taken = (self._free.f_bfree - now.f_bfree) * now.f_frsize
            self.disk = max(self.disk, taken)


def measure(kind: str, n_rows: int, n_features: int, n_rounds: int, folder: Path) -> dict:
    """Fit once; return seconds and bytes."""
    model = RankBoost(n_rounds=n_rounds, max_bins=255)
    made = Made(n_rows, n_features)
    # What is compiled, or loaded, is so before.
    few = Made(2 * BLOCK, n_features)
    boosting.fit_boosted(RankBoost(n_rounds=2, max_bins=255), few, folder=folder)
    with Peaks(folder) as peaks, Team(model._n_threads()) as team:
        begin = perf_counter()
        if kind == "memory":
            blocks = list(made)
            X = np.concatenate([block.X for block in blocks])
            y = np.concatenate([block.y for block in blocks])
            qid = np.concatenate([block.qid for block in blocks])
            del blocks
            ready = perf_counter()
            RankBoost(n_rounds=1, max_bins=255).fit(X, y, qid=qid)
            binned = perf_counter()
            model.fit(X, y, qid=qid)
            done = perf_counter()
            rounds = (done - binned) - (binned - ready)
            a_round, binning = rounds / (n_rounds - 1), binned - ready
        else:
            if kind == "files":
                in_blocks.free_memory = lambda: 0
            room = in_blocks.Scratch(folder)
            options = in_blocks.options_for_blocks(model, "on a stream")
            rows = boosting._gather(model, made, room, None, team, 2, None)
            run = boosting._begin(rows, options, room, team)
            binned = perf_counter()
            run.boost()
            done = perf_counter()
            a_round, binning = (done - binned) / n_rounds, binned - begin
            model._publish(run.log)
    return {
        "binning": binning,
        "round": a_round,
        "memory": peaks.memory,
        "disk": peaks.disk,
        "model": model.weak_rankers_.tolist()[-1],
    }


def show(kind: str, n_rows: int, found: dict) -> None:
    """Print a line."""
    print(
        f"{kind:<8} {n_rows:>12,} {found['binning']:>9.1f} {found['round']:>9.3f} "
        f"{1e9 * found['round'] / n_rows:>9.1f} {found['memory'] / 1e6:>9.0f} "
        f"{found['memory'] / n_rows:>9.1f} {found['disk'] / 1e6:>9.0f}",
        flush=True,
    )


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--in-memory", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--files", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        kind, n_rows = given.one
        sizes = int(n_rows), given.features, given.rounds
        print(json.dumps(measure(kind, *sizes, given.folder)))
        return
    print(
        f"{given.features} features of float32, queries of {QUERY} rows, 255 bins, "
        f"{given.rounds} rounds, {os.cpu_count()} processors"
    )
    print("          rows           reading per round   ns per row  anonymous  bytes  disk")
    print("                         and bins       (s)   and round       (MB) per row  (MB)")
    print("                              (s)")
    models: dict[int, set[str]] = {}
    runs = [("memory", n) for n in given.in_memory]
    runs += [("stream", n) for n in given.rows] + [("files", n) for n in given.files]
    for kind, n_rows in runs:
        command = [sys.executable, __file__, "--one", kind, str(n_rows)]
        command += ["--features", str(given.features), "--rounds", str(given.rounds)]
        command += ["--folder", str(given.folder)]
        output = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(output.stdout)
        show(kind, n_rows, found)
        models.setdefault(n_rows, set()).add(str(found["model"]))
    assert all(len(several) == 1 for several in models.values()), models
    print("memory: the bins' time is that of a fit of one round, its rows being there.")
    print("stream: bins in a file, 32 bytes per row in memory; files: these in files too.")


if __name__ == "__main__":
    main()
