"""Orders by weighted rankers, compiled."""

import numpy as np

from peckorder._core.compiled.jit import compiled
from peckorder._core.typing import Floats, Ints


@compiled
def greedy_order(scores: Floats, weights: Floats, above: Ints, order: Ints) -> None:
    """Write the rows to order (n,), that with the largest potential first, again and again.

    above (n, rankers), zeros, becomes for each row how many of those that are left it
    is above by each ranker, less how many it is below; NaN is neither. The potential is
    its sum weighted by weights (rankers,). Of equal ones the first row comes first.
    """
    n, n_rankers = scores.shape
    for i in range(n):
        order[i] = i
        for j in range(i):
            for r in range(n_rankers):
                sign = int(scores[i, r] > scores[j, r]) - int(scores[i, r] < scores[j, r])
                above[i, r] += sign
                above[j, r] -= sign
    for place in range(n):
        best, highest = place, -np.inf
        for k in range(place, n):
            potential = 0.0
            for r in range(n_rankers):
                potential += weights[r] * above[order[k], r]
            is_earlier = potential == highest and order[k] < order[best]
            if potential > highest or is_earlier:
                best, highest = k, potential
        order[place], order[best] = order[best], order[place]
        taken = order[place]
        for k in range(place + 1, n):
            i = order[k]
            for r in range(n_rankers):
                # Who was above a row that is gone is above one fewer.
                above[i, r] -= int(scores[i, r] > scores[taken, r])
                above[i, r] += int(scores[i, r] < scores[taken, r])
