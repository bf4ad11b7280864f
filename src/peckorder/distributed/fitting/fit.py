"""Fitting on a cluster: which estimator learns how."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from peckorder._base import all_or_nothing
from peckorder._core.errors import entry, refusal, warn
from peckorder._core.typing import Labels
from peckorder._core.validation import generator
from peckorder.distributed.cluster.client import (
    ReleasingClient,
    reporting_lost_scheduler,
    usable_client,
)
from peckorder.distributed.cluster.partitions import PerPartition, load
from peckorder.distributed.cluster.sources import Source, source_of
from peckorder.distributed.fitting.common import named_after, set_features
from peckorder.distributed.fitting.magnitude import fit_mprank, fit_svrank
from peckorder.distributed.fitting.rankboost import fit_rankboost
from peckorder.estimators import AggregatePRank, MPRank, RankBoost, SVRank
from peckorder.feedback import Scale, read_labels
from peckorder.streams.block import Block

if TYPE_CHECKING:
    from distributed import Client


Fitted = TypeVar("Fitted")


@entry
def fit(
    estimator: Fitted,
    data: object,
    y: object = None,
    *,
    qid: object = None,
    sample_weight: object = None,
    target: str | None = None,
    features: Iterable[str] | None = None,
    client: "Client | None" = None,
) -> Fitted:
    """Fit an estimator to rows that a Dask cluster holds, or can read.

    Rows stay where they are; what travels are sums over the rows of a partition:

    ===============  ====================================================  ============
    estimator        what workers sum                                      the model is
    ===============  ====================================================  ============
    MPRank (linear)  moments of features and labels, once                  that of
                                                                           `fit`, to
                                                                           rounding
    SVRank (linear)  losses of pairs and their slopes, for each plane      that of
                                                                           `fit`, to
                                                                           its `tol`
    AggregatePRank   nothing: each partition trains its share of the       that of the
                     members, which are merged                             same shards
    RankBoost        potentials of rows by bins of features, each round    that of
                                                                           `fit`, to
                                                                           the bit
    ===============  ====================================================  ============

    A query must be whole in one partition: see `repartition_by_qid`. A worker that is
    lost is no loss as long as Dask can make its partitions again, by reading or
    computing; if it cannot, there is an error.

    Parameters
    ----------
    estimator : MPRank, SVRank, AggregatePRank or RankBoost
        It is fitted in place, as by its `fit`; or left as it was, if anything fails.
    data : dask.array.Array, dask.dataframe.DataFrame, path or list of paths
        The rows: an array (n_samples, n_features), whose chunks of rows are the
        partitions; a frame; or files of Parquet, each of which is a partition, at
        places where all workers can read them. A folder stands for the files in it
        whose names end in .parquet or .pq, in the order of their names with numbers by
        their value. Partitions without rows are left out.
    y : dask.array.Array of shape (n_samples,), default=None
        The labels, if data is an array.
    qid : dask.array.Array of shape (n_samples,), or str, default=None
        The query of each row; the name of a column, if data is a frame or files. None
        if all rows are one query, which is more than SVRank and RankBoost can do here.
        AggregatePRank learns rows one by one: a column named here is no feature to it,
        and queries need not be whole.
    sample_weight : dask.array.Array of shape (n_samples,), or str, default=None
        Weights of rows, as in the estimator's `fit`; or the name of a column.
    target : str, default=None
        The column of labels, if data is a frame or files.
    features : list of str, default=None
        The columns to learn from, if data is a frame or files; None for all others.
    client : dask.distributed.Client, default=None
        The cluster; None for the client at hand.

    Returns
    -------
    estimator
        The estimator, fitted. For n rows, d features and p partitions, on W workers:

        - MPRank: one pass, O(n d^2 / W) time; p messages of ``8 (d + 1)^2`` bytes,
          joined by eights on the workers. At most one partition per worker thread is in
          memory.
        - SVRank: all rows stay in the workers' memory. For each look at the risk, some
          three an iteration, O((n log n + n d) / W) time, W messages of ``16 d`` bytes
          to the workers, and ``8 p (d + 1)`` bytes back.
        - AggregatePRank: O(1 / p) of the time that all members would take on all rows,
          shared by W workers; members travel once.
        - RankBoost: rows stay in the workers' memory, with one byte per entry. To
          find where columns are cut, O(n d log(n) / W) time and at most 18 questions
          to all workers for each column, or some of them together. For each round,
          O(n / W + n k / W) time, 3 or 4 questions q, and ``8 W (10 + q + k (b + 1))``
          bytes for the sums of the k columns that may be the best, of at most b bins.
          `traffic_` (n_rounds_,) has bytes, questions and columns as counted.

    See Also
    --------
    repartition_by_qid : Brings queries together.
    score : Metrics of the model, on the cluster too.
    peckorder.streams.fit : Rows that one machine reads block after block.

    Notes
    -----
    MPRank is left as `MPRank.partial_fit` leaves it: without `dual_coef_`, and ready to
    go on with more rows. `solver` does not matter.

    SVRank goes the way of its `fit` to the same minimum, and both end within ``tol`` of
    it. They are equal to rounding as a rule; where rounding decides which of two steps
    is taken, they differ by what ``tol`` allows. So it is after a lost worker.

    RankBoost wants ``max_bins``, unless features have at most 255 values, and takes
    thresholds with ``alpha="approximate"`` alone, without held-out queries. With
    ``weak="tree"`` partitions come to the client one after another, and trees grow
    there from bins in a file, as by `peckorder.streams.fit`. A worker that is lost
    costs what it takes to make its rows again, to bin them and to repeat the rounds so
    far; the model stays the same.

    Of AggregatePRank, partition k of p trains ``n_estimators // p`` members, the first
    ``n_estimators % p`` partitions one more, as `fit` would train them on these rows,
    with the k-th of the seeds
    ``check_random_state(random_state).randint(2**31 - 1, size=p)``; then all are merged
    in order. So no member sees all rows: more, and smaller, partitions make members
    that know less, and their mean smoother.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from peckorder import MPRank
    >>> from peckorder.distributed import fit
    >>> X = da.from_array([[0, 1], [1, 3], [2, 2], [3, 0]], chunks=(2, 2))
    >>> y = da.from_array([1.0, 1.5, 3.0, 4.5], chunks=2)
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     model = fit(MPRank(C=100.0), X, y)
    >>> model.predict(X.compute()).round(2).tolist()
    [1.0, 1.56, 2.91, 4.53]
    """
    learn = next((_FITS[kind] for kind in _FITS if isinstance(estimator, kind)), None)
    if learn is None:
        known = ", ".join(kind.__name__ for kind in _FITS)
        got = estimator.__name__ if isinstance(estimator, type) else estimator
        raise refusal(
            "estimator",
            f"be one of {known}, whose sums over partitions make a model",
            repr(got),
            hint="Those that learn row by row take streams: peckorder.streams.fit.",
            error=TypeError,
        )
    client = usable_client(client)
    source = source_of(data, y, qid, sample_weight, target, features)
    with (
        all_or_nothing(estimator),
        reporting_lost_scheduler(client),
        ReleasingClient(client) as releasing,
    ):
        learn(estimator, source, releasing)
    return estimator


def fit_aggregate(estimator: AggregatePRank, source: Source, client: "Client") -> None:
    """Let each partition train its share of the members; merge them in order.

    Partition k of p, without empty ones, trains ``n_estimators // p`` members, the
    first ``n_estimators % p`` partitions one more, with the k-th of p seeds drawn by
    ``check_random_state(random_state).randint(2**31 - 1, size=p)``. Queries are of no
    matter, be they whole or not: a column of them is no feature, that is all.
    """
    _check(estimator, source)
    source = replace(source, has_queries=False)
    partitions = load(client, source)
    n_shards, n_members = len(partitions), int(estimator.n_estimators)
    if n_members < n_shards:
        raise refusal(
            "n_estimators",
            f"be {n_shards} or more, a member for each partition",
            n_members,
            hint="Or make fewer partitions.",
            error=ValueError,
        )
    labels = union(partitions.ask(labels_of, clone(estimator)))
    with named_after(estimator):
        scale = _scale(estimator, labels, partitions.n_rows)
    counts = [n_members // n_shards + (k < n_members % n_shards) for k in range(n_shards)]
    rng = generator(estimator.random_state)
    seeds = rng.randint(2**31 - 1, size=n_shards).tolist()
    shards = PerPartition(
        clone(estimator).set_params(n_estimators=count, random_state=seed, classes=scale.classes)
        for count, seed in zip(counts, seeds, strict=True)
    )
    merged = reduce(AggregatePRank.merge, partitions.ask(train, shards, apart=True))
    set_features(estimator, partitions)
    estimator._begin(scale)
    estimator._store(merged._learner.with_threads(estimator._n_threads()), n_iter=merged.n_iter_)


def _check(estimator: AggregatePRank, source: Source) -> None:
    with named_after(estimator):
        estimator._check()
        if estimator.kernel == "precomputed":
            raise refusal(
                "kernel",
                "be 'linear', 'poly', 'rbf' or a function for a distributed fit, since "
                "columns of precomputed ones are rows of one training set",
                "'precomputed'",
                error=ValueError,
            )
    if source.has_weight:
        raise refusal(
            "sample_weight",
            "be None for AggregatePRank, whose rows all have the same weight",
            "another",
            error=ValueError,
        )


def labels_of(block: Block, estimator: AggregatePRank) -> Labels | None:
    """Return the labels of a partition, each once; None if they are given anyway."""
    if estimator.classes is not None:
        return None
    with named_after(estimator):
        column = read_labels(block.y)
        if not column.is_numeric or not np.isfinite(column.values.astype(float)).all():
            Scale.inferred(column)  # raises an error
    return np.unique(column.values)


def union(labels: list[Labels | None]) -> Labels | None:
    """Return the labels of several partitions, each once."""
    if labels[0] is None:
        return None
    return np.unique(np.concatenate(labels))  # type: ignore[arg-type]


def _scale(estimator: AggregatePRank, labels: Labels | None, n_rows: int) -> Scale:
    """Return the scale that a fit on all rows has."""
    if labels is None:
        return Scale.given(estimator.classes)
    with warnings.catch_warnings():
        # There seem to be as many classes as rows.
        warnings.simplefilter("ignore")
        scale = Scale.inferred(read_labels(labels))
    if len(scale) > max(100, n_rows // 2):
        warn(
            f"y has {len(scale)} classes in {n_rows} rows; if it is "
            "a quantity, cut it into grades first."
        )
    return scale


def train(block: Block, shard: AggregatePRank) -> AggregatePRank:
    """Train the members of a partition."""
    return shard.fit(block.X, block.y)


# How each learns: the estimator, what the data is, and the client.
_FITS: dict[type, Callable[[Any, Source, Any], None]] = {
    MPRank: fit_mprank,
    SVRank: fit_svrank,
    AggregatePRank: fit_aggregate,
    RankBoost: fit_rankboost,
}
