"""Brings the rows of each query together in one partition."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from peckorder._core.errors import entry, entry_named, refusal
from peckorder._core.typing import Frame, Ints, Labels
from peckorder.distributed.cluster.client import (
    ReleasingClient,
    reporting_lost_scheduler,
    results,
    usable_client,
)
from peckorder.distributed.cluster.partitions import map_partitions, overlapping
from peckorder.distributed.cluster.sources import Part, Source, cut_alike, type_of
from peckorder.feedback import Queries
from peckorder.streams.block import Block

if TYPE_CHECKING:
    import dask.array as da
    import dask.dataframe as dd
    from dask.delayed import Delayed

    from distributed import Client


@entry
def repartition_by_qid(
    data: object,
    y: object = None,
    *,
    qid: object,
    sample_weight: object = None,
    client: "Client | None" = None,
) -> Any:
    """Return the same rows with every query whole in one partition.

    A query in several partitions goes to the one that has most of its rows, the first
    of these; all other rows stay where they are. So of data that is sorted by query
    only rows next to the ends of partitions move. The rows of a query stay in their
    order.

    Parameters
    ----------
    data : dask.array.Array of shape (n_samples, n_features) or dask.dataframe.DataFrame
        The rows.
    y : dask.array.Array of shape (n_samples,), default=None
        Their labels, if data is an array.
    qid : dask.array.Array of shape (n_samples,), or str
        The query of each row, or the name of the column that has it.
    sample_weight : dask.array.Array of shape (n_samples,), default=None
        Weights, if data is an array.
    client : dask.distributed.Client, default=None
        The cluster; None for the client at hand.

    Returns
    -------
    data : tuple of dask.array.Array, or dask.dataframe.DataFrame
        A frame for a frame; else as many arrays as were given: data, y, qid,
        sample_weight. Nothing but the queries is computed yet: O(n_samples) time, and
        the names of queries of partitions that may share one come here. With p
        partitions there are up to p^2 pieces of rows to move, if each shares queries
        with each.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from peckorder.distributed import repartition_by_qid
    >>> X, q = da.ones((6, 2), chunks=(3, 2)), da.from_array([7, 7, 8, 8, 8, 9], 3)
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     X, q = repartition_by_qid(X, qid=q)
    ...     q.chunks, q.compute().tolist()
    (((2, 4),), [7, 7, 8, 8, 8, 9])
    """
    client = usable_client(client)
    import dask.dataframe as dd

    make = _frame if isinstance(data, dd.DataFrame) else _arrays
    with reporting_lost_scheduler(client), ReleasingClient(client) as releasing:
        return make(releasing, data, y, qid, sample_weight)


def _frame(
    client: "Client", data: "dd.DataFrame", y: object, qid: object, weight: object
) -> "dd.DataFrame":
    import dask.dataframe as dd
    from dask import delayed

    for name, value in (("y", y), ("sample_weight", weight)):
        if value is not None:
            raise refusal(name, "be None for a frame", repr(value), error=TypeError)
    if qid not in list(data.columns):
        raise refusal(
            "qid",
            f"be the name of a column, one of {list(data.columns)!r}",
            repr(qid),
            error=TypeError,
        )
    frames = data.to_delayed()
    names = [delayed(_column, pure=False)(frame, qid) for frame in frames]
    moves = _moves(client, names)
    parts = moves.tasks([(frame, name) for frame, name in zip(frames, names, strict=True)])
    return dd.from_delayed([part[0] for part in parts], meta=data._meta)


def _arrays(
    client: "Client", X: object, y: object, qid: object, weight: object
) -> "tuple[da.Array, ...]":
    import dask.array as da

    arrays = {"data": X, "y": y, "qid": qid, "sample_weight": weight}
    given, cut = cut_alike(arrays, needed=("data", "qid"))
    kept = [name for name in arrays if given[name] is not None]
    moves = _moves(client, _chunks(given["qid"]))
    pieces = zip(*(_chunks(given[name]) for name in [*kept, "qid"]), strict=True)
    parts = moves.tasks(list(pieces))
    sizes = moves.sizes(cut)
    made = []
    for column, name in enumerate(kept):
        array = given[name]
        blocks = [
            da.from_delayed(part[column], (size, *array.shape[1:]), array.dtype, array._meta)
            for part, size in zip(parts, sizes, strict=True)
        ]
        made.append(da.concatenate(blocks))
    return tuple(made)


def _chunks(array: "da.Array") -> list["Delayed"]:
    chunks: list[Delayed] = array.to_delayed().ravel().tolist()
    return chunks


@dataclass(frozen=True, eq=False)
class _Moves:
    """Queries to move: `names[a, b]` from partition a to b, `rows[a, b]` rows."""

    names: dict[tuple[int, int], list[Any]]
    rows: dict[tuple[int, int], int]

    def sizes(self, before: Iterable[int]) -> list[int]:
        """Return how many rows partitions have afterwards."""
        sizes = [int(size) for size in before]
        for (a, b), rows in self.rows.items():
            sizes[a] -= rows
            sizes[b] += rows
        return sizes

    def tasks(self, pieces: list[tuple["Delayed", ...]]) -> list["Delayed"]:
        """Return the new partitions, given each old one as columns with its queries last."""
        from dask import delayed

        coming: dict[int, list[int]] = defaultdict(list)
        leaving: dict[int, list[Any]] = defaultdict(list)
        for (a, b), names in self.names.items():
            coming[b].append(a)
            leaving[a] += names
        parts = []
        for b, piece in enumerate(pieces):
            pieces_here = [
                delayed(_select, pure=False)(*pieces[a], self.names[a, b], True)
                if a != b
                else delayed(_select, pure=False)(*piece, leaving[b], False)
                for a in sorted([*coming[b], b])
            ]
            parts.append(delayed(_together, pure=False)(pieces_here))
        return parts


def _moves(client: "Client", names: list["Delayed"]) -> _Moves:
    """Find the queries in several partitions, and the partition to which each moves."""
    source = Source(_part_of_names, [(name,) for name in names], True, False)
    scanned = map_partitions(client, source, _counts, whole=False)
    near = overlapping(scanned.facts)
    counted = results(client, [scanned.outputs[k] for k in near])
    moves = _Moves(defaultdict(list), defaultdict(int))
    if not counted:
        return moves
    ids = np.concatenate([ids for ids, _ in counted])
    counts = np.concatenate([counts for _, counts in counted])
    positions = np.repeat([scanned.positions[k] for k in near], [len(ids) for ids, _ in counted])
    queries = Queries.of(ids)
    counts, positions = queries.arrange(counts), queries.arrange(positions)
    for q in np.flatnonzero(queries.sizes > 1).tolist():
        rows = slice(*queries.offsets[q : q + 2])
        owner = int(positions[rows][np.argmax(counts[rows])])
        name = queries.ids[q : q + 1].tolist()[0]
        for a, n in zip(positions[rows].tolist(), counts[rows].tolist(), strict=True):
            if a != owner:
                moves.names[a, owner].append(name)
                moves.rows[a, owner] += n
    return moves


def _column(frame: Frame, name: str) -> Labels:
    column: Labels = frame[name].to_numpy()
    return column


def _part_of_names(names: Labels) -> Part:
    names = np.asarray(names)
    types = (("qid", type_of(names)),) if len(names) else ()
    return Part(names[:, np.newaxis], names, names, None, None, types)


def _counts(block: Block) -> tuple[Labels, Ints]:
    queries = Queries.of(block.qid)
    return queries.ids, queries.sizes


@entry_named("repartition_by_qid")  # runs when the result is computed
def _select(*arguments: Any) -> tuple[Any, ...]:
    """Return the rows of some queries, or all others, of columns."""
    *columns, qid, names, is_wanted = arguments
    queries = Queries.of(np.asarray(qid))
    wanted = set(names)
    is_named = np.array([name in wanted for name in queries.ids.tolist()], dtype=bool)
    rows = np.flatnonzero(is_named[queries.of_rows()] == is_wanted)
    return tuple(
        column.iloc[rows] if hasattr(column, "iloc") else column[rows] for column in columns
    )


def _together(pieces: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Put pieces of columns one below the other."""
    return tuple(_stacked(list(column)) for column in zip(*pieces, strict=True))


def _stacked(column: list[Any]) -> Any:
    if len(column) == 1:
        return column[0]
    if sparse.issparse(column[0]):
        return sparse.vstack(column, format="csr")
    if hasattr(column[0], "iloc"):
        from dask.dataframe.dispatch import concat

        return concat(column)
    return np.concatenate(column)
