"""Learning from a stream, block after block."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from copy import copy
from inspect import signature
from typing import Any, NoReturn, TypeVar

import numpy as np
from sklearn.base import clone

from peckorder._core.errors import entry, entry_named, named, refusal
from peckorder._core.typing import Array, Labels, PathLike, VectorLike
from peckorder._core.validation import Rule, not_negative, optional, whole
from peckorder.estimators import MPRank, RankBoost
from peckorder.feedback import Scale, read_labels
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.storage.mixin import StoredModel
from peckorder.streams.block import Block, Stream, locate_errors
from peckorder.streams.fitting.checkpoint import Checkpoint, Position, terms_of
from peckorder.streams.prefetch import prefetched
from peckorder.streams.whole_queries import check_gaps

Estimator = TypeVar("Estimator")
Report = Callable[[int, int | None], object]

_CALLABLE = Rule("a function", callable)


@entry
def fit(
    estimator: Estimator,
    stream: Stream,
    classes: VectorLike | None = None,
    *,
    n_passes: int = 1,
    checkpoint: PathLike | None = None,
    every: float = 60.0,
    prefetch: int = 2,
    progress: Report | None = None,
    folder: PathLike | None = None,
) -> Estimator:
    """Learn from scratch from a stream that need not fit in memory.

    The blocks of the stream go through `partial_fit` in their order, while a thread
    reads the next ones. The model is that of one `partial_fit` with all rows: to the
    bit for the on-line learners (`PRank`, `AggregatePRank`, `WidrowHoff`,
    `MulticlassPerceptron`), whatever the size of the blocks, and to rounding (1e-10)
    for `MPRank` with a linear kernel, against its `fit` with float64 rows. (Its `fit`
    multiplies dense float32 rows in single precision, and mends the solution in
    double, which leaves a difference of up to some 1e-6.) Without a kernel, n passes
    are also what the `fit` of the others does with ``shuffle=False, max_iter=n``. The
    model of `RankBoost` is that of its `fit`, to the bit.

    Parameters
    ----------
    estimator : estimator
        One with `partial_fit`, of peckorder or in scikit-learn's form, or a `RankBoost`.
        Queries and weights are passed to it if its `partial_fit` takes them. Its fitted
        state is replaced after all rows are learnt, not before.
    stream : Stream
        The rows.
    classes : array-like, default=None
        All classes, lowest first. None: those of the estimator, or the labels are read
        once before (of Parquet and arrays the labels alone). For estimators whose
        `partial_fit` takes them.
    n_passes : int, default=1
        How often the stream is read, always in the same order; the parameters
        `max_iter` and `shuffle` of estimators are for `fit`.
    checkpoint : path, default=None
        A file to which the model learnt so far is written. The same call with the same
        file resumes from there, and ends with the identical model; a file of a finished
        fit gives its model at once. One fit at a time may use it, by its name or by a
        link. For estimators of peckorder.
    every : float, default=60.0
        Seconds between two writes of the checkpoint; 0 for one after every block.
    prefetch : int, default=2
        How many blocks may wait to be learnt, beside the one that is being read and
        the one that is being learnt. 0 reads without a thread.
    progress : callable, default=None
        Called with the rows learnt so far and all there are (None if not known), after
        every block; for RankBoost with the rows read.
    folder : path, default=None
        Where RankBoost keeps its temporary files; None for the folder of the
        checkpoint, or that of the system without one. None for all others.

    Returns
    -------
    estimator
        The estimator, fitted. It knows the names of columns, where the stream has them:
        a frame with others is refused, as after `fit` with a frame.

    Raises
    ------
    DataError
        If the stream has no rows, or rows that cannot be learnt. If reading or learning
        fails or is interrupted, the estimator is as it was before, and the model of all
        blocks before the failure is in the checkpoint, which `peckorder.load` reads. Of
        RankBoost there is no model, nor a checkpoint, before all rows are read; then it
        is that of the rounds so far.

    Notes
    -----
    Memory is that of ``prefetch + 2`` blocks, the model, and 8 bytes per query; rows
    beyond that cost none. (A kernel and the voted rule keep rows in the model.) Time is
    that of `partial_fit`, or of reading where that is slower.

    `RankBoost` reads the stream once, into a file without a name in `folder`. Each
    column is sorted in memory, one per thread, and cut; its bins go to another file,
    which the rounds read. So it takes n d (s + 1) bytes of disk for n rows of d features
    of s bytes, one of them after the columns are cut, and 32 bytes of memory per row,
    which go to files too where memory is short, 32 per level of grades and 24 per query.
    It requires queries, ``weak="threshold"`` or ``"tree"`` and ``alpha="approximate"``,
    without held-out queries; thresholds require ``max_bins`` unless features have at most
    255 values. With a checkpoint the bins of thresholds are kept beside it, in a folder
    named after it with ``.rows``, until the fit is finished: the stream is not read
    again. For trees it is.

    To go on with a model that is fitted already, call its `partial_fit` in a loop over
    the stream.

    Examples
    --------
    >>> from peckorder import PRank
    >>> from peckorder.datasets import make_square
    >>> from peckorder.streams import fit, from_arrays
    >>> X, y = make_square(3000, random_state=0)
    >>> model = fit(PRank(), from_arrays(X[:2000], y[:2000], rows=256))
    >>> round(-model.score(X[2000:], y[2000:]), 2)
    0.27
    """
    whole(1).check("n_passes", n_passes)
    not_negative.check("every", every)
    whole(0).check("prefetch", prefetch)
    optional(_CALLABLE).check("progress", progress)
    _check(estimator, stream, classes, n_passes, folder)
    model: Any = clone(estimator)
    fresh = dict(vars(model))
    if isinstance(model, RankBoost):
        from peckorder.streams.fitting.rankboost import fit_boosted

        model = fit_boosted(
            model,
            stream,
            checkpoint=checkpoint,
            every=every,
            prefetch=prefetch,
            progress=progress,
            folder=folder,
        )
    else:
        classes = _check_learner(model, stream, classes)
        run = _Run(model, stream, classes, n_passes, prefetch, progress)
        kept = _opened(run, checkpoint, every)
        with nullcontext() if kept is None else kept.locked():
            model = run.complete(kept)
    _set_state(fresh | vars(model), estimator)
    return estimator


def _set_state(learnt: dict[str, object], estimator: Any) -> None:
    """Replace the state of an estimator by the learnt one; its parameters stay."""
    learnt = learnt | estimator.get_params(deep=False)
    estimator.__dict__.clear()
    estimator.__dict__.update(learnt)


class _Run:
    """The passes over a stream that make a model.

    `reached` is the position in the stream and the state of the model there: an
    interrupt may come after the model has learnt a block and before it is counted.
    """

    def __init__(
        self,
        model: Any,
        stream: Stream,
        classes: Array | None,
        n_passes: int,
        prefetch: int,
        progress: Report | None,
    ) -> None:
        self.model, self.stream, self.classes = model, stream, classes
        self.n_passes, self.prefetch, self.progress = n_passes, prefetch, progress
        self.n_rows = stream.n_rows
        self.reached = Position(), dict(vars(model))
        self.written = Position()
        self._takes = {"classes", "qid"} & set(signature(model.partial_fit).parameters)

    def complete(self, checkpoint: Checkpoint | None) -> Any:
        """Return the model of all passes."""
        stored = None if checkpoint is None else checkpoint.read()
        if stored is not None:
            self.model, self.written = stored
            self.n_rows = self.n_rows or self.written.n_all or None
            # Blocks are arrays without names: each would cause a warning.
            vars(self.model).pop("feature_names_in_", None)
            self.reached = self.written, dict(vars(self.model))
        try:
            while not self.reached[0].is_finished:
                self._learn_pass(checkpoint)
        except BaseException:
            # The model so far is written; the error is raised in any case.
            with suppress(Exception):
                self._write(checkpoint)
            raise
        self._write(checkpoint)
        name_features(self.model, self.stream)
        return self.model

    def _learn_pass(self, checkpoint: Checkpoint | None) -> None:
        """Learn the rest of a pass."""
        n_passes, n_rows, _, n_all = self.reached[0]
        fit_params: dict[str, object] = {}
        if not n_passes and not n_rows and "classes" in self._takes:
            fit_params["classes"] = classes_of(self.model, self.stream, self.classes)
        with prefetched(self.stream.blocks(n_rows), self.prefetch) as blocks:
            for block in blocks:
                self._learn(block, fit_params, n_rows)
                fit_params = {}
                n_rows += len(block)
                self._advance(Position(n_passes, n_rows, n_all=n_all))
                if checkpoint is not None and checkpoint.is_due:
                    self._write(checkpoint)
                self._report()
        if n_rows == 0:
            refuse_empty()
        if _is_untrained(self.model, vars(self.model)):
            raise refusal("weight", "be > 0 for some row of the stream", "zero for all")
        self.n_rows = n_rows
        n_passes += 1
        self._advance(Position(n_passes, 0, n_passes == self.n_passes, n_rows))

    def _learn(self, block: Block, fit_params: dict[str, object], first: int) -> None:
        if block.qid is not None and "qid" in self._takes:
            fit_params = fit_params | {"qid": block.qid}
        if block.weight is not None:
            fit_params = fit_params | {"sample_weight": block.weight}
        with locate_errors(self.stream, block, first), named(type(self.model).__name__):
            is_weightless = block.weight is not None and not block.weight.any()
            if is_weightless and isinstance(self.model, MPRank):
                # MPRank refuses such rows if there are no others: only check them.
                is_first = _is_untrained(self.model, vars(self.model))
                copy(self.model)._read(block.X, block.y, block.qid, None, None, reset=is_first)
            else:
                self.model.partial_fit(block.X, block.y, **fit_params)

    def _advance(self, position: Position) -> None:
        self.reached = position, dict(vars(self.model))

    def _report(self) -> None:
        if self.progress is not None:
            position, n_all = self.reached[0], self.n_rows
            total = None if n_all is None else n_all * self.n_passes
            self.progress(position.n_passes * (n_all or 0) + position.n_rows, total)

    def _write(self, checkpoint: Checkpoint | None) -> None:
        position, state = self.reached
        is_new = position != self.written and not _is_untrained(self.model, state)
        if checkpoint is not None and is_new:
            model = copy(self.model)
            vars(model).clear()
            vars(model).update(state)
            name_features(model, self.stream)
            checkpoint.write(model, position)
            self.written = position


def _is_untrained(model: object, state: Mapping[str, object]) -> bool:
    """Return whether MPRank has learnt no row with positive weight yet."""
    return isinstance(model, MPRank) and "n_iter_" not in state


def _check(
    estimator: object, stream: object, classes: object, n_passes: int, folder: object
) -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise refusal(
            "estimator",
            "be an object with get_params and partial_fit",
            repr(estimator),
            error=TypeError,
        )
    if not isinstance(stream, Stream):
        raise refusal(
            "stream",
            "be one of peckorder.streams, from_parquet(...) for instance",
            type(stream).__name__,
            error=TypeError,
        )
    if isinstance(estimator, RankBoost) and classes is not None:
        raise refusal(
            "classes", "be None for RankBoost, which knows none", repr(classes), error=TypeError
        )
    if not isinstance(estimator, RankBoost) and folder is not None:
        raise refusal(
            "folder",
            f"be None for {type(estimator).__name__}, which keeps no temporary files",
            repr(folder),
            error=TypeError,
        )
    if isinstance(estimator, MPRank | RankBoost) and n_passes != 1:
        raise refusal(
            "n_passes",
            f"be 1 for {type(estimator).__name__}, which learns no more from the same rows",
            repr(n_passes),
            error=ValueError,
        )


def _check_learner(model: Any, stream: Stream, classes: VectorLike | None) -> Array | None:
    """Refuse what an estimator does not take; return the classes, checked."""
    name = type(model).__name__
    try:
        parameters = signature(model.partial_fit).parameters
    except AttributeError as error:
        # Some give the reason, as MPRank does for kernels.
        why = f" {error.__cause__}" if error.__cause__ else ""
        raise refusal(
            "estimator",
            "be one with partial_fit, or a RankBoost",
            repr(model),
            hint=why,
            error=TypeError,
        ) from None
    if stream.has_weights and "sample_weight" not in parameters:
        rule = f"be without weights for {name}, which takes none"
        raise refusal("stream", rule, "one with", error=TypeError)
    if classes is None:
        return None
    if "classes" not in parameters:
        rule = f"be None for {name}, which knows none"
        raise refusal("classes", rule, repr(classes), error=TypeError)
    return Scale.given(classes).classes


def _opened(run: _Run, path: PathLike | None, every: float) -> Checkpoint | None:
    if path is None:
        return None
    if not isinstance(run.model, StoredModel):
        raise refusal(
            "checkpoint",
            "be None for estimators that are not peckorder's own",
            f"{path!r} for {type(run.model).__name__}",
            error=TypeError,
        )
    terms = terms_of(run.model, run.stream, run.classes, run.n_passes)
    return Checkpoint.of(path, every, terms)


# More distinct labels are a quantity.
MOST_CLASSES = 1 << 16


def classes_of(model: Any, stream: Stream, classes: Array | None) -> Array | None:
    """Return the classes to pass to `partial_fit`; None if the model has its own.

    Without classes the labels are read once, and nothing else of the rows where the
    source allows it.
    """
    is_ours = isinstance(model, OrdinalEstimator)
    if classes is not None:
        return classes
    if is_ours and model.classes is not None:
        return None
    with named(type(model).__name__):
        labels = _distinct(stream, ordered=is_ours)
        if is_ours and len(labels) < 2:
            Scale.inferred(read_labels(labels))  # raises an error
    return labels


def _distinct(stream: Stream, *, ordered: bool) -> Labels:
    known: Labels = np.empty(0)
    number = 0
    for y in stream.labels():
        check_gaps(stream, "y", y, number)
        labels = np.unique(y)
        if ordered and labels.dtype.kind not in "biuf":
            Scale.inferred(read_labels(labels))  # raises an error
        known = np.union1d(known, labels) if number else labels
        number += len(y)
        if len(known) > MOST_CLASSES:
            raise refusal(
                "y",
                f"hold at most {MOST_CLASSES:,} classes",
                "more",
                hint="If it is a quantity, cut it into grades first.",
            )
    if number == 0:
        refuse_empty()
    return known


@entry_named("fit")
def refuse_empty() -> NoReturn:
    """Refuse a stream without rows."""
    raise refusal("stream", "hold at least one row", "none")


def name_features(model: Any, stream: Stream) -> None:
    """Store the names of the columns of a stream, if it has any.

    After learning: blocks are arrays, for which models fitted with names would warn.
    """
    if stream.feature_names is not None and "n_features_in_" in vars(model):
        model.feature_names_in_ = np.array(stream.feature_names, dtype=object)
