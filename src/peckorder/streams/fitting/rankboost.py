"""RankBoost on a stream: columns of bins in a file, one byte per entry."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from hashlib import sha256
from mmap import mmap
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any

import numpy as np

from peckorder._core.compiled.bins import ABSTAINS, N_BINS
from peckorder._core.errors import entry_named, named, refusal
from peckorder._core.threads import Team
from peckorder._core.typing import Floats, Ints, PathLike
from peckorder.boosting.blocks import (
    CheckedBlocks,
    Scratch,
    Spool,
    check_disk,
    options_for_blocks,
    reserve,
)
from peckorder.boosting.columns import Cuts, no_sorted
from peckorder.boosting.compiled.pairs import GradedPairs
from peckorder.boosting.distribution import (
    Distribution,
    GradedPairSet,
    level_queries,
    unweighted_pairs,
)
from peckorder.boosting.parameters import has_trees, tree_settings_of
from peckorder.boosting.run_rounds import Booster, Options
from peckorder.boosting.tree_rounds import TreeBooster
from peckorder.estimators import RankBoost
from peckorder.streams.block import Stream, locate_errors
from peckorder.streams.fitting.checkpoint import Checkpoint, Position, terms_of
from peckorder.streams.fitting.fit import Report, name_features, refuse_empty
from peckorder.streams.prefetch import prefetched
from peckorder.trees.columns import MOST_BINS, bin_columns

# Bytes per row of scores, potentials, and what both are made from.
_BYTES_PER_ROW = 32
# The arrays of pairs that are not empty.
_PAIRS = ("levels", "starts", "log_weight", "log_query")
# The files in the folder of kept rows. Without "terms" they are not complete.
_NAMES = ("terms", "draft", "rest.npz", "bins")
_BYTES = "one byte per entry"
_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Columns of bins (features, n) in a file, where they are cut, and the pairs."""

    bins: Ints
    cuts: Cuts
    pairs: GradedPairs
    n_pairs: int


class KeptRows:
    """Binned rows in a folder beside a checkpoint, until the fit is finished.

    They depend on `terms`. The file of these is written last, so that where it is all
    others are complete. It has a digest of them: what has been changed since, or has
    values that compiled functions would follow out of an array, is made anew.
    """

    def __init__(self, checkpoint: Path, terms: dict[str, str]) -> None:
        self._folder = checkpoint.with_name(checkpoint.name + ".rows")
        self._terms = terms

    def check(self) -> None:
        """Refuse a folder with anything that no fit has made."""
        others = ""
        if self._folder.is_symlink() or (self._folder.exists() and not self._folder.is_dir()):
            others = "what is no folder"
        elif self._folder.exists():
            names = sorted(path.name for path in self._folder.iterdir())
            others = next((repr(name) for name in names if name not in _NAMES), "")
        if others:
            raise refusal(
                "checkpoint",
                f"be one beside which rows can be kept, in {str(self._folder)!r}",
                f"{others} there",
                hint="Choose another.",
                error=FileExistsError,
            )

    def shares_disk(self, folder: Path) -> bool:
        """Return whether a folder is on the same disk as the rows."""
        return self._folder.parent.stat().st_dev == folder.stat().st_dev

    @entry_named("fit")
    def check_disk(self, n_entries: int) -> None:
        """Refuse a disk that has no room for the bins."""
        check_disk("checkpoint", self._folder.parent, n_entries, _BYTES)

    def read(self) -> BinnedRows | None:
        """Return the rows; None if they are not complete, or of other terms."""
        # Of damaged or foreign files anything may be raised.
        with suppress(Exception):
            if json.loads(self._path("terms").read_text()) != self._complete_terms():
                return None
            with np.load(self._path("rest.npz")) as rest:
                arrays = dict(rest)
            cuts = Cuts(*(arrays[name] for name in Cuts._fields))
            pairs = unweighted_pairs(*(arrays[name] for name in _PAIRS))
            shape = len(cuts.n_bins), int(pairs.starts[-1])
            with self._path("bins").open("r+b") as file:
                bins = self._mapped(file, shape)
            if _are_sound(cuts, pairs, bins):
                return BinnedRows(bins, cuts, pairs, int(arrays["n_pairs"]))
        return None

    def _complete_terms(self) -> dict[str, str]:
        digest = sha256()
        for name in ("rest.npz", "bins"):
            with self._path(name).open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        return {**self._terms, "digest": digest.hexdigest()}

    def _mapped(self, file: IO[bytes], shape: tuple[int, int]) -> Ints:
        self._map = mmap(file.fileno(), shape[0] * shape[1])
        return np.frombuffer(self._map, dtype=np.uint8).reshape(shape)

    def bins(self, shape: tuple[int, int]) -> Ints:
        """Allocate bins in the folder, which is emptied first."""
        self.remove()
        self.check_disk(shape[0] * shape[1])
        self._folder.mkdir(exist_ok=True)
        with self._path("bins").open("w+b") as file:
            reserve(file, shape[0] * shape[1])
            return self._mapped(file, shape)

    def write(self, rows: BinnedRows) -> None:
        """Write all but the bins, which are there."""
        rest: dict[str, Any] = {name: getattr(rows.pairs, name) for name in _PAIRS}
        rest |= rows.cuts._asdict() | {"n_pairs": rows.n_pairs}
        self._map.flush()
        with self._path("bins").open("r+b") as file:
            os.fsync(file.fileno())
        with self._path("rest.npz").open("wb") as file:
            np.savez(file, **rest)
            file.flush()
            os.fsync(file.fileno())
        draft = self._path("draft")
        draft.write_text(json.dumps(self._complete_terms()))
        draft.rename(self._path("terms"))

    def remove(self) -> None:
        """Remove the rows, and the folder, which was checked, unless it has other files."""
        self._path("terms").unlink(missing_ok=True)
        for name in _NAMES[1:]:
            with suppress(OSError):
                self._path(name).unlink()
        with suppress(OSError):
            self._folder.rmdir()

    def _path(self, name: str) -> Path:
        return self._folder / name


