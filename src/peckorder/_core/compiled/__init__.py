"""The numeric core: compiled functions on plain arrays."""
