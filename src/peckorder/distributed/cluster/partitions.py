"""Partitions on a cluster: facts about them, checked; functions run where they are.

Rows never leave their worker. All partitions return something small to the driver, in
the order of partitions, so that sums do not depend on the workers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from peckorder._core.errors import refusal, with_location
from peckorder._core.threads import at_most
from peckorder._core.typing import Labels
from peckorder._version import __version__
from peckorder.distributed.cluster.client import check_version, naming_partition, results, wait_for
from peckorder.distributed.cluster.sources import Part, Source, title
from peckorder.feedback import Queries
from peckorder.streams.block import Block

if TYPE_CHECKING:
    from distributed import Client, Future

# Results that a worker joins to one.
_FAN_IN: Final = 8

T = TypeVar("T")


@dataclass(frozen=True)
class Facts:
    """What the driver knows of a partition.

    `first` and `last` are the least and the largest of its queries, if these have an
    order; None if not.
    """

    n_rows: int
    n_features: int
    n_queries: int
    names: tuple[str, ...] | None
    types: tuple[tuple[str, str], ...]
    first: Any = None
    last: Any = None


def facts_of(part: Part, queries: Labels | None) -> Facts:
    """Return the facts of a partition with these queries."""
    n_queries = 0 if queries is None else len(queries)
    n_rows, n_features = part.X.shape
    ends = (None, None) if queries is None else _ends(queries)
    return Facts(n_rows, n_features, n_queries, part.names, part.types, *ends)


def _ends(queries: Labels) -> tuple[Any, Any]:
    """Return the least and the largest query, if they are numbers or texts."""
    if len(queries) and queries.dtype.kind in "iuf":
        return queries.min().item(), queries.max().item()
    names = queries.tolist()
    if names and set(map(type, names)) == {str}:
        return min(names), max(names)
    return None, None


@dataclass(frozen=True, eq=False)
class Scanned:
    """The facts and queries of a partition, and the output of a function.

    An error about rows is raised with the output, after partitions were compared: that
    they are unlike each other explains more.
    """

    facts: Facts
    queries: Labels | None
    output: object = None
    failure: Exception | None = None

    def __sizeof__(self) -> int:
        # By it Dask chooses the worker for what comes next.
        from dask.sizeof import sizeof

        return object.__sizeof__(self) + int(sizeof(self.output))


class PerPartition(list[object]):
    """Arguments of which each partition gets its own."""


@dataclass(frozen=True, eq=False)
class Partitions:
    """Checked partitions, none of them empty.

    `outputs` are futures of what workers keep: their blocks, or the outputs of a
    function. `positions` are the numbers of partitions among all that were given;
    `files` are the files of all, if they are read from files.
    """

    client: "Client"
    outputs: list["Future"]
    facts: list[Facts]
    positions: list[int]
    has_queries: bool
    files: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def n_rows(self) -> int:
        """Rows of all partitions."""
        return sum(facts.n_rows for facts in self.facts)

    @property
    def n_features(self) -> int:
        """Features of each row."""
        return self.facts[0].n_features

    @property
    def names(self) -> Labels | None:
        """The names of the features, if they have any."""
        names = self.facts[0].names
        return None if names is None else np.array(names, dtype=object)

    def only(self, chosen: list[int]) -> "Partitions":
        """Return some of them."""
        return replace(
            self,
            outputs=[self.outputs[k] for k in chosen],
            facts=[self.facts[k] for k in chosen],
            positions=[self.positions[k] for k in chosen],
        )

    def groups(self) -> list[tuple[str | None, list[int]]]:
        """Return workers, and the partitions that each of them has at present.

        Each partition is in one group; None has those of lost workers.
        """
        holders = self.client.who_has(self.outputs)
        groups: dict[str | None, list[int]] = {}
        for position, output in enumerate(self.outputs):
            address = min(holders.get(output.key, ()), default=None)
            groups.setdefault(address, []).append(position)
        return list(groups.items())

    def ask(self, function: Callable[..., T], *arguments: object, apart: bool = False) -> list[T]:
        """Return ``function(block, *arguments)`` of each partition, in their order.

        One task per worker, as each task costs milliseconds; or, `apart`, one per
        partition, for long work: a worker may have several threads. A `PerPartition`
        among the arguments has one value per partition. Lost partitions are made again
        first.
        """
        groups = self.groups()
        if apart:
            groups = [(address, [k]) for address, positions in groups for k in positions]
        futures = []
        for address, positions in groups:
            where = {} if address is None else {"workers": [address]}
            futures.append(
                self.client.submit(
                    _each,
                    function,
                    self.titles_of(positions),
                    [self.outputs[position] for position in positions],
                    [
                        tuple(a[k] if isinstance(a, PerPartition) else a for a in arguments)
                        for k in positions
                    ],
                    apart,
                    pure=False,
                    allow_other_workers=address is not None,
                    **where,
                )
            )
        answers: list[Any] = [None] * len(self)
        for (_, positions), some in zip(groups, results(self.client, futures), strict=True):
            for position, answer in zip(positions, some, strict=True):
                answers[position] = answer
        return answers

    def titles_of(self, positions: list[int]) -> list[str]:
        """Return the names of some partitions in messages."""
        return [title(self.positions[position], self.files) for position in positions]

    def joined(self, join: Callable[[list[T]], T]) -> T:
        """Join the outputs, neighbours first, on the workers; return the result.

        The order does not depend on the workers. O(log p) steps for p partitions.
        """
        outputs = self.outputs
        while len(outputs) > 1:
            outputs = [
                self.client.submit(join, outputs[i : i + _FAN_IN], pure=False)
                for i in range(0, len(outputs), _FAN_IN)
            ]
        result: T = results(self.client, outputs)[0]
        return result


def load(client: "Client", source: Source) -> Partitions:
    """Let workers make the partitions, check them, and keep their blocks.

    For fits that ask for more than one thing.
    """
    from dask import delayed

    # Blocks are results of their own: inside of others they would be in memory twice.
    make = delayed(source.make, pure=False, traverse=False)
    tasks = [
        delayed(_made, pure=False)(__version__, name, make, *item)
        for name, item in zip(source.titles, source.items, strict=True)
    ]
    blocks = client.compute(tasks)
    scanned = client.map(_scanned, blocks, source.titles, pure=False)
    partitions = _checked(client, source, scanned, whole=True)
    kept = [blocks[position] for position in partitions.positions]
    wait_for(client, kept)
    return replace(partitions, outputs=kept)


def map_partitions(
    client: "Client",
    source: Source,
    find: Callable[..., object],
    *arguments: object,
    whole: bool = True,
) -> Partitions:
    """Let workers make each partition, keep ``find(block, *arguments)``, and drop it.

    In one pass: memory for one partition per worker thread is enough. Queries must be
    `whole` in their partitions, unless that does not matter.
    """
    from dask import delayed

    # Arguments as they are, once for all partitions.
    shared = delayed((source.make, find, arguments), pure=False, traverse=False)
    tasks = [
        delayed(_made_and_scanned, pure=False)(__version__, name, shared, *item)
        for name, item in zip(source.titles, source.items, strict=True)
    ]
    partitions = _checked(client, source, client.compute(tasks), whole=whole)
    return replace(partitions, outputs=client.map(_output_of, partitions.outputs, pure=False))


def _checked(
    client: "Client", source: Source, scanned: list["Future"], *, whole: bool
) -> Partitions:
    """Check what was scanned; return the partitions that have rows."""
    facts = client.map(attrgetter("facts"), scanned, pure=False)
    with naming_partition(facts, source.titles):
        known = results(client, facts)
    positions = list(range(len(scanned)))
    partitions = Partitions(client, scanned, known, positions, source.has_queries, source.files)
    kept = [k for k, facts in enumerate(known) if facts.n_rows]
    if not kept:
        raise refusal("data", "have rows", f"{len(known)} partitions without any")
    partitions = partitions.only(kept)
    check_alike(partitions.facts, partitions.titles_of(list(range(len(kept)))))
    if source.has_queries and whole:
        some = partitions.only(overlapping(partitions.facts))
        names = client.map(attrgetter("queries"), some.outputs, pure=False)
        check_whole(results(client, names), some.positions, source.files)
    return partitions


def _made(version: str, name: str, make: Callable[..., Part], *item: object) -> Part:
    check_version(version)
    return in_partition(name, make, *item)


def _scanned(part: Part, name: str) -> Scanned:
    queries = None if part.qid is None else in_partition(name, Queries.of, part.qid).ids
    return Scanned(facts_of(part, queries), queries)


def _made_and_scanned(version: str, name: str, shared: tuple[Any, ...], *item: object) -> Scanned:
    """Make a partition and run a function on it; errors name the partition."""
    make, find, arguments = shared
    part = _made(version, name, make, *item)
    scanned = _scanned(part, name)
    if not len(part):
        return scanned
    try:
        with at_most(1):  # other partitions are other tasks
            return replace(scanned, output=in_partition(name, find, part, *arguments))
    except Exception as error:
        return replace(scanned, failure=_without_frames(error))


def _without_frames(error: Exception) -> Exception:
    """Return an error without references to rows."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _each(
    function: Callable[..., T],
    names: list[str],
    blocks: list[Block],
    arguments: list[tuple[object, ...]],
    apart: bool,
) -> list[T]:
    """Run a function on partitions, one after another.

    With all threads of this worker, or one if other partitions are other tasks.
    """
    from distributed import get_worker

    with at_most(1 if apart else get_worker().state.nthreads):
        return [
            in_partition(name, function, block, *own)
            for name, block, own in zip(names, blocks, arguments, strict=True)
        ]


