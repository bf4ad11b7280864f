"""RankBoost."""
