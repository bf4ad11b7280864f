"""RankBoost on rows that come in blocks of whole queries: checks, and columns in files."""

import os
from collections.abc import Callable, Iterator
from mmap import mmap
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryFile
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from peckorder._base import checked_weight
from peckorder._core.compiled.bins import copy_columns
from peckorder._core.errors import refusal
from peckorder._core.threads import Team
from peckorder._core.typing import Array, Floats, Ints, Matrix, MatrixLike
from peckorder._core.validation import refuse_parameter
from peckorder.boosting.columns import COPIED_TOGETHER, MOST_BINS, Cuts, allocate_cells
from peckorder.boosting.compiled.pairs import GradedPairs
from peckorder.boosting.distribution import feedback_rows, graded_pair_set, unweighted_pairs
from peckorder.boosting.parameters import check, has_trees, options_of
from peckorder.boosting.rankboost import RankBoost, refuse_rows
from peckorder.boosting.run_rounds import Options
from peckorder.feedback import Preferences

Shape: TypeAlias = int | tuple[int, ...]

# Parameters that other values need all rows in memory for.
_REQUIRED = {"alpha": "approximate", "validation_fraction": None, "warm_start": False}
# The share of free memory that arrays may take before they go to files.
_SHARE = 2
# Bytes that are gathered before they are written.
_CHUNK = 1 << 26
# Entries that are looked up at a time.
_PIECE = 1 << 18


def options_for_blocks(model: RankBoost, where: str) -> Options:
    """Return how to boost; refuse parameters that need all rows in memory.

    `where` ends the rule, as in "on a stream".
    """
    check(model)
    if has_trees(model):
        if model.pair_weight is not None:
            refuse_parameter(model, "pair_weight", f"be None {where}")
        if not (model.categorical_features is None or isinstance(model.categorical_features, str)):
            refuse_parameter(model, "categorical_features", f"be None or 'from_dtype' {where}")
    elif model.weak not in ("threshold", ["threshold"], ("threshold",)):
        refuse_parameter(model, "weak", f"be 'threshold' or 'tree' {where}")
    for name, required in _REQUIRED.items():
        if getattr(model, name) != required:
            refuse_parameter(model, name, f"be {required!r} {where}")
    return options_of(model)


class CheckedBlocks:
    """Blocks checked as `fit` does, and their graded pairs, put behind each other.

    The first block sets the model's number of features. Rows in pairs are numbered in
    the order in which `add` returns them, so that each stands at the position of its
    number. 8 bytes per level, 16 per query, and 8 per row if there are sample weights.
    """

    def __init__(self, model: RankBoost, team: Team) -> None:
        self._model, self._team, self._has_trees = model, team, has_trees(model)
        self._has_weights: bool | None = None
        self._blocks: list[tuple[Ints, Ints, Floats, Floats]] = []
        # Of all rows, and of those in pairs.
        self.n_rows, self.n_queries, self.n_flat = 0, 0, 0
        self.n_paired, self.n_pairs, self._n_levels = 0, 0, 0

    def add(
        self, X: MatrixLike, y: ArrayLike, qid: ArrayLike | None, weight: ArrayLike | None
    ) -> tuple[Floats, Ints]:
        """Return a block's X, dense, and its rows that are in pairs, in order."""
        rows = self._model._rows(X, reset=self.n_rows == 0)
        n_rows = rows.shape[0]
        if self._has_weights not in (None, weight is not None):
            raise refusal("weight", "be given in all blocks, or in none", "both")
        self._has_weights = weight is not None
        weights = checked_weight(weight, n_rows)
        missing_labels = self._model.missing_labels
        preferences = Preferences.of_labels(y, qid, n_rows=n_rows, missing_labels=missing_labels)
        graded: Any = preferences.parts[0]
        self.n_rows += n_rows
        self.n_queries += len(graded.offsets) - 1
        self.n_flat += graded.n_flat_queries
        return self._dense(rows), self._add_pairs(preferences, weights)

    def _add_pairs(self, preferences: Preferences, sample_weight: Floats | None) -> Ints:
        rows = feedback_rows(preferences, sample_weight)
        if len(rows) == 0:
            return rows
        kept: Any = preferences.restrict(rows).parts[0]
        log_weight = None if sample_weight is None else sample_weight[rows]
        equal_queries = self._model.query_weight == "equal" and not self._has_trees
        if log_weight is not None and not self._has_trees:
            np.log(log_weight, out=log_weight)
        pairs = graded_pair_set(kept, log_weight, equal_queries, self._team).pairs
        ends = pairs.levels[1:] + self._n_levels, pairs.starts[1:] + self.n_paired
        self._blocks.append((*ends, pairs.log_weight, pairs.log_query))
        self.n_paired += len(rows)
        self.n_pairs += kept.n_pairs
        self._n_levels += len(pairs.starts) - 1
        return rows

    def _dense(self, X: Matrix) -> Floats:
        """Return rows with an entry everywhere, NaN where a feature abstains."""
        if isinstance(X, np.ndarray):
            return X
        if self._model.missing == "zero":
            return X.toarray()
        dense = np.full(X.shape, np.nan, dtype=X.dtype)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        dense[row, X.indices] = X.data
        return dense

    def check(self) -> None:
        """Refuse blocks without a pair to learn from."""
        if self.n_paired == 0:
            refuse_rows(self.n_rows, self.n_queries, self.n_flat)

    def pairs(self) -> GradedPairs:
        """Return the pairs of all blocks, which are forgotten.

        Those for trees have weights by the largest, and queries are not weighted yet.
        """
        zero = np.zeros(1, dtype=np.int64)
        none = np.empty(0)
        columns = zip((zero[:0], zero[:0], none, none), *self._blocks, strict=True)
        self._blocks = []
        levels, starts = (np.concatenate([zero, *next(columns)]) for _ in range(2))
        log_weight, log_query = (np.concatenate(next(columns)) for _ in range(2))
        if self._has_trees and len(log_weight):
            log_weight = np.log(log_weight / log_weight.max())
        return unweighted_pairs(levels, starts, log_weight, log_query)


