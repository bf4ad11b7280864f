"""The winner fitted again to all rows, to be saved in a file."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from peckorder.compare.candidates import TaskInfo
from peckorder.compare.contest import Contest
from peckorder.compare.ratings_case import RatingsCase
from peckorder.compare.table_case import TableCase
from peckorder.compare.tuning import innermost
from peckorder.estimators import AggregatePRank, PRank, TableRanker
from peckorder.tables.coded_columns import Coders
from peckorder.tables.features import Scaling


def refit(case: TableCase | RatingsCase, contest: Contest, name: str) -> Any:
    """Fit a candidate of the contest to all rows; return the part that can be saved.

    Of scores that were calibrated to classes the scores are kept. The returned model
    takes rows as they are in the file.
    """
    (candidate,) = (c for c in case.candidates if c.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(case, RatingsCase):
            people: Any = candidate.make(TaskInfo(contest.seed, 0))
            return people.fit(case.ratings).model_
        rows = case.training_rows()
        fitted = candidate.fit(case.info(contest.seed), rows)
        scaling = fitted.scaling
        if getattr(fitted.model, "fill", False):
            # What a run does not list is 0 there.
            n_runs = len(case.coding.coders)
            scaling = Scaling(np.zeros(n_runs), np.ones(n_runs))
        ranker = innermost(fitted.model)
        if case.classes is not None and isinstance(ranker, PRank | AggregatePRank):
            is_text = any(isinstance(label, str) for label in case.classes)
            labels = np.array(case.classes, dtype=object if is_text else None)
            ranker = clone(ranker).set_params(classes=list(case.classes))
            X = rows.scaled_rows if candidate.scaled else rows.X
            ranker.fit(X, labels[case.y.astype(np.int64)])
    return table_model(ranker, rows.coders, scaling)


def table_model(ranker: Any, coders: Coders, scaling: Scaling | None) -> TableRanker:
    """Return a model of columns as they are in a file, found by their names."""
    parts = None if scaling is None else (scaling.mean, scaling.scale)
    return TableRanker._of(ranker, coders, parts)
