"""Synthetic ratings of people with latent tastes."""

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state

from peckorder._core.errors import entry
from peckorder._core.typing import Floats, Seed
from peckorder._core.validation import Rule, finite, not_negative, whole
from peckorder.feedback import Ratings

# Standard deviations of the quality of items, the kindness of users, and moods.
_QUALITY, _KINDNESS, _MOOD = 0.5, 0.4, 0.4
_DENSITY = Rule("a number > 0 and <= 1", lambda value: finite.accepts(value) and 0 < value <= 1)
# The standard deviation of the logarithm of the number of ratings per user.
_SPREAD = 0.8


@entry
def make_ratings(
    n_users: int = 200,
    n_items: int = 300,
    *,
    n_factors: int = 4,
    density: float = 0.1,
    levels: int = 5,
    choice: float = 1.0,
    min_per_user: int = 5,
    random_state: Seed = None,
) -> Ratings:
    """Draw people with latent tastes, who rate items that they expect to like.

    User u likes item i by ``z = q_i + <p_u, t_i> / sqrt(n_factors) + k_u + e``: the
    item's quality q ~ N(0, 1/4), tastes p, t ~ N(0, 1) in `n_factors` dimensions, the
    user's kindness k ~ N(0, 0.16) and a mood e ~ N(0, 0.16) of the moment. The rating
    is the level of z among 1 to `levels`, cut at quantiles of z's distribution over
    all pairs such that the levels are as frequent as those of a binomial distribution.

    Ratings are not missing at random. The number of ratings per user is log-normal,
    with mean ``density * n_items`` and at least `min_per_user`. The items are drawn
    without replacement, by weights ``popularity_i * exp(choice * (z - e))``, where the
    popularity of the item of rank r is ``1 / r``. So people rate popular items and
    those that they expect to like, and observed means are too high.

    Parameters
    ----------
    n_users, n_items : int
        The numbers of users and items.
    n_factors : int, default=4
        The dimensions of tastes.
    density : float, default=0.1
        The mean share of items that a user rates.
    levels : int, default=5
        Ratings are integers from 1 to this.
    choice : float, default=1
        How much people prefer to rate items that they expect to like; 0: not at all.
    min_per_user : int, default=5
        The smallest number of ratings of a user.
    random_state : int, RandomState or None, default=None
        The source of randomness.

    Returns
    -------
    ratings : Ratings
        Users are 0, 1, ...; items those of 0, 1, ... with a rating. Takes
        O(n_users * n_items) time, and memory for the result and one user.

    Examples
    --------
    >>> from peckorder.datasets import make_ratings
    >>> ratings = make_ratings(50, 40, density=0.3, random_state=0)
    >>> ratings.n_users, int(ratings.per_user.min()) >= 5
    (50, True)
    """
    sizes = {
        "n_users": n_users,
        "n_items": n_items,
        "n_factors": n_factors,
        "min_per_user": min_per_user,
    }
    for name, size in sizes.items():
        whole(1).check(name, size)
    whole(2).check("levels", levels)
    _DENSITY.check("density", density)
    not_negative.check("choice", choice)
    Rule(f"at most n_items, {n_items}", lambda value: value <= n_items).check(
        "min_per_user", min_per_user
    )
    rng = check_random_state(random_state)
    quality = _QUALITY * rng.standard_normal(n_items)
    traits = rng.standard_normal((n_items, n_factors))
    log_popularity = -np.log1p(rng.permutation(n_items))
    counts = np.exp(_SPREAD * rng.standard_normal(n_users) - _SPREAD**2 / 2)
    counts = np.clip(np.rint(density * n_items * counts), min_per_user, n_items)
    cuts = _cuts(levels)
    users, items, values = [], [], []
    for user, count in enumerate(counts.astype(np.int64).tolist()):
        tastes = rng.standard_normal(n_factors)
        kindness = _KINDNESS * rng.standard_normal()
        expected = quality + traits @ tastes / np.sqrt(n_factors) + kindness
        # The largest log-weights plus Gumbel noise are a draw without replacement.
        keys = log_popularity + choice * expected + rng.gumbel(size=n_items)
        chosen = np.sort(np.argpartition(-keys, count - 1)[:count])
        liked = expected[chosen] + _MOOD * rng.standard_normal(count)
        users.append(np.full(count, user))
        items.append(chosen)
        values.append(1 + np.searchsorted(cuts, liked, side="right"))
    columns = (np.concatenate(column) for column in (users, items, values))
    return Ratings(*columns)


def _cuts(levels: int) -> Floats:
    """Return the thresholds between neighbouring levels."""
    steps = np.arange(levels - 1)
    chance = np.cumprod(np.concatenate([[1.0], (levels - 1 - steps) / (steps + 1)]))
    share = np.cumsum(chance / chance.sum())[:-1]
    spread = np.sqrt(_QUALITY**2 + 1.0 + _KINDNESS**2 + _MOOD**2)
    cuts: Floats = spread * ndtri(share)
    return cuts
