"""The multiclass perceptron, which ignores that classes are ordered."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from peckorder._core.errors import entry
from peckorder._core.typing import Floats, MatrixLike, Seed, VectorLike
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.ordinal.learners.baselines import PerceptronLearner


@entry
class MulticlassPerceptron(OrdinalEstimator, stored=True):
    """Learn one prototype per class; the nearest in direction wins.

    The predicted class is the one with the largest w_c.x, the lowest of equal ones.
    A mistake adds the row to the prototype of its class and takes it from the
    predicted one::

        w_y += x        w_yhat -= x

    This is the classification baseline of the PRank paper [1]_: to it, a class
    missed by one step and a class missed by four are the same mistake.

    Parameters
    ----------
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
    coef_ : ndarray of shape (n_classes, n_features)
        The prototypes.
    intercept_ : ndarray of shape (n_classes,)
        Their constants; zero without `fit_intercept`.
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
    O(n_features * n_classes) memory.

    `predict`, `save` and copying may run in several threads at once; `fit`,
    `partial_fit` and `progressive` may not run beside anything else on the same object.

    References
    ----------
    .. [1] K. Crammer and Y. Singer, "Pranking with Ranking", NIPS 14, 2001.

    Examples
    --------
    >>> from peckorder import MulticlassPerceptron
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1, 1, 2, 2]
    >>> MulticlassPerceptron(max_iter=100).fit(X, y).predict(X)
    array([1, 1, 2, 2])
    """

    _learner: PerceptronLearner

    def __init__(
        self,
        *,
        max_iter: int = 1,
        shuffle: bool = False,
        fit_intercept: bool = True,
        unit_norm: bool = True,
        classes: VectorLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.unit_norm = unit_norm
        self.classes = classes
        self.random_state = random_state

    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the score of each row for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        score : ndarray of shape (n_samples, n_classes)
            The largest of a row is its predicted class.
        """
        return self._from_learner("scores", X)

    def _shapes(self, n_features: int, n_levels: int) -> dict[str, tuple[int, ...]]:
        return {"weights": (n_levels, n_features + bool(self.fit_intercept))}

    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: ArrayLike | None
    ) -> PerceptronLearner:
        weights = np.zeros((n_levels, n_features + bool(self.fit_intercept)))
        return PerceptronLearner(transform=self._transform(), weights=weights)

    def _publish(self) -> None:
        self.coef_ = self._learner.weights[:, : self.n_features_in_]
        if self.fit_intercept:
            self.intercept_ = self._learner.weights[:, -1]
        else:
            self.intercept_ = np.zeros(len(self._learner.weights))
