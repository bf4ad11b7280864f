"""The rounds of RankBoost."""
