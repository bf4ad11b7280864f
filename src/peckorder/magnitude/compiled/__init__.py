"""Compiled functions of MPRank and SVRank."""
