"""Magnitude-preserving ranking."""
