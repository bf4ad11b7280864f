"""Parquet and JSON lines; arrays of NumPy from those of Arrow."""

import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as pj
from pyarrow import parquet as pq

from peckorder._core.errors import refusal, shortened
from peckorder._core.text_files import most_bytes, read_text
from peckorder._core.typing import Array
from peckorder.tables.columns import Columns, in_seconds, short
from peckorder.tables.files.source import Inflated, check_distinct, text_of
from peckorder.tables.files.standard_streams import is_standard

_MAGIC = b"PAR1"
# No table is nested, but what is so a little is refused by the name of its column.
_DEEPEST = 32
# Texts with more characters are objects.
_LONG = 256
# A whole number of so many digits fits in 64 bits.
_DIGITS = 18


def parquet_blocks(
    path: str | os.PathLike[str], file: Inflated, rows: int | None
) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file: all at once, or `rows` at a time."""
    if not file.head.startswith(_MAGIC):
        raise refusal("the file", "be Parquet", "one of another kind")
    # The end is read first, so that what is not seekable must be in memory.
    is_seekable = not is_standard(path) and not file.is_compressed
    source = Path(path) if is_seekable else io.BytesIO(file.read())
    # Repeated equal cells take almost no bytes in the file, and text stays so.
    once = _texts(source)
    with open_parquet(source, "the file", "be sound Parquet", read_dictionary=once) as table:
        check_distinct(table.schema_arrow.names)
        if rows is None:
            file.check_holds(
                _size_in_memory(table.metadata), Path(path).stat().st_size if is_seekable else None
            )
            yield table.read()
            return
        for batch in table.iter_batches(rows):
            yield pa.Table.from_batches([batch])


def _texts(source: Path | io.BytesIO) -> list[str]:
    """Return the columns of text of a Parquet file."""
    with open_parquet(source, "the file", "be sound Parquet") as table:
        schema = table.schema_arrow
    return [
        f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)
    ]


def _size_in_memory(metadata: pq.FileMetaData) -> int:
    """Return how many bytes the cells of a file take, at least, equal texts counted once."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    chunks = (group.column(k) for group in groups for k in range(metadata.num_columns))
    return sum(max(8 * chunk.num_values, chunk.total_uncompressed_size) for chunk in chunks)


@contextmanager
def open_parquet(
    source: Path | io.BytesIO, what: str, rule: str, got: str = "", **options: Any
) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file; refuse a damaged one as `sound` does."""
    with sound(what, rule, got), pq.ParquetFile(source, **options) as file:
        yield file


@contextmanager
def sound(what: str, rule: str, got: str = "") -> Iterator[None]:
    """Refuse what Arrow cannot read; `got` comes before Arrow's own message."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise refusal(what, rule, f"{got}{shortened(error)}") from None


def json_blocks(file: Inflated, *, whole: bool) -> Iterator[pa.Table]:
    """Yield the rows of lines of JSON, one object each: all at once, or in blocks."""
    blocks, n_lines, n_rows, size = [], 0, 0, 0
    names: set[str] = set()
    for text in read_text(text_of(file)):
        if not text.strip():
            continue
        blocks.append(_json_table(text, n_lines))
        n_lines += text.count(b"\n")
        if not whole:
            yield blocks.pop()
            continue
        n_rows, size = n_rows + len(blocks[-1]), size + len(text)
        names.update(blocks[-1].column_names)
        _check_names(n_rows, len(names), size)
    if n_lines == 0:
        yield pa.table({})
    elif whole:
        try:
            yield pa.concat_tables(blocks, promote_options="permissive")
        except pa.ArrowException as error:
            rule = "be all numbers or all text"
            raise refusal("a column", rule, short(str(error), 200)) from None