class Scratch:
    """A folder for arrays in files that have no name, and vanish with the process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self) -> IO[bytes]:
        """Return an empty file without a name."""
        return TemporaryFile(dir=self.folder)

    def check(self, n_bytes: int, what: str) -> None:
        """Refuse to begin what does not fit on the disk."""
        check_disk("folder", self.folder, n_bytes, what)

    def zeros(self, shape: Shape, dtype: DTypeLike = np.float64) -> Array:
        """Return an array of zeros in a file."""
        with self.file() as file:
            return mapped(file, shape, dtype)

    def allocator(self, n_bytes: int) -> Callable[..., Array]:
        """Return a function that allocates arrays of zeros, of so many bytes in all.

        In memory, if there is plenty of it, else in files.
        """
        if n_bytes <= free_memory() // _SHARE:
            return np.zeros
        self.check(n_bytes, "scores and potentials")
        return self.zeros


def mapped(file: IO[bytes], shape: Shape, dtype: DTypeLike) -> Array:
    """Return an array of zeros that lies in an empty file, also after it is closed."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    reserve(file, n_bytes)
    return np.frombuffer(mmap(file.fileno(), n_bytes), dtype=dtype).reshape(shape)


def reserve(file: IO[bytes], n_bytes: int) -> None:
    """Make an empty file as long as it will be."""
    if hasattr(os, "posix_fallocate"):
        # A full disk is noticed now, not by a signal when a page is written.
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    else:
        file.truncate(n_bytes)


def check_disk(name: str, folder: Path, n_bytes: int, what: str) -> None:
    """Refuse a parameter that leads to a disk without so many bytes free."""
    free = disk_usage(folder).free
    if n_bytes > free:
        raise refusal(
            name,
            f"be on a disk with {size(n_bytes)} free for {what}",
            f"{str(folder)!r}, with {size(free)}",
        )


def free_memory() -> int:
    """Return how many bytes of memory are available now, without cached files."""
    limits = [_limit_of_group(), _available()]
    return min(limit for limit in limits if limit is not None)


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        facts = dict(line.split(":") for line in lines)
        return 1024 * int(facts["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 1 << 32  # the system does not say


def _limit_of_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return how many bytes a container may still take; None without a limit."""
    try:
        most = int((folder / "memory.max").read_text())
        facts = (folder / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):
        return None
    taken = dict(fact.split() for fact in facts)
    return max(0, most - int(taken.get("anon", 0)))


def size(n_bytes: int) -> str:
    """Return a number of bytes in words."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB")):
        if n_bytes >= 1000**power:
            return f"{n_bytes / 1000**power:.3g} {unit}"
    return f"{n_bytes:,} bytes"


