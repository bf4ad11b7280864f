"""Personal rankers: from what many people gave to what one person would like."""

from peckorder.collaborative._answers import Explanation, Recommendations
from peckorder.collaborative._item_mean import ItemMean
from peckorder.collaborative._min_norm import MinNormRegression
from peckorder.collaborative._nearest import NearestRanker
from peckorder.collaborative._personal import PersonalRanker
from peckorder.collaborative._problem import problem
from peckorder.collaborative._vector_similarity import VectorSimilarity

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
