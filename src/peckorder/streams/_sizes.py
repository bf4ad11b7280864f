"""How large a block is."""

from typing import Final

# Large enough for the cost of a call not to matter, small beside any memory.
BLOCK_BYTES: Final = 1 << 23


def default_rows(n_features: int, item_size: int) -> int:
    """Return how many rows have 8 MiB of features."""
    return max(1, BLOCK_BYTES // (n_features * item_size))
