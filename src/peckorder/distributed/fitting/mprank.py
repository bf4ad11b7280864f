"""Linear MPRank on a cluster: moments of partitions, joined."""

from functools import reduce
from typing import Any

import numpy as np

from peckorder.distributed.cluster.partitions import pass_over
from peckorder.distributed.cluster.sources import Source
from peckorder.distributed.fitting.common import (
    check_linear,
    read,
    refuse_weightless,
    set_features,
    unfitted,
)
from peckorder.estimators import MPRank
from peckorder.magnitude.mprank_solver.moments import RunningMoments
from peckorder.streams.block import Block


def fit_mprank(estimator: MPRank, source: Source, client: Any) -> None:
    """Learn in one pass: partitions are read, summed and dropped."""
    estimator._check()
    check_linear(estimator)
    partitions = pass_over(
        client, source, moments_of, unfitted(estimator), source.has_queries
    )
    moments = partitions.joined(join)
    if moments is None:
        refuse_weightless(source.who)
    with np.errstate(over="ignore", invalid="ignore"):
        estimator._fit_moments(moments)
    set_features(estimator, partitions)


def moments_of(
    block: Block, estimator: MPRank, has_queries: bool
) -> RunningMoments | None:
    """Return the moments of a partition; None if nothing in it weighs anything."""
    given = read(estimator, block)
    if given is None:
        return None
    moments = RunningMoments.empty(
        estimator._who, estimator.n_features_in_, has_queries=has_queries
    )
    with np.errstate(over="ignore", invalid="ignore"):
        return moments.add(given.X, given.label, given.query, given.weight)


def join(some: list[RunningMoments | None]) -> RunningMoments | None:
    """Join moments, in their order."""
    found = [moments for moments in some if moments is not None]
    with np.errstate(over="ignore", invalid="ignore"):
        return reduce(RunningMoments.merge, found) if found else None
