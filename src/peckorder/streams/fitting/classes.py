"""The classes of a stream: those given, or those that its labels show."""

from typing import Any, NoReturn

import numpy as np

from peckorder._core.typing import Labels
from peckorder.exceptions import DataError
from peckorder.feedback import Scale, read_labels
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.streams.block import Stream
from peckorder.streams.fitting.checkpoint import WHO
from peckorder.streams.whole_queries import check_gaps

# More are a quantity.
MOST_CLASSES = 1 << 16


def classes_of(model: Any, stream: Stream, classes: Any) -> Any:
    """Return what to tell `partial_fit`; None if the model knows by itself.

    Without classes the labels are read once, and nothing else of the rows where the
    source allows it.
    """
    who, is_ours = type(model).__name__, isinstance(model, OrdinalEstimator)
    if classes is not None:
        return classes
    if is_ours and model.classes is not None:
        return None
    known = _distinct(who, stream, ordered=is_ours)
    if is_ours and len(known) < 2:
        Scale.inferred(who, read_labels(who, known))  # says why not
    return known


def _distinct(who: str, stream: Stream, *, ordered: bool) -> Labels:
    known: Labels = np.empty(0)
    number = 0
    for y in stream.labels():
        check_gaps(stream, "y", y, number)
        labels = np.unique(y)
        if ordered and labels.dtype.kind not in "biuf":
            Scale.inferred(who, read_labels(who, labels))  # says why not
        known = np.union1d(known, labels) if number else labels
        number += len(y)
        if len(known) > MOST_CLASSES:
            raise DataError(
                f"{who}: y must hold at most {MOST_CLASSES:,} classes; got more. If it "
                "is a quantity, cut it into grades first."
            )
    if number == 0:
        refuse_empty()
    return known


def refuse_empty() -> NoReturn:
    """Say of a stream that it has no rows."""
    raise DataError(f"{WHO}: stream must hold at least one row; got none.")
