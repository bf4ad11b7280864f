"""Synthetic data, drawn from a seed."""
