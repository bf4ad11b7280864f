"""Rankers around other rankers: settings and scales learnt on rows left out."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from peckorder._core.typing import Estimator, Floats, Ints, Predictor
from peckorder.estimators import MPRank, MPRankCV
from peckorder.metrics import disagreement, metric_by_name
from peckorder.tables.columns import drawn

N_INNER_FOLDS: Final = 3

# Where boosting is looked at: closer where more happens.
ROUNDS: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 70, 100, 150, 220, 300)

# Each row left out, exactly, of at most so many: the square of rows in memory.
LEFT_OUT_ROWS: Final = 4000

Loss = Callable[[Floats, Floats, Ints | None], float]


def list_loss(metric: str) -> Loss:
    """Return minus a metric of lists, or the metric if less is better."""
    kind = metric_by_name(metric)
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


def inner_folds(n_rows: int, groups: Ints | None, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows to learn from and rows left out, whole groups at a time.

    Groups are queries or people; if all rows are of one group, its rows are divided.
    """
    rng = np.random.default_rng(seed)
    unit = np.arange(n_rows)
    if groups is not None and (groups != groups[0]).any():
        unit = np.unique(groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    n_folds = min(N_INNER_FOLDS, n_units)
    fold = rng.permutation(np.arange(n_units) % n_folds)[unit]
    for k in range(n_folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def fit_model(
    model: Estimator, X: Floats, y: Floats, qid: Ints | None, groups: Ints | None = None
) -> Any:
    """Fit a model, with the queries and groups if its `fit` takes them.

    Rows of a group (a person, or a query that the model itself does not take) stay
    together where settings are chosen on rows left out.
    """
    optional = {"qid": qid, "groups": groups}
    fit_params = {
        name: values
        for name, values in optional.items()
        if values is not None and has_fit_parameter(model, name)
    }
    fit: Any = model.fit
    return fit(X, y, **fit_params)


def rows_of(values: Ints | None, rows: Ints) -> Ints | None:
    """Return the values of some rows, if there are values."""
    return None if values is None else values[rows]


class Wrapper(BaseEstimator):  # type: ignore[misc]
    """A ranker around another: `model` as it is given, `model_` when it is fitted.

    `chosen_` are the settings that were chosen on rows left out.
    """

    model: Estimator
    model_: Predictor
    chosen_: Mapping[str, object]

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, X: Floats) -> Floats:
        """Return what the fitted model predicts."""
        return np.asarray(self.model_.predict(X))


def layers(model: Predictor) -> Iterator[Any]:
    """Yield a fitted model and those inside of it, the outermost first."""
    layer: Any = model
    while layer is not None:
        yield layer
        layer = vars(layer).get("model_")


def innermost(model: Predictor) -> Any:
    """Return the fitted ranker inside of all wrappers."""
    return next(layer for layer in layers(model) if not isinstance(layer, Wrapper))


def chosen_settings(model: Predictor) -> dict[str, object]:
    """Return the settings that a fitted model and those inside of it chose."""
    chosen: dict[str, Any] = {}
    for layer in layers(model):
        chosen |= vars(layer).get("chosen_", {})
    return {k: v.item() if hasattr(v, "item") else v for k, v in chosen.items()}


class GridTuned(Wrapper):
    """A ranker with the settings of a grid that do best on rows left out."""

    def __init__(
        self,
        model: Estimator,
        grid: Mapping[str, Sequence[object]],
        loss: Loss = pair_loss,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.grid = grid
        self.loss = loss
        self.seed = seed

    def fit(
        self, X: Floats, y: Floats, qid: Ints | None = None, groups: Ints | None = None
    ) -> Self:
        """Try the grid on inner folds of whole groups; fit the best on all rows."""
        groups = qid if groups is None else groups
        settings = list(ParameterGrid(dict(self.grid)))
        losses = np.zeros(len(settings))
        for train, test in inner_folds(len(y), groups, self.seed):
            for k, values in enumerate(settings):
                model = clone(self.model).set_params(**values)
                fit_model(model, X[train], y[train], rows_of(qid, train))
                loss = self.loss(y[test], model.predict(X[test]), rows_of(qid, test))
                # A fold in which the loss is undefined prefers none of them.
                losses[k] += np.nan_to_num(loss)
        self.chosen_ = settings[int(np.argmin(losses))]
        self.model_ = fit_model(clone(self.model).set_params(**self.chosen_), X, y, qid)
        return self


class RoundsTuned(Wrapper):
    """Boosting with the number of rounds that does best on rows left out.

    Inner folds are boosted to the end and measured on the way; all rows are then
    boosted for the number of rounds with the least loss. `stages` returns the scores of
    a fitted model after each of `ROUNDS`; `n_rounds` is the name of the parameter.
    """

    def __init__(
        self,
        model: Estimator,
        stages: Callable[[Any, Floats], Iterator[Floats]],
        n_rounds: str = "n_rounds",
        grid: Mapping[str, Sequence[object]] | None = None,
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
        self, X: Floats, y: Floats, qid: Ints | None = None, groups: Ints | None = None
    ) -> Self:
        """Choose the rounds, and what the grid has, on inner folds; fit all rows."""
        groups = qid if groups is None else groups
        settings = list(ParameterGrid(dict(self.grid or {})))
        curves = np.zeros((len(settings), len(ROUNDS)))
        scores = np.empty((len(settings), len(ROUNDS), len(y)))
        folds = list(inner_folds(len(y), groups, self.seed))
        for train, test in folds:
            for k, values in enumerate(settings):
                model = clone(self.model)
                model.set_params(**values, **{self.n_rounds: ROUNDS[-1]})
                fit_model(model, X[train], y[train], rows_of(qid, train))
                for stage, predicted in enumerate(self.stages(model, X[test])):
                    scores[k, stage, test] = predicted
                    loss = self.loss(y[test], predicted, rows_of(qid, test))
                    curves[k, stage] += np.nan_to_num(loss)
        best, stage = divmod(int(np.argmin(curves)), len(ROUNDS))
        self.curve_ = curves[best] / len(folds)
        self.left_out_scores_ = scores[best, stage]
        self.chosen_ = {**settings[best], self.n_rounds: ROUNDS[stage]}
        self.model_ = fit_model(clone(self.model).set_params(**self.chosen_), X, y, qid)
        return self


def boosted_stages(model: Any, X: Floats) -> Iterator[Floats]:
    """Yield RankBoost's scores after each of `ROUNDS`; it may have ended before."""
    targets = iter(ROUNDS)
    target = next(targets, None)
    scores = np.zeros(len(X))
    for n_rounds, scores in enumerate(model.staged_predict(X), start=1):
        if n_rounds == target:
            yield scores
            target = next(targets, None)
    while target is not None:
        yield scores
        target = next(targets, None)


class SampledMPRank(Wrapper):
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
        sample = MPRankCV(Cs=self.Cs, gammas=self.gammas, kernel=self.kernel).fit(
            X[rows], y[rows], qid=rows_of(qid, rows)
        )
        chosen: dict[str, Any] = {"C": sample.C_ * len(y) / len(rows)}
        if self.gammas is not None:
            chosen["gamma"] = sample.gamma_
        self.chosen_, self.model_ = chosen, sample
        if len(rows) < len(y):
            model = MPRank(kernel=self.kernel, **chosen)
            self.model_ = model.fit(X, y, qid=qid)
        return self

    @available_if(lambda model: len(model.model_.dual_coef_) <= LEFT_OUT_ROWS)  # type: ignore[untyped-decorator]
    def leave_one_out_predictions(self) -> Floats:
        """Return what each row is predicted without it."""
        model: Any = self.model_
        return np.asarray(model.leave_one_out_predictions())


class Calibrated(Wrapper):
    """A scorer, and how its scores become answers, learnt on rows left out."""

    def __init__(self, model: Estimator, seed: int = 0) -> None:
        self.model = model
        self.seed = seed

    def fit(
        self, X: Floats, y: Floats, qid: Ints | None = None, groups: Ints | None = None
    ) -> Self:
        """Fit the scorer; then what turns scores into answers."""
        groups = qid if groups is None else groups
        self.model_ = fit_model(clone(self.model), X, y, qid, groups)
        self._calibrate(self._left_out_scores(X, y, qid, groups), y)
        return self

    def _left_out_scores(
        self, X: Floats, y: Floats, qid: Ints | None, groups: Ints | None
    ) -> Floats:
        fitted: Any = self.model_
        if hasattr(fitted, "left_out_scores_"):
            return np.asarray(fitted.left_out_scores_)
        # Of queries and people all rows are left out at once, not one at a time.
        if groups is None and hasattr(fitted, "leave_one_out_predictions"):
            return np.asarray(fitted.leave_one_out_predictions())
        scores = np.empty(len(y))
        for train, test in inner_folds(len(y), groups, self.seed):
            qid_train, groups_train = rows_of(qid, train), rows_of(groups, train)
            model = clone(self.model)
            fit_model(model, X[train], y[train], qid_train, groups_train)
            scores[test] = model.predict(X[test])
        return scores

    def predict(self, X: Floats) -> Floats:
        """Return answers."""
        return self.answer(self.model_.predict(X))

    @abstractmethod
    def answer(self, scores: Floats) -> Floats:
        """Turn scores into answers."""

    @abstractmethod
    def _calibrate(self, scores: Floats, y: Floats) -> None:
        """Learn how, from scores of rows left out."""


class ToClasses(Calibrated):
    """Levels: scores cut where the fewest steps are lost on rows left out."""

    def __init__(self, model: Estimator, n_levels: int = 2, seed: int = 0) -> None:
        super().__init__(model, seed)
        self.n_levels = n_levels

    def _calibrate(self, scores: Floats, y: Floats) -> None:
        self.thresholds_ = least_errors(scores, y.astype(np.int64), self.n_levels)

    def answer(self, scores: Floats) -> Floats:
        """Return levels."""
        return np.searchsorted(self.thresholds_, scores).astype(np.float64)


class ToLabelScale(Calibrated):
    """Values: scores put on the scale of the labels by the best rising line."""

    def _calibrate(self, scores: Floats, y: Floats) -> None:
        centred = scores - scores.mean()
        mass = float(centred @ centred)
        self.slope_ = max(float(centred @ y) / mass, 0.0) if mass > 0 else 0.0
        self.shift_ = float(y.mean() - self.slope_ * scores.mean())

    def answer(self, scores: Floats) -> Floats:
        """Return values."""
        return np.asarray(self.shift_ + self.slope_ * scores)


def least_errors(scores: Floats, levels: Ints, n_levels: int) -> Floats:
    """Return thresholds that turn scores into levels with the least sum of steps.

    ``|l - y|`` is the number of thresholds that stand between, so that threshold r can
    be chosen by itself: with the fewest rows on its wrong side, the lowest of equals.
    They ascend, since a row that should be above r + 1 should be above r too.
    O(n log n + n k) time.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.compare.tuning import least_errors
    >>> least_errors(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 1, 2]), 3)
    array([0.4 , 0.75])
    """
    order = np.argsort(scores, kind="stable")
    ranked, level = scores[order], levels[order]
    # Cuts stand before the first row, between two that differ, and behind the last.
    between = np.flatnonzero(ranked[1:] > ranked[:-1]) + 1
    cuts = np.concatenate([[0], between, [len(ranked)]])
    edges = np.concatenate([[-np.inf], (ranked[between - 1] + ranked[between]) / 2, [np.inf]])
    thresholds = np.empty(n_levels - 1)
    for r in range(1, n_levels):
        above = np.concatenate([[0], np.cumsum(level >= r)])[cuts]
        below = cuts - above
        wrong = above + (below[-1] - below)
        thresholds[r - 1] = edges[np.argmin(wrong)]
    return thresholds
