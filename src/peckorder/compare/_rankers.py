"""The rankers that are compared: one line each."""

from typing import Any, Final

from peckorder.estimators import MulticlassPerceptron, PRank, WidrowHoff

RANKERS: Final[dict[str, Any]] = {
    "PRank, averaged": PRank(),
    "PRank, voted": PRank(rule="voted"),
    "PRank, last rule": PRank(rule="last"),
    "Widrow-Hoff": WidrowHoff(),
    "Multiclass perceptron": MulticlassPerceptron(),
}
