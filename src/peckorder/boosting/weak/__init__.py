"""Weak rankings: thresholds, features, custom learners."""
