"""Compiled functions of RankBoost."""
