"""On-line ordinal ranking: PRank, its ensembles and its baselines."""
