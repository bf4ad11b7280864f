"""Who waits for whom: rounds of RankBoost on many workers, drawn from measured times.

Shards of equal size are asked one after the other, alone, in this process; the times
of their answers are measured. A round has three or four questions, and everybody waits
for the last answer to each. Rounds on W workers are then drawn: a worker answers a
question in a time that some shard took for it in that round. That is all that is made
up, beside slow ones: in a share of rounds a worker takes `--slow` times as long. What
messages take is not in it, and times of workers that share a machine, a disk or a
network are not independent.

    python benchmarks/stragglers.py
"""

import argparse
from time import perf_counter
from typing import Any

import numpy as np

from distributed_rankboost import QUERY, problem
from peckorder import RankBoost
from peckorder._core.threads import Team
from peckorder.boosting.blocks import CheckedBlocks
from peckorder.boosting.parameters import options_of
from peckorder.boosting.sharded.run_rounds import Rows, ShardedBooster
from peckorder.boosting.sharded.shard import Shard, joined


class TimedShards:
    """Shards in this process, whose answers are timed."""

    def __init__(self, shards: list[Shard], team: Team) -> None:
        self._shards, self._team = shards, team
        self.n_workers = len(shards)
        self.times: list[tuple[str, list[float]]] = []

    def ask(self, question: str, *arguments: Any) -> list[Any]:
        """Ask all, one after the other."""
        answers, times = [], []
        for shard in self._shards:
            begin = perf_counter()
            answers.append(getattr(shard, question)(*arguments, self._team))
            times.append(perf_counter() - begin)
        self.times.append((question, times))
        return [joined(question, [answer]) for answer in answers]

    def replace(self, *arguments: Any) -> None:
        """Nobody is lost here."""


def measured(n_shards: int, n_rows: int, n_features: int, n_rounds: int) -> list[Any]:
    """Return the times (questions, shards) of each round."""
    X, y, qid = problem(n_shards * n_rows, n_features)
    model = RankBoost(n_rounds=n_rounds, max_bins=255)
    shards, n_pairs, n_queries = [], 0, 0
    with Team(1) as team:
        for k in range(n_shards):
            mine = slice(k * n_rows, (k + 1) * n_rows)
            blocks = CheckedBlocks(model, team)
            block = blocks.add(X[mine], y[mine], qid[mine], None)
            pairs = blocks.pairs()
            n_pairs += blocks.n_pairs
            n_queries += len(pairs.levels) - 1
            shards.append(Shard([block], pairs, n_features))
        timed = TimedShards(shards, team)
        counts = [shard.n_rows for shard in shards]
        rows = Rows(sum(counts), n_queries, n_pairs, n_features, X.dtype, max(counts))
        run = ShardedBooster(timed, rows, options_of(model))
        run.cut()
        timed.times.clear()
        run.boost()
    begins = [i for i, (question, _) in enumerate(timed.times) if question == "weigh"]
    rounds = zip(begins, [*begins[1:], len(timed.times)], strict=True)
    # The first one weighs only, and touches memory that nobody has touched.
    return [np.array([t for _, t in timed.times[a:b]]) for a, b in rounds][2:]


def a_round(
    rounds: list[Any], n_workers: int, share: float, slow: float, rng: Any
) -> tuple[float, float]:
    """Return, over rounds, the mean work of a worker and the time till all are done."""
    work, wall = [], []
    for times in rounds:
        drawn = rng.integers(times.shape[1], size=(len(times), n_workers))
        each = np.take_along_axis(times, drawn, axis=1)
        is_slow = rng.random(n_workers) < share
        work.append(each.sum(axis=0).mean())
        wall.append((each * np.where(is_slow, slow, 1.0)).max(axis=1).sum())
    return float(np.mean(work)), float(np.mean(wall))


def main() -> None:
    """Measure, then draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rows", type=int, default=200_000, help="of each shard")
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--slow", type=float, default=2.0)
    given = parser.parse_args()
    n_rows = given.rows // QUERY * QUERY
    rounds = measured(given.shards, n_rows, given.features, given.rounds)
    each = np.array([times.sum(axis=0) for times in rounds])
    spread = each.std(axis=1).mean() / each.mean()
    print(
        f"{given.shards} shards of {n_rows:,} rows, {given.features} features: "
        f"{1e3 * each.mean():.2f} ms of work a round, {spread:.1%} apart within a "
        f"round; {np.mean([len(times) for times in rounds]):.2f} questions"
    )
    rng = np.random.default_rng(0)
    shares = (0.0, 0.01, 0.1)
    titles = [f"{share:.0%} slow" for share in shares]
    print("\n" + f"{'workers':>8}" + "".join(f"{title:>12}" for title in titles))
    for n_workers in (1, 2, 8, 50, 200):
        shown = []
        for share in shares:
            several = [a_round(rounds, n_workers, share, given.slow, rng) for _ in range(20)]
            work, wall = np.mean(several, axis=0)
            shown.append(wall / work)
        print(f"{n_workers:>8}" + "".join(f"{value:>12.3f}" for value in shown))
    print("\nTime of a round over the mean work of a worker: 1 if nobody waits.")


if __name__ == "__main__":
    main()
