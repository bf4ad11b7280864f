"""Partitions of data on a Dask cluster."""
