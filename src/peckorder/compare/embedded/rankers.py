"""The rankers that are compared: one line each."""

from typing import Any, Final

from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVR

from peckorder.compare.candidates.baselines import BestFeature, MeanFeature
from peckorder.estimators import (
    AggregatePRank,
    MPRankCV,
    MulticlassPerceptron,
    PRank,
    RankBoost,
    SVRank,
    WidrowHoff,
)

# For problems with ordered classes.
ORDINAL_RANKERS: Final[dict[str, Any]] = {
    "PRank, averaged": PRank(),
    "PRank, voted": PRank(rule="voted"),
    "PRank, last rule": PRank(rule="last"),
    "PRank, RBF kernel": PRank(kernel="rbf", budget=2000),
    "PRank, cubic kernel": PRank(kernel="poly", degree=3),
    "OAP-BPM (100 PRanks)": AggregatePRank(),
    "OAP-Bagg": AggregatePRank(aggregate="bagging"),
    "OAP-VP": AggregatePRank(aggregate="voted"),
    "OAP, median": AggregatePRank(aggregate="median"),
    "Widrow-Hoff": WidrowHoff(),
    "Multiclass perceptron": MulticlassPerceptron(),
}


def _filled(ranker: Any) -> Pipeline:
    """Give a ranker, instead of gaps, zeros and columns that say where they were."""
    zeros = SimpleImputer(strategy="constant", fill_value=0.0, add_indicator=True)
    return make_pipeline(zeros, ranker)


# For graded problems with queries.
GRADED_RANKERS: Final[dict[str, Any]] = {
    "RankBoost": RankBoost(),
    "RankBoost, numeric alpha": RankBoost(alpha="numeric"),
    "RankBoost, 32 bins": RankBoost(max_bins=32),
    "RankBoost, not cumulative": RankBoost(cumulative=False),
    "RankBoost on features": RankBoost(weak="feature", alpha="numeric"),
    "PRank on grades": _filled(PRank(max_iter=10, shuffle=True, random_state=0)),
    "Ridge on grades": _filled(Ridge()),
    "Best feature": BestFeature(),
    "Mean of all features": MeanFeature(),
}

# For problems with real-valued relevance.
MAGNITUDE_RANKERS: Final[dict[str, Any]] = {
    "MPRank": MPRankCV(),
    "MPRank, RBF kernel": MPRankCV(kernel="rbf", gammas=(0.001, 0.01)),
    "SVRank": SVRank(C=100.0),
    "SVRank, squared": SVRank(C=100.0, power=2),
    "SVRank, hinge (HMPc)": SVRank(C=100.0, loss="hmpc"),
    "RankBoost": RankBoost(),
    "Ridge": RidgeCV(),
    "Support vector regression": SVR(),
}
