"""Streams of Parquet and Arrow files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from peckorder._core.errors import entry, entry_named, refusal
from peckorder._core.typing import Labels
from peckorder._core.validation import optional, whole
from peckorder.streams.block import Block, Stream, default_rows
from peckorder.streams.sources.files import (
    FileStream,
    Paths,
    block_of,
    check_numbers,
    file_identity,
    found_files,
    require_pyarrow,
)
from peckorder.tables.roles import GivenRoles, RowRoles, check_one_column, check_same_columns

if TYPE_CHECKING:
    import pyarrow as pa

_SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
# A column is read from the disk in pieces of so many bytes.
_BUFFER = 1 << 18
_MANY = 1 << 16


@entry
def from_parquet(
    path: Paths,
    target: str,
    qid: str | None = None,
    *,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    rows: int | None = None,
) -> Stream:
    """Return the rows of Parquet or Arrow files as a stream.

    Only the columns in use are read, batch after batch of a row group, file after
    file. Needs pyarrow: ``pip install "peckorder[frames]"``.

    Parameters
    ----------
    path : path or list of paths
        A file, several in their order, or a folder: all files in it whose names end in
        .parquet, .pq, .arrow, .feather or .ipc, in the order of their names with
        numbers by their value (part.10 after part.9). The format is that of the first
        bytes of a file.
    target : str
        The column of labels: numbers, or texts for estimators that are given classes.
    qid : str, default=None
        The column of queries, whose rows are consecutive. Decimals are int64 if their
        type has no digits behind the point and 18 at most before it, else texts.
    features : list of str, default=None
        The columns of features, numbers; nulls are NaN. None: all that are left.
    weight : str, default=None
        The column of weights.
    rows : int, default=None
        The most rows of a block, unless a query has more. None: as many as have 4 MiB
        of features.

    Returns
    -------
    stream : Stream
        To be iterated, or for `peckorder.streams.fit`. `X` is float32 if all features
        are, else float64.

    Raises
    ------
    DataError
        If a file lacks a column, has one of another type than the first file, or,
        without `features`, one more; all files are checked before the first row is
        read. The order of columns is that of the first file.

    Notes
    -----
    Of Parquet a column is decoded page by page, so that memory does not grow with row
    groups; of Arrow files one record batch is read at a time, as large as it was
    written. To begin at a later row skips whole row groups unread.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> from peckorder import MPRank
    >>> from peckorder.streams import fit, from_parquet
    >>> frame = pd.DataFrame({"x": [0.0, 1.0, 2.0], "stars": [1, 2, 3], "q": [5, 5, 9]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.to_parquet(f"{folder}/part.0.parquet")
    ...     stream = from_parquet(folder, target="stars", qid="q")
    ...     model = fit(MPRank(C=1e6), stream)
    >>> model.predict(pd.DataFrame({"x": [3.0]})).round(3)
    array([4.])
    """
    optional(whole(1)).check("rows", rows)
    require_pyarrow()
    files = [_File.of(file) for file in found_files(path, _SUFFIXES)]
    first = files[0]
    where = first.path.name
    given = GivenRoles.of(features, target=target, qid=qid, weight=weight)
    roles = given.find(first.schema.names, where)
    check_numbers(first.schema, roles, where)
    for file in files[1:]:
        _check_types(file, first, roles)
        check_same_columns(
            roles, file.schema.names, file.path.name, where, may_have_more=features is not None
        )
    return _ArrowFiles(files, roles, rows)


def _sound_files(path: Path) -> tuple[str, str, str]:
    """Return what, rule and got of the refusal of a damaged file."""
    return "path", "be sound Parquet or Arrow files", f"{path.name!r}: "


class _File(NamedTuple):
    """A file, its columns, and how many rows its row groups or batches have."""

    path: Path
    is_parquet: bool
    schema: "pa.Schema"
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, path: Path) -> "_File":
        """Read the schema and the sizes of a file."""
        import pyarrow as pa

        from peckorder.tables.files.arrow import open_parquet, sound

        with path.open("rb") as raw:
            head = raw.read(6)
        if head.startswith(b"PAR1"):
            with open_parquet(path, *_sound_files(path)) as file:
                groups = range(file.metadata.num_row_groups)
                sizes = tuple(file.metadata.row_group(g).num_rows for g in groups)
                return cls(path, True, file.schema_arrow, sizes)
        if not head.startswith(b"ARROW1"):
            raise refusal(
                "path", "be Parquet or Arrow files", f"{path.name!r}, which does not begin as one"
            )
        # A column is enough to count rows.
        one = pa.ipc.IpcReadOptions(included_fields=[0])
        with sound(*_sound_files(path)), pa.memory_map(str(path)) as source:
            schema = pa.ipc.open_file(source).schema
            file = pa.ipc.open_file(source, options=one)
            numbers = range(file.num_record_batches)
            sizes = tuple(file.get_batch(k).num_rows for k in numbers)
            return cls(path, False, schema, sizes)

    def batches(self, columns: list[str], rows: int, start: int) -> "Iterator[pa.RecordBatch]":
        """Yield some columns of the rows from number `start` on."""
        first = 0
        while first < len(self.sizes) and start >= self.sizes[first]:
            start -= self.sizes[first]
            first += 1
        left = range(first, len(self.sizes))
        if not left:
            return
        read = self._parquet if self.is_parquet else self._arrow
        for batch in read(columns, rows, left):
            if start >= batch.num_rows:
                start -= batch.num_rows
                continue
            yield batch.slice(start)
            start = 0

    def _parquet(self, columns: list[str], rows: int, left: range) -> "Iterator[pa.RecordBatch]":
        from peckorder.tables.files.arrow import open_parquet

        # Through a buffer, and not all of a column in advance.
        options: dict[str, Any] = {"buffer_size": _BUFFER, "pre_buffer": False}
        with open_parquet(self.path, *_sound_files(self.path), **options) as file:
            yield from file.iter_batches(
                rows, row_groups=list(left), columns=columns, use_threads=False
            )

    def _arrow(self, columns: list[str], rows: int, left: range) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        from peckorder.tables.files.arrow import sound

        positions = [self.schema.get_field_index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=sorted(positions))
        with (
            sound(*_sound_files(self.path)),
            pa.OSFile(str(self.path)) as source,
            pa.ipc.open_file(source, options=options) as file,
        ):
            for number in left:
                yield file.get_batch(number)


class _ArrowFiles(FileStream):
    source_name = "from_parquet"

    def __init__(self, files: list[_File], roles: RowRoles, rows: int | None) -> None:
        import pyarrow as pa

        self._files, self._roles = files, roles
        sizes = [sum(file.sizes) for file in files]
        super().__init__([file.path for file in files], sizes)
        self.n_rows = sum(sizes)
        self.n_features = len(roles.features)
        self.feature_names = roles.features
        self.has_queries = roles.qid is not None
        self.has_weights = roles.weight is not None
        kinds = {files[0].schema.field(name).type for name in roles.features}
        self._dtype = np.dtype(np.float32 if kinds == {pa.float32()} else np.float64)
        self.rows = rows or default_rows(self.n_features, self._dtype.itemsize)

    def pieces(self, start: int, skipped: Callable[[Labels], object]) -> Iterator[Block]:
        from peckorder.tables.files.arrow import query_array

        if self._roles.qid is not None and start:
            for qid in self._column(self._roles.qid, start, query_array):
                skipped(qid)
        for batch in self._batches(self._roles.columns, self.rows, start):
            yield block_of(batch, self._roles, self._dtype)

    def labels(self) -> Iterator[Labels]:
        from peckorder.tables.files.arrow import label_array

        return self._column(self._roles.target, self.n_rows or 0, label_array)

    def identity(self) -> dict[str, object]:
        return {
            "source": "parquet",
            "files": [file_identity(path) for path in self._paths],
            "columns": list(self._roles),
            "rows": self.rows,
        }

    def _column(
        self, name: str, end: int, read: "Callable[[pa.Array], Labels]"
    ) -> Iterator[Labels]:
        """Yield one column of the rows before number `end`."""
        number = 0
        for batch in self._batches([name], _MANY, 0):
            if number >= end:
                return
            values = read(batch.column(name))[: end - number]
            number += len(values)
            yield values

    @entry_named("from_parquet")
    def _batches(self, columns: list[str], rows: int, start: int) -> "Iterator[pa.RecordBatch]":
        for file in self._files:
            n_rows = sum(file.sizes)
            if start < n_rows:
                yield from file.batches(columns, rows, start)
            start = max(0, start - n_rows)


def _check_types(file: _File, first: _File, roles: RowRoles) -> None:
    """Refuse a file without a column of the first, or with one of another type."""
    for name in roles.columns:
        check_one_column("every column", name, file.schema.names, file.path.name)
        kind, expected = file.schema.field(name).type, first.schema.field(name).type
        if kind != expected:
            raise refusal(
                f"column {name!r}",
                f"be {expected} in every file, as in {first.path.name!r}",
                f"{kind} in {file.path.name!r}",
            )
