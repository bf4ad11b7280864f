"""Speed of growing trees, and of going down them, beside LightGBM.

Let nothing else run meanwhile. Both get the same slopes: squared error, 31 leaves, 20
rows in a leaf, 255 bins.
"""

import argparse
import os
import platform
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import perf_counter, process_time, sleep

import lightgbm
import numpy as np

from boosting_out_of_core import Peaks
from measure import at_least, in_turn, seconds, show
from peckorder._core.threads import Team
from peckorder.trees.columns import bin_columns
from peckorder.trees.forest import Forest
from peckorder.trees.growing import Grower, TreeOptions

Clock = Callable[[], float]
RATE = 0.1
# Threads of OpenMP spin so long, at most, after a tree of LightGBM.
_PAUSE = 0.03


def table(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X and a target that depends on some columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    y = X[:, :5].sum(axis=1) + np.sin(3 * X[:, 5]) + rng.standard_normal(n_rows)
    return X, y


class Ours:
    """Trees of ours, grown one after another."""

    def __init__(self, X: np.ndarray, y: np.ndarray, team: Team, n_leaves: int = 31) -> None:
        self.columns = bin_columns(X, team)
        self.grower = Grower(self.columns, TreeOptions(max_leaf_nodes=n_leaves), team)
        self.y, self.scores = y[:, np.newaxis], np.zeros((len(y), 1))
        self.curvatures, self.trees = np.ones((len(y), 1)), []

    def grow(self) -> None:
        """Grow one more."""
        tree = self.grower.grow(self.y - self.scores, self.curvatures)
        self.grower.add_to(self.scores, RATE)
        self.trees.append(tree._replace(value=RATE * tree.value))


def peer(
    X: np.ndarray, y: np.ndarray, n_threads: int, *, rows: bool, n_leaves: int = 31
) -> tuple[Callable, float]:
    """Return LightGBM's booster, and the seconds of its binning."""
    parameters = {
        "objective": "l2", "num_leaves": n_leaves, "learning_rate": RATE, "verbose": -1,
        "num_threads": n_threads, "max_bin": 255, "min_sum_hessian_in_leaf": 0.0,
        "force_row_wise": rows, "force_col_wise": not rows,
    }  # fmt: skip
    data = lightgbm.Dataset(X, y, params=parameters)
    taken = seconds(data.construct)
    return lightgbm.Booster(parameters, data), taken


def growing(n_rows: int, n_columns: int, n_threads: int, repeats: int, clock: Clock) -> None:
    """Time trees."""
    X, y = table(n_rows, n_columns)
    print(f"\n{n_rows:,} rows x {n_columns}, {n_threads} threads")
    with Team(n_threads) as team:
        bin_columns(X[:5000], team)
        binning = seconds(lambda: bin_columns(X, team))
        ours = Ours(X, y, team)
        by_column, theirs = peer(X, y, n_threads, rows=False)
        by_row, _ = peer(X, y, n_threads, rows=True)
        actions = {"ours": ours.grow, "by column": by_column.update, "by row": by_row.update}
        best = in_turn(actions, repeats, _PAUSE, clock)
    show("a tree of 31 leaves, ms", f"{1e3 * best['ours']:.1f}")
    for way in ("by column", "by row"):
        show(f"LightGBM's {way}, ms", f"{1e3 * best[way]:.1f}")
    at_least(
        "LightGBM's, the faster way, over ours",
        min(best["by column"], best["by row"]) / best["ours"],
        1.5,
    )
    show("binning, s", f"{binning:.2f}")
    show("LightGBM's binning over ours", f"{theirs / binning:.2f}")


def small_tables(repeats: int, clock: Clock) -> None:
    """Time trees of ordinary tables, where what a tree costs in any case counts."""
    print("\nOrdinary tables, 1 thread")
    for n_rows, n_columns, n_leaves in ((1500, 11, 7), (1500, 11, 31), (20_000, 14, 31)):
        X, y = table(n_rows, n_columns)
        with Team(1) as team:
            actions = {"ours": Ours(X, y, team, n_leaves).grow}
            for rows in (False, True):
                booster, _ = peer(X, y, 1, rows=rows, n_leaves=n_leaves)
                actions[f"by {'row' if rows else 'column'}"] = booster.update
            best = in_turn(actions, 20 * repeats, clock=clock)
        ours = best.pop("ours")
        show(f"{n_rows:,} x {n_columns}, {n_leaves} leaves, microseconds", f"{1e6 * ours:.0f}")
        at_least("LightGBM's, the faster way, over ours", min(best.values()) / ours, 1.0)


def prediction(n_threads: int, repeats: int) -> None:
    """Time the scores that 500 trees give to rows."""
    X, y = table(20_000, 50)
    new, _ = table(50_000, 50)
    with Team(n_threads) as team:
        ours = Ours(X, y, team)
        for _ in range(500):
            ours.grow()
    forest = Forest.of(ours.trees, np.zeros(50, bool))
    booster, _ = peer(X, y, n_threads, rows=False)
    for _ in range(500):
        booster.update()
    actions = {
        "ours": lambda: forest.add_scores(new, np.zeros((len(new), 1))),
        "LightGBM": lambda: booster.predict(new, num_threads=n_threads),
    }
    best = in_turn(actions, repeats)
    print("\n500 trees, 50,000 rows x 50, all threads of ours")
    show("ours, microseconds per row", f"{1e6 * best['ours'] / len(new):.2f}")
    at_least("LightGBM's time over ours", best["LightGBM"] / best["ours"], 1.0)


def from_disk(n_rows: int, n_columns: int, n_threads: int, folder: Path) -> None:
    """Time a tree of rows in a file, whose bins are in another."""
    n_bytes = n_rows * n_columns * (8 + 1 + 1)
    if shutil.disk_usage(folder).free < 2 * n_bytes:
        raise SystemExit(f"{folder} must have {2 * n_bytes / 1e9:.0f} GB free; see --folder.")
    with TemporaryDirectory(dir=folder) as name, Team(n_threads) as team:
        path, y = Path(name) / "rows.npy", np.empty(n_rows)
        X = np.lib.format.open_memmap(path, "w+", np.float64, (n_rows, n_columns))
        rng = np.random.default_rng(0)
        for first in range(0, n_rows, 1 << 18):
            part = rng.standard_normal((min(1 << 18, n_rows - first), n_columns))
            X[first : first + len(part)] = part
            y[first : first + len(part)] = part[:, :5].sum(axis=1) + np.sin(3 * part[:, 5])
        y += rng.standard_normal(n_rows)
        X.flush()
        del X, part
        X, file = np.load(path, mmap_mode="r"), Path(name) / "bins"

        def bins(n: int, dtype: np.dtype) -> np.ndarray:
            return np.memmap(file, dtype, "w+", shape=(n,))

        slopes, curvatures, trees = y[:, np.newaxis], np.ones((n_rows, 1)), []
        with Team(1) as one:  # what is compiled is so before
            few = bin_columns(X[:5000], one)
            Grower(few, TreeOptions(), one).grow(slopes[:5000], curvatures[:5000])
        print(f"\n{n_rows:,} rows x {n_columns} from disk, {n_threads} threads")
        show("rows in the file, GB", f"{path.stat().st_size / 1e9:.1f}")
        with Peaks(folder) as none:
            sleep(0.1)
        with Peaks(folder) as peaks:
            begin = perf_counter()
            columns = bin_columns(X, team, allocate=bins)
            show("binning, s", f"{perf_counter() - begin:.1f}")
            show("bins in the file, GB", f"{file.stat().st_size / 1e9:.2f}")
            grower = Grower(columns, TreeOptions(max_leaf_nodes=31), team)
            taken = [
                seconds(lambda: trees.append(grower.grow(slopes, curvatures))) for _ in range(3)
            ]
        show("a tree of 31 leaves, s: the first", f"{taken[0]:.2f}")
        show("a tree of 31 leaves, s: the best of two more", f"{min(taken[1:]):.2f}")
        memory = peaks.memory - none.memory
        show("peak memory beside slopes and curvatures, MB", f"{memory / 1e6:.0f}")
        show("the same, bytes per row", f"{memory / n_rows:.0f}")


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", type=int, help="of one table with --columns, instead of two")
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--disk", type=int, help="rows of a file, with --columns; instead")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()), help="of that file")
    parser.add_argument(
        "--processor-time", action="store_true", help="of one thread, where others work as well"
    )
    options = parser.parse_args()
    clock = process_time if options.processor_time else perf_counter
    if options.processor_time:
        options.threads = [1]
    names = ("numpy", "numba", "lightgbm")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    if options.disk:
        from_disk(options.disk, options.columns, max(options.threads), options.folder)
        return
    sizes = [(120_000, 136), (1_000_000, 50)]
    if options.rows:
        sizes = [(options.rows, options.columns)]
    for n_rows, n_columns in sizes:
        for n_threads in options.threads:
            growing(n_rows, n_columns, n_threads, options.repeats, clock)
    if not options.rows:
        small_tables(options.repeats, clock)
        prediction(max(options.threads), options.repeats)


if __name__ == "__main__":
    main()
