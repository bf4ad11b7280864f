"""Fitting on a cluster: which estimator learns how."""

from typing import Any

from peckorder.distributed._cluster import client_at_hand
from peckorder.distributed._mprank import fit_mprank
from peckorder.distributed._sources import source_of
from peckorder.estimators import MPRank
from peckorder.estimators._state import all_or_nothing


def fit(
    estimator: Any,
    data: Any,
    y: Any = None,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    target: Any = None,
    features: Any = None,
    client: Any = None,
) -> Any:
    """Fit on a cluster."""
    who = type(estimator).__name__
    client = client_at_hand("fit", client)
    source = source_of("fit", data, y, qid, sample_weight, target, features)
    with all_or_nothing(estimator):
        if isinstance(estimator, MPRank):
            fit_mprank(estimator, source, client)
        else:
            raise TypeError(f"fit: estimator must be MPRank; got {who}.")
    return estimator
