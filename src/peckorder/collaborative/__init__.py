"""Personal rankers: from what many people gave to what one person would like."""

from peckorder.collaborative._problem import problem
from peckorder.collaborative.baselines.item_mean import ItemMean
from peckorder.collaborative.baselines.min_norm import MinNormRegression
from peckorder.collaborative.baselines.nearest import NearestRanker
from peckorder.collaborative.baselines.vector_similarity import VectorSimilarity
from peckorder.collaborative.personal.personal_ranker import PersonalRanker
from peckorder.collaborative.personal.results import Explanation, Recommendations

__all__ = [
    "Explanation",
    "ItemMean",
    "MinNormRegression",
    "NearestRanker",
    "PersonalRanker",
    "Recommendations",
    "VectorSimilarity",
    "problem",
]
