"""Streams of CSV files."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from peckorder._core.errors import entry, entry_named, refusal
from peckorder._core.typing import Labels
from peckorder._core.validation import Rule, optional, whole
from peckorder.streams.block import Block, Stream, default_rows
from peckorder.streams.sources.arrow import block_of, require_pyarrow
from peckorder.streams.sources.files import FileRows, Paths, file_identity, found_files
from peckorder.tables.roles import RowRoles, check_same_columns, find_row_roles

if TYPE_CHECKING:
    import pyarrow as pa

    from peckorder.tables.files.csv import Header

_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".tsv", ".tsv.gz")
# Bytes of text that become a piece of rows.
_TEXT = 1 << 20

_DELIMITER = Rule("a character", lambda value: isinstance(value, str) and len(value) == 1)
_QID_DTYPE = Rule("None, int or str", lambda value: value in (None, int, str))


class _Kind(Enum):
    """What the cells of a column are; the value is what refusals say they must be."""

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

    A file is read once from its beginning to its end, a MB at a time; the first line
    names the columns. Cells mean what they mean to the command line: ``?``, ``NA`` and
    the like are empty among numbers, numbers may have decimal commas where ``;``, a tab
    or ``|`` is the delimiter, and the queries ``007`` and ``7`` are two. Needs pyarrow:
    ``pip install "peckorder[frames]"``.

    Parameters
    ----------
    path : path or list of paths
        A file, several in their order, or a folder: all files in it whose names end in
        .csv or .tsv, or such a name with .gz (.csv also with .bz2 or .zst), which are
        inflated; in the order of their names with numbers by their value.
    target : str
        The column of labels. Numbers are float64, as nothing says that they are whole;
        true and false are bool; texts are for estimators that are given classes.
    qid : str, default=None
        The column of queries, whose rows stand together.
    features : list of str, default=None
        The columns of features, numbers, or true and false, which are 1 and 0; empty
        ones are NaN. None: all that are left.
    weight : str, default=None
        The column of weights.
    delimiter : str, default=","
        What stands between columns.
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
    files = [_File.of(path, delimiter) for path in paths]
    first, where = files[0].header.names, paths[0].name
    roles = find_row_roles(first, where, target=target, qid=qid, weight=weight, features=features)
    for file in files[1:]:
        check_same_columns(
            roles, file.header.names, file.path.name, where, may_have_more=features is not None
        )
    kinds = _kinds_of(files[0], roles, qid_dtype)
    for file in files:
        file.check_beginning(kinds, where)
    return _CSVFiles(files, roles, kinds, rows)


class _File(NamedTuple):
    """A file and its line of names."""

    path: Path
    header: "Header"

    @classmethod
    def of(cls, path: Path, delimiter: str) -> "_File":
        """Read the line of names."""
        from peckorder.tables.files.csv import read_header
        from peckorder.tables.files.source import opened

        name = f"from_csv: {path.name}"
        with opened(path, streamed=True, bounded=False, name=name) as file:
            return cls(path, read_header(file.head, delimiter, is_named=True))

    def texts(self, columns: Sequence[str], parsed: Collection[str] = ()) -> "Iterator[pa.Table]":
        """Yield some columns as text, those in `parsed` as numbers, a MB at a time."""
        from peckorder.tables.files.csv import text_blocks
        from peckorder.tables.files.source import opened

        name, positions = f"from_csv: {self.path.name}", self.header.names.index
        with opened(self.path, streamed=True, bounded=False, name=name) as file:
            yield from text_blocks(
                file,
                self.header,
                list(map(positions, columns)),
                _TEXT,
                parsed=list(map(positions, parsed)),
                ahead=False,  # threads would read far ahead
            )

    def batches(
        self, columns: Sequence[str], kinds: Mapping[str, _Kind]
    ) -> "Iterator[pa.RecordBatch]":
        """Yield the values of some columns.

        Arrow reads numbers until it meets a cell that it cannot read. From there on
        every cell is read as text, by the rules of cells; the rows before are skipped.
        """
        import pyarrow as pa

        from peckorder.tables.files.csv import NotParsedError

        n_rows = 0

        def values(tables: "Iterator[pa.Table]") -> "Iterator[pa.RecordBatch]":
            nonlocal n_rows
            n_read = 0
            for table in tables:
                new = table[max(0, n_rows - n_read) :]
                n_read += len(table)
                if n_read <= n_rows:
                    continue
                arrays = [
                    self.read(name, new.column(name), kinds[name], n_rows) for name in columns
                ]
                n_rows = n_read
                yield pa.RecordBatch.from_arrays(arrays, list(columns))

        numbers = [name for name in columns if kinds[name] is _Kind.NUMBER]
        try:
            yield from values(self.texts(columns, numbers))
        except NotParsedError:
            yield from values(self.texts(columns))

    def check_beginning(self, kinds: dict[str, _Kind], first: str) -> None:
        """Refuse a file whose first MB is not as the first file is."""
        beginning = self.texts(list(kinds))
        for table in beginning:
            for name, kind in kinds.items():
                self.read(name, table.column(name), kind, 0, first)
            break
        beginning.close()  # type: ignore[attr-defined]

    def read(
        self, name: str, cells: "pa.ChunkedArray", kind: _Kind, n_before: int, first: str = ""
    ) -> "pa.Array":
        """Return the values of cells, the first of which is in row `n_before` + 1."""
        found = _converted(cells, kind, self.header.has_commas)
        if found is None:
            self._refuse(name, cells, kind, n_before, first or self.path.name)
        return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()

    def _refuse(
        self, name: str, cells: "pa.ChunkedArray", kind: _Kind, n_before: int, first: str
    ) -> NoReturn:
        from peckorder.tables.files.arrow_cells import first_cell

        row, text = first_cell(
            cells, lambda cell: _converted(cell, kind, self.header.has_commas) is None
        )
        like = "" if first == self.path.name else f", as in {first!r}"
        hint = " Other queries need qid_dtype=str." if kind is _Kind.ID else ""
        raise refusal(
            f"{self.path.name}: column {name!r}",
            f"be {kind.value}{like}",
            f"{text[:60]!r} in row {n_before + row + 1}",
            hint=hint,
        )


def _converted(cells: "pa.ChunkedArray", kind: _Kind, has_commas: bool) -> "pa.ChunkedArray | None":
    """Return the values of cells; None if one is of another kind."""
    from peckorder.tables.files.arrow_cells import (
        decimals,
        empty_as_null,
        flags,
        gaps_as_null,
        whole_ids,
    )

    match kind:
        case _Kind.NUMBER:
            return decimals(cells, has_commas=has_commas)
        case _Kind.FLAG:
            return flags(cells)
        case _Kind.ID:
            return whole_ids(cells)
        case _Kind.TEXT:
            return empty_as_null(cells)
        case _Kind.QUERY:
            return gaps_as_null(cells)


def _kinds_of(file: _File, roles: RowRoles, qid_dtype: type | None) -> dict[str, _Kind]:
    """Return what columns are in all files, by the first MB of the first."""
    kinds = dict.fromkeys(roles.columns, _Kind.NUMBER)
    if roles.qid is not None:
        kinds[roles.qid] = _Kind.QUERY if qid_dtype is not int else _Kind.ID
    table = next(file.texts(roles.columns), None)
    if table is None:
        return kinds
    for name in roles.columns:
        cells = table.column(name)
        if name == roles.qid:
            ids = _converted(cells, _Kind.ID, False)
            if qid_dtype is None and ids is not None and ids.null_count < len(ids):
                kinds[name] = _Kind.ID
        elif _converted(cells, _Kind.NUMBER, file.header.has_commas) is not None:
            continue
        elif _converted(cells, _Kind.FLAG, False) is not None:
            kinds[name] = _Kind.FLAG
        elif name == roles.target:
            kinds[name] = _Kind.TEXT
    return kinds


class _CSVFiles(Stream):
    who = "from_csv"

    def __init__(
        self, files: list[_File], roles: RowRoles, kinds: dict[str, _Kind], rows: int | None
    ) -> None:
        self._files, self._roles, self._kinds = files, roles, kinds
        self._source = FileRows([file.path for file in files])
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

    def where(self, row: int) -> str:
        return self._source.where(row)

    def labels(self) -> Iterator[Labels]:
        from peckorder.tables.files.arrow import label_array

        for batch in self._batches([self._roles.target]):
            yield label_array(batch.column(0))

    def identity(self) -> dict[str, object]:
        return {
            "source": "csv",
            "files": [file_identity(file.path) for file in self._files],
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
            self._source.ended(position, n_rows)
