"""Small tables."""

import numpy as np

from peckorder.tables.columns import Columns


def table(**arrays):
    """Return a table with these columns."""
    return Columns({name: np.asarray(array) for name, array in arrays.items()}, "some.csv")


def text(*cells):
    """Return a column of text."""
    return np.array(cells, dtype=object)


def written(path, content):
    """Write a file of text or bytes; return its path."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
