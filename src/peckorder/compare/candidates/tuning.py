"""Rankers that choose their own settings, on rows left out of their own training."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if

from peckorder._core.typing import Floats, Ints
from peckorder.compare.candidates.calibration import fit, inner_folds
from peckorder.estimators import MPRank, MPRankCV
from peckorder.metrics import disagreement, metric_by_name
from peckorder.tables.sampling import drawn

# Where boosting is looked at: closer where more happens.
ROUNDS: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 70, 100, 150, 220, 300)

# Each row left out, exactly, of at most so many: the square of rows in memory.
LEFT_OUT_ROWS: Final = 4000

Loss = Callable[[Floats, Floats, Ints | None], float]


def list_loss(metric: str) -> Loss:
    """Return minus a metric of lists, or the metric if less is better."""
    kind = metric_by_name("compare", metric)
    sign = -1.0 if kind.kind.larger_is_better else 1.0

    def loss(y: Floats, scores: Floats, qid: Ints | None) -> float:
        return sign * float(kind.mean(y, scores, qid))

    return loss


def pair_loss(y: Floats, scores: Floats, qid: Ints | None) -> float:
    """Return the share of pairs that are wrong."""
    return float(disagreement(y, scores, qid=qid))


def step_loss(y: Floats, guesses: Floats, qid: Ints | None) -> float:
    """Return the mean number of steps between levels."""
    return float(np.abs(y - guesses).mean())


class Chosen(BaseEstimator):  # type: ignore[misc]
    """A ranker with the settings of a grid that do best on rows left out."""

    def __init__(
        self,
        model: Any,
        grid: Mapping[str, Sequence[Any]],
        loss: Loss = pair_loss,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.grid = grid
        self.loss = loss
        self.seed = seed

    def fit(
        self,
        X: Floats,
        y: Floats,
        qid: Ints | None = None,
        groups: Ints | None = None,
    ) -> Self:
        """Try the grid on inner folds of whole groups; fit the best on all rows."""
        groups = qid if groups is None else groups
        # A fold in which the loss is undefined speaks for none of them.
        settings = list(ParameterGrid(dict(self.grid)))
        losses = np.zeros(len(settings))
        for train, test in inner_folds(len(y), groups, self.seed):
            inside = None if qid is None else qid[train]
            left = None if qid is None else qid[test]
            for place, values in enumerate(settings):
                model = clone(self.model).set_params(**values)
                scores = fit(model, X[train], y[train], inside).predict(X[test])
                losses[place] += np.nan_to_num(self.loss(y[test], scores, left))
        self.chosen_ = settings[int(np.argmin(losses))]
        self.model_ = fit(clone(self.model).set_params(**self.chosen_), X, y, qid)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return what the chosen one says."""
        return np.asarray(self.model_.predict(X))


class Stopped(BaseEstimator):  # type: ignore[misc]
    """Boosting with the number of rounds that does best on rows left out.

    Inner folds are boosted to the end and looked at on the way; all rows are then
    boosted for the number of rounds with the least loss. `stages` returns the scores of
    a fitted model after each of `ROUNDS`; `n_rounds` is the name of the parameter.
    """

    def __init__(
        self,
        model: Any,
        stages: Callable[[Any, Floats], Iterator[Floats]],
        n_rounds: str = "n_rounds",
        grid: Mapping[str, Sequence[Any]] | None = None,
        loss: Loss = pair_loss,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.stages = stages
        self.n_rounds = n_rounds
        self.grid = grid
        self.loss = loss
        self.seed = seed

    def fit(
        self,
        X: Floats,
        y: Floats,
        qid: Ints | None = None,
        groups: Ints | None = None,
    ) -> Self:
        """Choose the rounds, and what the grid has, on inner folds; fit all rows."""
        groups = qid if groups is None else groups
        settings = list(ParameterGrid(dict(self.grid or {})))
        curves = np.zeros((len(settings), len(ROUNDS)))
        scores = np.empty((len(settings), len(ROUNDS), len(y)))
        folds = list(inner_folds(len(y), groups, self.seed))
        for train, test in folds:
            inside = None if qid is None else qid[train]
            left = None if qid is None else qid[test]
            for place, values in enumerate(settings):
                model = clone(self.model)
                model.set_params(**values, **{self.n_rounds: ROUNDS[-1]})
                fit(model, X[train], y[train], inside)
                for stage, said in enumerate(self.stages(model, X[test])):
                    scores[place, stage, test] = said
                    lost = np.nan_to_num(self.loss(y[test], said, left))
                    curves[place, stage] += lost
        place, stage = divmod(int(np.argmin(curves)), len(ROUNDS))
        self.curve_ = curves[place] / len(folds)
        self.left_out_scores_ = scores[place, stage]
        self.chosen_ = {**settings[place], self.n_rounds: ROUNDS[stage]}
        self.model_ = fit(clone(self.model).set_params(**self.chosen_), X, y, qid)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the scores after the chosen number of rounds."""
        return np.asarray(self.model_.predict(X))


def boosted_stages(model: Any, X: Floats) -> Iterator[Floats]:
    """Return RankBoost's scores after each of `ROUNDS`; it may have ended before."""
    wanted = iter(ROUNDS)
    target = next(wanted, None)
    scores = np.zeros(len(X))
    for done, scores in enumerate(model.staged_predict(X), start=1):
        if done == target:
            yield scores
            target = next(wanted, None)
    while target is not None:
        yield scores
        target = next(wanted, None)


class SampledMPRank(BaseEstimator):  # type: ignore[misc]
    """MPRank with C, and gamma, by exact leave-pair-out, on a sample if rows are many.

    Leaving pairs out takes memory that grows with the square of rows, and with a kernel
    time with the cube; beyond `most_rows`, rows (or whole queries) are drawn. The ridge
    n / (2 C) that is best there is kept for all rows.
    """

    def __init__(
        self,
        kernel: str = "linear",
        Cs: Sequence[float] = (0.01, 0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6),
        gammas: Sequence[float] | None = None,
        most_rows: int = 3000,
        seed: int = 0,
    ) -> None:
        self.kernel = kernel
        self.Cs = Cs
        self.gammas = gammas
        self.most_rows = most_rows
        self.seed = seed

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Choose, then fit all rows."""
        rows = drawn(len(y), qid, self.most_rows, self.seed)
        inside = None if qid is None else qid[rows]
        # With queries every pair left out would change the weights of the others.
        keep = "C" if qid is None else "C_prime"
        sample = MPRankCV(
            Cs=self.Cs, gammas=self.gammas, kernel=self.kernel, keep=keep
        ).fit(X[rows], y[rows], qid=inside)
        self.chosen_: dict[str, Any] = {"C": sample.C_ * len(y) / len(rows)}
        if self.gammas is not None:
            self.chosen_["gamma"] = sample.gamma_
        self.model_ = sample
        if len(rows) < len(y):
            model = MPRank(kernel=self.kernel, **self.chosen_)
            self.model_ = model.fit(X, y, qid=qid)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        return np.asarray(self.model_.predict(X))

    @available_if(lambda model: len(model.model_.dual_coef_) <= LEFT_OUT_ROWS)  # type: ignore[untyped-decorator]
    def leave_one_out_predictions(self) -> Floats:
        """Return what each row is predicted without it."""
        return np.asarray(self.model_.leave_one_out_predictions())
