"""How good an order is."""

from peckorder.metrics._compare import PairedComparison, compare
from peckorder.metrics._cutoffs import hits_at, precision_at, recall_at
from peckorder.metrics._evaluate import Evaluation, evaluate
from peckorder.metrics._ndcg import ndcg, rank_probability
from peckorder.metrics._ordinal import rank_loss, time_averaged_rank_loss
from peckorder.metrics._pairs import (
    disagreement,
    kendall_tau,
    mean_absolute_difference,
    mean_squared_difference,
    misranking,
)
from peckorder.metrics._scorer import MetricScorer, scorer
from peckorder.metrics._top import (
    average_precision,
    coverage,
    expected_rank,
    predicted_rank_of_top,
    reciprocal_rank,
)

__all__ = [
    "Evaluation",
    "MetricScorer",
    "PairedComparison",
    "average_precision",
    "compare",
    "coverage",
    "disagreement",
    "evaluate",
    "expected_rank",
    "hits_at",
    "kendall_tau",
    "mean_absolute_difference",
    "mean_squared_difference",
    "misranking",
    "ndcg",
    "precision_at",
    "predicted_rank_of_top",
    "rank_loss",
    "rank_probability",
    "recall_at",
    "reciprocal_rank",
    "scorer",
    "time_averaged_rank_loss",
]
