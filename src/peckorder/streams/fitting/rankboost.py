"""RankBoost on a stream: columns of bins in a file, one byte an entry."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from peckorder._core.threads import Team
from peckorder.boosting.blocks import (
    CheckedBlocks,
    options_for_blocks,
    publish,
)
from peckorder.boosting.booster import Booster, Options, Watch
from peckorder.boosting.columns import no_sorted
from peckorder.boosting.columns_on_disk import Scratch, Spool
from peckorder.boosting.distribution import Distribution
from peckorder.boosting.rounds import RoundLog
from peckorder.estimators import RankBoost
from peckorder.exceptions import DataError
from peckorder.streams.block import Stream
from peckorder.streams.fitting.checkpoint import Checkpoint, Place, terms_of
from peckorder.streams.fitting.classes import refuse_empty
from peckorder.streams.fitting.names import name_features
from peckorder.streams.fitting.rankboost_bins import (
    BinnedRows,
    KeptRows,
    check_room,
    room_for_bins,
)
from peckorder.streams.prefetch import prefetched
from peckorder.streams.row_errors import told_where

# Bytes a row of scores, potentials, and what both are made from.
_BYTES_A_ROW = 32
# More rounds than there will be.
_NEVER = 1 << 62


def fit_boosted(
    model: RankBoost,
    stream: Stream,
    *,
    checkpoint: Any = None,
    every: float = 60.0,
    prefetch: int = 2,
    progress: Callable[[int, int | None], Any] | None = None,
    folder: Any = None,
) -> Any:
    """Fit RankBoost to a stream; the model is that of `fit` with all rows, to the bit.

    The stream is read once. Its rows go to a file without a name in `folder`; from
    there every column is sorted and cut, and its bins are what rounds look at. The
    model of rounds so far is in the checkpoint, and the bins are beside it, so that
    neither the stream is read again nor a column sorted when the fit goes on.

    Parameters
    ----------
    model : RankBoost
        A model that nobody else uses: it is left half-changed if anything goes wrong.
    stream : Stream
        The rows, with queries.
    checkpoint, every, prefetch, progress
        As in `fit`; `progress` is told how many rows are read.
    folder : path or None, default=None
        Where temporary files go: all rows as they are, then a byte an entry. None for
        the folder of the checkpoint, or that of the system without one.

    Returns
    -------
    model : RankBoost
        The model, or the one in a checkpoint that is finished.
    """
    options = options_for_blocks(model, "on a stream")
    if not stream.has_queries:
        raise DataError(
            f"{model._who}: stream must have queries, of which a block holds whole "
            "ones; got one without."
        )
    if checkpoint is None:
        return _fit(model, stream, options, None, prefetch, progress, folder)
    kept = Checkpoint.of(checkpoint, every, terms_of(model, stream, None, 1))
    with kept.held():
        return _fit(model, stream, options, kept, prefetch, progress, folder)


def _fit(
    model: RankBoost,
    stream: Stream,
    options: Options,
    kept: Checkpoint | None,
    prefetch: int,
    progress: Callable[[int, int | None], Any] | None,
    folder: Any,
) -> Any:
    """Go on from a checkpoint, or begin."""
    beside, earlier = None, None
    if kept is not None:
        beside = KeptRows(kept.path, kept.terms)
        found: Any = kept.read()
        earlier, place = found or (None, Place())
        if place.is_finished:
            with suppress(FileExistsError):  # what is not ours stays
                beside.check()
                beside.remove()
            return earlier
        beside.check()
        folder = kept.path.parent if folder is None else folder
    scratch = Scratch(model._who, _checked(folder))
    with Team(model._n_threads()) as team:
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


def _checked(folder: Any) -> Path:
    path = Path(gettempdir() if folder is None else folder)
    if not path.is_dir():
        raise NotADirectoryError(
            f"fit: folder must be a folder that exists; got {str(path)!r}."
        )
    return path


def _gather(
    model: RankBoost,
    stream: Stream,
    scratch: Scratch,
    beside: KeptRows | None,
    team: Team,
    prefetch: int,
    progress: Callable[[int, int | None], Any] | None,
) -> BinnedRows:
    """Read the stream, and cut its columns into bins."""
    blocks = CheckedBlocks(model, team)
    spool: Spool | None = None
    try:
        with prefetched(stream.blocks(), prefetch) as items:
            for block in items:
                with told_where(stream, block, blocks.n_rows):
                    X, some = blocks.add(block.X, block.y, block.qid, block.weight)
                if spool is None:
                    spool = Spool(scratch, X.shape[1], X.dtype, model.max_bins)
                    n_entries = (stream.n_rows or 0) * X.shape[1]
                    check_room(scratch, beside, n_entries, X.itemsize)
                spool.add(X, some)
                if progress is not None:
                    progress(blocks.n_rows, stream.n_rows)
        if spool is None:
            refuse_empty()
        blocks.check()
        bins = room_for_bins(scratch, beside, (spool.n_columns, spool.n_rows))
        rows = BinnedRows(bins, spool.bin(bins, team), blocks.graded.joined())
        if beside is not None:
            beside.write(rows)
        return rows
    finally:
        if spool is not None:
            spool.close()


def _begin(rows: BinnedRows, options: Options, scratch: Scratch, team: Team) -> Booster:
    """Return a booster with no round yet."""
    n_features, n_rows = rows.bins.shape
    allocate = scratch.allocator(_BYTES_A_ROW * n_rows)
    pairs = rows.queries.pair_set(allocate)
    distribution = Distribution([pairs], n_rows, team, allocate)
    rule = options.alpha_rule(rows.queries.n_pairs)
    columns = rows.cuts.columns(rows.bins, n_rows), no_sorted()
    learner = options.thresholds(columns, n_features, rule.smoothing, team)
    return Booster(distribution, [learner], rule, options.n_rounds)


def _boost(model: RankBoost, booster: Booster, kept: Checkpoint | None) -> None:
    """Do all rounds; keep what there is now and then, and in the end."""
    if kept is None:
        booster.boost()
        publish(model, booster)
        return
    n_kept = len(booster.log.rounds)

    def keep(is_finished: bool) -> None:
        nonlocal n_kept
        n_rounds = len(booster.log.rounds)
        if is_finished or n_rounds > n_kept:
            publish(model, booster)
            kept.write(model, Place(0, 0, is_finished))
            n_kept = n_rounds

    def report(log: RoundLog) -> None:
        if kept.is_due:
            keep(False)

    try:
        booster.boost(watch=Watch(1 if kept.every == 0 else _NEVER, report))
    except BaseException:
        # What was learnt is kept; what went wrong is said in any case.
        with suppress(Exception):
            keep(False)
        raise
    keep(True)
