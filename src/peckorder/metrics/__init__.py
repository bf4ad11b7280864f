"""How good an order is."""

from peckorder.metrics._errors import mae, rmse
from peckorder.metrics._evaluate import Evaluation, PairedComparison, compare, evaluate

# Not public: what other packages of the library use.
from peckorder.metrics._evaluate import to_frame as to_frame
from peckorder.metrics._lists import TIES as TIES
from peckorder.metrics._lists import UNDEFINED as UNDEFINED
from peckorder.metrics._lists import RankedLists as RankedLists
from peckorder.metrics._lists import ranks as ranks
from peckorder.metrics._lists import share_lists as share_lists
from peckorder.metrics._lists import sort_within_lists as sort_within_lists
from peckorder.metrics._names import METRICS as METRICS
from peckorder.metrics._names import Metric as Metric
from peckorder.metrics._names import MetricScorer, scorer
from peckorder.metrics._names import listed_names as listed_names
from peckorder.metrics._names import metric_by_name as metric_by_name
from peckorder.metrics._names import metrics_by_name as metrics_by_name
from peckorder.metrics._ordinal import (
    macro_mae,
    quadratic_weighted_kappa,
    rank_loss,
    time_averaged_rank_loss,
)
from peckorder.metrics._ordinal import rank_steps as rank_steps
from peckorder.metrics._pairs import (
    disagreement,
    kendall_tau,
    mean_absolute_difference,
    mean_squared_difference,
    misranking,
    root_mean_squared_difference,
)
from peckorder.metrics._reading import (
    bpref,
    expected_reciprocal_rank,
    graded_average_precision,
    r_precision,
    rank_biased_precision,
)
from peckorder.metrics._resampling import half_width as half_width
from peckorder.metrics._resampling import interval_by_counts as interval_by_counts
from peckorder.metrics._resampling import intervals as intervals
from peckorder.metrics._top import (
    average_precision,
    coverage,
    expected_rank,
    hits_at,
    ndcg,
    precision_at,
    predicted_rank_of_top,
    rank_probability,
    recall_at,
    reciprocal_rank,
)

__all__ = [
    "Evaluation",
    "MetricScorer",
    "PairedComparison",
    "average_precision",
    "bpref",
    "compare",
    "coverage",
    "disagreement",
    "evaluate",
    "expected_rank",
    "expected_reciprocal_rank",
    "graded_average_precision",
    "hits_at",
    "kendall_tau",
    "macro_mae",
    "mae",
    "mean_absolute_difference",
    "mean_squared_difference",
    "misranking",
    "ndcg",
    "precision_at",
    "predicted_rank_of_top",
    "quadratic_weighted_kappa",
    "r_precision",
    "rank_biased_precision",
    "rank_loss",
    "rank_probability",
    "recall_at",
    "reciprocal_rank",
    "rmse",
    "root_mean_squared_difference",
    "scorer",
    "time_averaged_rank_loss",
]
