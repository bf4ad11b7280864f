"""MPRankCV: MPRank with the C, and gamma, that err least on pairs left out."""

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

import numpy as np

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats
from peckorder._core.validation import Rule, Rules, one_of, positive
from peckorder.magnitude.base import RULES, AnyTraining, Kernel
from peckorder.magnitude.mprank import COST, KEEP, SquaredModel, check_pairs_left_out, ridge_without
from peckorder.magnitude.mprank_solver.iterative import Limits
from peckorder.magnitude.mprank_solver.leave_out import LeaveOut
from peckorder.magnitude.mprank_solver.leave_pairs_out import LeavePairsOut
from peckorder.magnitude.mprank_solver.pair_solve import TrainingPairs
from peckorder.magnitude.mprank_solver.ridge import Method
from peckorder.magnitude.mprank_solver.solve import TrainingRows
from peckorder.magnitude.storage import TUNED


def _are_positive(values: object) -> bool:
    if not isinstance(values, Collection) or isinstance(values, str | bytes):
        return False
    if getattr(values, "shape", None) == ():  # an array that has no length
        return False
    return len(values) > 0 and all(map(positive.accepts, values))


_numbers = Rule("one or more finite numbers > 0", _are_positive)


@entry
class MPRankCV(SquaredModel, stored=True):
    """Chooses C, and gamma, by leaving every pair of rows out of training, exactly.

    For each gamma the centred kernels are decomposed once; for each C the errors of all
    models learnt without a pair then follow from one product of matrices, as in
    `MPRank.leave_pair_out_error`; of `Preferences`, without a listed pair, or without a
    row as in `MPRank.leave_row_out_error`. The pair with the least error is fitted.

    Parameters
    ----------
    Cs : array-like, default=(0.01, 0.1, ..., 1e6)
        The values of C to try; of equal errors the first.
    gammas : array-like or None, default=None
        The values of gamma to try, for "rbf" and "poly"; None is 1 / n_features.
    kernel : str or callable, default="linear"
        As in `MPRank`.
    degree : int, default=2
        The degree of "poly".
    coef0 : float, default=1.0
        The constant in "poly".
    cost : {"squared", "absolute", "misranking"}, default="squared"
        What a pair costs.
    keep : {"auto", "C", "C_prime"}, default="auto"
        What models without a pair keep, as in `MPRank.leave_pair_out_error`: "auto" is
        "C_prime" with queries or unequal weights, where "C" is refused, and else "C".
    method : {"exact", "diagonal"}, default="exact"
        "diagonal" needs no product of matrices for each C, but is an approximation, for
        the squared cost without queries or weights: some tenths to two percent too
        small with 80 rows, less than half a percent with 320; useless below 40 rows
        and a large C.
    leave_out : {"pair", "row"}, default="pair"
        What is left out of preferences: a listed pair by itself, or a row with all its
        pairs, as new rows are. Of labels it is always two rows.
    missing_labels : {"raise", "skip"}, default="raise"
        What a missing label in `y` is (NaN, None, no category): refused; or no opinion on
        its row, which `fit` and `score` then leave out.

    Attributes
    ----------
    C_ : float
        The C with the least error.
    gamma_ : float or None
        The gamma with the least error; None for kernels without one.
    errors_ : ndarray of shape (n_gammas, n_Cs)
        The mean cost of a pair left out.
    coef_, dual_coef_, intercept_, objective_, dual_gap_, n_iter_
        As in `MPRank`, of the model with `C_` and `gamma_`.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    peckorder.MPRank : The model that is chosen.

    Notes
    -----
    O(n^3) time and O(n^2) memory for each gamma and n rows; O(n^2 d) with a linear
    kernel and d features, if d is far less than n. Of m listed pairs O(n^3) and O(m n)
    for each C, or O(m d^2) with d < n / 4 features.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    Examples
    --------
    >>> from peckorder import MPRankCV
    >>> X, y = [[0], [1], [2], [3], [5]], [0.1, 0.9, 2.2, 2.8, 5.1]
    >>> model = MPRankCV(Cs=[0.1, 10.0, 1000.0]).fit(X, y)
    >>> model.C_
    1000.0
    >>> model.errors_.round(3).tolist()
    [[4.643, 0.134, 0.087]]
    """

    _stored_fields: ClassVar = TUNED
    _rules: ClassVar[Rules] = {
        "Cs": _numbers,
        "gammas": Rule(
            f"None or {_numbers.text}", lambda value: value is None or _are_positive(value)
        ),
        **{name: rule for name, rule in RULES.items() if name != "gamma"},
        "cost": COST,
        "keep": KEEP,
        "method": one_of("exact", "diagonal"),
        "leave_out": one_of("pair", "row"),
    }

    def __init__(
        self,
        *,
        Cs: Sequence[float] | Floats = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6),
        gammas: Sequence[float] | Floats | None = None,
        kernel: Kernel = "linear",
        degree: int = 2,
        coef0: float = 1.0,
        cost: str = "squared",
        keep: str = "auto",
        method: str = "exact",
        leave_out: str = "pair",
        missing_labels: str = "raise",
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.cost = cost
        self.keep = keep
        self.method = method
        self.leave_out = leave_out
        self.missing_labels = missing_labels

    def _fit(self, training: TrainingRows) -> None:
        if self.leave_out != "pair":
            raise refusal(
                "leave_out", "be 'pair' with labels, of which it leaves out both rows", "'row'"
            )
        self._choose(training, self._errors, "within queries")

    def _fit_pairs(self, training: TrainingPairs) -> None:
        check_pairs_left_out(training, self.keep, self.method)
        self._choose(training, self._errors_of_pairs, "of a size > 0")

    def _choose(
        self, training: AnyTraining, errors_of: Callable[[AnyTraining], Floats], which: str
    ) -> None:
        """Fit the C and gamma with the least error."""
        gammas = [None] if self.gammas is None else list(self.gammas)
        errors = [errors_of(self._training_rows(training, gamma)) for gamma in gammas]
        self.errors_: Floats = np.array(errors)
        if np.isnan(self.errors_).all():
            raise refusal("y", f"have pairs {which} to choose by", "none")
        row, column = np.unravel_index(np.nanargmin(self.errors_), self.errors_.shape)
        self.C_: float = float(list(self.Cs)[column])
        self._solve(training, gammas[row], self.C_, _DIRECT)
        self.gamma_ = None
        if self.kernel in ("rbf", "poly"):
            self.gamma_ = self._kernel_function(gammas[row]).gamma

    def _check(self) -> None:
        super()._check()
        if self.gammas is not None and self.kernel not in ("rbf", "poly"):
            raise refusal(
                "gammas",
                "be None unless kernel is 'rbf' or 'poly'",
                repr(self.gammas),
                error=ValueError,
            )
        if self.method == "diagonal" and self.cost != "squared":
            raise refusal(
                "cost", "be 'squared' with method='diagonal'", repr(self.cost), error=ValueError
            )

    def _errors_of_pairs(self, training: TrainingPairs) -> Floats:
        """Return the error of each C."""
        leave_out = LeavePairsOut(training)
        ridges = [training.weights.ridge(float(C)) for C in self.Cs]
        return np.array([leave_out.error(ridge, self.cost, self.leave_out) for ridge in ridges])

    def _errors(self, training: TrainingRows) -> Floats:
        """Return the error of each C."""
        name = "leaving pairs out"
        ridges = [ridge_without(2, name, training, float(C), self.keep) for C in self.Cs]
        is_exact = self.method == "exact"
        if not is_exact and not training.weights.is_plain:
            raise refusal("method", "be 'exact' with queries or unequal weights", "'diagonal'")
        leave_out = LeaveOut(training)
        if is_exact:
            return np.array([leave_out.pair_error(ridge, self.cost) for ridge in ridges])
        return np.array([leave_out.approximate_pair_error(ridge) for ridge in ridges])


_DIRECT = Method("auto", None, True, Limits(1e-12, 10_000))