class Spool:
    """Rows in a file until their columns can be binned, each chunk column by column.

    `dtype` is that of all blocks. With max_bins None a column with too many values to
    have a bin each is refused as soon as they are seen.
    """

    def __init__(
        self, scratch: Scratch, n_columns: int, dtype: DTypeLike, max_bins: int | None
    ) -> None:
        self.n_columns, self.dtype, self.max_bins = n_columns, np.dtype(dtype), max_bins
        self.n_rows = 0
        self._scratch, self._file = scratch, scratch.file()
        n_rows = max(1, _CHUNK // (self.dtype.itemsize * n_columns))
        self._chunk = np.empty((n_columns, n_rows), dtype=dtype)
        self._n_gathered = 0
        self._seen = [np.empty(0, dtype=dtype) for _ in range(n_columns)]

    def close(self) -> None:
        """Free the disk."""
        self._file.close()

    def add(self, X: Floats, rows: Ints) -> None:
        """Append the given rows of X."""
        if X.dtype != self.dtype:
            raise refusal(
                "X", f"be of one type in all blocks, {self.dtype} as in the first", X.dtype
            )
        n_added, capacity = 0, self._chunk.shape[1]
        while n_added < len(rows):
            n_more = min(len(rows) - n_added, capacity - self._n_gathered)
            added = rows[n_added : n_added + n_more]
            columns = self._chunk[:, self._n_gathered : self._n_gathered + n_more]
            for first in range(0, self.n_columns, COPIED_TOGETHER):
                copy_columns(X, added, first, columns[first : first + COPIED_TOGETHER])
            if self.max_bins is None:
                self._check_values(columns)
            n_added += n_more
            self._n_gathered += n_more
            self.n_rows += n_more
            if self._n_gathered == capacity:
                self._write()

    def _write(self) -> None:
        self._scratch.check(self._chunk.nbytes, "the next rows")
        self._file.write(self._chunk.data)
        self._n_gathered = 0

    def _check_values(self, columns: Floats) -> None:
        """Collect the values of columns; refuse one with too many."""
        for c, column in enumerate(columns):
            seen, others = self._seen[c], column
            if len(seen):
                nearest = np.searchsorted(seen, column).clip(max=len(seen) - 1)
                others = column[seen[nearest] != column]
            others = np.unique(others)
            self._seen[c] = np.union1d(seen, others[~np.isnan(others)])
            if len(self._seen[c]) > MOST_BINS:
                raise refusal(
                    "max_bins",
                    "be an integer from 2 to 255 on a stream if a feature has more than 255 values",
                    f"None, and more of feature {c}",
                    hint="Use max_bins=255.",
                )

    def bin(self, bins: Ints, team: Team) -> Cuts:
        """Cut all columns; write their bins to bins (columns, n).

        One column per thread is in memory at a time, fewer where memory is short.
        """
        cuts, chunks = Cuts.allocate(self.n_columns), self._chunks()

        def work(share: slice, give_up: Callable[[], bool]) -> None:
            cells = allocate_cells()
            ordered = np.empty(self.n_rows, dtype=self.dtype)
            for c in range(share.start, share.stop):
                if give_up():
                    return
                for start, piece in self._pieces(chunks, c):
                    ordered[start : start + len(piece)] = piece
                ordered.sort()
                cuts.find(c, ordered, self.max_bins)
                for start, piece in self._pieces(chunks, c):
                    values = piece.astype(np.float64)
                    cuts.fill(c, values, bins[c, start : start + len(piece)], cells)

        column_bytes = self.n_rows * self.dtype.itemsize
        team.share(self.n_columns, work, max(1, free_memory() // (2 * column_bytes)))
        return cuts

    def blocks(self) -> list[Floats]:
        """Return the rows in blocks, not copied, as long as the file is open."""
        return [chunk.T for chunk in self._chunks()]

    def _chunks(self) -> list[Floats]:
        """Return all chunks, the rows that are not written yet as the last one."""
        chunks = [self._chunk[:, : self._n_gathered]]
        if self.n_rows > self._n_gathered:
            self._file.flush()
            written = np.memmap(self._file, self.dtype, mode="r")
            chunks = [*written.reshape(-1, *self._chunk.shape), *chunks]
        return chunks

    def _pieces(self, chunks: list[Floats], c: int) -> Iterator[tuple[int, Floats]]:
        """Yield the entries of a column in pieces, with where these begin."""
        start = 0
        for chunk in chunks:
            for first in range(0, chunk.shape[1], _PIECE):
                piece = chunk[c, first : first + _PIECE]
                yield start + first, piece
            start += chunk.shape[1]
