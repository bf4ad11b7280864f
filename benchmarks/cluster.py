"""Distributed fits with one and two worker processes, against the fit in one process.

Every worker has a core of its own and one thread for its algebra; the fit in one
process runs on one of them, and reads the same files. RankBoost's rounds have a script
of their own, distributed_rankboost.py. Let nothing else run meanwhile:

    python benchmarks/cluster.py
    python benchmarks/cluster.py --rows 20000 --repeats 1    # a quick look
"""

import argparse
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet as pq
from sklearn.base import clone

from measure import grades
from peckorder import AggregatePRank, MPRank, SVRank
from peckorder.distributed import fit, score
from peckorder.distributed.cluster.partitions import Partitions

QUERY = 20


def write_rows(folder: Path, n_rows: int, n_features: int, n_parts: int) -> list[str]:
    """Write files of whole queries, the same rows for any number of files."""
    rng = np.random.default_rng(0)
    coef = rng.standard_normal(n_features) / np.sqrt(n_features)
    n_queries = n_rows // QUERY
    starts = np.linspace(0, n_queries, n_parts + 1).astype(int) * QUERY
    X = rng.standard_normal((n_queries * QUERY, n_features))
    y = X @ coef + rng.standard_normal(len(X))
    columns = {f"f{i}": X[:, i] for i in range(n_features)}
    columns |= {"y": y, "grade": grades(y, rng), "q": np.arange(len(X)) // QUERY}
    table, paths = pa.table(columns), []
    for k in range(n_parts):
        paths.append(str(folder / f"{n_parts}-{k}.parquet"))
        pq.write_table(table.slice(starts[k], starts[k + 1] - starts[k]), paths[-1])
    return paths


def read_rows(paths: list[str]) -> tuple[np.ndarray, pa.Table]:
    """Read features, and all columns."""
    table = pa.concat_tables(pq.read_table(path) for path in paths)
    names = [name for name in table.column_names if name.startswith("f")]
    return np.column_stack([table[name].to_numpy() for name in names]), table


def fit_here(model: Any, paths: list[str], target: str) -> Any:
    """Read all files and fit, in one process; ensembles by shards, as on a cluster."""
    if isinstance(model, AggregatePRank):
        per_shard = model.n_estimators // len(paths)
        shards = [clone(model).set_params(n_estimators=per_shard) for _ in paths]
        for shard, path in zip(shards, paths, strict=True):
            X, table = read_rows([path])
            shard.fit(X, table[target].to_numpy())
        return reduce(AggregatePRank.merge, shards)
    X, table = read_rows(paths)
    return model.fit(X, table[target].to_numpy(), qid=table["q"].to_numpy())


def fit_alone(client: Any, model: Any, paths: list[str], target: str) -> Any:
    """Fit in one process: a worker's, on its core, nobody else being at work."""
    return client.submit(fit_here, clone(model), paths, target, pure=False).result()


def fit_there(model: Any, paths: list[str], target: str, features: list[str]) -> Any:
    """Fit on the cluster at hand."""
    qid = None if isinstance(model, AggregatePRank) else "q"
    return fit(clone(model), paths, target=target, qid=qid, features=features)


def pin(core: int) -> None:
    """Keep a process to one core."""
    os.sched_setaffinity(0, {core % (os.cpu_count() or 1)})


@contextmanager
def workers(n: int) -> Iterator[Any]:
    """Start workers of one thread, each on a core of its own."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        for core, address in enumerate(client.scheduler_info()["workers"]):
            client.run(pin, core, workers=[address])
        yield client


def best(action: Callable[[], Any], repeats: int) -> float:
    """Time an action, the first time not counted."""
    times = []
    for _ in range(repeats + 1):
        begin = perf_counter()
        action()
        times.append(perf_counter() - begin)
    return min(times[1:])


def speed_up(paths: list[str], features: list[str], repeats: int) -> None:
    """Show each fit on one worker, on two, and in one process."""
    ensemble = AggregatePRank(n_estimators=4 * len(paths), random_state=0)
    entrants = {
        "MPRank": (MPRank(C=10.0), "y"),
        "SVRank": (SVRank(C=1.0), "y"),
        "SVRank, power 2": (SVRank(C=1.0, power=2), "y"),
        "AggregatePRank": (ensemble, "grade"),
    }
    taken: dict[str, list[float]] = {name: [] for name in [*entrants, "score"]}
    taken["score"].append(float("nan"))
    for n in (1, 2):
        with workers(n) as client:
            for name, (model, target) in entrants.items():
                if n == 1:
                    alone = partial(fit_alone, client, model, paths, target)
                    taken[name].append(best(alone, repeats))
                there = partial(fit_there, model, paths, target, features)
                taken[name].append(best(there, repeats))
            fitted = fit_there(MPRank(), paths, "y", features)
            columns = {"target": "grade", "qid": "q", "features": features}
            ask = partial(score, fitted, paths, names=["ndcg@10", "ap(3)"], **columns)
            taken["score"].append(best(ask, repeats))
    titles = ("one process", "1 worker", "2 workers", "1 / 2")
    print("\n" + f"{'fit':<24}" + "".join(f"{title:>12}" for title in titles))
    for name, (alone_s, one, two) in taken.items():
        times = "".join(f"{value:>10.2f} s" for value in (alone_s, one, two))
        print(f"{name:<24}{times}{one / two:>12.2f}")


def messages(paths: list[str], features: list[str]) -> None:
    """Count what SVRank sends for a look at the risk, against the formula."""
    sent: list[tuple[int, int]] = []
    ask = Partitions.ask

    def counted(self: Partitions, function: Any, *arguments: Any, **more: Any) -> Any:
        answers = ask(self, function, *arguments, **more)
        if function.__name__ == "_plane":
            vectors = [a.nbytes for a in arguments if isinstance(a, np.ndarray)]
            there = len(self.groups()) * sum(vectors)
            sent.append((there, sum(a.nbytes for a in answers)))
            whole = len(pickle.dumps(arguments)) * len(self.groups())
            whole += len(pickle.dumps(answers))
            pickled.append(whole)
        return answers

    pickled: list[int] = []
    Partitions.ask = counted  # type: ignore[method-assign]
    try:
        with workers(2):
            model = fit_there(SVRank(), paths, "y", features)
    finally:
        Partitions.ask = ask  # type: ignore[method-assign]
    d, p = len(features), len(paths)
    there, back = (max(column) for column in zip(*sent, strict=True))
    print(
        f"\nSVRank, {p} partitions, {d} features, 2 workers: {len(sent)} looks in "
        f"{model.n_iter_} iterations.\nA look sends {there} bytes (2 W 8 d = "
        f"{2 * 2 * 8 * d}) and gets {back} (8 p (d + 1) = {8 * p * (d + 1)}); with "
        f"all that is packed with them {max(pickled)}."
    )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    features = [f"f{i}" for i in range(given.features)]
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        paths = write_rows(where, given.rows, given.features, given.partitions)
        print(
            f"{given.rows} rows, {given.features} features, {given.partitions} files, "
            f"{os.cpu_count()} cores"
        )
        speed_up(paths, features, given.repeats)
        messages(paths, features)


if __name__ == "__main__":
    main()