def _are_sound(cuts: Cuts, pairs: GradedPairs, bins: Ints) -> bool:
    """Whether compiled functions can follow the numbers in kept rows."""
    n_columns, n_rows = bins.shape
    levels, starts = pairs.levels, pairs.starts
    integers = (cuts.n_bins, cuts.n_values, levels, starts)
    reals = (cuts.tops, cuts.lows, pairs.log_weight, pairs.log_query)
    is_plain = {a.dtype for a in integers} == {np.dtype(np.int64)}
    is_plain &= {a.dtype for a in reals} == {np.dtype(np.float64)}
    shapes = [a.shape for a in (*integers[:2], *reals)]
    wanted = [(n_columns,), (n_columns,), (n_columns, N_BINS), (n_columns,)]
    wanted += [(n_rows if pairs.log_weight.size else 0,), (len(levels) - 1,)]
    if not is_plain or shapes != wanted or levels.ndim != 1 or starts.ndim != 1:
        return False
    are_parts = levels[0] == 0 and levels[-1] == len(starts) - 1 and (np.diff(levels) > 0).all()
    are_parts &= starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not are_parts or cuts.n_bins.min() < 0 or cuts.n_bins.max() > ABSTAINS:
        return False
    return all(
        ((column < n_bins) | (column == ABSTAINS)).all()
        for column, n_bins in zip(bins, cuts.n_bins.tolist(), strict=True)
    )


def check_room(scratch: Scratch, beside: KeptRows | None, n_entries: int, itemsize: int) -> None:
    """Refuse disks that have no room for rows as they are, and for their bins."""
    if beside is None or beside.shares_disk(scratch.folder):
        scratch.check(n_entries * (itemsize + 1), "all rows")
        return
    scratch.check(n_entries * itemsize, "all rows")
    beside.check_disk(n_entries)


def allocate_bins(scratch: Scratch, beside: KeptRows | None, shape: tuple[int, int]) -> Ints:
    """Allocate bins in a file, beside a checkpoint or without a name."""
    if beside is not None:
        return beside.bins(shape)
    scratch.check(shape[0] * shape[1], _BYTES)
    bins: Ints = scratch.zeros(shape, np.uint8)
    return bins


