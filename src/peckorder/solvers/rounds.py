"""Rounds without Python in between, where there is one thread and nothing special."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from peckorder.kernels import rounds as kernels
from peckorder.kernels import thresholds
from peckorder.solvers.boosting import Boosted, Round, Steps, check_alpha
from peckorder.solvers.distribution import UNIT, Distribution, GradedPart
from peckorder.solvers.weak import Thresholds, WeakLearner

# Entries looked at between two chances to be interrupted.
_AT_A_TIME = 1 << 26


def can_run(
    distribution: Distribution, learners: Sequence[WeakLearner], steps: Steps
) -> bool:
    """Tell whether the case is a plain one, and too small for several threads."""
    if len(learners) != 1 or steps.method != "approximate":
        return False
    is_plain = type(learners[0]) is Thresholds and len(distribution.parts) == 1
    part = distribution.parts[0]
    return (
        is_plain
        and isinstance(part, GradedPart)
        and learners[0].n_threads(len(distribution.potentials)) == 1  # type: ignore[attr-defined]
    )


def run(
    boosted: Boosted,
    distribution: Distribution,
    learner: Thresholds,
    steps: Steps,
    n_rounds: int,
) -> None:
    """Add rounds until there are `n_rounds`, or nothing is left."""
    part: Any = distribution.parts[0]
    binned, columns, account = learner.binned, learner.sorted, learner.account
    n_rows = len(distribution.potentials)
    column_of = np.full(account.n_features, -1)
    column_of[columns.features] = np.arange(len(columns.features))
    # The scores change in place.
    distribution.scores = distribution.scores.copy()
    n_entries = len(binned.features) * n_rows + len(columns.rows) + n_rows
    n_entries += account.n_features
    chunk = max(1, _AT_A_TIME // n_entries)
    execute: Any = kernels.run
    while len(boosted.rounds) < n_rounds:
        size = min(chunk, n_rounds - len(boosted.rounds))
        record = np.empty((size, kernels.RECORD))
        account.reserve(size)
        done, account.size = execute(
            size,
            distribution.mass_unit,
            UNIT,
            part.levels,
            part.starts,
            part.rows,
            part.log_weight,
            part.log_step,
            part.log_query,
            part.up,
            part.down,
            part.up_scale,
            part.down_scale,
            part.base,
            part.log_mass,
            distribution.scores,
            distribution.potentials,
            binned.features,
            binned.bins,
            binned.n_bins,
            binned.abstains,
            columns.features,
            columns.starts,
            columns.rows,
            columns.is_last,
            columns.groups,
            columns.group_ends,
            columns.zero,
            columns.abstains,
            column_of,
            thresholds.LEARNT if learner.default is None else learner.default,
            account.cumulative,
            steps.rate,
            steps.smoothing,
            account.size,
            *account.arrays,
            learner.ceilings,
            learner.last_potentials(distribution.potentials),
            np.empty(2 * thresholds.TOGETHER, dtype=np.int64),
            np.empty((thresholds.TOGETHER, thresholds.N_BINS), dtype=np.int64),
            np.empty(learner.room, dtype=np.int64),
            np.empty(thresholds.FOUND, dtype=np.int64),
            np.empty(n_rows),
            record,
        )
        for feature, cut, default, alpha, log_total in record[:done].tolist():
            check_alpha(alpha)
            threshold = learner.threshold(int(feature), int(cut))
            round_ = Round(int(feature), threshold, default, alpha)
            boosted.add(round_, log_total - distribution.log_total)
            distribution.log_total = log_total
        if done < size:
            return
