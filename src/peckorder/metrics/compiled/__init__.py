"""Compiled functions that measure sorted lists."""
