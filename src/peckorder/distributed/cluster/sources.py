"""Data of Dask, or in files, as a list of what workers make partitions from."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np
from scipy import sparse

from peckorder._core.errors import refusal
from peckorder._core.validation import unmasked
from peckorder.streams.block import Block
from peckorder.streams.sources.files import block_of, check_numbers, found_files
from peckorder.tables.roles import GivenRoles

_SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Part(Block):
    """A block that remembers the names of its features and the types of its columns."""

    names: tuple[str, ...] | None = None
    types: tuple[tuple[str, str], ...] = ()

    def __sizeof__(self) -> int:
        # By it Dask spills to disk: not registered with Dask, so that all workers have it.
        from dask.sizeof import sizeof

        X = self.X
        rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        columns = self.y, self.qid, self.weight
        return object.__sizeof__(self) + sum(int(sizeof(c)) for c in (*rows, *columns))


@dataclass(frozen=True, eq=False)
class Source:
    """What partitions are made from: `make(*items[k])` on a worker returns a Part.

    Items may hold Delayed objects, which Dask computes first. `files` are those that
    partitions are read from, if they are.
    """

    make: Callable[..., Part]
    items: list[tuple[Any, ...]]
    has_queries: bool
    has_weight: bool
    files: tuple[str, ...] | None = None

    @property
    def titles(self) -> list[str]:
        """The names of partitions in messages."""
        return [title(k, self.files) for k in range(len(self.items))]


def title(position: int, files: tuple[str, ...] | None) -> str:
    """Return the name of a partition: its number, and its file if it has one."""
    return f"partition {position}" + ("" if files is None else f" ({files[position]!r})")


def source_of(
    data: Any, y: Any, qid: Any, sample_weight: Any, target: Any, features: Any
) -> Source:
    """Return data as a source; refuse data of other kinds."""
    import dask.array as da
    import dask.dataframe as dd

    if isinstance(data, da.Array):
        for name, value in (("target", target), ("features", features)):
            if value is not None:
                raise refusal(
                    name, "be None for arrays, whose labels are y", repr(value), error=TypeError
                )
        return _of_arrays(data, y, qid, sample_weight)
    is_frame = isinstance(data, dd.DataFrame)
    paths = None if is_frame else _paths(data)
    if not is_frame and paths is None:
        raise refusal(
            "data",
            "be a Dask array, a Dask DataFrame, or Parquet files",
            short(data),
            error=TypeError,
        )
    if y is not None:
        rule = f"be None for {'frames' if is_frame else 'files'}"
        raise refusal("y", rule, short(y), error=TypeError)
    given = GivenRoles.of(features, target=target, qid=qid, sample_weight=sample_weight)
    if is_frame:
        picked = data[given.find(list(data.columns), "data").columns]
        items = [(part, given) for part in picked.to_delayed()]
        make: Callable[..., Part] = part_of_frame
    else:
        items = [(path, given) for path in paths or ()]
        make = part_of_file
    files = None if paths is None else tuple(paths)
    return Source(make, items, qid is not None, sample_weight is not None, files)


def _paths(data: Any) -> list[str] | None:
    """Return the files of a path or a list of paths; of a folder here, those in it."""
    if isinstance(data, str | os.PathLike):
        data = [data]
    if not isinstance(data, list | tuple) or not data:
        return None
    if not all(isinstance(path, str | os.PathLike) for path in data):
        return None
    files: list[str] = []
    for path in data:
        if Path(path).is_dir():
            files += map(os.fspath, found_files(path, _SUFFIXES))
        else:
            files.append(os.fspath(path))
    return files


def _of_arrays(X: Any, y: Any, qid: Any, weight: Any) -> Source:
    arrays = {"data": X, "y": y, "qid": qid, "sample_weight": weight}
    given, cut = cut_alike(arrays, needed=("data", "y"))
    pieces = [
        [None] * len(cut) if array is None else array.to_delayed().ravel().tolist()
        for array in given.values()
    ]
    items = list(zip(*pieces, strict=True))
    return Source(part_of_arrays, items, qid is not None, weight is not None)


def cut_alike(
    arrays: dict[str, Any], needed: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Check arrays, `data` first; cut all of them into the rows of its chunks.

    Only columns of one value per row are moved for that, unless features are cut too.
    """
    import dask.array as da

    given = {}
    for name, array in arrays.items():
        if array is None and name not in needed:
            continue
        n_dims = 2 if name == "data" else 1
        if not isinstance(array, da.Array) or array.ndim != n_dims:
            rule = "of two dimensions" if n_dims == 2 else "of one value per row"
            raise refusal(name, f"be a Dask array {rule}", short(array), error=TypeError)
        if np.isnan(np.array(array.shape, dtype=float)).any():
            raise refusal(
                name,
                "have chunks of known sizes",
                "unknown ones",
                hint=f"Call {name}.compute_chunk_sizes() first.",
            )
        given[name] = array
    rows = given["data"]
    for name, array in given.items():
        if array.shape[0] != rows.shape[0]:
            raise refusal(name, f"be one value per row, {rows.shape[0]} in all", array.shape[0])
    if rows.numblocks[1] > 1:
        rows = rows.rechunk({1: -1})
    cut: tuple[int, ...] = rows.chunks[0]
    same = {
        name: array if array.chunks[0] == cut else array.rechunk((cut,))
        for name, array in given.items()
    }
    return {name: same.get(name) for name in arrays} | {"data": rows}, cut


