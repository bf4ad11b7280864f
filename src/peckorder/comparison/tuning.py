"""Rankers around other rankers: settings and scales learnt on rows left out."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import has_fit_parameter

from peckorder._core.typing import Estimator, Floats, Ints, Predictor
from peckorder.estimators import MPRank, MPRankCV
from peckorder.metrics import disagreement, metric_by_name
from peckorder.tables.answers import Answer, Cuts, LabelScale
from peckorder.tables.columns import drawn
from peckorder.tables.task import whole_if_it_is

N_INNER_FOLDS: Final = 3

# Where boosting is looked at: closer where more happens.
ROUNDS: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 70, 100, 150, 220, 300)

# Pairs are left out of so many rows: a decomposition, a product for each C.
SAMPLED_ROWS: Final = 3000
SAMPLED_KERNEL_ROWS: Final = 800
# What MPRankCV does not have.
_OF_SOLVER: Final = ("solver", "step", "stopping", "tol", "max_iter")
# Each row left out, exactly, of at most so many: the square of rows in memory.
LEFT_OUT_ROWS: Final = 4000

# Values of parameters, all combinations of which are tried; or several of these.
Grid: TypeAlias = Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]]
Loss: TypeAlias = Callable[[Floats, Floats, Ints | None], float]


def list_loss(metric: str) -> Loss:
    """Return minus a metric of lists, or the metric if less is better."""
    # A root does not change what is best.
    kind = metric_by_name("msd" if metric == "rmsd" else metric)
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

    def with_settings(self, values: Mapping[str, object]) -> Estimator:
        """Set parameters of the ranker inside; return what still chooses the others."""
        self.model = with_settings(self.model, values)
        return self


def with_settings(model: Estimator, values: Mapping[str, object]) -> Estimator:
    """Set parameters of an unfitted ranker, which are then chosen no more."""
    if isinstance(model, Wrapper):
        return model.with_settings(values)
    settable: Any = model
    return settable.set_params(**values) if values else model


def without(grid: Grid, names: Collection[str]) -> list[dict[str, list[object]]]:
    """Return a grid without some parameters, each setting once; empty if none is left."""
    left: list[dict[str, list[object]]] = []
    for setting in ParameterGrid(grid):
        others = {name: [value] for name, value in setting.items() if name not in names}
        if others and others not in left:
            left.append(others)
    return left


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

    def __init__(self, model: Estimator, grid: Grid, loss: Loss = pair_loss, seed: int = 0) -> None:
        self.model = model
        self.grid = grid
        self.loss = loss
        self.seed = seed

    def with_settings(self, values: Mapping[str, object]) -> Estimator:
        """Set parameters; return the ranker alone if there is nothing left to choose."""
        super().with_settings(values)
        self.grid = without(self.grid, values)
        return self if self.grid else self.model

    def fit(
        self, X: Floats, y: Floats, qid: Ints | None = None, groups: Ints | None = None
    ) -> Self:
        """Try the grid on inner folds of whole groups; fit the best on all rows."""
        groups = qid if groups is None else groups
        settings = list(ParameterGrid(self.grid))
        losses = np.zeros(len(settings))
        for train, test in inner_folds(len(y), groups, self.seed):
            for k, values in enumerate(settings):
                model: Any = with_settings(clone(self.model), values)
                fit_model(model, X[train], y[train], rows_of(qid, train))
                loss = self.loss(y[test], model.predict(X[test]), rows_of(qid, test))
                # A fold in which the loss is undefined prefers none of them.
                losses[k] += np.nan_to_num(loss)
        self.chosen_ = settings[int(np.argmin(losses))]
        self.model_ = fit_model(with_settings(clone(self.model), self.chosen_), X, y, qid)
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
        grid: Grid | None = None,
        loss: Loss = pair_loss,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.stages = stages
        self.n_rounds = n_rounds
        self.grid = grid
        self.loss = loss
        self.seed = seed

    def with_settings(self, values: Mapping[str, object]) -> Estimator:
        """Set parameters; with a number of rounds what is left is chosen by that."""
        super().with_settings(values)
        self.grid = without(self.grid or {}, values)
        if self.n_rounds not in values:
            return self
        return GridTuned(self.model, self.grid, self.loss, self.seed) if self.grid else self.model

    def fit(
        self, X: Floats, y: Floats, qid: Ints | None = None, groups: Ints | None = None
    ) -> Self:
        """Choose the rounds, and what the grid has, on inner folds; fit all rows."""
        groups = qid if groups is None else groups
        settings = list(ParameterGrid(self.grid or {}))
        curves = np.zeros((len(settings), len(ROUNDS)))
        scores = np.empty((len(settings), len(ROUNDS), len(y)))
        folds = list(inner_folds(len(y), groups, self.seed))
        for train, test in folds:
            for k, values in enumerate(settings):
                every = {**values, self.n_rounds: ROUNDS[-1]}
                model = with_settings(clone(self.model), every)
                fit_model(model, X[train], y[train], rows_of(qid, train))
                for stage, predicted in enumerate(self.stages(model, X[test])):
                    scores[k, stage, test] = predicted
                    loss = self.loss(y[test], predicted, rows_of(qid, test))
                    curves[k, stage] += np.nan_to_num(loss)
        best, stage = divmod(int(np.argmin(curves)), len(ROUNDS))
        self.curve_ = curves[best] / len(folds)
        self.left_out_scores_ = scores[best, stage]
        self.chosen_ = {**settings[best], self.n_rounds: ROUNDS[stage]}
        self.model_ = fit_model(with_settings(clone(self.model), self.chosen_), X, y, qid)
        return self


def boosted_stages(model: Any, X: Floats) -> Iterator[Floats]:
    """Yield what boosting predicts after each of `ROUNDS`; it may have ended before."""
    targets = iter(ROUNDS)
    target = next(targets, None)
    scores = model.predict(X)
    for n_rounds, scores in enumerate(model.staged_predict(X), start=1):
        if n_rounds == target:
            yield scores
            target = next(targets, None)
    while target is not None:
        yield scores
        target = next(targets, None)


def tree_stages(model: Any, X: Floats) -> Iterator[Floats]:
    """Yield the scores of another library's boosted trees after each of `ROUNDS`."""
    return (model.predict(X, rounds) for rounds in ROUNDS)