def _check_shape(text: bytes, n_before: int) -> None:
    """Refuse what is nested deeply, or would be far larger as columns.

    Arrow's parser calls itself, until the stack ends, and fills a column of any name for
    all rows.
    """
    plain = text
    if b"\\" in text:  # so that a quotation mark begins or ends a string
        plain = text.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    letters = np.frombuffer(plain, dtype=np.uint8)
    opens = (letters == ord("[")) | (letters == ord("{"))
    brackets = np.flatnonzero(opens | (letters == ord("]")) | (letters == ord("}")))
    marks = np.flatnonzero(letters == ord('"'))
    brackets = brackets[np.searchsorted(marks, brackets) % 2 == 0]  # not in a string
    depth = np.cumsum(np.where(opens[brackets], 1, -1))
    if depth.max(initial=0) > _DEEPEST:
        first = brackets[np.argmax(depth > _DEEPEST)]
        line = n_before + text.count(b"\n", 0, int(first)) + 1
        raise refusal("lines", "be objects of JSON that are not nested", f"line {line}, which is")
    n_rows = int(np.count_nonzero(opens[brackets] & (depth == 1)))
    if n_rows * (len(marks) // 2) * 8 > most_bytes(len(text)):  # or else few names
        ends = zip((marks[::2] + 1).tolist(), marks[1::2].tolist(), strict=False)
        names = {text[a:b] for a, b in ends if plain[b + 1 : b + 20].lstrip()[:1] == b":"}
        _check_names(n_rows, len(names), len(text))


def _check_names(n_rows: int, n_names: int, size: int) -> None:
    if 8 * n_rows * n_names > most_bytes(size):
        rule = "have the same names in all lines"
        raise refusal("objects of JSON", rule, f"{n_names:,} names in {n_rows:,} lines")


def _json_table(text: bytes, n_before: int) -> pa.Table:
    _check_shape(text, n_before)
    options = pj.ReadOptions(block_size=max(len(text), 1024))
    try:
        table = pj.read_json(io.BytesIO(text), read_options=options)
        dates = [f.name for f in table.schema if pa.types.is_temporal(f.type)]
        if dates:  # which would be written in another way
            as_text = pa.schema([(name, pa.string()) for name in dates])
            parse = pj.ParseOptions(explicit_schema=as_text)
            names = table.column_names
            table = pj.read_json(io.BytesIO(text), options, parse).select(names)
    except pa.ArrowInvalid as error:
        raise _json_refusal(text, n_before, str(error)) from None
    except UnicodeDecodeError:
        raise refusal("text", "be UTF-8", "other bytes") from None
    check_distinct(table.column_names)
    return table


def _json_refusal(text: bytes, n_before: int, message: str) -> Exception:
    """Return an error that names the line or column that is wrong."""
    for number, line in enumerate(text.splitlines(), n_before + 1):
        if not line.strip():
            continue
        try:
            is_object = isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            is_object = False
        if not is_object:
            shown = short(line.decode("utf-8", "replace"))
            return refusal("lines", "be objects of JSON", f"{shown} in line {number}")
    changed = re.search(r"Column\(/(.*?)\) changed from (\w+) to (\w+)", message)
    if changed:
        name, *kinds = changed.groups()
        rule = "be all numbers or all text"
        return refusal(f"column {short(name)}", rule, " and ".join(kinds))
    return refusal("the file", "be lines of JSON", short(message, 200))


def columns_of(data: Any) -> Columns:
    """Return a frame of pandas or polars, or arrays by name, as columns.

    They are those of the same table in a Parquet file.
    """
    try:
        if hasattr(data, "to_arrow"):
            table = data.to_arrow()
        elif isinstance(data, Mapping):
            table = pa.table({str(name): pa.array(_dense(c)) for name, c in data.items()})
        elif hasattr(data, "columns"):
            is_sparse = any(hasattr(dtype, "fill_value") for dtype in data.dtypes)
            data = data.apply(_dense) if is_sparse else data
            table = pa.Table.from_pandas(data, preserve_index=False)
        else:
            rule = "be a frame, arrays by the names of columns, or a path"
            raise refusal("data", rule, type(data).__name__, error=TypeError)
    except pa.ArrowException as error:
        raise refusal("data", "have columns of numbers, text or dates", shortened(error)) from None
    check_distinct(table.column_names)
    return to_columns("the table", table)


def _dense(column: Any) -> Any:
    """Return a column with all its values, if pandas leaves out those that are usual."""
    is_sparse = hasattr(getattr(column, "dtype", None), "fill_value")
    return column.sparse.to_dense() if is_sparse else column


def to_columns(source: str, table: pa.Table) -> Columns:
    """Return the columns of a table as arrays of NumPy."""
    names = table.column_names
    arrays = {name: _array(name, table.column(name)) for name in names}
    orders = {name: order for name in names if (order := _order(table.column(name)))}
    return Columns(arrays, source, orders=orders)


def _order(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return the texts of an ordered categorical, lowest first; () of other columns."""
    if not pa.types.is_dictionary(column.type) or not column.type.ordered:
        return ()
    every = {tuple(chunk.dictionary.to_pylist()) for chunk in column.chunks}
    texts = every.pop() if len(every) == 1 else ()
    return texts if all(isinstance(text, str) for text in texts) else ()


def _array(name: str, column: pa.ChunkedArray) -> Array:
    kind = column.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type):
            return _shared_texts(column)
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_duration(kind):
        return in_seconds(column.to_numpy())
    if pa.types.is_temporal(kind):
        column = column.cast(pa.string())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_decimal(kind) and kind.scale <= 0 and kind.precision > 15:
        column = column.cast(pa.string())
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise refusal("text", "be UTF-8", f"other bytes in column {short(name)}")
    kind = column.type
    if pa.types.is_integer(kind) and column.null_count:
        ends = pc.min_max(column).as_py().values()
        # NumPy has floats where there are gaps; they hold 53 bits.
        is_large = any(abs(end or 0) > 1 << 53 for end in ends)
        column = column.cast(pa.string() if is_large else pa.float64())
        kind = column.type
    if pa.types.is_floating(kind):
        return column.to_numpy().astype(np.float64, copy=False)  # type: ignore[no-any-return]
    if pa.types.is_integer(kind):
        is_unsigned = kind == pa.uint64()
        return column.to_numpy().astype(np.uint64 if is_unsigned else np.int64, copy=False)  # type: ignore[no-any-return]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        # Not by Arrow's if_else: up to version 21 it garbles text beside a gap.
        return np.asarray([text or None for text in column.to_pylist()], dtype=object)
    raise refusal(f"column {short(name)}", "be numbers or text", short(str(kind)))


def _shared_texts(column: pa.ChunkedArray) -> Array:
    """Return text with one object for all cells that are equal."""
    arrays = [np.empty(0, dtype=object)]
    for chunk in column.chunks:
        texts = np.array([*(text or None for text in chunk.dictionary.to_pylist()), None], object)
        positions = chunk.indices.cast(pa.int64()).fill_null(len(texts) - 1)
        arrays.append(texts[positions.to_numpy(zero_copy_only=False)])
    return np.concatenate(arrays)


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether a type of Arrow is one of numbers, or of true and false."""
    t = pa.types
    is_plain = t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind)
    return bool(is_plain or t.is_decimal(kind))


def number_array(column: pa.Array) -> Array:
    """Return numbers; what is missing is NaN."""
    column = _decoded(column)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def query_array(column: pa.Array) -> Array:
    """Return queries; what is missing is NaN, NaT or None.

    Decimals are whole numbers or texts by their type alone: as float64, two queries
    that differ in a late digit would be one.
    """
    column = _decoded(column)
    kind = column.type
    if pa.types.is_decimal(kind):
        if kind.bit_width < 128:  # of these pyarrow makes no larger integers
            column = column.cast(pa.decimal128(kind.precision, kind.scale))
        is_whole = kind.scale <= 0 and kind.precision - kind.scale <= _DIGITS
        column = column.cast(pa.int64() if is_whole else pa.string())
    return label_array(column)


def label_array(column: pa.Array) -> Array:
    """Return labels; what is missing is NaN, NaT or None."""
    column = _decoded(column)
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    is_other = pa.types.is_temporal(kind) or pa.types.is_nested(kind)
    if is_other or is_numeric(kind) or column.null_count:
        # Views would keep the whole batch.
        return np.array(column.to_numpy(zero_copy_only=False))
    # Equal texts are decoded once.
    encoded = column.dictionary_encode()
    texts = encoded.dictionary.to_pylist() or [""]
    # NumPy's text has the length of the longest in every row.
    names = np.array(texts, dtype=object if max(map(len, texts)) > _LONG else None)
    return names[encoded.indices.to_numpy(zero_copy_only=False)]  # type: ignore[no-any-return]


def _decoded(column: pa.Array) -> pa.Array:
    """Return a column as values of a plain type."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