@entry_named("fit")
def fit_boosted(
    model: RankBoost,
    stream: Stream,
    *,
    checkpoint: PathLike | None = None,
    every: float = 60.0,
    prefetch: int = 2,
    progress: Report | None = None,
    folder: PathLike | None = None,
) -> Any:
    """Fit RankBoost to a stream; the model is that of `fit` with all rows, to the bit.

    The stream is read once. Its rows go to a file without a name in `folder`; from
    there every column is sorted and cut, and rounds read its bins. The model of rounds
    so far is in the checkpoint, and the bins are beside it, so that neither the stream
    is read again nor a column sorted when the fit resumes; with trees, it is read again.

    Parameters are those of `fit`. `model` must have no other user: it is left
    half-changed if anything goes wrong. Returns it, or the model in a checkpoint that
    is finished.
    """
    with named(type(model).__name__):
        options = options_for_blocks(model, "on a stream")
        if not stream.has_queries:
            rule = "have queries, of which a block holds whole ones"
            raise refusal("stream", rule, "one without")
    kept = None
    if checkpoint is not None:
        kept = Checkpoint.of(checkpoint, every, terms_of(model, stream, None, 1))
    with nullcontext() if kept is None else kept.locked():
        beside, earlier = None, None
        if kept is not None:
            # Trees keep no rows: the stream is read again.
            beside = None if has_trees(model) else KeptRows(kept.path, kept.terms)
            found: Any = kept.read()
            earlier, position = found or (None, Position())
            if position.is_finished:
                with suppress(FileExistsError):  # other files stay
                    if beside is not None:
                        beside.check()
                        beside.remove()
                return earlier
            if beside is not None:
                beside.check()
            folder = kept.path.parent if folder is None else folder
        if has_trees(model):
            fit_trees(
                model, stream, folder=folder, prefetch=prefetch, progress=progress,
                kept=kept, earlier=earlier,
            )  # fmt: skip
            return model
        scratch = Scratch(_checked(folder))
        with named(type(model).__name__), Team(model._n_threads()) as team:
            rows = None if beside is None else beside.read()
            if rows is None:
                rows = _gather(model, stream, scratch, beside, team, prefetch, progress)
            booster = _begin(rows, options, scratch, team)
            model.n_features_in_ = len(rows.bins)
            name_features(model, stream)
            if earlier is not None:
                booster.resume(earlier.weak_rankers_)
            _boost(model, booster, kept)
            if beside is not None:
                beside.remove()
    return model


def _checked(folder: PathLike | None) -> Path:
    path = Path(gettempdir() if folder is None else folder)
    if not path.is_dir():
        rule, got = "be a folder that exists", repr(str(path))
        raise refusal("folder", rule, got, error=NotADirectoryError)
    return path


@contextmanager
def _spooled(
    model: RankBoost,
    stream: Stream,
    scratch: Scratch,
    beside: KeptRows | None,
    team: Team,
    prefetch: int,
    progress: Report | None,
) -> Iterator[tuple[CheckedBlocks, Spool]]:
    """Read the stream; its rows are in a file while the context is entered."""
    blocks = CheckedBlocks(model, team)
    spool: Spool | None = None
    # A tree takes values of any number for as many bins as there can be.
    max_bins = ABSTAINS if has_trees(model) else model.max_bins
    try:
        with prefetched(stream.blocks(), prefetch) as items:
            for block in items:
                with locate_errors(stream, block, blocks.n_rows):
                    X, some = blocks.add(block.X, block.y, block.qid, block.weight)
                if spool is None:
                    spool = Spool(scratch, X.shape[1], X.dtype, max_bins)
                    n_entries = (stream.n_rows or 0) * X.shape[1]
                    check_room(scratch, beside, n_entries, X.itemsize)
                spool.add(X, some)
                if progress is not None:
                    progress(blocks.n_rows, stream.n_rows)
        if spool is None:
            refuse_empty()
        blocks.check()
        yield blocks, spool
    finally:
        if spool is not None:
            spool.close()


