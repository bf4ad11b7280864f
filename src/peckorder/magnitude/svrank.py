"""SVRank: scores whose differences are those of the labels, but for a band."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from peckorder._core.errors import entry, refusal, warn
from peckorder._core.typing import Floats
from peckorder._core.validation import (
    Rule,
    Rules,
    not_negative,
    one_of,
    one_or_two,
    positive,
    whole,
)
from peckorder.feedback import Queries
from peckorder.magnitude.base import RULES, AnyTraining, Kernel, MagnitudeModel
from peckorder.magnitude.mprank_solver.iterative import Limits
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram
from peckorder.magnitude.mprank_solver.pair_solve import TrainingPairs
from peckorder.magnitude.mprank_solver.ridge import Solution
from peckorder.magnitude.mprank_solver.rows import refuse_large
from peckorder.magnitude.mprank_solver.solve import TrainingRows
from peckorder.magnitude.svrank_solver.loss import ListedRisk, PairRisk, Risk
from peckorder.magnitude.svrank_solver.minimise import Minimum, minimise
from peckorder.magnitude.svrank_solver.space import Features, Kernels

_LOSSES = one_of("svr", "hmpc", aliases={"mp": "svr", "svrank": "svr", "hmp": "hmpc"})
_REASONS = {
    "hr": " Equal scores cost nothing by 'hr': its minimum is always zero, at w = 0.",
    "mp": " 'mp' is 'svr' with epsilon=0.",
}
# A larger C is the reason if results are not finite.
_LARGEST_C = 1e100


def _hint(value: object) -> str:
    return _REASONS.get(value, "") if isinstance(value, str) else ""


@entry
class SVRank(MagnitudeModel, stored=True):
    """Ranks so that differences of scores are those of labels, but for a band.

    Minimises over the pairs of rows within each query [1]_ ::

        ||w||^2 + C / P sum_q sum_{i,j in q} v_i v_j loss(h_j - h_i, y_j - y_i)^power

    with ``h = w . phi(x)``, rows' weights v and P the sum of the squares of the
    queries' weights: ``C / n^2`` for one query of n rows. With the differences Dh and
    Dy of scores and labels the loss is ::

        svr    max(0, |Dh - Dy| - epsilon)
        hmpc   max(0, |Dy| - sign(Dy) Dh) if Dy != 0, else 0

    Pairs are never listed. Of `Preferences`, it is a sum over the pairs that are, with
    sizes in place of Dy, and weights and P as in `MPRank`; then `top_weight` must be 0.
    Beside `MPRank`, the first power heeds outliers less, and
    "hmpc" lets scores be further apart than labels.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the pairs against the norm.
    epsilon : float, default=0.1
        Half the width of the band of "svr", within which a difference costs nothing;
        with 0 the loss is that of `MPRank`, to either power. "hmpc" has none.
    power : {1, 2}, default=1
        The power of the loss.
    loss : {"svr", "hmpc"}, default="svr"
        The loss of a pair, both sides or one. "hr" is refused: its minimum is zero.
    top_weight : float, default=0.0
        How much more the top of a list counts: a pair weighs ``1 + top_weight t`` times
        as much, where t is the height of the larger of its two labels, from 0 at the
        lowest label of its query to 1 at the highest. See the notes.
    kernel : str or callable, default="linear"
        "linear", "poly" ``(gamma x.z + coef0)^degree``, "rbf"
        ``exp(-gamma |x - z|^2)``, "precomputed", or a function of two matrices.
    gamma : float or None, default=None
        The factor in kernels; None is 1 / n_features.
    degree : int, default=2
        The degree of "poly".
    coef0 : float, default=1.0
        The constant in "poly".
    tol : float, default=1e-6
        How far the objective may be above its minimum, relative to itself. Errors of
        scores go with its root.
    max_iter : int, default=1000
        The most iterations.
    missing_labels : {"raise", "skip"}, default="raise"
        What a missing label in `y` is (NaN, None, no category): refused; or no opinion on
        its row, which `fit` and `score` then leave out.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of features, if the kernel is linear.
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients of the training rows, if it is not; their sum in each query is
        zero.
    intercept_ : float
        The mean of what labels exceed scores by, so that scores are on their scale; 0
        for preferences, which have no level.
    objective_ : float
        What is minimised, at the solution.
    dual_gap_ : float
        How far, at most, the objective is above its minimum.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    peckorder.MPRank : The squared loss without a band, in closed form.
    peckorder.losses.pair_loss : The losses.

    Notes
    -----
    Power 1 by cutting planes, certified by their lower bound; power 2 by L-BFGS,
    certified by a quarter of the squared gradient. An iteration on n rows with d
    features takes O(n log n + n d) time, O(n^2) with a kernel other than linear
    (O(n^2 d) for more than 6,000 rows, whose kernels are not kept), and O(m) in place of
    O(n log n) for m pairs of preferences; how many there are grows with C rather than
    with n. Memory is O(n), or O(m), beyond the rows, which are not copied; sparse rows
    stay sparse.

    The paper leaves open how to ask for quality at the top of a list by a convex
    problem with one minimum. What `top_weight` does: a row of a high label that is
    overtaken, by whatever row, or not as far above another as labels say, costs more
    than a row of a low label. The weight of a pair is a function of labels alone,
    whatever their scale and whatever is added to all of a query's, so that the problem
    stays convex and has one minimum; an iteration is still O(n log n), a few times what
    it is without. What it does not do: it depends on where rows should be, not on
    where scores put them, so that it bounds no measure of the first few ranks; and it
    only increases weights of pairs, so that another C may be better.

    Where columns differ in size by many orders, or C times the squares of features is
    far beyond ``1e12``, the norm is lost in rounding beside the pairs. A warning is
    given then, and `dual_gap_` remains valid.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rastogi, "Magnitude-Preserving Ranking
       Algorithms", ICML 2007.

    Examples
    --------
    >>> from peckorder import SVRank
    >>> X, y = [[0, 1], [1, 3], [2, 2], [3, 0]], [1.0, 1.5, 3.0, 4.5]
    >>> model = SVRank(C=100.0).fit(X, y)
    >>> model.predict(X).round(1).tolist()
    [1.0, 1.6, 2.9, 4.5]
    >>> model.rank(X).tolist()
    [4, 3, 2, 1]
    """

    _rules: ClassVar[Rules] = {
        "C": positive,
        "epsilon": not_negative,
        "power": one_or_two,
        "loss": Rule(_LOSSES.text, _LOSSES.accepts, _hint),
        "top_weight": not_negative,
        **RULES,
        "tol": positive,
        "max_iter": whole(1),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        power: int = 1,
        loss: str = "svr",
        top_weight: float = 0.0,
        kernel: Kernel = "linear",
        gamma: float | None = None,
        degree: int = 2,
        coef0: float = 1.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        missing_labels: str = "raise",
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.power = power
        self.loss = loss
        self.top_weight = top_weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.missing_labels = missing_labels

    def _fit(self, training: TrainingRows) -> None:
        weights = training.weights
        self._minimise(
            training, self._risk(training), lambda scores: weights.mean(training.label - scores)
        )

    def _fit_pairs(self, training: TrainingPairs) -> None:
        if self.top_weight > 0.0:
            raise refusal(
                "top_weight",
                "be 0 with Preferences, whose rows have no labels",
                repr(self.top_weight),
                error=ValueError,
            )
        pairs = training.weights
        factor = float(self.C) / pairs.normaliser
        risk = ListedRisk(self.loss, pairs, int(self.power), float(self.epsilon), factor)
        self._minimise(training, risk, lambda scores: 0.0)  # pairs have no level

    def _minimise(
        self, training: AnyTraining, risk: Risk, intercept: Callable[[Floats], float]
    ) -> None:
        """Minimise a risk of scores, and store the result."""
        training = self._training_rows(training, self.gamma)
        rows, limits = training.rows, self._limits()
        space = Kernels(rows) if isinstance(rows, Gram) else Features(rows)
        minimum = minimise(space, risk, limits)
        self._check_finite(minimum)
        self._store(self._solution(minimum, intercept(minimum.scores)), training)
        if not minimum.is_converged:
            self._warn(limits)

    def _risk(self, training: TrainingRows) -> PairRisk:
        """Return the cost of the pairs of these rows."""
        weights = training.weights
        mass = np.bincount(weights.query, weights.weight)
        return PairRisk(
            self.loss,
            training.y,
            training.label,
            Queries.of(weights.query),
            weights.weight,
            int(self.power),
            float(self.epsilon),
            float(self.top_weight),
            # C / P, for weights relative to the largest.
            factor=float(self.C) / float(mass @ mass),
        )

    def _limits(self) -> Limits:
        return Limits(float(self.tol), int(self.max_iter))

    def _solution(self, minimum: Minimum, intercept: float) -> Solution:
        is_linear = self.kernel == "linear"
        return Solution(
            minimum.w[0] if is_linear else None,
            None if is_linear else minimum.w[0],
            intercept,
            minimum.objective,
            minimum.gap,
            minimum.n_iter,
            minimum.is_converged,
        )

    def _check_finite(self, minimum: Minimum) -> None:
        if np.isfinite([minimum.objective, minimum.gap, minimum.w.sum()]).all():
            return
        if self.C > _LARGEST_C:
            raise refusal("C", "be small enough for squares to be finite", repr(self.C))
        refuse_large()

    def _warn(self, limits: Limits) -> None:
        what = (
            f"not converged after {self.n_iter_} iterations: the "
            f"objective {self.objective_:.6g} may be {self.dual_gap_:.2g} above its "
            "minimum"
        )
        if self.n_iter_ < limits.max_iter:
            what += (
                ", and the rest is lost in rounding. Scale the columns of X, lower C "
                f"(now {float(self.C):g}), or raise tol (now {limits.tol:g})."
            )
        else:
            what += f". Raise max_iter (now {limits.max_iter}) or tol (now {limits.tol:g})."
        warn(what, ConvergenceWarning)
