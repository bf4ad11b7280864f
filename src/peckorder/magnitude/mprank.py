"""MPRank: scores whose differences are those of the labels."""

from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from peckorder._base import all_or_nothing
from peckorder._core.errors import entry, refusal, warn
from peckorder._core.threads import blas_threads_for
from peckorder._core.typing import Floats, MatrixLike, VectorLike
from peckorder._core.validation import Rules, one_of, optional, positive, whole
from peckorder.feedback import Preferences
from peckorder.magnitude.base import RULES, AnyTraining, Kernel, MagnitudeModel, Training
from peckorder.magnitude.mprank_solver.iterative import Diverged, Limits
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram
from peckorder.magnitude.mprank_solver.kernel_stream import Visits, learn_rows, with_batch
from peckorder.magnitude.mprank_solver.leave_out import COSTS, LeaveOut
from peckorder.magnitude.mprank_solver.leave_pairs_out import LeavePairsOut
from peckorder.magnitude.mprank_solver.moments import RunningMoments
from peckorder.magnitude.mprank_solver.pair_solve import PairProblem, TrainingPairs
from peckorder.magnitude.mprank_solver.ridge import Method, Solution
from peckorder.magnitude.mprank_solver.rows import refuse_large
from peckorder.magnitude.mprank_solver.solve import Problem, TrainingRows
from peckorder.magnitude.storage import SQUARED

COST = one_of(*COSTS)
KEEP = one_of("auto", "C", "C_prime")