def _gather(
    model: RankBoost,
    stream: Stream,
    scratch: Scratch,
    beside: KeptRows | None,
    team: Team,
    prefetch: int,
    progress: Report | None,
) -> BinnedRows:
    """Read the stream, and cut its columns into bins."""
    with _spooled(model, stream, scratch, beside, team, prefetch, progress) as (blocks, spool):
        bins = allocate_bins(scratch, beside, (spool.n_columns, spool.n_rows))
        rows = BinnedRows(bins, spool.bin(bins, team), blocks.pairs(), blocks.n_pairs)
        if beside is not None:
            beside.write(rows)
        return rows


def fit_trees(
    model: RankBoost,
    stream: Stream,
    *,
    folder: PathLike | None = None,
    prefetch: int = 2,
    progress: Report | None = None,
    kept: Checkpoint | None = None,
    earlier: RankBoost | None = None,
) -> None:
    """Read the stream, cut its columns, and grow trees from bins in a file.

    `earlier` is the model of the rounds that a checkpoint has, `kept`.
    """
    scratch = Scratch(_checked(folder))
    settings = tree_settings_of(model)
    with named(type(model).__name__), Team(model._n_threads()) as team:
        with _spooled(model, stream, scratch, None, team, prefetch, progress) as (blocks, spool):
            scratch.check(spool.n_rows * spool.n_columns, _BYTES)
            columns = bin_columns(
                spool.blocks(), team, rises=model._features.rises,
                max_bins=settings.max_bins or MOST_BINS, allocate=scratch.zeros,
            )  # fmt: skip
            n_rows, pairs = columns.n_rows, blocks.pairs()
            allocate = scratch.allocator(_BYTES_PER_ROW * n_rows)
            pair_set = GradedPairSet(pairs, allocate)
            if settings.equal_queries:
                level_queries(pair_set, n_rows, team)
            booster = TreeBooster(
                columns, Distribution([pair_set], n_rows, team, allocate), settings,
                model._features.is_category, team, offsets=pairs.starts[pairs.levels],
            )  # fmt: skip
            if earlier is not None:
                alphas = earlier.weak_rankers_["alpha"]
                booster.repeat(earlier.forest_, alphas, lambda: _in_rows(spool))
        name_features(model, stream)
        _boost(model, booster, kept)


def _in_rows(spool: Spool) -> Iterator[Floats]:
    """Yield blocks of rows as forests take them."""
    for block in spool.blocks():
        yield np.ascontiguousarray(block, dtype=np.float64)


def _begin(rows: BinnedRows, options: Options, scratch: Scratch, team: Team) -> Booster:
    """Return a booster with no round yet."""
    n_features, n_rows = rows.bins.shape
    allocate = scratch.allocator(_BYTES_PER_ROW * n_rows)
    pairs = GradedPairSet(rows.pairs, allocate)
    distribution = Distribution([pairs], n_rows, team, allocate)
    rule = options.alpha_rule(rows.n_pairs)
    columns = rows.cuts.columns(rows.bins, n_rows), no_sorted()
    learner = options.thresholds(columns, n_features, rule.smoothing, team)
    return Booster(distribution, [learner], rule, options.n_rounds)


def _boost(model: RankBoost, booster: Booster | TreeBooster, kept: Checkpoint | None) -> None:
    """Run all rounds; write the model to the checkpoint now and then, and in the end."""
    if kept is None:
        booster.boost()
        model._publish(booster.log)
        return
    n_kept = len(booster.log.rounds)

    def keep(is_finished: bool) -> None:
        nonlocal n_kept
        n_rounds = len(booster.log.rounds)
        if is_finished or n_rounds > n_kept:
            model._publish(booster.log)
            kept.write(model, Position(0, 0, is_finished))
            n_kept = n_rounds

    def write_if_due() -> None:
        if kept.is_due:
            keep(False)

    try:
        if isinstance(booster, TreeBooster):
            booster.boost(lambda log: write_if_due())
        else:
            booster.boost(report=write_if_due, every=1 if kept.every == 0 else None)
    except BaseException:
        # The rounds so far are written; the error is raised in any case.
        with suppress(Exception):
            keep(False)
        raise
    keep(True)
