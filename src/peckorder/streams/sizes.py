"""How large a block is."""

from typing import Final

# What is read from files: learning takes less time than reading anyway.
OF_FILES: Final = 1 << 22
# Views take no memory, and a call costs as much as learning a thousand rows.
OF_ARRAYS: Final = 1 << 23


def default_rows(n_features: int, item_size: int, n_bytes: int = OF_FILES) -> int:
    """Return how many rows have so many bytes of features."""
    return max(1, n_bytes // (n_features * item_size))
