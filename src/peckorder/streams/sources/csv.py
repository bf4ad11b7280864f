"""Streams of CSV files."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from peckorder._core.errors import cause
from peckorder._core.typing import Labels
from peckorder._core.validation import Rule, optional, whole
from peckorder.exceptions import DataError
from peckorder.streams.block import Block, Stream
from peckorder.streams.sizes import default_rows
from peckorder.streams.sources.arrow import (
    Roles,
    block_of,
    check_column,
    check_no_more,
    check_numbers,
    find_roles,
    is_number,
    pyarrow,
    queries_of,
    values_of,
)
from peckorder.streams.sources.files import FileRows, file_identity, found_files

_WHO = "from_csv"
_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".tsv", ".tsv.gz")
# Bytes of text that become a piece of rows.
_TEXT = 1 << 20
# How refusals of pyarrow begin that are about a column.
_COLUMN = re.compile(r"In CSV column #(\d+): ")

_DELIMITER = Rule(
    "a character", lambda value: isinstance(value, str) and len(value) == 1
)
_QID_DTYPE = Rule("None, int or str", lambda value: value in (None, int, str))


def from_csv(
    path: Any,
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
    names the columns. Needs pyarrow: ``pip install "peckorder[frames]"``.

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
        The type of queries. None: what the first MB of the first file shows.
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
    optional(whole(1)).check(_WHO, "rows", rows)
    _DELIMITER.check(_WHO, "delimiter", delimiter)
    _QID_DTYPE.check(_WHO, "qid_dtype", qid_dtype)
    pa = pyarrow(_WHO)
    files = found_files(_WHO, path, _SUFFIXES)
    roles, kinds, names = None, {}, []
    for file in files:
        schema = _schema(pa, file, delimiter)
        names.append(schema.names)
        if roles is None:
            roles = find_roles(_WHO, schema.names, features, target, qid, weight, file)
            kinds = _kinds(pa, schema, roles, qid_dtype)
        for name in roles.columns:
            check_column(_WHO, "every column", name, schema.names, file)
        if features is None:
            check_no_more(_WHO, roles, schema.names, file, files[0])
        check_numbers(_WHO, pa, _without_gaps(pa, schema), roles, file)
        _check_flags(pa, schema, kinds, file, files[0])
    assert roles is not None  # there is one file at least
    return _CSVFiles(pa, files, names, roles, kinds, delimiter, rows)


class _CSVFiles(Stream):
    who = _WHO

    def __init__(
        self,
        pa: Any,
        files: list[Path],
        names: list[list[str]],
        roles: Roles,
        kinds: dict[str, Any],
        delimiter: str,
        rows: Any,
    ) -> None:
        self._pa, self._files, self._roles = pa, files, roles
        self._names, self._kinds, self._delimiter = names, kinds, delimiter
        self._source = FileRows(files)
        self.n_features = len(roles.features)
        self.feature_names = roles.features
        self.has_queries = roles.qid is not None
        self.has_weights = roles.weight is not None
        self.rows = rows or default_rows(self.n_features, 8)

    def pieces(
        self, start: int, skipped: Callable[[Labels], object]
    ) -> Iterator[Block]:
        pa, roles = self._pa, self._roles
        for batch in self._batches(roles.columns):
            n_before = min(start, batch.num_rows)
            start -= n_before
            if n_before and roles.qid is not None:
                skipped(queries_of(pa, batch.column(roles.qid))[:n_before])
            if n_before < batch.num_rows:
                yield block_of(pa, batch.slice(n_before), roles, np.float64)

    def where(self, row: int) -> str:
        return self._source.where(row)

    def labels(self) -> Iterator[Labels]:
        for batch in self._batches([self._roles.target]):
            yield values_of(self._pa, batch.column(0))

    def identity(self) -> dict[str, Any]:
        return {
            "source": "csv",
            "files": [file_identity(file) for file in self._files],
            "columns": list(self._roles),
            "delimiter": self._delimiter,
            "types": {name: str(kind) for name, kind in self._kinds.items()},
            "rows": self.rows,
        }

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        from pyarrow import csv

        kinds = {name: self._kinds[name] for name in columns}
        # A label or query that is not there is none, whatever is made of texts.
        convert = csv.ConvertOptions(
            include_columns=columns, column_types=kinds, strings_can_be_null=True
        )
        for place, file in enumerate(self._files):
            n_rows = 0
            reader = _opened(file, self._delimiter, convert)
            names = self._names[place], self._roles.qid
            with _sound(self._pa, file, *names), reader as batches:
                for batch in batches:
                    n_rows += batch.num_rows
                    yield batch
            self._source.ended(place, n_rows)


@contextmanager
def _opened(file: Path, delimiter: str, convert: Any = None) -> Iterator[Any]:
    from pyarrow import csv

    # One thread: others would read far ahead.
    with csv.open_csv(
        file,
        read_options=csv.ReadOptions(block_size=_TEXT, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=convert,
    ) as reader:
        yield reader


def _schema(pa: Any, file: Path, delimiter: str) -> Any:
    """Return the columns of a file, with types as its first MB shows them."""
    with _sound(pa, file), _opened(file, delimiter) as reader:
        return reader.schema


def _kinds(pa: Any, schema: Any, roles: Roles, qid_dtype: Any) -> dict[str, Any]:
    """Return the types that columns are read as, in all files."""
    kinds = dict.fromkeys(roles.columns, pa.float64())
    for name in roles.columns:
        if pa.types.is_boolean(schema.field(name).type):
            kinds[name] = pa.bool_()
    target = schema.field(roles.target).type
    if not is_number(pa, target) and not pa.types.is_null(target):
        kinds[roles.target] = pa.string()
    if roles.qid is not None:
        is_whole = pa.types.is_integer(schema.field(roles.qid).type)
        is_whole = is_whole if qid_dtype is None else qid_dtype is int
        kinds[roles.qid] = pa.int64() if is_whole else pa.string()
    return kinds


def _check_flags(
    pa: Any, schema: Any, kinds: dict[str, Any], file: Path, first: Path
) -> None:
    """Refuse numbers where the first file has true and false, and the other way."""
    for name, kind in kinds.items():
        found = schema.field(name).type
        if pa.types.is_null(found) or pa.types.is_string(kind):
            continue
        is_flag = pa.types.is_boolean(kind)
        if pa.types.is_boolean(found) != is_flag:
            raise DataError(
                f"{_WHO}: column {name!r} must be "
                f"{'true or false' if is_flag else 'numbers'} in every file, as in "
                f"{first.name!r}; got {found} in {file.name!r}."
            )


def _without_gaps(pa: Any, schema: Any) -> Any:
    """Return a schema in which columns of nothing are numbers."""
    for place, field in enumerate(schema):
        if pa.types.is_null(field.type):
            schema = schema.set(place, pa.field(field.name, pa.float64()))
    return schema


@contextmanager
def _sound(
    pa: Any, file: Path, names: Sequence[str] = (), qid: str | None = None
) -> Iterator[None]:
    """Say of what cannot be read what is wrong with it, and of columns their names."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        told, hint = cause(error), ""
        if "newlines_in_values" in told:
            told = "a quotation mark that is open at the end of a line"
        elif "straddling" in told:
            told = "a row of more than a MB"
        elif (found := _COLUMN.match(told)) and int(found[1]) < len(names):
            name = names[int(found[1])]
            told = f"column {name!r}, {told[found.end() :]}"
            if name == qid:
                hint = " Text among queries asks for qid_dtype=str."
        raise DataError(
            f"{_WHO}: path must be sound CSV files; got {file.name!r}: {told}.{hint}"
        ) from None