def in_partition(name: str, function: Callable[..., T], *arguments: object) -> T:
    """Call a function; errors about data name the partition."""
    try:
        return function(*arguments)
    except ValueError as error:
        error_of_rows = with_location(error, f"This is of {name}.")
        if error_of_rows is None:
            raise
        try:
            raise error_of_rows from None
        finally:
            # Or this frame and the error would refer to each other, and to the rows.
            del error_of_rows


def _output_of(scanned: Scanned) -> object:
    if scanned.failure is not None:
        raise scanned.failure
    return scanned.output


def check_alike(facts: list[Facts], titles: list[str]) -> None:
    """Refuse partitions with other columns, or types, than the first has."""
    model, at = facts[0], titles[0]
    wanted = [name for name, _ in model.types]
    for name_of, other in zip(titles, facts, strict=True):
        columns = [name for name, _ in other.types]
        if columns != wanted or other.n_features != model.n_features:
            odd = min(set(columns) ^ set(wanted), default=None)
            got = f"{other.n_features} features for {model.n_features}"
            if odd is not None:
                got = f"{odd!r} {'more' if odd in columns else 'less'}"
            elif other.n_features == model.n_features:
                got = "the same ones in another order"
            raise refusal("every partition", f"have the columns of {at}", f"{got} in {name_of}")
        for (name, kind), (_, rule) in zip(other.types, model.types, strict=True):
            if kind != rule:
                raise refusal(
                    f"the column {name!r}", f"be of type {rule}, as in {at}", f"{kind} in {name_of}"
                )


