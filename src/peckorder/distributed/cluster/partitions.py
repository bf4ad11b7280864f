"""Partitions on a cluster: what is known of them, checked; work on them where they are.

Rows never leave their worker. The driver asks all partitions for something small and
gets it in the order of partitions, so that sums do not depend on who computed what.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from peckorder._core.errors import refusal, with_location
from peckorder._core.threads import at_most
from peckorder._core.typing import Labels
from peckorder._version import __version__
from peckorder.distributed.cluster.client import check_version, naming_partition, results, wait_for
from peckorder.distributed.cluster.partition_facts import (
    Facts,
    check_alike,
    check_whole,
    facts_of,
    overlapping,
)
from peckorder.distributed.cluster.sources import Part, Source, title
from peckorder.feedback import Queries
from peckorder.streams.block import Block

if TYPE_CHECKING:
    from distributed import Client, Future

# Results that a worker joins to one.
_FAN_IN: Final = 8

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Scanned:
    """What a worker keeps of a partition that was scanned.

    An error about rows is raised when the output is asked for: that partitions are
    unlike each other says more.
    """

    facts: Facts
    queries: Labels | None
    output: object
    failure: Exception | None = None


class PerPartition(list[object]):
    """Arguments of which each partition gets its own."""


@dataclass(frozen=True, eq=False)
class Partitions:
    """Checked partitions, none of them empty.

    `blocks` are futures of `Block` objects that workers hold, empty if they do not.
    `facts` has what is known of each, `positions` where it stood among those given.
    `outputs` are futures of what was asked for when they were scanned; `files` are
    those of all partitions that were given, if they are read from files.
    """

    client: "Client"
    blocks: list["Future"]
    facts: list[Facts]
    positions: list[int]
    outputs: list["Future"]
    has_queries: bool
    has_weight: bool
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
            blocks=[self.blocks[k] for k in chosen if self.blocks],
            facts=[self.facts[k] for k in chosen],
            positions=[self.positions[k] for k in chosen],
            outputs=[self.outputs[k] for k in chosen if self.outputs],
        )

    def groups(self) -> list[tuple[str | None, list[int]]]:
        """Return workers, and the partitions that each of them holds just now.

        Each partition is in one group; None has those that a lost worker held.
        """
        holders = self.client.who_has(self.blocks)
        groups: dict[str | None, list[int]] = {}
        for position, block in enumerate(self.blocks):
            address = min(holders.get(block.key, ()), default=None)
            groups.setdefault(address, []).append(position)
        return list(groups.items())

    def ask(self, function: Callable[..., T], *arguments: object, apart: bool = False) -> list[T]:
        """Return ``function(block, *arguments)`` of each partition, in their order.

        One task per worker, as a task costs milliseconds whatever it does; or, `apart`,
        one per partition, for long work: a worker may have several threads. A
        `PerPartition` among the arguments has one value per partition. A partition that
        was lost is made again first.
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
                    [self.blocks[position] for position in positions],
                    [_own(arguments, position) for position in positions],
                    apart,
                    pure=False,
                    allow_other_workers=address is not None,
                    **where,
                )
            )
        answers: list[Any] = [None] * len(self)
        got = results(self.client, futures)
        for (_, positions), some in zip(groups, got, strict=True):
            for position, answer in zip(positions, some, strict=True):
                answers[position] = answer
        return answers

    @property
    def titles(self) -> list[str]:
        """What each partition is called: by its number among those given."""
        return [title(position, self.files) for position in self.positions]

    def titles_of(self, positions: list[int]) -> list[str]:
        """Return what some partitions are called."""
        return [title(self.positions[position], self.files) for position in positions]

    def joined(self, join: Callable[[list[T]], T]) -> T:
        """Join the outputs, neighbours first, on the workers; return the result.

        The order does not depend on who is there. O(log p) steps for p partitions.
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
    """Let workers make the partitions, and keep them; check what they tell of these.

    For fits that ask for more than one thing.
    """
    from dask import delayed

    tasks = [
        delayed(_made, pure=False)(__version__, name, source.make, *item)
        for name, item in zip(source.titles, source.items, strict=True)
    ]
    blocks = client.compute(tasks)
    # Rows are scanned at where they are, which is known when they are there.
    with naming_partition(blocks, source.titles):
        wait_for(client, blocks)
    partitions = _unchecked(client, source, blocks, [])
    partitions = replace(partitions, facts=partitions.ask(_facts))
    partitions = _without_empty(partitions)
    check_alike(partitions.facts, partitions.titles)
    if source.has_queries:
        near = overlapping(partitions.facts)
        some = partitions.only(near)
        names = some.ask(_queries) if near else []
        check_whole(names, some.positions, source.files)
    return partitions


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
    scanned = client.compute(tasks)
    facts = client.map(_facts_in, scanned, pure=False)
    with naming_partition(facts, source.titles):
        known = results(client, facts)
    partitions = replace(_unchecked(client, source, [], scanned), facts=known)
    partitions = _without_empty(partitions)
    check_alike(partitions.facts, partitions.titles)
    if source.has_queries and whole:
        some = partitions.only(overlapping(partitions.facts))
        names = client.map(_queries_in, some.outputs, pure=False)
        check_whole(results(client, names), some.positions, source.files)
    return replace(partitions, outputs=client.map(_output_of, partitions.outputs, pure=False))


def _unchecked(
    client: "Client", source: Source, blocks: list["Future"], outputs: list["Future"]
) -> Partitions:
    positions = list(range(len(source.items)))
    is_given = source.has_queries, source.has_weight
    return Partitions(client, blocks, [], positions, outputs, *is_given, source.files)


def _made(version: str, name: str, make: Callable[..., Part], *item: object) -> Part:
    """Make a partition; say which one if that fails."""
    check_version(version)
    return in_partition(name, make, *item)


def _queries(part: Part) -> Any:
    return None if part.qid is None else Queries.of(part.qid).ids


def _facts(part: Part) -> Facts:
    return facts_of(part, _queries(part))


def _made_and_scanned(version: str, name: str, shared: tuple[Any, ...], *item: object) -> Scanned:
    make, find, arguments = shared
    part = _made(version, name, make, *item)
    queries = in_partition(name, _queries, part)
    facts, output = facts_of(part, queries), None
    if len(part):
        try:
            with at_most(1):  # others have tasks of their own
                output = in_partition(name, find, part, *arguments)
        except Exception as error:
            return Scanned(facts, queries, None, _without_frames(error))
    return Scanned(facts, queries, output)


def _without_frames(error: Exception) -> Exception:
    """Return an error that does not hold the rows it was raised at."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _each(
    function: Callable[..., T],
    names: list[str],
    blocks: list[Block],
    arguments: list[tuple[object, ...]],
    apart: bool,
) -> list[T]:
    """Ask partitions one after the other, with the threads of this worker.

    With one of them, if the others have tasks of their own.
    """
    from distributed import get_worker

    with at_most(1 if apart else get_worker().state.nthreads):
        return [
            in_partition(name, function, block, *own)
            for name, block, own in zip(names, blocks, arguments, strict=True)
        ]


def _own(arguments: tuple[object, ...], position: int) -> tuple[object, ...]:
    """Return what a partition is given."""
    return tuple(a[position] if isinstance(a, PerPartition) else a for a in arguments)


def in_partition(name: str, function: Callable[..., T], *arguments: object) -> T:
    """Call a function; an error about data says in which partition that is."""
    try:
        return function(*arguments)
    except ValueError as error:
        error_of_rows = with_location(error, f"This is of {name}.")
        if error_of_rows is None:
            raise
        try:
            raise error_of_rows from None
        finally:
            # Or this frame and the error would keep each other, and the rows.
            del error_of_rows


def _facts_in(scanned: Scanned) -> Facts:
    return scanned.facts


def _queries_in(scanned: Scanned) -> Labels | None:
    return scanned.queries


def _output_of(scanned: Scanned) -> object:
    if scanned.failure is not None:
        raise scanned.failure
    return scanned.output


def _without_empty(partitions: Partitions) -> Partitions:
    """Drop partitions without rows."""
    kept = [k for k, facts in enumerate(partitions.facts) if facts.n_rows]
    if not kept:
        raise refusal("data", "have rows", f"{len(partitions.facts)} partitions without any")
    return partitions.only(kept)