def part_of_arrays(X: Any, y: Any, qid: Any, weight: Any) -> Part:
    """Make a partition of chunks."""
    X = X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(unmasked("X", X))
    columns = {"y": y, "qid": qid, "sample_weight": weight}
    kept = {k: np.asarray(unmasked(k, c)) for k, c in columns.items() if c is not None}
    form = "sparse " if sparse.issparse(X) else ""
    types = [("data", f"{form}{X.dtype}")]
    if X.dtype.kind in "biuf" and X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    types += [(name, type_of(column)) for name, column in kept.items()]
    return Part(X, kept["y"], kept.get("qid"), kept.get("sample_weight"), None, tuple(types))


def type_of(column: Any) -> str:
    """Return the type of an array as partitions are compared by.

    Text is of one type, however long the longest of a chunk is.
    """
    name: str = column.dtype.name
    return {"U": "str", "S": "bytes"}.get(column.dtype.kind, name)


def part_of_frame(frame: Any, given: GivenRoles) -> Part:
    """Make a partition of a pandas frame."""
    roles = given.find(list(frame.columns), "data")
    columns = [_numbers(_plain(frame[c])) for c in roles.features] if len(frame) else []
    for name, column in zip(roles.features, columns, strict=False):
        if column is None:
            raise refusal(
                f"column {name!r} of data",
                "be numbers",
                str(frame[name].dtype),
                hint="Name the columns to learn from in features=.",
            )
    # In single precision if all features are.
    is_single = all(column.dtype == np.float32 for column in columns)
    X = np.empty((len(frame), len(roles.features)), np.float32 if is_single else np.float64)
    for position, column in enumerate(columns):
        X[:, position] = column
    qid = None if roles.qid is None else frame[roles.qid].to_numpy()
    weight = None if roles.weight is None else frame[roles.weight].to_numpy()
    types = tuple((str(c), str(frame[c].dtype)) for c in roles.columns)
    y = frame[roles.target].to_numpy()
    return Part(X, y, qid, weight, _texts(roles.features), types)


def part_of_file(path: str, given: GivenRoles) -> Part:
    """Make a partition of a Parquet file."""
    import pyarrow as pa

    from peckorder.tables.files.arrow import open_parquet

    rule = "be sound Parquet that workers can read"
    with open_parquet(Path(path), "every file", rule, f"{path!r}: ") as file:
        schema = file.schema_arrow
        roles = given.find(schema.names, str(path))
        table = file.read(columns=roles.columns)
    if len(table):
        check_numbers(schema, roles, str(path))
    is_single = {schema.field(name).type for name in roles.features} == {pa.float32()}
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    dtype = np.float32 if is_single else np.float64
    block = Block.joined([block_of(batch, roles, dtype) for batch in batches])
    types = tuple((c, str(schema.field(c).type)) for c in roles.columns)
    return Part(block.X, block.y, block.qid, block.weight, _texts(roles.features), types)


def _texts(names: tuple[Any, ...]) -> tuple[str, ...] | None:
    """Return names that are all texts."""
    return names if all(isinstance(name, str) for name in names) else None


def _plain(column: Any) -> Any:
    """Return a column of pandas as an array; a gap among numbers is NaN."""
    kind = column.dtype
    if getattr(kind, "na_value", None) is None or not column.hasnans:
        return column.to_numpy()
    if getattr(kind, "kind", "O") not in "biuf":
        return column.to_numpy()
    is_single = kind.kind == "f" and kind.itemsize == 4
    return column.to_numpy(np.float32 if is_single else np.float64, na_value=np.nan)


def _numbers(column: Any) -> Any:
    """Return a column of numbers, a gap being NaN; None if it is none."""
    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind != "O":
        return None
    if any(isinstance(value, str | bytes) for value in column.tolist()):
        return None
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return None
