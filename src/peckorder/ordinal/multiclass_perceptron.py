"""The multiclass perceptron, which ignores that classes are ordered."""

from typing import Any, ClassVar

from peckorder._core.errors import entry
from peckorder._core.typing import Seed, VectorLike
from peckorder._core.validation import Rules, one_of
from peckorder.ordinal.baselines import BaselineEstimator
from peckorder.ordinal.compiled.baselines import Step


@entry
class MulticlassPerceptron(BaselineEstimator, stored=True):
    """Learn one prototype per class; the nearest in direction wins.

    The predicted class is the one with the largest w_c.x, the lowest of equal ones.
    A mistake adds the row to the prototype of its class and takes it from the
    predicted one::

        w_y += x        w_yhat -= x

    This is the classification baseline of the PRank paper [1]_: to it, a class
    missed by one step and a class missed by four are the same mistake. The uniform
    update takes the row from all classes that come before the right one, as much from
    each of the set E of these::

        w_y += x        w_r -= x / |E|,  r in E

    Parameters
    ----------
    update : {"max", "uniform"}, default="max"
        From which prototypes a mistake takes the row: that of the predicted class, or
        all that come before the right one. Both are of the ultraconservative family
        [2]_ with its bound; see Notes.
    rule : {"last", "averaged"}, default="last"
        Which rule predicts: the prototypes after the last row, as published, or their
        mean over all rounds, which noise moves less. Learning follows the last always.
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
    coef_ : ndarray of shape (n_classes, n_features)
        The prototypes, for the linear kernel.
    intercept_ : ndarray of shape (n_classes,)
        Their constants; zero without `fit_intercept`.
    support_ : ndarray of shape (n_support,)
        With a kernel: the rows that were misplaced, numbered as in `PRank`.
    dual_coef_ : ndarray of shape (n_classes, n_support)
        Their coefficients in the score of each class.
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
    peckorder.PRank : One direction for all classes, and thresholds between them.

    Notes
    -----
    A pass costs O(nnz(X) * n_classes) time and, beyond the data,
    O(n_features * n_classes) memory. With a kernel a round costs O(n_support *
    (n_features + n_classes)), and rows that were misplaced are kept; a polynomial one
    with at most 1,024 monomials is computed by these.

    If some prototypes M of norm 1, all taken together, score the right class of every
    row above all others by gamma, at most ``2 R**2 / gamma**2`` rows are misplaced by
    either update, R being the longest norm of a row: a mistake adds gamma at least to
    M's product with the prototypes, and 2 R**2 at most to their squared norm.

    `predict`, `save` and copying may run in several threads at once; `fit`,
    `partial_fit` and `progressive` may not run beside anything else on the same object.

    References
    ----------
    .. [1] K. Crammer and Y. Singer, "Pranking with Ranking", NIPS 14, 2001.
    .. [2] K. Crammer and Y. Singer, "Ultraconservative Online Algorithms for Multiclass
       Problems", JMLR 3, 2003.

    Examples
    --------
    >>> from peckorder import MulticlassPerceptron
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1, 1, 2, 2]
    >>> MulticlassPerceptron(max_iter=100).fit(X, y).predict(X)
    array([1, 1, 2, 2])
    """

    _rules: ClassVar[Rules] = BaselineEstimator._rules | {"update": one_of("max", "uniform")}
    _not_in_old_files: ClassVar[dict[str, Any]] = {
        "update": "max",
        **BaselineEstimator._not_in_old_files,
    }
    _fixed: ClassVar[tuple[str, ...]] = ("update", *BaselineEstimator._fixed)

    def __init__(
        self,
        *,
        update: str = "max",
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
        self.update = update
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

    def _step(self, n_levels: int) -> Step:
        return Step(
            regression=False,
            eta=0.0,
            normalized=False,
            uniform=self.update == "uniform",
            n_levels=n_levels,
        )

    def _weight_shape(self, n_weights: int, n_levels: int) -> tuple[int, ...]:
        return (n_levels, n_weights)
