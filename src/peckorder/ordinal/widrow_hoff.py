"""The Widrow-Hoff rule as a learner of ordered classes."""

from dataclasses import replace
from typing import ClassVar, NoReturn

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, MatrixLike, Rows, Seed, VectorLike
from peckorder._core.validation import Rules, check_unusable_row, one_of, positive
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.ordinal.learners.baselines import WidrowHoffLearner


@entry
class WidrowHoff(OrdinalEstimator, stored=True):
    """Learn ranks as numbers by on-line least squares.

    Every row, right or wrong, pulls its score towards its rank y = 1..k::

        w -= eta (w.x - y) x

    and the predicted class is the score rounded, half upwards, to a rank. This is
    the regression baseline of the PRank paper [1]_: it believes all neighbouring
    classes to be equally far apart.

    Parameters
    ----------
    eta : float, default=0.1
        The step. Beyond 2 / max ||x||**2 the run may diverge, which is an error.
    step : {"constant", "normalized"}, default="constant"
        "normalized" divides `eta` by the squared norm of each row; it cannot diverge
        for eta < 2.
    max_iter : int, default=1
        Passes over the rows in `fit`.
    shuffle : bool, default=False
        Visit the rows in a new random order on every pass of `fit`.
    fit_intercept : bool, default=True
        Give every row a constant feature of one.
    unit_norm : bool, default=True
        Divide every row by its norm, the constant included.
    classes : array-like, default=None
        All classes, lowest first. Needed for labels without an order of their own,
        such as strings, and for classes that the data may not show.
    random_state : int, RandomState instance or None, default=None
        Source of the orders if `shuffle` is set.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, lowest first.
    coef_ : ndarray of shape (n_features,)
        Weights of the score.
    intercept_ : float
        Its constant; zero without `fit_intercept`.
    n_rounds_, n_mistakes_, cumulative_loss_ : int
        Rows learnt so far, those misplaced when they came, and by how many steps.
    n_iter_ : int
        Passes of the last call.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the columns had any.

    See Also
    --------
    peckorder.PRank : Learns where the classes end instead of assuming it.

    Notes
    -----
    A pass costs O(nnz(X)) time and, beyond the data, O(n_features) memory. `eta` and
    `step` may be changed between calls of `partial_fit`.

    `predict`, `save` and copying may run in several threads at once; `fit`,
    `partial_fit` and `progressive` may not run beside anything else on the same object.

    References
    ----------
    .. [1] K. Crammer and Y. Singer, "Pranking with Ranking", NIPS 14, 2001.

    Examples
    --------
    >>> from peckorder import WidrowHoff
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1, 1, 2, 2]
    >>> WidrowHoff(max_iter=200, unit_norm=False).fit(X, y).predict(X)
    array([1, 1, 2, 2])
    """

    _learner: WidrowHoffLearner
    _rules: ClassVar[Rules] = OrdinalEstimator._rules | {
        "eta": positive,
        "step": one_of("constant", "normalized"),
    }

    def __init__(
        self,
        *,
        eta: float = 0.1,
        step: str = "constant",
        max_iter: int = 1,
        shuffle: bool = False,
        fit_intercept: bool = True,
        unit_norm: bool = True,
        classes: VectorLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.eta = eta
        self.step = step
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.unit_norm = unit_norm
        self.classes = classes
        self.random_state = random_state

    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the score of each row: its rank before rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        score : ndarray of shape (n_samples,)
            A real number; 1 stands for the lowest class.
        """
        return self._from_learner("scores", X)

    def _needs_norms(self) -> bool:
        return bool(self.unit_norm) or self.step == "normalized"

    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: ArrayLike | None
    ) -> WidrowHoffLearner:
        return WidrowHoffLearner(
            transform=self._transform(),
            weights=np.zeros(n_features + bool(self.fit_intercept)),
            eta=float(self.eta),
            normalized=self.step == "normalized",
            n_levels=n_levels,
        )

    def _resumed(self) -> WidrowHoffLearner:
        normalized = self.step == "normalized"
        return replace(self._learner.copy(), eta=float(self.eta), normalized=normalized)

    def _publish(self) -> None:
        self.coef_ = self._learner.weights[: self.n_features_in_]
        self.intercept_ = float(self._learner.weights[-1]) if self.fit_intercept else 0.0

    def _refuse_to_learn(self, rows: Rows, row: int | None) -> NoReturn:
        if row is None or check_unusable_row(rows, row, self.n_features_in_):
            self._refuse(rows, row)
        raise refusal(
            "eta",
            "be small enough for the run to converge",
            f"{self.eta!r}, with which it diverged by row {row}",
            hint=self._advice(),
        ) from None

    def _advice(self) -> str:
        if self.unit_norm or self.step == "normalized":
            return "Choose it below 2."
        return "Lower eta, scale the features, or set step='normalized'."