def check_whole(names: list[Labels], positions: list[int], files: tuple[str, ...] | None) -> None:
    """Refuse a query that is in two partitions."""
    if not names:
        return
    together = np.concatenate(names)
    queries = Queries.of(together)
    if len(queries) == len(together):
        return
    position = np.repeat(positions, [len(part) for part in names])
    q = int(np.argmax(queries.sizes > 1))
    a, b = queries.arrange(position)[queries.offsets[q] :][:2].tolist()
    name = queries.ids[q : q + 1].tolist()[0]
    if files is not None:
        raise refusal(
            "a query",
            "be whole in one file",
            f"rows of {name!r} in {files[a]!r} and {files[b]!r}",
            hint="Read them by dask.dataframe.read_parquet, and bring queries "
            "together by repartition_by_qid.",
        )
    raise refusal(
        "a query",
        "be whole in one partition",
        f"rows of {name!r} in partitions {a} and {b}",
        hint="Bring queries together by repartition_by_qid.",
    )


def overlapping(facts: list[Facts]) -> list[int]:
    """Return the partitions that may share a query with another.

    Only their names of queries have to be compared.
    """
    if any(fact.first is None for fact in facts):
        return list(range(len(facts)))
    order = sorted(range(len(facts)), key=lambda k: facts[k].first)
    near: set[int] = set()
    reach = order[0]  # which of those before reaches furthest
    for k in order[1:]:
        if facts[k].first <= facts[reach].last:
            near |= {reach, k}
        reach = k if facts[k].last > facts[reach].last else reach
    return sorted(near)
