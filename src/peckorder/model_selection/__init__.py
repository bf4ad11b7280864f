"""How good a ranker will be: splits of queries and pairs, losses on the way."""

from peckorder.model_selection._pairs import PairKFold
from peckorder.model_selection._progressive import Progress, progressive_validation
from peckorder.model_selection._split import QueryKFold, train_test_split_queries

__all__ = [
    "PairKFold",
    "Progress",
    "QueryKFold",
    "progressive_validation",
    "train_test_split_queries",
]
