"""RankBoost on a cluster: histograms of potentials, summed in every round."""

from typing import Any

import numpy as np

from peckorder.boosting.blocks import (
    options_for_blocks,
    publish,
    refuse_blocks,
)
from peckorder.boosting.sharded.booster import ShardedBooster
from peckorder.distributed.cluster.partitions import load
from peckorder.distributed.cluster.sources import Source
from peckorder.distributed.fitting.common import set_features, unfitted
from peckorder.distributed.fitting.rankboost_shards import DaskCrew
from peckorder.estimators import RankBoost
from peckorder.exceptions import DataError

# What went to and fro in a round.
TRAFFIC = np.dtype(
    [("bytes", np.int64), ("questions", np.int64), ("columns", np.int64)]
)


def fit_rankboost(estimator: RankBoost, source: Source, client: Any) -> None:
    """Learn rounds from sums; the model is that of `fit` with all rows, to the bit."""
    options = options_for_blocks(estimator, "on a cluster")
    if not source.has_queries:
        raise DataError(
            f"{source.who}: qid must be given for RankBoost on a cluster, as without "
            "queries every row makes a pair with rows of all other partitions; got "
            "None."
        )
    who = type(estimator).__name__
    partitions = load(client, source)
    with DaskCrew(partitions, unfitted(estimator)) as crew:
        rows, counts = crew.rows()
        if rows.n_rows == 0:
            refuse_blocks(who, counts.all_rows, counts.all_queries, counts.flat_queries)
        booster = ShardedBooster(who, crew, rows, options)
        booster.cut()
        booster.boost()
    set_features(estimator, partitions)
    publish(estimator, booster)
    estimator.traffic_ = np.array(booster.traffic.rounds, dtype=TRAFFIC)
