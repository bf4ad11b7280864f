"""Rows of a scored table that can be measured: nothing is missing that is needed."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns, is_empty
from peckorder.tables.files.arrow import to_columns
from peckorder.tables.files.cells import typed


def with_numbers(columns: Columns, names: Collection[str]) -> Columns:
    """Return columns with numbers where text is all numbers, by the rules of CSV.

    Formats with types may have such text, as what others wrote has, and behind the
    ``#`` of LETOR there is no other.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.cli.evaluate.rows import with_numbers
    >>> from peckorder.tables.columns import Columns
    >>> table = Columns({"grade": np.array(["2", "1"], object)}, "ranked.jsonl")
    >>> with_numbers(table, ["grade"]).arrays["grade"].tolist()
    [2, 1]
    """
    arrays = dict(columns.arrays)
    for name in names:
        if arrays[name].dtype == object:
            cells = pa.chunked_array([pa.array(arrays[name], pa.string())])
            found = typed(name, cells, is_id=False, has_commas=False)
            if found is not cells:
                arrays |= to_columns(columns.source, pa.table({name: found})).arrays
    return replace(columns, arrays=arrays)


def known_rows(
    columns: Columns, names: Sequence[str]
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Say which rows have something in all of some columns, and what to say of others.

    What has no label cannot be measured; nor what a model does not know, which `rank`
    writes without a score.
    """
    is_known, notes = np.ones(len(columns), dtype=bool), []
    for name in names:
        is_gap = is_empty(columns.arrays[name])
        n = int(is_gap.sum())
        if n:
            rows = "1 row has" if n == 1 else f"{n:,} rows have"
            notes.append(f"{rows} no {name!r}: left out.")
        is_known &= ~is_gap
    if not is_known.any():
        raise DataError(
            f"evaluate: {columns.source} must have rows with all of "
            f"{', '.join(map(repr, names))}; got none."
        )
    return is_known, tuple(notes)