class SampledMPRank(Wrapper):
    """MPRank with C, and gamma, by exact leave-pair-out, on a sample if rows are many.

    Leaving pairs out takes memory that grows with the square of rows, and with a kernel
    time with the cube; beyond `SAMPLED_ROWS` or `SAMPLED_KERNEL_ROWS`, rows (or whole
    queries) are drawn. The ridge n / (2 C) that is best there is kept for all rows.
    `gammas` are divided by the number of features. What is None is not chosen.
    """

    model: Any

    def __init__(
        self,
        model: MPRank,
        Cs: Sequence[float] | None,
        gammas: Sequence[float] | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.Cs = Cs
        self.gammas = gammas
        self.seed = seed

    def with_settings(self, values: Mapping[str, object]) -> Estimator:
        """Set parameters; return MPRank alone if there is nothing left to choose."""
        super().with_settings(values)
        if "C" in values:
            self.Cs = None
        if self.model.kernel != "rbf" or "gamma" in values:
            self.gammas = None
        return self.model if self.Cs is None and self.gammas is None else self

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Choose, then fit all rows."""
        kernel, gamma = self.model.kernel, self.model.gamma
        most = SAMPLED_ROWS if kernel == "linear" else SAMPLED_KERNEL_ROWS
        rows = drawn(len(y), qid, most, self.seed)
        share = len(rows) / len(y)
        gammas = None if gamma is None or kernel == "linear" else [gamma]
        if self.gammas is not None:
            gammas = [factor / X.shape[1] for factor in self.gammas]
        sample = MPRankCV(
            Cs=[self.model.C * share] if self.Cs is None else self.Cs,
            gammas=gammas,
            kernel=kernel,
            degree=self.model.degree,
            coef0=self.model.coef0,
        ).fit(X[rows], y[rows], qid=rows_of(qid, rows))
        chosen: dict[str, Any] = {}
        if self.Cs is not None:
            chosen["C"] = sample.C_ / share
        if self.gammas is not None:
            chosen["gamma"] = sample.gamma_
        self.chosen_, self.model_ = chosen, sample
        own, usual = self.model.get_params(), MPRank().get_params()
        if len(rows) < len(y) or any(own[name] != usual[name] for name in _OF_SOLVER):
            self.model_ = clone(self.model).set_params(**chosen).fit(X, y, qid=qid)
        return self

    def leave_one_out_predictions(self) -> Floats:
        """Return what each row is predicted without it."""
        model: Any = self.model_
        return np.asarray(model.leave_one_out_predictions())


class Answering(Wrapper):
    """A scorer, and what makes answers of its scores: `answer_`, learnt by `fit`."""

    answer_: Answer

    def predict(self, X: Floats) -> Floats:
        """Return answers."""
        return np.asarray(self.answer_(self.model_.predict(X)))


class Calibrated(Answering):
    """A scorer whose answers are learnt from its scores of rows left out.

    `learn` makes an answer of scores and labels.
    """

    def __init__(
        self, model: Estimator, learn: Callable[[Floats, Floats], Answer], seed: int = 0
    ) -> None:
        self.model = model
        self.learn = learn
        self.seed = seed

    def fit(
        self, X: Floats, y: Floats, qid: Ints | None = None, groups: Ints | None = None
    ) -> Self:
        """Fit the scorer; then learn what makes answers of scores."""
        groups = qid if groups is None else groups
        self.model_ = fit_model(clone(self.model), X, y, qid, groups)
        self.answer_ = self.learn(self._left_out_scores(X, y, qid, groups), y)
        return self

    def _left_out_scores(
        self, X: Floats, y: Floats, qid: Ints | None, groups: Ints | None
    ) -> Floats:
        fitted: Any = self.model_
        if hasattr(fitted, "left_out_scores_"):
            return np.asarray(fitted.left_out_scores_)
        # Of queries and people all rows are left out at once, not one at a time.
        is_alone = groups is None and len(y) <= LEFT_OUT_ROWS
        if is_alone and hasattr(fitted, "leave_one_out_predictions"):
            return np.asarray(fitted.leave_one_out_predictions())
        scores = np.empty(len(y))
        for train, test in inner_folds(len(y), groups, self.seed):
            qid_train, groups_train = rows_of(qid, train), rows_of(groups, train)
            model = clone(self.model)
            fit_model(model, X[train], y[train], qid_train, groups_train)
            scores[test] = model.predict(X[test])
        return scores


class StandardizedLabels(Answering):
    """A model of labels with mean 0 and deviation 1, for one whose settings have units.

    SVRank's band is 0.1 wide, whatever the labels are measured in.
    """

    def fit(
        self, X: Floats, y: Floats, qid: Ints | None = None, groups: Ints | None = None
    ) -> Self:
        """Fit to standardised labels."""
        mean, scale = float(y.mean()), float(y.std()) or 1.0
        self.answer_ = LabelScale(scale, mean)
        self.model_ = fit_model(self.model, X, (y - mean) / scale, qid, groups)
        return self


class IgnoringQueries(Wrapper):
    """A model that does not see the queries, though its inner folds keep them whole."""

    def fit(self, X: Floats, y: Floats, groups: Ints | None = None) -> Self:
        """Fit all rows as one list."""
        self.model_ = fit_model(self.model, X, y, None, groups)
        return self


class GradesAsClasses(Wrapper):
    """PRank on grades: it learns classes, and its score ranks."""

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn the grades as classes, of which there are two at least."""
        grades = np.unique(y)
        if len(grades) == 1:
            grades = np.append(grades, grades + 1)
        names = [whole_if_it_is(grade) for grade in grades.tolist()]
        self.model_ = with_settings(clone(self.model), {"classes": names}).fit(X, y)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        model: Any = self.model_
        return np.asarray(model.decision_function(X))


def to_classes(model: Estimator, n_levels: int = 2, seed: int = 0) -> Calibrated:
    """Return a scorer whose scores are cut where the fewest steps are lost."""

    def learn(scores: Floats, y: Floats) -> Cuts:
        return Cuts.learn(scores, y.astype(np.int64), n_levels)

    return Calibrated(model, learn, seed)


def to_label_scale(model: Estimator, seed: int = 0) -> Calibrated:
    """Return a scorer whose scores are put on the scale of the labels."""
    return Calibrated(model, LabelScale.learn, seed)
