"""Fitting estimators on a Dask cluster, one module per estimator."""
