"""Training one ranker per person on many processes."""
