"""From labels to levels."""

from peckorder._core.compiled.jit import compiled
from peckorder._core.typing import Floats, Ints


@compiled
def encode(values: Floats, classes: Floats, level: Ints) -> int:
    """Write the position of each value among the ascending `classes` to `level`.

    values (n,), classes (k,) strictly ascending, level (n,) written in place.
    Returns the first row whose value is no class, or -1.
    """
    k = classes.shape[0]
    for i in range(values.shape[0]):
        value = values[i]
        low = 0
        if k <= 16:
            # Counted, not searched: there is no branch to mispredict.
            for c in range(k):
                low += classes[c] < value
        else:
            high = k
            while low < high:
                middle = (low + high) // 2
                if classes[middle] < value:
                    low = middle + 1
                else:
                    high = middle
        if low == k or classes[low] != value:
            return i
        level[i] = low
    return -1
