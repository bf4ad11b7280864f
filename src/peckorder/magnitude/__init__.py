"""Magnitude-preserving ranking: MPRank, MPRankCV and SVRank."""
