"""Compiled functions of the on-line learners."""
