"""Baselines that score items by the ratings of other people."""
