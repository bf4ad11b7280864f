"""Small tables."""

import numpy as np

from peckorder.tables.columns import Columns


def table(**arrays):
    """Return a table with these columns."""
    return Columns({name: np.asarray(array) for name, array in arrays.items()}, "some.csv")


def text(*cells):
    """Return a column of text."""
    return np.array(cells, dtype=object)
