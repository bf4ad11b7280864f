"""Shells in scikit-learn's shape: validate, delegate to a solver, store."""

from peckorder.estimators._aggregate_prank import AggregatePRank
from peckorder.estimators._mprank import MPRank
from peckorder.estimators._mprank_cv import MPRankCV
from peckorder.estimators._multiclass_perceptron import MulticlassPerceptron
from peckorder.estimators._prank import PRank
from peckorder.estimators._rankboost import RankBoost
from peckorder.estimators._svrank import SVRank
from peckorder.estimators._table_ranker import TableRanker
from peckorder.estimators._widrow_hoff import WidrowHoff

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
