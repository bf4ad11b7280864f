"""Rows of a stream as RankBoost looks at them, and the files they may be kept in."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, fields
from mmap import mmap
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np

from peckorder._core.typing import Ints
from peckorder.boosting.columns import Cuts
from peckorder.boosting.columns_on_disk import (
    Scratch,
    check_disk,
    on_one_disk,
    reserve,
)
from peckorder.boosting.distribution import GradedQueries
from peckorder.streams.fitting.checkpoint import WHO

_CUTS = ("tops", "n_bins", "n_values", "lows")
# What rows are kept in: what makes them whole is the first to go.
_NAMES = ("terms", "draft", "rest.npz", "bins")
_BYTES = "a byte an entry"


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Columns of bins (features, n) in a file, where they are cut, and the queries."""

    bins: Ints
    cuts: Cuts
    queries: GradedQueries


class KeptRows:
    """Binned rows in a folder beside a checkpoint, until the fit is finished.

    `terms` are all that they depend on. The file that has them is written last, so
    that what it stands beside is whole.
    """

    def __init__(self, checkpoint: Path, terms: dict[str, str]) -> None:
        self._folder = checkpoint.with_name(checkpoint.name + ".rows")
        self._terms = terms

    def check(self) -> None:
        """Refuse a place at which something else is."""
        others = self._others()
        if others:
            raise FileExistsError(
                f"{WHO}: checkpoint must be one beside which rows can be kept, in "
                f"{str(self._folder)!r}; got {others} there. Choose another."
            )

    def shares_disk(self, folder: Path) -> bool:
        """Tell whether a folder is on the disk that the rows are kept on."""
        return on_one_disk(self._folder.parent, folder)

    def check_disk(self, n_entries: int) -> None:
        """Refuse a disk that has no room for the bins."""
        check_disk(WHO, "checkpoint", self._folder.parent, n_entries, _BYTES)

    def _others(self) -> str:
        """Say what is there that no fit has made; nothing if all is well."""
        if not os.path.lexists(self._folder):
            return ""
        if self._folder.is_symlink() or not self._folder.is_dir():
            return "what is no folder"
        names = sorted(path.name for path in self._folder.iterdir())
        return next((repr(name) for name in names if name not in _NAMES), "")

    def read(self) -> BinnedRows | None:
        """Return what is there; None if it is not whole, or of other terms."""
        try:
            if json.loads(self._path("terms").read_text()) != self._terms:
                return None
            with np.load(self._path("rest.npz")) as rest:
                arrays = dict(rest)
        except (OSError, ValueError, BadZipFile):
            return None
        cuts = Cuts(0)
        for name in _CUTS:
            setattr(cuts, name, arrays.pop(name))
        n_pairs = int(arrays.pop("n_pairs"))
        queries = GradedQueries(**arrays, n_pairs=n_pairs)
        shape = len(cuts.n_bins), queries.n_rows
        with suppress(OSError, ValueError), self._path("bins").open("r+b") as file:
            return BinnedRows(self._mapped(file, shape), cuts, queries)
        return None

    def _mapped(self, file: IO[bytes], shape: tuple[int, int]) -> Ints:
        self._map = mmap(file.fileno(), shape[0] * shape[1])
        return np.frombuffer(self._map, dtype=np.uint8).reshape(shape)

    def bins(self, shape: tuple[int, int]) -> Ints:
        """Return room for bins in the folder, which is emptied first."""
        self.remove()
        self.check_disk(shape[0] * shape[1])
        self._folder.mkdir(exist_ok=True)
        with self._path("bins").open("w+b") as file:
            reserve(file, shape[0] * shape[1])
            return self._mapped(file, shape)

    def write(self, rows: BinnedRows) -> None:
        """Keep all but the bins, which are there."""
        queries = {f.name: getattr(rows.queries, f.name) for f in fields(GradedQueries)}
        cuts: dict[str, Any] = {name: getattr(rows.cuts, name) for name in _CUTS}
        self._map.flush()
        with self._path("bins").open("r+b") as file:
            os.fsync(file.fileno())
        with self._path("rest.npz").open("wb") as file:
            np.savez(file, **queries, **cuts)
            file.flush()
            os.fsync(file.fileno())
        draft = self._path("draft")
        draft.write_text(json.dumps(self._terms))
        draft.rename(self._path("terms"))

    def remove(self) -> None:
        """Remove what was kept, and the folder unless something came into it since.

        For a folder that was checked.
        """
        self._path("terms").unlink(missing_ok=True)
        for name in _NAMES[1:]:
            with suppress(OSError):
                self._path(name).unlink()
        with suppress(OSError):
            self._folder.rmdir()

    def _path(self, name: str) -> Path:
        return self._folder / name


def check_room(
    scratch: Scratch, beside: KeptRows | None, n_entries: int, itemsize: int
) -> None:
    """Refuse disks that have no room for rows as they are, and for their bins."""
    if beside is None or beside.shares_disk(scratch.folder):
        scratch.check(n_entries * (itemsize + 1), "all rows")
        return
    scratch.check(n_entries * itemsize, "all rows")
    beside.check_disk(n_entries)


def room_for_bins(
    scratch: Scratch, beside: KeptRows | None, shape: tuple[int, int]
) -> Ints:
    """Return room for bins in a file, beside a checkpoint or without a name."""
    if beside is not None:
        return beside.bins(shape)
    scratch.check(shape[0] * shape[1], _BYTES)
    bins: Ints = scratch.zeros(shape, np.uint8)
    return bins
