"""The winner learnt again from all rows, to be kept in a file."""

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from peckorder.collaborative import PersonalRanker
from peckorder.compare.candidates.calibration import fit
from peckorder.compare.contest.case import Case
from peckorder.compare.contest.contest import Contest, Result
from peckorder.compare.contest.ratings import RatingsCase
from peckorder.estimators import AggregatePRank, PRank, TableRanker
from peckorder.exceptions import DataError
from peckorder.tables.features import Scaling


def best_own(contest: Contest) -> Result | None:
    """Return the best of our own rankers: others have files of their own."""
    ours = (
        result
        for result in contest.results
        if result.home == "peckorder"
        and result.name not in ("Nearest people", "Vector similarity")
    )
    return next(ours, None)


def keepable(contest: Contest) -> Result:
    """Return the best of our own rankers; raise if there is none."""
    found = best_own(contest)
    if found is None:
        raise DataError(
            "compare: save must have a ranker of peckorder's to keep; got none in the "
            "contest."
        )
    return found


def refit(case: Case | RatingsCase, contest: Contest, name: str) -> Any:
    """Fit a ranker of the contest to all rows; return the part that can be saved.

    Of scores that were cut into classes the scores are kept. What is returned is asked
    about rows as they are in the file.
    """
    (entrant,) = (entrant for entrant in case.entrants if entrant.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(case, RatingsCase):
            model = PersonalRanker(random_state=contest.seed)
            if name.endswith("SVD"):
                model.set_params(factorizer="svd")
            return model.fit(case.ratings)
        X, scaling = case.X, None
        if entrant.scaled:
            scaling = Scaling.learn(X)
            X = scaling.apply(X)
        made = entrant.make(case.setting(contest.seed))
        model = fit(made, X, case.y, case.qid, case.groups)
        if getattr(model, "fill", False):
            # What a run does not list is 0 there.
            n_runs = len(case.levels)
            scaling = Scaling(np.zeros(n_runs), np.ones(n_runs))
        inner = innermost(model)
        if case.classes is not None and isinstance(inner, PRank | AggregatePRank):
            labels = np.array(case.classes, dtype=_type(case.classes))
            inner = clone(inner).set_params(classes=list(case.classes))
            inner.fit(X, labels[case.y.astype(np.int64)])
    return of_columns(inner, case.levels, scaling)


def innermost(model: Any) -> Any:
    """Return the fitted ranker inside of what chooses settings or cuts scores."""
    while type(model).__module__.startswith("peckorder.compare"):
        seen = vars(model)
        model = seen.get("scorer_", seen.get("model_"))
    return model


def of_columns(
    ranker: Any,
    levels: Mapping[str, Sequence[str] | None],
    scaling: Scaling | None,
) -> Any:
    """Return a model of columns as they are in a file, found by their names."""
    parts = None if scaling is None else (scaling.mean, scaling.scale)
    return TableRanker._of(ranker, levels, parts)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file, whole or not at all."""
    model.save(path)


def _type(classes: tuple[Any, ...]) -> Any:
    return object if any(isinstance(label, str) for label in classes) else None
