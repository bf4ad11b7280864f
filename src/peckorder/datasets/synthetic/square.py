"""The square problem of the papers on PRank and OAP-BPM."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Seed
from peckorder._core.validation import Rule, not_negative, whole

# A point is of class r if its noisy height exceeds the r-th cut but not the next.
_CUTS = np.array([-1.0, -0.1, 0.25, 1.0])
_DEGREE = Rule("1 or 2", lambda value: whole(1).accepts(value) and value <= 2)


@entry
def make_square(
    n_samples: int = 5000, *, noise: float = 0.125, degree: int = 2, random_state: Seed = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points of the unit square with five ordered classes.

    The height of a point is ``10 (x1 - 1/2) (x2 - 1/2)``, a saddle; its class 1..5
    says between which of the cuts -1, -0.1, 0.25 and 1 the height plus a normal
    deviate lies. No rule loses less than 0.1526 steps on average at the noise of
    0.125 (0.4039 at a noise of 0.125 ** 0.5); a constant loses 1.01.

    Parameters
    ----------
    n_samples : int, default=5000
        The number of points.
    noise : float, default=0.125
        Standard deviation of the deviate.
    degree : {1, 2}, default=2
        1 gives the two coordinates, 2 the six features of `square_features`, among
        which the height is linear.
    random_state : int, RandomState instance or None, default=None
        The source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, 6) or (n_samples, 2)
        The features.
    y : ndarray of shape (n_samples,)
        The classes, 1 to 5.

    References
    ----------
    .. [1] K. Crammer and Y. Singer, "Pranking with Ranking", NIPS 14, 2001.

    Examples
    --------
    >>> from peckorder.datasets import make_square
    >>> X, y = make_square(100, random_state=0)
    >>> X.shape, y.min(), y.max()
    ((100, 6), np.int64(1), np.int64(5))
    """
    whole(1).check("n_samples", n_samples)
    not_negative.check("noise", noise)
    _DEGREE.check("degree", degree)
    rng = check_random_state(random_state)
    points = rng.uniform(size=(n_samples, 2))
    y = square_labels(points, noise * rng.standard_normal(n_samples))
    return (points if degree == 1 else square_features(points)), y


@entry
def square_labels(points: ArrayLike, noise: ArrayLike = 0.0) -> NDArray[np.int64]:
    """Return the classes 1..5 of points of the unit square.

    Parameters
    ----------
    points : array-like of shape (n_samples, 2)
        Coordinates between 0 and 1.
    noise : float or array-like of shape (n_samples,), default=0.0
        Added to the height of each point. Without it the result is the rule with the
        smallest loss on noisy data.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from peckorder.datasets import square_labels
    >>> square_labels([[0.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    array([5, 3, 1])
    """
    x1, x2 = _coordinates(points)
    height = 10 * (x1 - 0.5) * (x2 - 0.5) + np.asarray(noise)
    # Strictly above a cut, so a height on one stays below it.
    y: NDArray[np.int64] = 1 + np.searchsorted(_CUTS, height, side="left")
    return y


@entry
def square_features(points: ArrayLike) -> NDArray[np.float64]:
    """Return the features whose products are the kernel (x.z + 1)^2.

    They are ``(1, sqrt(2) x1, sqrt(2) x2, x1^2, x2^2, sqrt(2) x1 x2)``.

    Parameters
    ----------
    points : array-like of shape (n_samples, 2)
        Coordinates.

    Returns
    -------
    X : ndarray of shape (n_samples, 6)
        The features.

    Examples
    --------
    >>> from peckorder.datasets import square_features
    >>> square_features([[1.0, 0.0]]).round(2).tolist()
    [[1.0, 1.41, 0.0, 1.0, 0.0, 0.0]]
    """
    x1, x2 = _coordinates(points)
    root = np.sqrt(2.0)
    return np.column_stack([np.ones_like(x1), root * x1, root * x2, x1**2, x2**2, root * x1 * x2])


def _coordinates(points: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise refusal(
            "points",
            "be an array of shape (n_samples, 2)",
            f"shape {array.shape!r}",
            error=ValueError,
        )
    return array.T
