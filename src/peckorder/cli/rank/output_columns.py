"""Columns that `rank` writes, as formats with types or targets require them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from peckorder._core.cells import is_number
from peckorder._core.errors import refusal
from peckorder._core.typing import Array
from peckorder.cli.evaluate.roles import PLACES
from peckorder.cli.options import RankOptions
from peckorder.cli.outputs import Notes
from peckorder.tables.columns import Columns, check_column, counted, is_empty, short
from peckorder.tables.files.arrow import to_columns
from peckorder.tables.files.arrow_cells import id_columns
from peckorder.tables.files.trec import TARGET
from peckorder.tables.files.write import to_arrow
from peckorder.tables.roles import AS_LEARNT, ColumnRole, Role, find_target, is_unset

# What `rank` adds to rows.
ADDED: Final = ("score", "predicted", *PLACES)
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
TYPED: Final = ("parquet", "jsonl")
# What floats hold to the last digit.
_MOST: Final = 1 << 53


def with_target(
    block: Columns, options: RankOptions, notes: Notes, known: Mapping[str, str] = _NOTHING
) -> RankOptions:
    """Return the options with the column of targets, for LETOR, which begins with it.

    `known` has the one that the model learnt, if it is there; the usual names are those
    of `evaluate`.
    """
    asked, learnt = options.target, known.get("target")
    if options.out_format != "letor":
        if learnt is not None:
            notes.column_roles.append(ColumnRole(learnt, Role.KNOWN_TARGET, AS_LEARNT))
        return options
    names = [name for name in block.names if name not in ADDED]
    if is_unset(asked, names):
        target = None
    elif asked is not None:
        check_column(block, "target", asked)
        target = asked
    else:
        by_name = TARGET if TARGET in names else find_target(block, names).column
        target = learnt or by_name
    if target is None:
        notes.add("No column of targets: all are 0 in LETOR (--target NAME).")
    else:
        why = "--target" if asked else (AS_LEARNT if target == learnt else "its name")
        notes.column_roles.append(ColumnRole(target, Role.KNOWN_TARGET, why))
    return replace(options, target=target)


def with_grades(blocks: Iterator[Columns], notes: Notes) -> Iterator[Columns]:
    """Yield rows for LETOR, which has no gaps: 0 where a target is not known, noted."""
    n_empty, name = 0, TARGET
    for block in blocks:
        targets = block.arrays.get(TARGET)
        if targets is None:
            yield block
            continue
        name = next((t.column for t in notes.column_roles if t.role is Role.KNOWN_TARGET), TARGET)
        is_gap = is_empty(targets)
        if targets.dtype == object:
            cells = targets[~is_gap].tolist()
            text = next((cell for cell in cells if not is_number(cell.strip())), None)
            if text is not None:
                raise refusal(
                    "target",
                    f"be a column of numbers of {block.source} to be written as LETOR",
                    f"{short(text)} in {name!r}",
                    hint="Add --target none to do without.",
                )
        n_empty += int(is_gap.sum())
        filled = np.where(is_gap, "0" if targets.dtype == object else 0, targets)
        yield Columns({**block.arrays, TARGET: filled}, block.source)
    if n_empty:
        rows_have = counted(n_empty, "row has", "rows have")
        notes.add(f"{rows_have} no {name!r}: 0 in LETOR, which has no gaps.")


def as_numbers(blocks: Iterator[Columns], ids: Iterable[str]) -> Iterator[Columns]:
    """Yield rows of a CSV file with numbers where a column of text has nothing else.

    A cell is a number if that would be written as the cell is: 007, 1.50 and +1 are
    text. Ids, in `ids` and columns named so, are numbers only if they are whole and
    without gaps, since floats would be written otherwise. All rows decide, which
    wait on the disk; what was added is left as it is. Memory: a block.
    """
    first = next(blocks, None)
    if first is None:
        return
    cells = _CellKinds(first, id_columns(first.names, ids))
    blocks = chain([first], blocks)
    if not cells.may_be_numbers(first):
        yield from blocks
        return
    with Spilled(cells.watch(blocks)) as spilled:
        for block in spilled:
            yield cells.converted(block)


class _CellKinds:
    """The kinds of cells in columns of text, collected block by block."""

    def __init__(self, first: Columns, ids: Collection[str]) -> None:
        texts = [n for n, a in first.arrays.items() if a.dtype == object]
        self._kinds: dict[str, set[str]] = {n: set() for n in texts if n not in ADDED}
        self._ids = ids

    def may_be_numbers(self, block: Columns) -> bool:
        """Return whether a block has a column of text with nothing but numbers."""
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


def _kinds(column: Array) -> set[str]:
    """Return what cells are: gap, whole, large (no float holds it), decimal, text."""
    cells = pa.array(column, pa.string(), from_pandas=True)
    texts = cells.drop_null()
    kinds = {"gap"} if len(texts) < len(cells) else set()
    if not len(texts):
        return kinds
    if _is_written_so(texts, pa.int64()):
        ends = pc.min_max(texts.cast(pa.int64())).as_py()
        is_large = max(abs(end) for end in ends.values()) > _MOST
        return kinds | {"whole", *(["large"] if is_large else [])}
    bare = pc.replace_substring_regex(texts, "[.]0$", "")
    is_decimal = _is_written_so(bare, pa.float64())
    return kinds | {"decimal" if is_decimal else "text"}


def _is_written_so(cells: Any, kind: Any) -> bool:
    """Return whether numbers would be written as the cells are."""
    if not pc.all(pc.match_substring_regex(cells, "^-?[0-9]")).as_py():
        return False  # nor is Infinity a number
    try:
        again = cells.cast(kind).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return bool(pc.all(pc.equal(again, cells)).as_py())


def _numbers(column: Array, *, is_whole: bool) -> Array:
    cells = pa.array(column, pa.string(), from_pandas=True)
    numbers = cells.cast(pa.int64() if is_whole else pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


class Spilled:
    """Blocks of rows in a file without a name, which ends with this object.

    Rows are written once, in their order, and read again as often as needed. Memory:
    the scores, 8 bytes per row, and a block.
    """

    def __init__(self, blocks: Iterable[Columns]) -> None:
        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115
        self._source = ""
        scores: list[Array] = [np.empty(0)]
        try:
            for block in blocks:
                self._source = block.source
                scores.append(block.arrays["score"])
                table = to_arrow(block)
                with pa.ipc.new_stream(self._file, table.schema) as writer:
                    writer.write_table(table)
        except BaseException:  # of a later block
            self._file.close()
            raise
        self.score = np.concatenate(scores)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Columns]:
        """Yield the blocks in their order."""
        end = self._file.seek(0, 2)
        self._file.seek(0)
        while self._file.tell() < end:
            with pa.ipc.open_stream(self._file) as reader:
                table = reader.read_all()
            yield to_columns(self._source, table)
