"""RankBoost on a cluster: histograms of potentials, summed in every round."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from math import nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from uuid import uuid4

import numpy as np
from sklearn.base import clone

from peckorder._core.errors import entry_named, refusal
from peckorder._core.threads import Team
from peckorder._core.typing import Ints, Labels
from peckorder.boosting.blocks import CheckedBlocks, options_for_blocks
from peckorder.boosting.columns import Cuts
from peckorder.boosting.parameters import has_trees
from peckorder.boosting.rankboost import refuse_rows
from peckorder.boosting.sharded.run_rounds import Lost, Rows, ShardedBooster, answered
from peckorder.boosting.sharded.shard import Shard, joined
from peckorder.distributed.cluster.client import results
from peckorder.distributed.cluster.partitions import Partitions, in_partition, load
from peckorder.distributed.cluster.sources import Source
from peckorder.distributed.fitting.common import check_queries, named_after, set_features
from peckorder.estimators import RankBoost
from peckorder.exceptions import ClusterError
from peckorder.streams.block import Block, Stream
from peckorder.streams.fitting.rankboost import fit_trees

if TYPE_CHECKING:
    from distributed import Client, Future

# Messages of a round.
TRAFFIC = np.dtype([("bytes", np.int64), ("questions", np.int64), ("columns", np.int64)])


def fit_rankboost(estimator: RankBoost, source: Source, client: "Client") -> None:
    """Learn rounds from sums; the model is that of `fit` with all rows, to the bit.

    Trees grow here, from bins of the partitions, which come one after another.
    """
    with named_after(estimator):
        options = options_for_blocks(estimator, "on a cluster")
    check_queries(estimator, source)
    partitions = load(client, source)
    if has_trees(estimator):
        fit_trees(estimator, PartitionStream(partitions), prefetch=1)
        set_features(estimator, partitions)
        return
    with DaskShards(partitions, clone(estimator)) as shards, named_after(estimator):
        rows, counts = shards.rows()
        if rows.n_rows == 0:
            refuse_rows(counts.all_rows, counts.all_queries, counts.flat_queries)
        booster = ShardedBooster(shards, rows, options)
        booster.cut()
        booster.boost()
    set_features(estimator, partitions)
    estimator._publish(booster.log)
    estimator.traffic_ = np.array(booster.traffic.rounds, dtype=TRAFFIC)


class PartitionStream(Stream):
    """Partitions that come from the workers one after another, each of them a block."""

    has_queries = True

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self.source_name, self.feature_names = "data", None
        self.n_features, self.n_rows = partitions.n_features, partitions.n_rows
        self.rows = max(facts.n_rows for facts in partitions.facts)

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the partitions."""
        return self.pieces(start, lambda labels: None)

    def pieces(self, start: int, skipped: Callable[[Labels], object]) -> Iterator[Block]:
        """Yield the partitions, in their order."""
        for output in self._partitions.outputs:
            yield results(self._partitions.client, [output])[0]

    def identity(self) -> dict[str, object]:
        """Return nothing that a checkpoint could know it by: there is none."""
        return {}


# Seconds between two checks of the workers; how long to wait until Dask notices that a
# worker which did not answer is lost; and how often in a row that may happen.
_LOOK: Final = 0.5
_NOTICE: Final = 10.0
_MAX_LOSSES: Final = 5


class Counts(NamedTuple):
    """How many rows of shards there are, those with positive weight first."""

    n_rows: int
    n_queries: int
    n_pairs: int
    all_rows: int
    all_queries: int
    flat_queries: int


