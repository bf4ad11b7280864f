"""Ratings: who gave what to which item."""
