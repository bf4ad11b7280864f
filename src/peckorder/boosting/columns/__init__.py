"""Features cut into groups of equal values."""
