"""Fitting an estimator on a stream."""
