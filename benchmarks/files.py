"""Speed of reading LETOR's files against scikit-learn: `python benchmarks/files.py`.

Let nothing else run meanwhile. Text is made in a folder that is removed again.
"""

import argparse
import gzip
import os
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from measure import at_least, in_turn, show
from peckorder.datasets import iter_letor, load_letor

N_FEATURES = 46


def letor(megabytes: float) -> bytes:
    """Return text as LETOR 4.0 has it: 46 features of six digits, and comments."""
    rng = np.random.default_rng(0)
    lines, size, row = [], 0, 0
    while size < megabytes * 1e6:
        values = rng.uniform(size=N_FEATURES) * rng.integers(0, 2, N_FEATURES)
        pairs = " ".join(f"{k}:{value:.6f}" for k, value in enumerate(values, 1))
        comment = f"#docid = GX{row:09d} inc = 1 prob = {rng.uniform():.6f}"
        lines.append(f"{rng.integers(3)} qid:{row // 40} {pairs} {comment}\n")
        size += len(lines[-1])
        row += 1
    return "".join(lines).encode()


def precise(megabytes: float) -> bytes:
    """Return text with all digits of a float64, the hardest numbers to round."""
    rng = np.random.default_rng(1)
    lines, size, row = [], 0, 0
    while size < megabytes * 1e6:
        values = rng.standard_normal(N_FEATURES).tolist()
        pairs = " ".join(f"{k}:{value!r}" for k, value in enumerate(values, 1))
        lines.append(f"{rng.integers(3)} qid:{row // 40} {pairs}\n")
        size += len(lines[-1])
        row += 1
    return "".join(lines).encode()


def wide(megabytes: float) -> bytes:
    """Return text with 50 of 100,000 features in a line."""
    rng = np.random.default_rng(2)
    lines, size, row = [], 0, 0
    while size < megabytes * 1e6:
        columns = np.unique(rng.integers(1, 100_001, 50)).tolist()
        values = rng.uniform(size=len(columns)).tolist()
        pairs = " ".join(f"{k}:{value:.4g}" for k, value in zip(columns, values, strict=True))
        lines.append(f"{rng.integers(3)} qid:{row // 40} {pairs}\n")
        size += len(lines[-1])
        row += 1
    return "".join(lines).encode()


def compare(what: str, path: Path, megabytes: float, repeats: int) -> None:
    """Time both readers on one file, after a look at their results."""
    X, y, qid = load_letor(path)
    theirs = load_svmlight_file(str(path), query_id=True)
    dense = theirs[0].toarray() if isinstance(X, np.ndarray) else theirs[0]
    equal = not (dense != X).sum() and (y == theirs[1]).all()
    equal = equal and (qid == theirs[2]).all()
    del dense, theirs
    kind = "dense" if isinstance(X, np.ndarray) else "CSR"
    print(f"\n{what}: {megabytes:.0f} MB, {len(y):,} rows x {X.shape[1]:,}, {kind}")
    del X
    times = in_turn(
        {
            "ours": lambda: load_letor(path),
            "csr": lambda: load_letor(path, sparse=True),
            "theirs": lambda: load_svmlight_file(str(path), query_id=True),
        },
        repeats,
    )
    show("the two agree in every bit", "", "", bool(equal))
    show("load_letor, MB/s", f"{megabytes / times['ours']:.0f}")
    ratio = times["theirs"] / times["ours"]
    at_least("load_svmlight_file: time over load_letor", ratio, 10)
    show("the same over load_letor(sparse=True)", f"{times['theirs'] / times['csr']:.2f}")


def streams(path: Path, packed: Path, megabytes: float, repeats: int) -> None:
    """Time what has no peer: parts of a file, gzip, comments."""
    times = in_turn(
        {
            "parts": lambda: sum(len(part) for part in iter_letor(path, n_features=N_FEATURES)),
            "comments": lambda: load_letor(path, comments=True),
            "gzip": lambda: load_letor(packed),
            "inflate": lambda: gzip.decompress(packed.read_bytes()),
        },
        repeats,
    )
    print("\nOther ways to read the first file")
    show("iter_letor, MB/s", f"{megabytes / times['parts']:.0f}")
    show("load_letor(comments=True), MB/s", f"{megabytes / times['comments']:.0f}")
    show("load_letor of gzip, MB/s of text", f"{megabytes / times['gzip']:.0f}")
    show("gzip.decompress alone, MB/s of text", f"{megabytes / times['inflate']:.0f}")


def main() -> None:
    """Run all of it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=100)
    options = parser.parse_args()
    names = ("peckorder", "numpy", "numba", "scikit-learn")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, one is used")
    texts = {"LETOR 4.0": letor, "All digits": precise, "Wide and sparse": wide}
    with tempfile.TemporaryDirectory() as folder:
        path, packed = Path(folder) / "text", Path(folder) / "text.gz"
        for what, make in texts.items():
            path.write_bytes(make(options.megabytes))
            compare(what, path, options.megabytes, options.repeats)
            if make is letor:
                packed.write_bytes(gzip.compress(path.read_bytes(), 6))
                streams(path, packed, options.megabytes, options.repeats)


if __name__ == "__main__":
    main()