class WorkerShard(Shard):
    """A shard made of the partitions of a worker."""

    def __init__(self, model: RankBoost, names: list[str], blocks: list[Block]) -> None:
        made = []
        with Team(1) as team, named_after(model):
            checked = CheckedBlocks(model, team)
            for name, block in zip(names, blocks, strict=True):
                rows = block.X, block.y, block.qid, block.weight
                made.append(in_partition(name, checked.add, *rows))
        pairs = checked.pairs()
        self._counts = Counts(
            checked.n_paired,
            len(pairs.levels) - 1,
            checked.n_pairs,
            checked.n_rows,
            checked.n_queries,
            checked.n_flat,
        )
        self._dtype = made[0][0].dtype
        super().__init__(made, pairs, model.n_features_in_)

    def counts(self, team: Team) -> tuple[Ints, str]:
        """Return how many rows of which kind there are, and the type of their X."""
        return np.array(self._counts), str(self._dtype)


class ShardHandle(NamedTuple):
    """Where a shard is, and of which partitions."""

    address: str
    positions: list[int]
    future: "Future"


class DaskShards:
    """The shards of all partitions, one per worker, and more where others were lost."""

    def __init__(self, partitions: Partitions, model: RankBoost) -> None:
        self._partitions, self._client = partitions, partitions.client
        self._model = model
        self._name = f"rankboost-{uuid4().hex}-"
        self._shards: dict[int, ShardHandle] = {}
        self._unassigned = list(range(len(partitions)))
        self._n_made, self._n_losses = 0, 0

    def __enter__(self) -> Self:
        while self._unassigned:
            try:
                self._make()
            except Lost:
                self._note_loss()
                self._wait_for_partitions()
        return self

    def __exit__(self, *error: object) -> None:
        _release(self._shards)
        self._shards = {}

    @property
    def n_workers(self) -> int:
        """How many workers have a shard."""
        return len(_addresses(self._shards))

    def rows(self) -> tuple[Rows, Counts]:
        """Return what is known of all rows."""
        answers = answered(
            lambda: self.ask("counts"), lambda: self.replace(Cuts.allocate(0), None, nan)
        )
        counts_of_shards = np.array([counts for worker in answers for counts, _ in worker])
        counts = Counts(*counts_of_shards.sum(axis=0).tolist())
        dtype = np.dtype(answers[0][0][1])
        most = int(counts_of_shards[:, 0].max())
        n_columns = self._partitions.n_features
        rows = Rows(*counts[:3], n_columns, dtype, max(most, 1))
        return rows, counts

    @entry_named("fit")
    def ask(self, question: str, *arguments: object) -> list[Any]:
        """Ask all shards; return one answer per worker. Raises Lost if one is gone."""
        if self._unassigned:
            raise Lost  # answers would be incomplete
        if any(shard.future.status == "error" for shard in self._shards.values()):
            raise Lost
        answers = self._ask(self._shards, question, *arguments)
        self._n_losses = 0
        return answers

    @entry_named("fit")
    def replace(self, *arguments: object) -> None:
        """Make lost shards again, and let them `repeat`. Raises Lost if it must."""
        self._note_loss()
        for number in self._lost():
            shard = self._shards.pop(number)
            shard.future.release()
            self._unassigned += shard.positions
        if self._unassigned:
            self._wait_for_partitions()
            self._make("repeat", *arguments)

    def _ask(self, shards: dict[int, ShardHandle], question: str, *arguments: object) -> list[Any]:
        """Ask some shards; return one answer per worker."""
        addresses = _addresses(shards)
        keys = [self._name + str(number) for number in shards]
        try:
            replies = self._client.run(
                _answer, keys, question, arguments, workers=addresses, on_error="return"
            )
        except OSError as error:
            raise refusal(
                "the scheduler", "stay in reach", type(error).__name__, error=ClusterError
            ) from error
        answers, n_answers = [], 0
        for address in addresses:
            answer = replies.get(address)
            if answer is None or isinstance(answer, OSError):
                raise Lost
            if isinstance(answer, Exception):
                # A worker that is about to leave may raise anything.
                raise answer if address in self._client.nthreads() else Lost
            n_answers += answer[0]
            answers.append(answer[1])
        if n_answers != len(shards):
            raise Lost
        return answers

    def _note_loss(self) -> None:
        self._n_losses += 1
        if self._n_losses > _MAX_LOSSES:
            raise refusal(
                "workers",
                "stay",
                f"{_MAX_LOSSES} losses in a row",
                hint="If they run out of memory, give them more, or have more of them.",
                error=ClusterError,
            )

    def _lost(self) -> list[int]:
        """Return the lost shards, once Dask has noticed; none if there are none."""
        until = time.monotonic() + _NOTICE
        while True:
            there = self._client.nthreads()
            lost = [
                number
                for number, shard in self._shards.items()
                if shard.future.status != "finished" or shard.address not in there
            ]
            if lost or time.monotonic() > until:
                return lost
            time.sleep(_LOOK)

    def _wait_for_partitions(self) -> None:
        """Let Dask make lost partitions again; raise if it cannot."""
        try:
            self._partitions.ask(len)
        except CancelledError:
            gone = [block for block in self._partitions.outputs if block.cancelled()]
            results(self._client, gone)
            raise

    def _make(self, *question: Any) -> None:
        """Make shards of unassigned partitions, and ask them a question.

        One on each worker that has some. If one is lost meanwhile, none is kept.
        """
        made: dict[int, ShardHandle] = {}
        try:
            for address, held in self._partitions.groups():
                own = [position for position in held if position in self._unassigned]
                if own:
                    self._n_made += 1
                    made[self._n_made] = self._submit(self._n_made, address, own)
            self._wait(made)
            if question:
                self._ask(made, *question)
        except BaseException as error:
            _release(made)
            if isinstance(error, CancelledError):
                raise Lost from error
            raise
        self._shards |= made
        self._unassigned = []

    def _submit(self, number: int, address: str | None, positions: list[int]) -> ShardHandle:
        if address is None:
            raise Lost
        future = self._client.submit(
            WorkerShard,
            self._model,
            self._partitions.titles_of(positions),
            [self._partitions.outputs[position] for position in positions],
            key=self._name + str(number),
            workers=[address],
            allow_other_workers=False,
            actor=True,
            pure=False,
        )
        return ShardHandle(address, positions, future)

    def _wait(self, made: dict[int, ShardHandle]) -> None:
        """Wait for shards; raises Lost if a worker is lost that should make one."""
        from distributed import KilledWorker, wait

        futures = [shard.future for shard in made.values()]
        while True:
            try:
                wait(futures, timeout=_LOOK)
            except TimeoutError:
                there = self._client.nthreads()
                if all(shard.address in there for shard in made.values()):
                    continue
                raise Lost from None
            for future in futures:
                error = future.exception() if future.status == "error" else None
                if isinstance(error, KilledWorker) or _is_gone(error):
                    raise Lost
                if error is not None:
                    raise error
            return


def _addresses(shards: dict[int, ShardHandle]) -> list[str]:
    return sorted({shard.address for shard in shards.values()})


def _release(shards: dict[int, ShardHandle]) -> None:
    for shard in shards.values():
        shard.future.release()


def _is_gone(error: BaseException | None) -> bool:
    """Return whether an error of Dask is that the worker of an actor is lost."""
    return type(error) is RuntimeError and "Actor was lost" in str(error)


async def _answer(
    keys: list[str], question: str, arguments: tuple[object, ...], dask_worker: Any = None
) -> tuple[int, Any]:
    """Let the shards of this worker answer; return how many did, and what in all.

    In a thread, so that the worker can answer others meanwhile.
    """
    actors = dask_worker.state.actors
    shards = [actors[key] for key in keys if actors.get(key) is not None]

    def answer() -> list[Any]:
        with Team(dask_worker.state.nthreads) as team:
            return [getattr(shard, question)(*arguments, team) for shard in shards]

    answers = await asyncio.get_running_loop().run_in_executor(None, answer)
    if question == "counts" or not answers:
        return len(answers), answers
    return len(answers), joined(question, answers)
