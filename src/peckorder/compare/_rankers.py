"""The rankers that are compared: one line each."""

from typing import Any, Final

from peckorder.estimators import (
    AggregatePRank,
    MulticlassPerceptron,
    PRank,
    WidrowHoff,
)

RANKERS: Final[dict[str, Any]] = {
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
