"""Columns that `rank` passes on, as formats with types or targets want them."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from peckorder.cli.evaluate.roles import NONE, TARGETS
from peckorder.cli.rank.notes import Noted
from peckorder.cli.rank.spill import Spilled
from peckorder.exceptions import DataError
from peckorder.tables.column_names import first_named
from peckorder.tables.columns import Columns, check_column, is_empty
from peckorder.tables.files.cells import id_columns, is_number
from peckorder.tables.files.source import short
from peckorder.tables.files.trec import TARGET
from peckorder.tables.roles import ColumnRole, Role

if TYPE_CHECKING:
    from peckorder.cli.rank.rows import Choices

# What `rank` adds to rows.
ADDED: Final = ("score", "predicted", "position", "gap", "above_cut")
TYPED: Final = ("parquet", "jsonl")
# What floats hold to the last digit.
_MOST: Final = 1 << 53


def with_target(block: Columns, choices: "Choices", noted: Noted) -> "Choices":
    """Return the choices with the column of targets, for LETOR, which begins with it.

    It has the names by which `evaluate` knows targets.
    """
    if choices.kind != "letor":
        return choices
    asked = choices.target
    names = [name for name in block.names if name not in ADDED]
    if asked == NONE and NONE not in names:
        found = None
    elif asked is not None:
        check_column("rank", block, "target", asked)
        found = asked
    else:
        found = TARGET if TARGET in names else first_named(names, TARGETS)
    if found is None:
        noted.say("No column of targets: all are 0 in LETOR (--target NAME).")
    else:
        noted.take(
            ColumnRole(found, Role.KNOWN_TARGET, "--target" if asked else "its name")
        )
    return replace(choices, target=found)


def with_grades(blocks: Iterator[Columns], noted: Noted) -> Iterator[Columns]:
    """Yield rows for LETOR, which has no gaps: 0 where a target is not known, noted."""
    n_empty, name = 0, TARGET
    for block in blocks:
        targets = block.arrays.get(TARGET)
        if targets is None:
            yield block
            continue
        name = next(
            (t.column for t in noted.column_roles if t.role is Role.KNOWN_TARGET),
            TARGET,
        )
        is_gap = is_empty(targets)
        if targets.dtype == object:
            _check_grades(block.source, name, targets[~is_gap].tolist())
        n_empty += int(is_gap.sum())
        known = np.where(is_gap, "0" if targets.dtype == object else 0, targets)
        yield Columns({**block.arrays, TARGET: known}, block.source)
    if n_empty:
        rows = "1 row has" if n_empty == 1 else f"{n_empty:,} rows have"
        noted.say(f"{rows} no {name!r}: 0 in LETOR, which has no gaps.")


def _check_grades(source: str, name: str, cells: list[str]) -> None:
    text = next((cell for cell in cells if not is_number(cell.strip())), None)
    if text is not None:
        raise DataError(
            f"rank: target must be a column of numbers of {source} to be written as "
            f"LETOR; got {short(text)} in {name!r}. Add --target none to do without."
        )


def as_numbers(blocks: Iterator[Columns], ids: Iterable[str]) -> Iterator[Columns]:
    """Yield rows of a CSV file with numbers where a column of text has nothing else.

    A cell is a number if that would be written as the cell is: 007, 1.50 and +1 are
    text. Ids, in `ids` and columns named so, are numbers only if they are whole and
    without gaps, since floats would be written otherwise. This is told from all rows,
    which wait on the disk; what was added is left as it is. Memory: a block.
    """
    first = next(blocks, None)
    if first is None:
        return
    seen = _Seen(first, id_columns(first.names, ids))
    blocks = chain([first], blocks)
    if not seen.may_be_numbers(first):
        yield from blocks
        return
    with Spilled(seen.watch(blocks)) as spilled:
        for block in spilled:
            yield seen.converted(block)


class _Seen:
    """What cells of columns of text are, counted block by block."""

    def __init__(self, first: Columns, ids: Collection[str]) -> None:
        texts = [n for n, a in first.arrays.items() if a.dtype == object]
        self._kinds: dict[str, set[str]] = {n: set() for n in texts if n not in ADDED}
        self._ids = ids

    def may_be_numbers(self, block: Columns) -> bool:
        """Say whether a block has a column of text without a cell that is no number."""
        return any("text" not in _kinds(block.arrays[name]) for name in self._kinds)

    def watch(self, blocks: Iterator[Columns]) -> Iterator[Columns]:
        """Look at blocks on their way."""
        for block in blocks:
            for name, kinds in self._kinds.items():
                if "text" not in kinds:
                    kinds.update(_kinds(block.arrays[name]))
            yield block

    def converted(self, block: Columns) -> Columns:
        """Return a block with numbers in the columns that have nothing else."""
        arrays = dict(block.arrays)
        for name, kinds in self._kinds.items():
            is_known = bool(kinds & {"whole", "decimal"}) and "text" not in kinds
            is_whole = not kinds & {"decimal", "gap"}
            may_be_float = "large" not in kinds and name not in self._ids
            if is_known and (is_whole or may_be_float):
                arrays[name] = _numbers(arrays[name], is_whole=is_whole)
        return Columns(arrays, block.source)


def _kinds(column: NDArray[Any]) -> set[str]:
    """Return what cells are: gap, whole, large (no float holds it), decimal, text."""
    cells = pa.array(column, pa.string(), from_pandas=True)
    known = cells.drop_null()
    kinds = {"gap"} if len(known) < len(cells) else set()
    if not len(known):
        return kinds
    if _is_written_so(known, pa.int64()):
        ends = pc.min_max(known.cast(pa.int64())).as_py()
        is_large = max(abs(end) for end in ends.values()) > _MOST
        return kinds | {"whole", *(["large"] if is_large else [])}
    bare = pc.replace_substring_regex(known, "[.]0$", "")
    is_decimal = _is_written_so(bare, pa.float64())
    return kinds | {"decimal" if is_decimal else "text"}


def _is_written_so(cells: Any, kind: Any) -> bool:
    """Say whether numbers would be written as the cells are."""
    if not pc.all(pc.match_substring_regex(cells, "^-?[0-9]")).as_py():
        return False  # nor is Infinity a number
    try:
        again = cells.cast(kind).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return bool(pc.all(pc.equal(again, cells)).as_py())


def _numbers(column: NDArray[Any], *, is_whole: bool) -> NDArray[Any]:
    cells = pa.array(column, pa.string(), from_pandas=True)
    found = cells.cast(pa.int64() if is_whole else pa.float64())
    return np.asarray(found.to_numpy(zero_copy_only=False))