@entry
class SquaredModel(MagnitudeModel):
    """Fits the squared cost, for which leaving rows out has a closed form."""

    _stored_fields: ClassVar = SQUARED

    def leave_pair_out_error(
        self, cost: str = "squared", keep: str = "auto", method: str = "exact"
    ) -> float:
        """Return the mean cost of pairs of training rows, each left out of training.

        The cost of a pair depends on the difference of its scores, by a model learnt
        without both rows, and that of its labels. Let R subtract the mean, K be the
        kernels between two R, and ``G = R - K (K + ridge)^-1``, ``e = G y``. Then::

            r_j - r_i = [(G_ii + G_ij) e_j - (G_jj + G_ij) e_i] / (G_ii G_jj - G_ij^2)

        is the difference of the residuals, exactly; any cost follows from it. A copy of
        the model, or one loaded from a file, has the training rows that this needs only
        if its scores need them too: not with a linear or a given kernel.

        Of preferences, each listed pair is left out, by itself. The pairs are the rows
        z = sqrt(weight) (phi(better) - phi(worse)) of a ridge regression without a
        constant, whose hat matrix is ``H = Z (Z'Z + P / C)^-1 Z'``: the residual of a pair
        that is left out is ``r_k / (1 - H_kk)``.

        Parameters
        ----------
        cost : {"squared", "absolute", "misranking"}, default="squared"
            The square or size of the difference; or 1 if the pair is in the wrong order
            or tied, as a share of the pairs whose labels differ.
        keep : {"auto", "C", "C_prime"}, default="auto"
            What the models without a pair keep: C, or the weight ``C' = 2 C / n`` of
            each row, as in the paper. With queries or unequal weights, only the latter:
            pairs within queries are left out, with the product of their rows' weights.
            "auto" is "C_prime" there, and else "C". With preferences, other pairs always
            keep their weight ``C / P``.
        method : {"exact", "paper"}, default="exact"
            "paper" is the approximation of Proposition 2: the mean score without the
            pair is taken to be that with it. Bad for few rows and a large C. Not with
            preferences.

        Returns
        -------
        error : float
            The mean over pairs; NaN if there is none. O(n^3) time and O(n^2) memory for
            n rows; O(n^2 d) time with d features where d is far less than n. Of m listed
            pairs, O(n^3 + m n) time, or O(m d^2) with d features if d < n / 4.

        Examples
        --------
        >>> from peckorder import MPRank, Preferences
        >>> X, y = [[0], [1], [2], [4]], [0, 1, 3, 4]
        >>> round(MPRank(C=10).fit(X, y).leave_pair_out_error(), 3)
        1.933
        >>> round(MPRank(C=10).fit(X, Preferences.from_labels(y)).leave_pair_out_error(), 3)
        0.597
        """
        COST.check("cost", cost)
        one_of("exact", "paper").check("method", method)
        kept = self._kept_training("leave_pair_out_error")
        if isinstance(kept, TrainingPairs):
            check_pairs_left_out(kept, keep, method)
            return self._error_of_pairs(kept, cost, "pair")
        training, ridge = self._training_without(2, "leave_pair_out_error", kept, keep)
        if method == "paper" and not training.weights.is_plain:
            raise refusal(
                "method", "be 'exact' for a model fitted with queries or unequal weights", "'paper'"
            )
        leave_out = LeaveOut(training)
        error = leave_out.pair_error if method == "exact" else leave_out.pair_error_as_printed
        with blas_threads_for(self._n_products(training)):
            return float(error(ridge, cost))

    def leave_row_out_error(self, cost: str = "squared") -> float:
        """Return the mean cost of preferences, each by models learnt without one of its rows.

        What to expect of pairs with a new row. A row is left out with the set S of all its
        pairs; other pairs keep their weight. With Z, H and r as in
        `leave_pair_out_error`, sizes t and ``A = Z'Z + P / C``, the model w becomes u::

            (A - Z_S'Z_S) u = Z't - Z_S't_S,  so  A (w - u) = Z_S'(t_S - Z_S u) = Z_S' e_S

        and, times ``Z_S A^-1``, ``e_S - r_S = H_SS e_S``: the residuals of S by u are
        ``e_S = (I - H_SS)^-1 r_S``. Each pair counts twice: without its better row, and
        without its worse one. For labels see `leave_one_out_predictions`.

        Parameters
        ----------
        cost : {"squared", "absolute", "misranking"}, default="squared"
            As in `leave_pair_out_error`.

        Returns
        -------
        error : float
            The mean over pairs; NaN if there is none. Beside the time of
            `leave_pair_out_error`, O(p^3) for each row in p pairs, or O(p d^2 + d^3) with
            d features if d < p.

        Examples
        --------
        >>> from peckorder import MPRank, Preferences
        >>> pairs = Preferences([1, 2, 3, 3], [0, 1, 2, 0], size=[1, 2, 1, 4])
        >>> model = MPRank(C=10).fit([[0], [1], [2], [4]], pairs)
        >>> round(model.leave_row_out_error(), 3)
        0.868
        """
        COST.check("cost", cost)
        training = self._kept_training("leave_row_out_error")
        if not isinstance(training, TrainingPairs):
            raise refusal(
                "leave_row_out_error",
                "be called on a model fitted to Preferences",
                "one fitted to labels",
                hint="See leave_one_out_predictions.",
            )
        return self._error_of_pairs(training, cost, "row")

    def _error_of_pairs(self, training: TrainingPairs, cost: str, left_out: str) -> float:
        leave_out, ridge = LeavePairsOut(training), training.weights.ridge(self._fitted_C)
        with blas_threads_for(self._n_products(training)):
            return leave_out.error(ridge, cost, left_out)

    def leave_one_out_predictions(self, keep: str = "auto") -> Floats:
        """Return the score of each training row by a model learnt without it.

        With G and e as in `leave_pair_out_error`, it is ``y_i - e_i / G_ii``, on the
        scale of y: the constant suits the other rows of its query. Not of preferences,
        whose rows have no label: see `leave_row_out_error`.

        Parameters
        ----------
        keep : {"auto", "C", "C_prime"}, default="auto"
            What the models keep, as in `leave_pair_out_error`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            With the offset added. NaN for rows without weight, or alone in their
            query. O(n^3) time, O(n^2) memory.

        Examples
        --------
        >>> from peckorder import MPRank
        >>> X, y = [[0], [1], [2], [4]], [0, 1, 3, 4]
        >>> MPRank(C=10).fit(X, y).leave_one_out_predictions().round(2).tolist()
        [0.57, 1.35, 1.99, 5.52]
        """
        name = "leave_one_out_predictions"
        kept = self._kept_training(name)
        training, ridge = self._training_without(1, name, kept, keep)
        scores = np.full(len(self.dual_coef_), np.nan)
        with blas_threads_for(self._n_products(training)):
            scores[training.kept] = training.y - LeaveOut(training).row_residuals(ridge)
        return scores

    def _kept_training(self, name: str) -> Training:
        """Return the rows of the fit, or say why none can be left out."""
        check_is_fitted(self)
        training: Training | None = vars(self).get("_training")
        if training is None:
            raise refusal(
                name,
                "be called on a model that still has the rows of its fit",
                "one learnt by partial_fit, copied or loaded",
            )
        self._check_unchanged(training)
        return training

    def _training_without(
        self, n_left_out: int, name: str, training: Training, keep: str
    ) -> tuple[TrainingRows, float]:
        """Return training rows with labels and the ridge without some of them."""
        KEEP.check("keep", keep)
        if isinstance(training, TrainingPairs):
            raise refusal(
                name, "be called on a model fitted to labels", "one fitted to Preferences"
            )
        return training, ridge_without(n_left_out, name, training, self._fitted_C, keep)

    def _check_unchanged(self, training: Training) -> None:
        if training.has_changed():
            raise refusal(
                "X",
                "be as it was when fitted, since large rows are not copied",
                "rows that were changed since",
                hint="Fit again.",
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training rows behind, unless scores need them."""
        state = dict(super().__getstate__())
        if state.get("_gram") is None:
            state.pop("_training", None)
        return state

    def _solve(self, training: AnyTraining, gamma: float | None, C: float, method: Method) -> None:
        """Solve the problem, and store the result."""
        training = self._training_rows(training, gamma)
        if isinstance(training, TrainingPairs):
            solution = PairProblem.of(training, float(C)).solve(method)
        else:
            solution = Problem(training, float(C)).solve(method)
        self._keep(solution, training, C, method)

    def _keep(self, solution: Solution, training: AnyTraining, C: float, method: Method) -> None:
        """Store a solution, and the rows that it is of; warn if it is none."""
        assert solution.dual is not None
        if not np.isfinite([solution.objective, solution.dual.sum()]).all():
            refuse_large()
        self._store(solution, training)
        self._training: Training = training.protected()
        self._fitted_C = float(C)
        if not solution.is_converged:
            warn(
                f"not converged after {solution.n_iter} iterations: the "
                f"objective may be {solution.gap:.2g} above its minimum. Raise "
                f"max_iter (now {method.limits.max_iter}) or tol (now "
                f"{method.limits.tol:g}), or use another solver.",
                ConvergenceWarning,
            )


def _has_partial_fit(model: "MPRank") -> bool:
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise refusal(
            "kernel",
            "be another than 'precomputed' for partial_fit: rows are still to come",
            repr(model.kernel),
            error=AttributeError,
        )
    return True


@entry
class MPRank(SquaredModel, stored=True):
    """Ranks so that differences of scores are those of real-valued labels.

    Magnitude-preserving ranking [1]_ with the squared cost minimises, over the pairs of
    rows within each query::

        ||w||^2 + C / P sum_q sum_{i,j in q} v_i v_j [(h_j - h_i) - (y_j - y_i)]^2

    with ``h = w . phi(x)``, rows' weights v and P the sum of the squares of the
    queries' weights: ``C / n^2`` for one query of n rows. The sum over pairs is one
    over rows less the mean of their query, so that pairs are never listed, and the
    solution is kernel ridge regression with a free constant for each query.

    Of `Preferences`, whose pairs k have weights u and sizes s, it minimises ::

        ||w||^2 + C / P sum_k u_k [(h_better - h_worse) - s_k]^2

    with P the sum over connected components of ``U m / (m - 1)`` for m rows whose pairs
    weigh U in all. So `Preferences.from_labels` of y gives the same model as y, but for
    its constant. With the Laplacian ``L = B' U B`` of the pairs B the coefficients
    solve ``(X' L X + P / C) w = X' B' U s``.

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
    missing_labels : {"raise", "skip"}, default="raise"
        What a missing label in `y` is (NaN, None, no category): refused; or no opinion on
        its row, which `fit`, `partial_fit` and `score` then leave out.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of features, if the kernel is linear.
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients of the training rows; their sum in each query, or connected
        component of pairs, is zero. Where C is
        so large that rounding of kernels would show in scores, the least ones that give
        the same scores.
    intercept_ : float
        The mean of what labels exceed scores by, so that scores are on their scale; 0
        for preferences, which have no level.
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

    Preferences take O(m) memory for m pairs: O(m d + n d^2) time at most with a linear
    kernel, O(m) more per iteration of "cg", and the same as labels with others. Pairs
    from grades are listed. There are no sweeps over pairs.

    Features that are collinear up to rounding share one coefficient as in the minimum,
    however large C is; of more than 4,000 features, where C is so large that rounding hides
    the ridge, there is a warning instead.

    "eigh" takes some ten times as long as "cholesky" does for the same matrix. Memory
    is O(min(n, d)^2) and O(n^2) for decompositions, O(n^2) for sweeps, no more than the
    rows' for "cg" without kernels; besides, the rows are kept, as in `fit`. Sparse
    rows stay sparse. What the rows of a query have in common is taken from them before
    they are multiplied, so that they may be far from zero. Single-precision rows are
    multiplied in single precision, and the solution is mended in double.

    `predict`, `save` and copying may run in several threads at once; `fit` and
    `partial_fit` may not run beside anything else on the same object.

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

    Two matches, won by three points and by one:

    >>> from peckorder import Preferences
    >>> matches = Preferences(better=[0, 1], worse=[1, 2], size=[3, 1])
    >>> MPRank(C=1000.0).fit([[1, 0], [0, 1], [0, 0]], matches).coef_.round(2).tolist()
    [3.98, 0.99]
    """

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
        kernel: Kernel = "linear",
        gamma: float | None = None,
        degree: int = 2,
        coef0: float = 1.0,
        solver: str = "auto",
        step: float | None = None,
        stopping: str = "gap",
        tol: float = 1e-10,
        max_iter: int = 1000,
        missing_labels: str = "raise",
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
        self.missing_labels = missing_labels

    @available_if(_has_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | Preferences,
        *,
        qid: VectorLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Continue with more rows: the result is that of `fit` on all.

        With a linear kernel to rounding: a triangular factor of the products of
        features is kept, no rows. There are no `dual_coef_` then, and no pairs can be
        left out; `solver` does not matter, reflections are used. A copied or loaded
        model can continue what `partial_fit` began, but not what `fit` began, whose
        rows are left behind.

        With other kernels rows are kept, and no matrix of kernels: the paper's on-line
        version. Row i is visited as it comes, with its kernels with the i rows so far,
        and the coefficient of least cost, or a constant step with ``solver="gradient"``.
        Passes over all rows so far follow until `tol` is met, `max_iter` with that of
        the new rows. So ``max_iter=1`` visits every row once, for scores that are near
        those of `fit` and nearer after more calls with a larger one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or Preferences
            How good each row is, or pairs of these rows: the same in all calls. A row
            of another call is another row, in another connected component.
        qid : array-like of shape (n_samples,), default=None
            The query of each row. The rows of a query must come in one call: the same
            name in a later call is another query. None if all rows ever given belong to
            one query, as they must with a kernel.
        sample_weight : array-like of shape (n_samples,), default=None
            A pair weighs the product of its rows' weights.
        offset : array-like of shape (n_samples,), default=None
            Known scores to learn on top of.

        Returns
        -------
        self
            The estimator. O(n_samples d^2 + d^3) time for d features, or pairs in place
            of samples; O(d^2) memory beside the batch. With a kernel O(n d) time for
            each visit of one of n rows, and O(n d) memory: the rows, and four numbers for
            each.

        Examples
        --------
        >>> from peckorder import MPRank
        >>> X, y = [[0, 1], [1, 3], [2, 2], [3, 0]], [1.0, 1.5, 3.0, 4.5]
        >>> model = MPRank(C=100.0).partial_fit(X[:2], y[:2]).partial_fit(X[2:], y[2:])
        >>> model.predict(X).round(2).tolist()
        [1.0, 1.56, 2.91, 4.53]
        >>> model = MPRank(C=100.0, kernel="rbf").partial_fit(X[:2], y[:2])
        >>> model.partial_fit(X[2:], y[2:]).predict(X).round(2).tolist()
        [1.03, 1.52, 2.98, 4.46]

        Matches of two days, with rows for the players as of each day:

        >>> from peckorder import Preferences
        >>> players, today = [[1, 3], [2, 2], [3, 0]], Preferences([2, 1], [1, 0], size=[3, 1])
        >>> model = MPRank(C=100.0).partial_fit(players, today)
        >>> model = model.partial_fit([[0, 1], [3, 3]], Preferences([1], [0], size=[2]))
        >>> model.coef_.round(2).tolist()
        [1.09, -0.69]
        """
        with all_or_nothing(self), np.errstate(over="ignore", invalid="ignore"):
            self._check()
            is_first = not hasattr(self, "n_iter_")
            batch: Training
            if isinstance(y, Preferences):
                batch = self._read_pairs(X, y, qid, sample_weight, offset, reset=is_first)
            else:
                batch = self._read(X, y, qid, sample_weight, offset, reset=is_first)
            if self.kernel != "linear":
                return self._partial_fit_kernel(batch, is_first=is_first)
            before = self._no_moments(batch) if is_first else self._moments_before()
            if before.has_pairs != isinstance(batch, TrainingPairs):
                rule = "Preferences" if before.has_pairs else "labels"
                raise refusal("y", f"be {rule}, as in the calls before", "the other")
            if before.has_queries != batch.has_queries:
                rule, got = ("given", None) if before.has_queries else ("None", "another")
                raise refusal("qid", f"be {rule}, as in the calls before", got)
            has_offset = offset is not None or (not is_first and self._has_offset)
            d = self.n_features_in_
            with blas_threads_for((batch.n_rows + float(d)) * d**2):
                self._fit_moments(_added(before, batch))
            self._has_offset = has_offset
            self._has_queries = isinstance(batch, TrainingRows) and batch.has_queries
        return self

    def _partial_fit_kernel(self, batch: Training, *, is_first: bool) -> Self:
        """Visit the rows of a batch, and then all."""
        if isinstance(batch, TrainingPairs):
            raise refusal("y", "be labels for partial_fit with a kernel", "Preferences")
        if batch.has_queries:
            rule = "be None for partial_fit with a kernel, which compares all rows ever given"
            raise refusal("qid", rule, "another")
        known = None if is_first else self._rows_before()
        visits: Visits | None = vars(self).get("_visits")
        if visits is None:
            visits = Visits.none()
            if known is not None:
                visits = Visits.of_fit(known, self.dual_coef_[known.kept])
        training = with_batch(known, batch, self._kernel_function(self.gamma))
        method = self._method()
        with blas_threads_for(float(batch.n_rows) * len(training.y) * self.n_features_in_):
            try:
                visits, solution = learn_rows(training, visits, float(self.C), method)
            except Diverged:
                self._refuse_step()
        self._keep(solution, training, self.C, method)
        self._visits = visits
        self._has_offset, self._has_queries = training.offset is not None, False
        return self

    def _rows_before(self) -> TrainingRows:
        """Return the rows that were learnt with a kernel, all compared with each other."""
        training: Training | None = vars(self).get("_training")
        if not (
            isinstance(training, TrainingRows)
            and isinstance(training.rows, Gram)
            and training.weights.n_queries == 1
            and training.rows.function == self._kernel_function(self.gamma)
        ):
            raise refusal(
                "partial_fit",
                "be called on a new model, or one of the rows of one query with this kernel",
                "another",
            )
        return training

    def _check(self) -> None:
        super()._check()
        if self.step is not None and self.solver != "gradient":
            raise refusal(
                "step", "be None unless solver='gradient'", repr(self.step), error=ValueError
            )

    def _method(self) -> Method:
        limits = Limits(float(self.tol), int(self.max_iter))
        return Method(self.solver, self.step, self.stopping == "gap", limits)

    def _fit_pairs(self, training: TrainingPairs) -> None:
        if self.solver in ("coordinate", "gradient"):
            raise refusal(
                "solver",
                "be 'auto', 'cholesky', 'eigh' or 'cg' with Preferences",
                f"{self.solver!r}, which sweeps over rows that have labels",
                error=ValueError,
            )
        self._solve(training, self.gamma, self.C, self._method())

    def _fit(self, training: TrainingRows) -> None:
        try:
            self._solve(training, self.gamma, self.C, self._method())
        except Diverged:
            self._refuse_step()

    def _refuse_step(self) -> NoReturn:
        rule = "be shorter to converge, None for a safe one"
        raise refusal("step", rule, repr(self.step), error=ValueError) from None

    def _fit_moments(self, moments: RunningMoments) -> None:
        """Learn from moments of rows, wherever these were computed."""
        self._store(moments.solve(float(self.C)))
        self._moments = moments

    def _no_moments(self, rows: Training) -> RunningMoments:
        has_pairs = isinstance(rows, TrainingPairs)
        return RunningMoments.empty(
            self.n_features_in_, has_queries=rows.has_queries, has_pairs=has_pairs
        )

    def _moments_before(self) -> RunningMoments:
        """Return the moments so far, of the rows of `fit` if it was called before."""
        moments: RunningMoments | None = vars(self).get("_moments")
        if moments is not None:
            return moments
        training: Training | None = vars(self).get("_training")
        if training is None or not hasattr(self, "coef_"):
            raise refusal(
                "partial_fit",
                "be called on a new model, one learnt by partial_fit, or one "
                "that still has the rows of its fit, with a linear kernel",
                "another",
            )
        self._check_unchanged(training)
        return _added(self._no_moments(training), training)


def _added(before: RunningMoments, batch: Training) -> RunningMoments:
    if isinstance(batch, TrainingPairs):
        return before.add_pairs(batch.rows, batch.weights)
    return before.add(*batch.columns)


def check_pairs_left_out(training: TrainingPairs, keep: str, method: str) -> None:
    """Refuse what cannot be left out of preferences, or not so."""
    KEEP.check("keep", keep)
    if len(training.weights) < 2:
        raise refusal("y", "be two pairs or more, so that one is left to learn from", "1 pair")
    if keep == "C":
        raise refusal("keep", "be 'C_prime' with Preferences", "'C'")
    if method != "exact":
        raise refusal("method", "be 'exact' with Preferences", repr(method))


def ridge_without(n_left_out: int, name: str, training: TrainingRows, C: float, keep: str) -> float:
    """Return the ridge of models learnt without one row or two; refuse what leaves none.

    `keep` must not be "C" where rows differ in weight.
    """
    n_rows, is_plain = len(training.weights), training.weights.is_plain
    if n_rows <= n_left_out:
        raise refusal(
            "X",
            f"be {n_left_out + 1} rows or more for {name}, so that one is left to learn from",
            f"{n_rows} sample{('' if n_rows == 1 else 's')}",
        )
    if keep == "C" and not is_plain:
        raise refusal(
            "keep",
            "be 'C_prime' with queries or unequal weights, since at the same C "
            "each pair left out would change the weights of other rows in its "
            "own way",
            "'C'",
        )
    keeps_C = keep == "C" or (keep == "auto" and is_plain)
    return training.weights.ridge(C, n_left_out if keeps_C else 0)
