"""Shells in scikit-learn's shape: validate, delegate to a solver, store."""

from peckorder.boosting._rankboost import RankBoost
from peckorder.magnitude._mprank import MPRank
from peckorder.magnitude._mprank_cv import MPRankCV
from peckorder.magnitude._svrank import SVRank
from peckorder.ordinal._aggregate_prank import AggregatePRank
from peckorder.ordinal._multiclass_perceptron import MulticlassPerceptron
from peckorder.ordinal._prank import PRank
from peckorder.ordinal._widrow_hoff import WidrowHoff
from peckorder.tables._table_ranker import TableRanker

__all__ = [
    "AggregatePRank",
    "MPRank",
    "MPRankCV",
    "MulticlassPerceptron",
    "PRank",
    "RankBoost",
    "SVRank",
    "TableRanker",
    "WidrowHoff",
]
