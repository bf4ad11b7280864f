"""Shells in scikit-learn's shape: validate, delegate to a solver, store."""

from peckorder.boosting.ordinal_boost import OrdinalBoost
from peckorder.boosting.rankboost import RankBoost
from peckorder.magnitude.mprank import MPRank
from peckorder.magnitude.mprank_cv import MPRankCV
from peckorder.magnitude.svrank import SVRank
from peckorder.ordinal.aggregate_prank import AggregatePRank
from peckorder.ordinal.calibrated import CalibratedOrdinal
from peckorder.ordinal.multiclass_perceptron import MulticlassPerceptron
from peckorder.ordinal.prank import PRank
from peckorder.ordinal.widrow_hoff import WidrowHoff
from peckorder.tables.table_ranker import TableRanker

__all__ = [
    "AggregatePRank",
    "CalibratedOrdinal",
    "MPRank",
    "MPRankCV",
    "MulticlassPerceptron",
    "OrdinalBoost",
    "PRank",
    "RankBoost",
    "SVRank",
    "TableRanker",
    "WidrowHoff",
]
