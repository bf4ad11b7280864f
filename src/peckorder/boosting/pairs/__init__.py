"""The pairs that RankBoost learns from, and their distribution."""
