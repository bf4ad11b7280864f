"""What streams of Parquet and CSV files share: pyarrow, loaded late, and blocks."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from peckorder._core.errors import refusal
from peckorder.exceptions import MissingExtraError
from peckorder.streams.block import Block
from peckorder.tables.roles import RowRoles

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are moved at a time: as many as stay in a cache while columns become rows.
_STRIP = 1024


def require_pyarrow() -> None:
    """Refuse to go on without pyarrow; the message tells how it is installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise refusal(
            "pyarrow",
            'be installed for this; pip install "peckorder[frames]" brings it',
            error=MissingExtraError,
        ) from None


def block_of(batch: "pa.RecordBatch | pa.Table", roles: RowRoles, dtype: DTypeLike) -> Block:
    """Return the rows of a record batch."""
    from peckorder.tables.files.arrow import label_array, number_array, query_array

    X = np.empty((batch.num_rows, len(roles.features)), dtype=dtype)
    columns = [number_array(batch.column(name)) for name in roles.features]
    for first in range(0, len(X), _STRIP):
        rows = slice(first, first + _STRIP)
        strip = X[rows]
        for position, column in enumerate(columns):
            strip[:, position] = column[rows]
    qid, weight = roles.qid, roles.weight
    return Block(
        X,
        label_array(batch.column(roles.target)),
        None if qid is None else query_array(batch.column(qid)),
        None if weight is None else number_array(batch.column(weight)).astype(np.float64),
    )
