"""MPRank: scores whose differences are those of the labels."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from peckorder._base.transaction import all_or_nothing
from peckorder._core.validation import (
    Rules,
    check_parameters,
    one_of,
    optional,
    positive,
    whole,
)
from peckorder.exceptions import DataError
from peckorder.magnitude.base import RULES, Given
from peckorder.magnitude.mprank_base import SquaredModel
from peckorder.magnitude.mprank_solver.iterative import Diverged, Limits
from peckorder.magnitude.mprank_solver.moments import RunningMoments
from peckorder.magnitude.mprank_solver.solve import Method


def _streams(model: Any) -> bool:
    if model.kernel != "linear":
        raise AttributeError(
            f"{type(model).__name__}: kernel must be 'linear' for partial_fit, which "
            f"keeps no rows; got {model.kernel!r}."
        )
    return True


class MPRank(SquaredModel, stored=True):
    """Ranks so that differences of scores are those of real-valued labels.

    Magnitude-preserving ranking [1]_ with the squared cost minimises, over the pairs of
    rows within each query::

        ||w||^2 + C / P sum_q sum_{i,j in q} v_i v_j [(h_j - h_i) - (y_j - y_i)]^2

    with ``h = w . phi(x)``, rows' weights v and P the sum of the squares of the
    queries' weights: ``C / n^2`` for one query of n rows. The sum over pairs is one
    over rows less the mean of their query, so that pairs are never listed, and the
    solution is kernel ridge regression with a free constant for each query.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the pairs against the norm. The ridge is ``n / (2 C)``.
    kernel : str or callable, default="linear"
        "linear", "poly" ``(gamma x.z + coef0)^degree``, "rbf"
        ``exp(-gamma |x - z|^2)``, "precomputed", or a function of two matrices.
    gamma : float or None, default=None
        The factor in kernels; None is 1 / n_features.
    degree : int, default=2
        The degree of "poly".
    coef0 : float, default=1.0
        The constant in "poly".
    solver : str, default="auto"
        "cholesky" and "eigh" decompose a matrix of features or of rows, whichever are
        fewer; "cholesky" goes on as "eigh" where rounding stops it, or would show in
        scores. "cg", conjugate gradients, forms no matrix of features, and keeps the
        kernels of up to 6,000 rows. "coordinate" and "gradient" are the paper's on-line
        version, which sweeps over the rows' coefficients, with exact steps or a
        constant one, and keeps the kernels of all rows. "auto" is "cholesky", or "cg"
        for more than 10,000 rows, and with a linear kernel for more than 4,000 rows and
        features.
    step : float or None, default=None
        The step of "gradient". None is ``1 / max H_ii``, ``H = 2 K + n / C`` with
        centred kernels; less than twice as much converges surely.
    stopping : {"gap", "relative"}, default="gap"
        When sweeps end: the duality gap is `tol` of the objective at zero; or a pass
        changes the objective by less than `tol` of itself (the paper's rule, with 1e-4,
        which for a large C ends far too early).
    tol : float, default=1e-10
        For iterative solvers. Errors of scores go with its root.
    max_iter : int, default=1000
        The most iterations, or passes.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of features, if the kernel is linear.
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients of the training rows; their sum in each query is zero. Where C is
        so large that rounding of kernels would show in scores, the least ones that give
        the same scores.
    intercept_ : float
        The mean of what labels exceed scores by, so that scores are on their scale.
    objective_ : float
        What is minimised, at the solution.
    dual_gap_ : float
        How far, at most, the objective is above its minimum, but for its own rounding.
        With a kernel, and where C is so large, that of decompositions allows for the
        rounding of kernels; that of "cg" does not.
    n_iter_ : int
        Iterations, or passes; 1 for decompositions.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    peckorder.MPRankCV : Chooses C, and gamma, by leaving pairs out.

    Notes
    -----
    Time for n rows with d features, with a linear kernel and with others:

    ==========================  ==============================  =====================
    solver                      linear                          others
    ==========================  ==============================  =====================
    "cholesky", "eigh"          O(n d min(n, d))                O(n^2 d + n^3)
    "cg", an iteration          O(n d), entries if sparse       O(n^2), or O(n^2 d)
                                                                from 6,000 rows on
    "coordinate", "gradient"    O(n^2 d), and O(n^2) a pass     the same
    ==========================  ==============================  =====================

    "eigh" takes some ten times as long as "cholesky" does for the same matrix. Memory
    is O(min(n, d)^2) and O(n^2) for decompositions, O(n^2) for sweeps, no more than the
    rows' for "cg" without kernels; besides, the rows are kept, as in `fit`. Sparse
    rows stay sparse. What the rows of a query have in common is taken from them before
    they are multiplied, so that they may be far from zero. Single-precision rows are
    multiplied in single precision, and the solution is mended in double.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rastogi, "Magnitude-Preserving Ranking
       Algorithms", ICML 2007.

    Examples
    --------
    >>> from peckorder import MPRank
    >>> X, y = [[0, 1], [1, 3], [2, 2], [3, 0]], [1.0, 1.5, 3.0, 4.5]
    >>> model = MPRank(C=100.0).fit(X, y)
    >>> model.predict(X).round(2).tolist()
    [1.0, 1.56, 2.91, 4.53]
    >>> model.rank(X).tolist()
    [4, 3, 2, 1]
    """

    _copies_kernels: ClassVar[bool] = True
    _rules: ClassVar[Rules] = {
        "C": positive,
        **RULES,
        "solver": one_of(
            "auto",
            "cholesky",
            "eigh",
            "cg",
            "coordinate",
            "gradient",
            aliases={"svd": "eigh", "sparse_cg": "cg", "sgd": "gradient"},
        ),
        "step": optional(positive),
        "stopping": one_of("gap", "relative"),
        "tol": positive,
        "max_iter": whole(1),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 2,
        coef0: float = 1.0,
        solver: str = "auto",
        step: float | None = None,
        stopping: str = "gap",
        tol: float = 1e-10,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.step = step
        self.stopping = stopping
        self.tol = tol
        self.max_iter = max_iter

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Go on with more rows: the result is that of `fit` on all, to rounding.

        A triangular factor of the products of features is kept, no rows. There are no
        `dual_coef_` then, and no pairs can be left out. For a linear kernel; `solver`
        does not matter, reflections are used. What `partial_fit` began goes on after
        copying or loading; what `fit` began does not, as its rows are left behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            How good each row is.
        qid : array-like of shape (n_samples,), default=None
            The query of each row. The rows of a query must come in one call: the same
            name in a later call is another query. None if all rows ever given belong to
            one query.
        sample_weight : array-like of shape (n_samples,), default=None
            A pair weighs the product of its rows' weights.
        offset : array-like of shape (n_samples,), default=None
            Known scores to learn on top of.

        Returns
        -------
        self
            The estimator. O(n_samples d^2 + d^3) time for d features; O(d^2) memory
            beside the batch.

        Examples
        --------
        >>> from peckorder import MPRank
        >>> X, y = [[0, 1], [1, 3], [2, 2], [3, 0]], [1.0, 1.5, 3.0, 4.5]
        >>> model = MPRank(C=100.0).partial_fit(X[:2], y[:2]).partial_fit(X[2:], y[2:])
        >>> model.predict(X).round(2).tolist()
        [1.0, 1.56, 2.91, 4.53]
        """
        with all_or_nothing(self):
            self._check()
            with np.errstate(over="ignore", invalid="ignore"):
                self._go_on(X, y, qid, sample_weight, offset)
        return self

    def _check(self) -> None:
        check_parameters(self, self._rules)
        if self.step is not None and self.solver != "gradient":
            raise ValueError(
                f"{self._who}: step must be None unless solver='gradient'; got "
                f"{self.step!r}."
            )

    def _fit(self, given: Given) -> None:
        limits = Limits(float(self.tol), int(self.max_iter))
        method = Method(self.solver, self.step, self.stopping == "gap", limits)
        try:
            self._learn(given, self._sampled(given, self.gamma), self.C, method)
        except Diverged:
            raise ValueError(
                f"{self._who}: step must be shorter to converge, None for a safe one; "
                f"got {self.step!r}."
            ) from None

    def _go_on(self, X: Any, y: Any, qid: Any, sample_weight: Any, offset: Any) -> None:
        is_first = not hasattr(self, "n_iter_")
        given = self._read(X, y, qid, sample_weight, offset, reset=is_first)
        has_queries = given.has_queries
        before = None if is_first else self._moments_so_far()
        if before is None:
            d = self.n_features_in_
            before = RunningMoments.none(self._who, d, has_queries=has_queries)
        elif before.has_queries != has_queries:
            rule = "given" if before.has_queries else "None"
            raise DataError(
                f"{self._who}: qid must be {rule}, as in the calls before; got "
                f"{'another' if has_queries else None}."
            )
        moments = before.add(given.X, given.label, given.query, given.weight)
        had_offset = not is_first and self._has_offset
        self._learn_from_moments(moments)
        self._has_offset = had_offset or offset is not None

    def _learn_from_moments(self, moments: RunningMoments) -> None:
        """Learn from sums over rows, wherever these were."""
        coef, objective, gap = moments.solve(float(self.C))
        self._forget()
        self._moments, self._gram = moments, None
        self.coef_, self.objective_, self.dual_gap_ = coef, objective, gap
        self.intercept_ = moments.intercept(coef)
        self.n_iter_ = 1
        self._has_offset = False

    def _moments_so_far(self) -> RunningMoments:
        """Return the sums of a stream, those of a fit if it began with one."""
        moments: RunningMoments | None = vars(self).get("_moments")
        if moments is not None:
            return moments
        sample = vars(self).get("_sample")
        if sample is None or not hasattr(self, "coef_"):
            raise DataError(
                f"{self._who}: partial_fit must be called on a new model, one learnt "
                "by partial_fit, or one that still has the rows of its fit, with a "
                "linear kernel; got another."
            )
        self._check_rows(sample)
        d, has_queries = self.n_features_in_, self._has_queries
        none = RunningMoments.none(self._who, d, has_queries=has_queries)
        return none.add(sample.rows, sample.label, sample.weighing.query, sample.weight)
