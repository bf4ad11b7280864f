"""A ranker fitted to all rows with all that answers for new ones, to be saved in a file."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from sklearn.base import clone

from peckorder.comparison.candidates import (
    CANDIDATES,
    Candidate,
    TaskInfo,
    further_candidates,
    plain_name,
)
from peckorder.comparison.contest import Contest
from peckorder.comparison.ratings_case import RatingsCase, ratings_candidates
from peckorder.comparison.table_case import MOST_ROWS, TableCase
from peckorder.comparison.tuning import RoundsTuned, Wrapper, chosen_settings, fit_model, innermost
from peckorder.estimators import TableRanker
from peckorder.feedback import Ratings
from peckorder.tables.answers import Cuts
from peckorder.tables.columns import drawn
from peckorder.tables.model_rows import gives_classes
from peckorder.tables.roles import Role
from peckorder.tables.scaling import Scaling

TASKS: Final = ("ordinal", "magnitude", "graded", "ratings")


class FittedModel(NamedTuple):
    """A model that can be saved, the ranker in it, and the settings that were chosen."""

    model: Any
    ranker: Any
    chosen: Mapping[str, object]


def fitted_candidates(kind: str) -> dict[str, Candidate]:
    """Return the rankers of a task that a file can keep: of the leaderboard, and others."""
    is_table = kind != "ratings"
    every = [*CANDIDATES[kind](), *further_candidates(kind)] if is_table else ratings_candidates()
    return {plain_name(c.name): c for c in every if c.can_be_saved}


def unfitted(candidate: Candidate) -> Any:
    """Return the ranker inside of a candidate, with the settings that are not chosen."""
    model: Any = candidate.make(TaskInfo(0, 1))
    while isinstance(model, Wrapper):
        model = model.model
    return model


def refit(case: TableCase | RatingsCase, contest: Contest, name: str) -> Any:
    """Fit a candidate of the contest to all rows; return what can be saved.

    The returned model takes rows as they are in the file, and answers as the candidate
    does: with classes of an ordinal task, on the scale of the labels of magnitudes.
    """
    (candidate,) = (c for c in case.candidates if c.name == name)
    if isinstance(case, RatingsCase):
        return fit_ratings(case.ratings, candidate, contest.seed).model
    return fit_table(case, candidate, contest.seed).model


def fit_ratings(ratings: Ratings, candidate: Candidate, seed: int = 0) -> FittedModel:
    """Fit a candidate to all ratings."""
    people: Any = candidate.make(TaskInfo(seed, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = people.fit(ratings).model_
    return FittedModel(ranker, ranker, {})


def fit_table(case: TableCase, candidate: Candidate, seed: int = 0) -> FittedModel:
    """Fit a candidate to all rows.

    Where rounds of boosting are chosen this is done on `MOST_ROWS` of more rows.
    """
    info, rows = case.info(seed), case.training_rows()
    sample = rows
    with warnings.catch_warnings():
        # Of fits on parts of the rows.
        warnings.simplefilter("ignore")
        if len(case.y) > MOST_ROWS and _boosts(candidate.make(info)):
            sample = case.training_rows(drawn(len(case.y), case.groups, MOST_ROWS, seed))
        fitted = candidate.fit(info, sample)
        ranker, answer = innermost(fitted.model), fitted.answer
        learnt = candidate.rows(rows)
        X = learnt.X if fitted.scaling is None else fitted.scaling.apply(learnt.X)
        if sample is not rows:
            ranker = fit_model(clone(ranker), X, rows.y, rows.qid)
        if case.classes is not None:
            is_text = any(isinstance(label, str) for label in case.classes)
            labels = np.array(case.classes, dtype=object if is_text else None)
            if isinstance(answer, Cuts):
                answer = replace(answer, classes=labels)
            elif gives_classes(ranker):
                # It has learnt levels: now by the names that classes have.
                names = list(case.classes)
                if hasattr(ranker, "rename"):
                    ranker = ranker.rename(names)
                else:
                    ranker = clone(ranker).set_params(classes=names)
                    ranker.fit(X, labels[case.y.astype(np.int64)])
    scaling = fitted.scaling
    if getattr(fitted.model, "fill", False):
        # What a run does not list is 0 there.
        n_runs = len(case.coding.coders)
        scaling = Scaling(np.zeros(n_runs), np.ones(n_runs))
    parts = None if scaling is None else (scaling.mean, scaling.scale)
    model = TableRanker._of(ranker, learnt.coders, parts, answer)
    by_role = {role: column for column, role, _ in case.column_roles}
    model.target_, model.query_ = by_role.get(Role.TARGET), by_role.get(Role.QUERY)
    return FittedModel(model, ranker, chosen_settings(fitted.model))


def _boosts(model: Any) -> bool:
    while isinstance(model, Wrapper) and not isinstance(model, RoundsTuned):
        model = model.model
    return isinstance(model, RoundsTuned)
