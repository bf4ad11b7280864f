"""Streams of CSV files."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from peckorder._core.cells import GAPS
from peckorder._core.errors import entry, entry_named, named
from peckorder._core.typing import Labels
from peckorder._core.validation import Rule, optional, whole
from peckorder.streams.block import Block, Stream, default_rows
from peckorder.streams.sources.files import (
    FileStream,
    Paths,
    block_of,
    file_identity,
    found_files,
    require_pyarrow,
)
from peckorder.tables.roles import GivenRoles, RowRoles, check_same_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from peckorder.tables.files.csv import Header
    from peckorder.tables.files.source import Inflated

_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".tsv", ".tsv.gz")
# Bytes of text that become a piece of rows.
_TEXT = 1 << 20

_DELIMITER = Rule("a character", lambda value: isinstance(value, str) and len(value) == 1)
_QID_DTYPE = Rule("None, int or str", lambda value: value in (None, int, str))


class _Kind(Enum):
    """The kind of the cells of a column; the value is the rule of refusals."""

    NUMBER = "numbers"
    FLAG = "true or false"
    ID = "whole numbers without zeros in front"
    TEXT = "text"
    QUERY = "text without gaps"


@entry
def from_csv(
    path: Paths,
    target: str,
    qid: str | None = None,
    *,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    delimiter: str = ",",
    qid_dtype: type | None = None,
    rows: int | None = None,
) -> Stream:
    r"""Return the rows of CSV files as a stream.

    A file is read from its beginning to its end, a MB at a time; the first line
    names the columns. Cells are read as by the command line: ``?``, ``NA`` and the like
    are empty among numbers, numbers may have decimal commas where ``;``, a tab
    or ``|`` is the delimiter, and the queries ``007`` and ``7`` are two. Needs pyarrow:
    ``pip install "peckorder[frames]"``.

    Parameters
    ----------
    path : path or list of paths
        A file, several in their order, or a folder: all files in it whose names end in
        .csv or .tsv, or such a name with .gz (.csv also with .bz2 or .zst), which are
        inflated; in the order of their names with numbers by their value.
    target : str
        The column of labels. Numbers are float64, even if all are whole; true and false
        are bool; texts are for estimators that are given classes.
    qid : str, default=None
        The column of queries, whose rows are consecutive.
    features : list of str, default=None
        The columns of features, numbers, or true and false, which are 1 and 0; empty
        ones are NaN. None: all that are left.
    weight : str, default=None
        The column of weights.
    delimiter : str, default=","
        The character between columns.
    qid_dtype : {None, int, str}, default=None
        The type of queries. None: int if the first MB of the first file has whole
        numbers without zeros in front, else str.
    rows : int, default=None
        The most rows of a block, unless a query has more. None: as many as have 4 MiB
        of features.

    Returns
    -------
    stream : Stream
        To be iterated, or for `peckorder.streams.fit`. `X` is float64.

    Raises
    ------
    DataError
        If a file lacks a column of the first, or, without `features`, has one more; if
        the first MB of a file has text among numbers, or numbers where another file has
        true and false; what comes later is refused when it is read.

    Notes
    -----
    To begin at a later row, the rows before are read and dropped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from peckorder.streams import from_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "rows.csv"
    ...     size = file.write_text("grade,q,a,b\n1,x,0.5,2\n0,x,,3\n2,y,1,1\n")
    ...     for block in from_csv(file, target="grade", qid="q", rows=2):
    ...         print(block.X.tolist(), block.y.tolist(), block.qid.tolist())
    [[0.5, 2.0], [nan, 3.0]] [1.0, 0.0] ['x', 'x']
    [[1.0, 1.0]] [2.0] ['y']
    """
    optional(whole(1)).check("rows", rows)
    _DELIMITER.check("delimiter", delimiter)
    _QID_DTYPE.check("qid_dtype", qid_dtype)
    require_pyarrow()
    paths = found_files(path, _SUFFIXES)
    identity = file_identity(paths[0])
    files = [_File.of(path, delimiter) for path in paths]
    first, where = files[0], files[0].path.name
    given = GivenRoles.of(features, target=target, qid=qid, weight=weight)
    roles = given.find(first.header.names, where)
    for file in files[1:]:
        check_same_columns(
            roles, file.header.names, file.path.name, where, may_have_more=features is not None
        )
    columns = roles.columns
    table, is_whole = first.beginning(columns, [name for name in columns if name != roles.qid])
    kinds = _kinds_of(table, first.header, roles, qid_dtype)
    values = first.values(table, kinds, where)
    numbers = _numbers(kinds)
    for file in files[1:]:
        file.values(file.beginning(columns, numbers)[0], kinds, where)
    # A small file, which the stream keeps, is not read again unless it has changed.
    if is_whole:
        files[0] = first._replace(all_rows=values, identity=identity)
    return _CSVFiles(files, roles, kinds, rows)


class _File(NamedTuple):
    """A file and its line of names; perhaps all its rows, and what they are rows of."""

    path: Path
    header: "Header"
    all_rows: "pa.RecordBatch | None" = None
    identity: Sequence[str | int] = ()

    @classmethod
    def of(cls, path: Path, delimiter: str) -> "_File":
        """Read the line of names."""
        from peckorder.tables.files.csv import read_header

        with _opened(path) as file:
            return cls(path, read_header(file.head, delimiter, is_named=True))

    def tables(
        self, columns: list[str], parsed: Collection[str]
    ) -> "Iterator[tuple[int, pa.Table]]":
        """Yield a MB of some columns at a time, and the number of rows before.

        Arrow reads those in `parsed` as numbers until it meets a cell that it cannot
        read. From there on all columns are text.
        """
        from peckorder.tables.files.csv import NotParsedError, text_tables

        position, n_rows = self.header.names.index, 0
        for numbers in (parsed, ()):
            with _opened(self.path) as file, suppress(NotParsedError):
                n_read = 0
                for table in text_tables(
                    file,
                    self.header,
                    list(map(position, columns)),
                    block_size=_TEXT,
                    parsed=list(map(position, numbers)),
                    ahead=False,  # threads would read far ahead
                ):
                    n_read += len(table)
                    if n_read > n_rows:
                        yield n_rows, table[n_rows - n_read :]
                        n_rows = n_read
                return

    def beginning(self, columns: list[str], parsed: Collection[str]) -> "tuple[pa.Table, bool]":
        """Return the first MB, and whether it is all."""
        import pyarrow as pa

        tables = self.tables(columns, parsed)
        _, first = next(
            tables, (0, pa.table({name: pa.array([], pa.string()) for name in columns}))
        )
        is_whole = self.path.stat().st_size <= _TEXT and next(tables, None) is None
        return first, is_whole

    def batches(self, columns: list[str], kinds: Mapping[str, _Kind]) -> "Iterator[pa.RecordBatch]":
        """Yield the values of some columns."""
        if self.all_rows is not None and file_identity(self.path) == self.identity:
            yield self.all_rows.select(columns)
            return
        kinds = {name: kinds[name] for name in columns}
        for n_before, table in self.tables(columns, _numbers(kinds)):
            yield self.values(table, kinds, self.path.name, n_before)

    def values(
        self, table: "pa.Table", kinds: Mapping[str, _Kind], first: str, n_before: int = 0
    ) -> "pa.RecordBatch":
        """Return the values of cells, the first of which are in row `n_before` + 1."""
        import pyarrow as pa

        from peckorder.tables.files.csv import values_of

        like = "" if first == self.path.name else f", as in {first!r}"
        arrays = []
        with named(f"from_csv: {self.path.name}"):
            for name, kind in kinds.items():
                read = partial(_values, kind=kind, has_commas=self.header.has_commas)
                hint = "Other queries need qid_dtype=str." if kind is _Kind.ID else ""
                rule = kind.value + like
                found = values_of(table.column(name), read, repr(name), rule, n_before, hint)
                arrays.append(found.chunk(0) if found.num_chunks == 1 else found.combine_chunks())
        return pa.RecordBatch.from_arrays(arrays, list(kinds))


def _opened(path: Path) -> "AbstractContextManager[Inflated]":
    from peckorder.tables.files.source import opened

    return opened(path, streamed=True, bounded=False, name=f"from_csv: {path.name}")


def _numbers(kinds: Mapping[str, _Kind]) -> list[str]:
    return [name for name, kind in kinds.items() if kind is _Kind.NUMBER]


def _values(cells: "pa.ChunkedArray", kind: _Kind, has_commas: bool) -> "pa.ChunkedArray | None":
    """Return the values of cells; None if one is of another kind."""
    from peckorder.tables.files import arrow_cells

    match kind:
        case _Kind.NUMBER:
            return arrow_cells.decimals(cells, has_commas=has_commas)
        case _Kind.FLAG:
            return arrow_cells.flags(cells)
        case _Kind.ID:
            return arrow_cells.whole_ids(cells)
        case _Kind.TEXT:
            return arrow_cells.with_nulls(cells, ("",))
        case _Kind.QUERY:
            return arrow_cells.with_nulls(cells, GAPS)


def _kinds_of(
    table: "pa.Table", header: "Header", roles: RowRoles, qid_dtype: type | None
) -> dict[str, _Kind]:
    """Return the kinds of columns in all files, by the first MB of the first."""
    kinds = dict.fromkeys(roles.columns, _Kind.NUMBER)
    for name in roles.columns:
        cells = table.column(name)
        if name == roles.qid:
            ids = _values(cells, _Kind.ID, False) if qid_dtype is None else None
            has_ids = ids is not None and ids.null_count < len(ids)
            kinds[name] = _Kind.ID if has_ids or qid_dtype is int else _Kind.QUERY
        elif _values(cells, _Kind.NUMBER, header.has_commas) is not None:
            continue
        elif _values(cells, _Kind.FLAG, False) is not None:
            kinds[name] = _Kind.FLAG
        elif name == roles.target:
            kinds[name] = _Kind.TEXT
    return kinds


class _CSVFiles(FileStream):
    source_name = "from_csv"

    def __init__(
        self, files: list[_File], roles: RowRoles, kinds: dict[str, _Kind], rows: int | None
    ) -> None:
        super().__init__([file.path for file in files])
        self._files, self._roles, self._kinds = files, roles, kinds
        self.n_features = len(roles.features)
        self.feature_names = roles.features
        self.has_queries = roles.qid is not None
        self.has_weights = roles.weight is not None
        self.rows = rows or default_rows(self.n_features, 8)

    def pieces(self, start: int, skipped: Callable[[Labels], object]) -> Iterator[Block]:
        from peckorder.tables.files.arrow import query_array

        roles = self._roles
        for batch in self._batches(roles.columns):
            n_before = min(start, batch.num_rows)
            start -= n_before
            if n_before and roles.qid is not None:
                skipped(query_array(batch.column(roles.qid))[:n_before])
            if n_before < batch.num_rows:
                yield block_of(batch.slice(n_before), roles, np.float64)

    def labels(self) -> Iterator[Labels]:
        from peckorder.tables.files.arrow import label_array

        for batch in self._batches([self._roles.target]):
            yield label_array(batch.column(0))

    def identity(self) -> dict[str, object]:
        return {
            "source": "csv",
            "files": [file_identity(path) for path in self._paths],
            "columns": list(self._roles),
            "delimiter": self._files[0].header.delimiter,
            "types": {name: kind.name for name, kind in self._kinds.items()},
            "rows": self.rows,
        }

    @entry_named("from_csv")
    def _batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        for position, file in enumerate(self._files):
            n_rows = 0
            for batch in file.batches(columns, self._kinds):
                n_rows += batch.num_rows
                yield batch
            self._ended(position, n_rows)
