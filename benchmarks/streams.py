"""Memory and speed of learning from streams: `python benchmarks/streams.py`.

The same rows, 1, 4 and 16 times as many, as Parquet, LETOR and CSV files and as a
memory map; each is learnt in a process of its own, as a stream and in memory. Peak
memory is the process's VmHWM beyond what it held when all was loaded and compiled.
Files are made in a folder that is removed again (0.9 kB a row with 20 features).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from measure import at_most, grades

KINDS = ("parquet", "letor", "csv", "memmap")
ESTIMATORS = ("PRank", "MPRank")
SCALES = (1, 4, 16)
QUERY = 50
CHUNK = 20_000


def main() -> None:
    """Make the files, learn from all of them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows at scale 1")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--estimators", nargs="+", default=list(ESTIMATORS))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--folder", help="where to make the files")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(measured(**json.loads(asked.child))))
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for scale in SCALES:
            make(Path(folder) / str(scale), asked.rows * scale, asked.features)
        for name in asked.estimators:
            for kind in asked.kinds:
                report(name, kind, Path(folder), asked.rows)


def report(name: str, kind: str, folder: Path, n_rows: int) -> None:
    """Print what one kind of file costs at every scale."""
    peaks = []
    print(f"{'estimator':<10}{'file':<9}{'rows':>11}", end="")
    print("   stream: rows/s   peak MB    in memory: rows/s   peak MB   same model")
    for scale in SCALES:
        task = {"name": name, "kind": kind, "folder": str(folder / str(scale))}
        stream = in_a_process(task | {"streams": True})
        whole = in_a_process(task | {"streams": False})
        peaks.append(stream["peak"])
        bits = stream["coef"] == whole["coef"]
        near = np.allclose(stream["coef"], whole["coef"], rtol=1e-10, atol=1e-12)
        verdict = "to the bit" if bits else "to 1e-10" if near else "NO"
        rows = scale * n_rows
        print(
            f"{name:<10}{kind:<9}{rows:>11,}{rows / stream['seconds']:>18,.0f}"
            f"{stream['peak']:>10.1f}{rows / whole['seconds']:>21,.0f}"
            f"{whole['peak']:>10.1f}   {verdict}",
            flush=True,
        )
    at_most(f"{name}, {kind}: peak at 16x over that at 4x", peaks[2] / peaks[1], 1.25)


def in_a_process(task: dict) -> dict:
    """Return what a new process measures."""
    command = [sys.executable, __file__, "--child", json.dumps(task)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict = json.loads(done.stdout)
    return found


def measured(*, name: str, kind: str, folder: str, streams: bool) -> dict:
    """Learn, and return seconds, the peak of memory and what was learnt."""
    import pandas as pd
    import pyarrow.csv
    import pyarrow.parquet

    import peckorder
    from peckorder.datasets import load_letor
    from peckorder.streams import fit, from_arrays, from_csv, from_letor, from_parquet

    assert pyarrow.csv
    assert pyarrow.parquet
    path = Path(folder)
    width = np.load(path / "X.npy", mmap_mode="r").shape[1]

    def load(part: str, **options: str) -> np.ndarray:
        return np.load(path / f"{part}.npy", **options)

    def stream(path: Path = path) -> object:
        if kind == "parquet":
            return from_parquet(path / "rows.parquet", "y", "q")
        if kind == "csv":
            return from_csv(path / "rows.csv", "y", "q")
        if kind == "letor":
            return from_letor(path / "rows.txt", n_features=width)
        return from_arrays(*(load(part, mmap_mode="r") for part in ("X", "y", "qid")))

    def arrays() -> tuple[np.ndarray, ...]:
        if kind == "letor":
            return tuple(load_letor(path / "rows.txt"))
        if kind == "memmap":
            return load("X"), load("y"), load("qid")
        is_csv = kind == "csv"
        read = pd.read_csv if is_csv else pd.read_parquet
        frame = read(path / ("rows.csv" if is_csv else "rows.parquet"))
        features = frame.drop(columns=["y", "q"]).to_numpy()
        return features, frame["y"].to_numpy(float), frame["q"].to_numpy()

    estimator = getattr(peckorder, name)
    few = np.random.default_rng(0).standard_normal((100, width))
    # Compile, and load what is loaded at the first call.
    estimator().partial_fit(few, np.arange(100) % 5.0)
    fit(estimator(), from_arrays(few, np.arange(100) % 5.0))
    make(path / f"warm{kind}{name}{streams}", 100, width)
    list(stream(path / f"warm{kind}{name}{streams}"))
    # From here on the peak is that of what follows, beginning with what is held now.
    Path("/proc/self/clear_refs").write_text("5")
    before, began = memory("VmRSS"), perf_counter()
    if streams:
        model = fit(estimator(), stream())
    else:
        X, y, qid = arrays()
        queries = {"qid": qid} if name == "MPRank" else {}
        model = estimator().fit(X, y, **queries)
    taken = perf_counter() - began
    return {"seconds": taken, "peak": memory("VmHWM") - before, "coef": model.coef_.tolist()}


def memory(entry: str) -> float:
    """Return what the system says of this process's memory, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(entry):
            return int(line.split()[1]) / 1024
    raise OSError(f"this system does not tell {entry}")


def make(folder: Path, n_rows: int, width: int) -> None:
    """Write the same rows as files of all kinds, a chunk at a time."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    folder.mkdir()
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(width)
    kinds = {"X": ((n_rows, width), float), "y": ((n_rows,), float)}
    kinds["qid"] = (n_rows,), int
    maps = {
        name: np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype, shape)
        for name, (shape, dtype) in kinds.items()
    }
    names = [*(f"x{j}" for j in range(width)), "y", "q"]
    types = [*([pa.float64()] * (width + 1)), pa.int64()]
    schema = pa.schema(list(zip(names, types, strict=True)))
    with (
        parquet.ParquetWriter(folder / "rows.parquet", schema) as columns,
        csv.CSVWriter(folder / "rows.csv", schema) as text,
        (folder / "rows.txt").open("w") as lines,
    ):
        for first in range(0, n_rows, CHUNK):
            n = min(CHUNK, n_rows - first)
            X = rng.integers(-(10**6), 10**6, (n, width)) / 1e6
            y = grades(X @ truth, rng) + 0.0
            qid = np.arange(first, first + n) // QUERY
            for name, values in (("X", X), ("y", y), ("qid", qid)):
                maps[name][first : first + n] = values
            table = pa.table([*X.T.copy(), y, qid], schema=schema)
            columns.write_table(table)
            text.write_table(table)
            for row, grade, query in zip(X.tolist(), y, qid, strict=True):
                pairs = " ".join(f"{k}:{value}" for k, value in enumerate(row, 1))
                lines.write(f"{grade:.0f} qid:{query} {pairs}\n")


if __name__ == "__main__":
    main()
