"""Some rows of many, whole queries or people at a time."""

import numpy as np

from peckorder._core.typing import Ints


def drawn(n_rows: int, groups: Ints | None, most: float, seed: int, fewest: int = 1) -> Ints:
    """Return the places of at most so many rows, drawn at random; all if they are few.

    Rows of a group come together; `fewest` groups come in any case, though they have
    more rows than `most`. O(n log n) time.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.tables.sampling import drawn
    >>> drawn(6, np.array([7, 7, 7, 8, 8, 8]), 4, seed=0).tolist()
    [0, 1, 2]
    """
    if n_rows <= most:
        return np.arange(n_rows)
    rng = np.random.default_rng(seed)
    if groups is None:
        return np.sort(rng.permutation(n_rows)[: int(most)])
    group, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    order = rng.permutation(len(sizes))
    n_whole = int((np.cumsum(sizes[order]) <= most).sum())
    return np.flatnonzero(np.isin(group, order[: max(n_whole, fewest)]))
