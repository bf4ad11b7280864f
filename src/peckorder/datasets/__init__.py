"""Data to learn from: made, or read as its publishers distribute it."""

from peckorder.datasets._square import make_square, square_features, square_labels

__all__ = ["make_square", "square_features", "square_labels"]
