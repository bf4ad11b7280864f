"""Magnitude-preserving ranking: MPRank, MPRankCV and SVRank."""

from peckorder.magnitude.mprank import MPRank
from peckorder.magnitude.mprank_cv import MPRankCV
from peckorder.magnitude.svrank import SVRank

__all__ = ["MPRank", "MPRankCV", "SVRank"]
