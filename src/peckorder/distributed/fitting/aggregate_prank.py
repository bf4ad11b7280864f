"""Ensembles of PRanks on a cluster: members learn on shards, and are merged."""

import warnings
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from peckorder._core.typing import Labels
from peckorder.distributed.cluster.partitions import Single, load
from peckorder.distributed.cluster.sources import Source
from peckorder.distributed.fitting.common import set_features, unfitted
from peckorder.estimators import AggregatePRank
from peckorder.feedback import Scale, read_labels
from peckorder.streams.block import Block


def fit_aggregate(estimator: AggregatePRank, source: Source, client: Any) -> None:
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
        raise ValueError(
            f"{source.who}: n_estimators must be {n_shards} or more, a member for each "
            f"partition; got {n_members}. Or make fewer partitions."
        )
    labels = union(partitions.ask(labels_of, unfitted(estimator)))
    scale = _scale(estimator, labels, partitions.n_rows)
    counts = [
        n_members // n_shards + (k < n_members % n_shards) for k in range(n_shards)
    ]
    rng = check_random_state(estimator.random_state)
    seeds = rng.randint(2**31 - 1, size=n_shards).tolist()
    shards = Single(
        unfitted(estimator).set_params(
            n_estimators=count, random_state=seed, classes=scale.classes
        )
        for count, seed in zip(counts, seeds, strict=True)
    )
    merged = reduce(AggregatePRank.merge, partitions.ask(train, shards, apart=True))
    set_features(estimator, partitions)
    estimator._begin(scale)
    estimator._store(
        merged._learner.with_threads(estimator._n_threads()), n_iter=merged.n_iter_
    )


def _check(estimator: AggregatePRank, source: Source) -> None:
    estimator._check()
    if estimator.kernel == "precomputed":
        raise ValueError(
            "AggregatePRank: kernel must be 'linear', 'poly', 'rbf' or a function for "
            "a distributed fit, since columns of precomputed ones stand for rows of "
            "one training set; got 'precomputed'."
        )
    if source.has_weight:
        raise ValueError(
            f"{source.who}: sample_weight must be None for AggregatePRank, which "
            "weighs all rows alike; got another."
        )


def labels_of(block: Block, estimator: AggregatePRank) -> Labels | None:
    """Return the labels of a partition, each once; None if they are given anyway."""
    if estimator.classes is not None:
        return None
    column = read_labels(estimator._who, block.y)
    if not column.is_numeric or not np.isfinite(column.values.astype(float)).all():
        Scale.inferred(estimator._who, column)  # says what is wrong
    return np.unique(column.values)


def union(some: list[Labels | None]) -> Labels | None:
    """Return the labels of several partitions, each once."""
    if some[0] is None:
        return None
    return np.unique(np.concatenate(some))  # type: ignore[arg-type]


def _scale(estimator: AggregatePRank, labels: Labels | None, n_rows: int) -> Scale:
    """Return the scale that a fit on all rows has."""
    if labels is None:
        return Scale.given(estimator._who, estimator.classes)
    with warnings.catch_warnings():
        # There seem to be as many classes as rows.
        warnings.simplefilter("ignore")
        scale = Scale.inferred(estimator._who, read_labels(estimator._who, labels))
    if len(scale) > max(100, n_rows // 2):
        warnings.warn(
            f"{estimator._who}: y has {len(scale)} classes in {n_rows} rows; if it is "
            "a quantity, cut it into grades first.",
            stacklevel=5,
        )
    return scale


def train(block: Block, shard: AggregatePRank) -> AggregatePRank:
    """Train the members of a partition."""
    return shard.fit(block.X, block.y)
