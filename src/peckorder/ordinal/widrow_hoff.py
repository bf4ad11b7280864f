"""The Widrow-Hoff rule as a learner of ordered classes."""

from dataclasses import replace
from typing import Any, ClassVar, NoReturn

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Rows, Seed, VectorLike
from peckorder._core.validation import Rules, check_unusable_row, one_of, positive
from peckorder.ordinal.baselines import BaselineEstimator
from peckorder.ordinal.compiled.baselines import Step
from peckorder.ordinal.learners.base import Learner
from peckorder.ordinal.learners.baselines import WeightsLearner
from peckorder.ordinal.learners.polynomial import PolynomialLearner


@entry
class WidrowHoff(BaselineEstimator, stored=True):
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
    rule : {"last", "averaged"}, default="last"
        Which rule predicts: the one after the last row, as published, or the mean of
        the rules after each row, which noise and a large `eta` move less. Learning
        follows the last rule always.
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
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As in `PRank`: the paper uses one for all that it compares.
    gamma : float or None, default=None
        As in `PRank`.
    degree : int, default=2
        As in `PRank`.
    coef0 : float, default=1.0
        As in `PRank`.
    random_state : int, RandomState instance or None, default=None
        Source of the orders if `shuffle` is set.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, lowest first.
    coef_ : ndarray of shape (n_features,)
        Weights of the score, for the linear kernel.
    intercept_ : float
        Its constant; zero without `fit_intercept`.
    support_, dual_coef_ : ndarray of shape (n_support,)
        With a kernel: the rows that the score is a sum over, numbered as in `PRank`, and
        their coefficients.
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
    `step` may be changed between calls of `partial_fit`. With a kernel every row has a
    part in the score and is kept: n rows cost O(n**2) kernels, O(n) memory, but for a
    polynomial kernel with at most 1,024 monomials, which is computed by these.

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

    _rules: ClassVar[Rules] = BaselineEstimator._rules | {
        "eta": positive,
        "step": one_of("constant", "normalized"),
    }

    def __init__(
        self,
        *,
        eta: float = 0.1,
        step: str = "constant",
        rule: str = "last",
        max_iter: int = 1,
        shuffle: bool = False,
        fit_intercept: bool = True,
        unit_norm: bool = True,
        classes: VectorLike | None = None,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 2,
        coef0: float = 1.0,
        random_state: Seed = None,
    ) -> None:
        self.eta = eta
        self.step = step
        self.rule = rule
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.unit_norm = unit_norm
        self.classes = classes
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def _needs_norms(self) -> bool:
        return bool(self.unit_norm) or self.step == "normalized"

    def _step(self, n_levels: int) -> Step:
        return Step(
            regression=True,
            eta=float(self.eta),
            normalized=self.step == "normalized",
            uniform=False,
            n_levels=n_levels,
        )

    def _weight_shape(self, n_weights: int, n_levels: int) -> tuple[int, ...]:
        return (n_weights,)

    def _resumed(self) -> Learner:
        learner, step = self._learner.copy(), self._step(len(self.classes_))
        if not isinstance(learner, PolynomialLearner):
            return replace(learner, step=step)
        assert isinstance(learner.linear, WeightsLearner)
        return replace(learner, linear=replace(learner.linear, step=step))

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
        has_unit_norm = self.unit_norm and self.kernel in ("linear", "rbf")
        if has_unit_norm or self.step == "normalized":
            return "Choose it below 2."
        return "Lower eta, scale the features, or set step='normalized'."
