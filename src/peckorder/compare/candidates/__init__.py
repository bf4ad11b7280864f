"""Who takes part in a comparison, and how each chooses its settings."""
