"""Personal rankers: the ratings of many people predict those of one person."""

# Names imported "as" themselves are for the other packages of the library.
from peckorder.collaborative._means import damped_means as damped_means
from peckorder.collaborative._problem import check_fill_and_center as check_fill_and_center
from peckorder.collaborative._problem import check_fillable as check_fillable
from peckorder.collaborative._problem import check_ratings as check_ratings
from peckorder.collaborative._problem import problem
from peckorder.collaborative._problem import viewer_table as viewer_table
from peckorder.collaborative.baselines import (
    Correlation,
    ItemMean,
    MinNormRegression,
    NearestRanker,
    VectorSimilarity,
)
from peckorder.collaborative.personal.personal_ranker import PersonalRanker
from peckorder.collaborative.personal.results import Explanation, Recommendations

__all__ = [
    "Correlation",
    "Explanation",
    "ItemMean",
    "MinNormRegression",
    "NearestRanker",
    "PersonalRanker",
    "Recommendations",
    "VectorSimilarity",
    "problem",
]
