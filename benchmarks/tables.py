"""Which ranker is best on tables and on queries? Ours beside tuned boosted trees.

    python benchmarks/tables.py FOLDER --data DIR --jobs 2
    python benchmarks/tables.py FOLDER --show

reads the folders `ordinal`, `ohsumed_letor`, `mq2007_agg` and `lightgbm_lambdarank` below
DIR, which is PECKORDER_DATA unless given. The first form writes a file per table, ranker
and fold, but for those that are there already; the second shows Markdown tables of them.

Real-valued targets are cut into 5 and 10 classes of equal frequency. Everything is as in
`peckorder compare`: five folds, and in each of them the settings that do best on three
inner folds, as many settings for every library. Settings to try were chosen by looking at
the tables in DEVELOPMENT only.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from ordinal_tables import TABLES, load
from peckorder.comparison.candidates import CANDIDATES
from peckorder.comparison.contest import Contest, Result, ranked
from peckorder.comparison.measures import Measure, of_lists_by_name, of_rows_by_name
from peckorder.comparison.table_case import TableCase
from peckorder.comparison.tuning import list_loss, step_loss
from peckorder.datasets import load_lightgbm_lambdarank, load_mq2007_agg_fold, load_ohsumed_fold

FOLDS, SEED = 5, 0
CUT = [name for name in TABLES if isinstance(TABLES[name][3], int)]
ORDINAL = [*(n for n in TABLES if n not in CUT), *(f"{n}/{k}" for n in CUT for k in (5, 10))]
GRADED = ["ohsumed", "mq2007-agg", "lightgbm"]
DEVELOPMENT = {
    "ERA", "LEV", "balance-scale", "eucalyptus", "wine-red", "abalone/10", "bank/5",
    "housing/10", "machine-cpu/10", "pyrim/5", "stock/10", "lightgbm", "mq2007-agg",
}  # fmt: skip
# Those of ours that are shown as the best of ours; the others of the library are shown too.
OURS = "peckorder"
TREES = ("OrdinalBoost", "RankBoost", "LightGBM", "XGBoost", "CatBoost", "mord")
# Fits that take several times as long as others come first.
COSTS = {"CatBoost (median class)": 10.0, "CatBoost": 4.0, "XGBoost (median class)": 3.0}


@lru_cache(maxsize=2)
def case_of(name: str, folder: Path) -> TableCase:
    """Return a table as a case of a comparison."""
    X, y, qid = rows_of(name, folder)
    if qid is not None:
        measures = of_lists_by_name(None, ("ndcg@10", "disagreement"), 0.0)
        kind, classes, loss = "graded", None, list_loss("ndcg@10")
    else:
        measures = of_rows_by_name(None, "ordinal")
        kind, classes, loss = "ordinal", tuple(range(int(y.max()) + 1)), step_loss
    return TableCase(
        kind=kind,
        source=name,
        X=np.ascontiguousarray(X, dtype=np.float64),
        y=y.astype(np.float64),
        features=tuple(f"x{k}" for k in range(X.shape[1])),
        measures=measures,
        candidates=CANDIDATES[kind](),
        loss=loss,
        qid=qid,
        classes=classes,
        unit="queries" if kind == "graded" else "rows",
    )


def rows_of(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return features, labels and queries, if it has some."""
    if name not in GRADED:
        table, _, n_classes = name.partition("/")
        return *load(folder / "ordinal", table, int(n_classes) if n_classes else None), None
    if name == "lightgbm":
        parts = list(load_lightgbm_lambdarank(folder / "lightgbm_lambdarank").values())
    else:
        read = load_ohsumed_fold if name == "ohsumed" else load_mq2007_agg_fold
        place = "ohsumed_letor" if name == "ohsumed" else "mq2007_agg"
        parts = [read(k, folder / place).test for k in range(1, 6)]
    X = np.concatenate([part.X for part in parts])
    y = np.concatenate([part.y for part in parts])
    qid = np.concatenate([part.qid for part in parts])
    return X, y, np.unique(qid, return_inverse=True)[1]


def jobs_of(folder: Path, tables: list[str], rankers: list[str]) -> Iterator[tuple]:
    """Yield what there is to do, and roughly how long it takes: table, ranker, fold."""
    for table in tables:
        case = case_of(table, folder)
        for candidate in case.candidates:
            if any(candidate.name.startswith(name) for name in rankers):
                size = case.X.size * (len(case.classes or "12") if "class" in candidate.name else 1)
                cost = size * COSTS.get(candidate.name, 1.0)
                yield from ((cost, table, candidate.name, k) for k in range(FOLDS))


def path_of(out: Path, table: str, ranker: str, fold: int) -> Path:
    """Return the file of a result."""
    return out / f"{table.replace('/', '-')}--{ranker}--{fold}.json"


def do(job: tuple[str, str, int], folder: Path, out: Path, deadline: float) -> None:
    """Run a ranker on a fold in one thread, and write what it predicts."""
    table, ranker, fold = job
    if time.time() > deadline:
        return
    case = case_of(table, folder)
    candidate = next(one for one in case.candidates if one.name == ranker)
    trial = next(islice(case.plan(FOLDS, SEED).trials, fold, None))
    result = Result(candidate.name, candidate.origin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.run(candidate, result)
    rows = np.flatnonzero(result.is_predicted)
    found = {
        "origin": candidate.origin,
        "rows": rows.tolist(),
        "answers": result.answers[rows].tolist(),
        "seconds": result.seconds[0],
        "chosen": {k: str(v) for k, v in result.chosen[0].items()},
    }
    target = path_of(out, table, ranker, fold)
    target.with_suffix(".part").write_text(json.dumps(found))
    target.with_suffix(".part").replace(target)
    print(f"{table:<15} {ranker:<28} {fold} {result.seconds[0]:8.1f} s", flush=True)


def one_core(n_jobs: int) -> None:
    """Keep a process to one core, and so all libraries to one thread."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]} if n_jobs > 1 else cores[:1])


def run(options: argparse.Namespace) -> None:
    """Do what has not been done."""
    options.out.mkdir(parents=True, exist_ok=True)
    jobs = sorted(jobs_of(options.data, options.tables, options.rankers), reverse=True)
    todo = [job[1:] for job in jobs if not path_of(options.out, *job[1:]).exists()]
    print(f"{len(todo)} of {len(jobs)} to do", flush=True)
    deadline = time.time() + options.seconds
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(
        options.jobs, get_context("spawn"), initializer=one_core, initargs=(options.jobs,)
    ) as pool:
        futures = [pool.submit(do, job, options.data, options.out, deadline) for job in todo]
        for job, future in zip(todo, futures, strict=True):
            if future.exception():
                print(*job, repr(future.exception()), flush=True)


def contest_of(name: str, data: Path, out: Path) -> tuple[Contest, dict[str, list]] | None:
    """Return what was measured on a table, and the settings of rankers by fold."""
    case = case_of(name, data)
    plan = case.plan(FOLDS, SEED)
    results, chosen = [], {}
    everything = np.arange(len(case.y))
    for candidate in case.candidates:
        files = [path_of(out, name, candidate.name, k) for k in range(FOLDS)]
        if not all(file.exists() for file in files):
            continue
        folds = [json.loads(file.read_text()) for file in files]
        answers = np.empty(len(case.y))
        for fold in folds:
            answers[fold["rows"]] = fold["answers"]
        result = Result(candidate.name, candidate.origin)
        result.values.update(plan.measuring(everything)(answers))
        result.seconds = [fold["seconds"] for fold in folds]
        results.append(result)
        chosen[candidate.name] = [fold["chosen"] for fold in folds]
    if not results:
        return None
    contest = Contest(
        measures=case.measures, results=ranked(results, case.measures[0]), left_out=(),
        n_splits=FOLDS, seed=SEED, unit=case.unit,
    )  # fmt: skip
    return contest, chosen


def gap(contest: Contest, best: Result, other: Result) -> tuple[float, float]:
    """Return by how much the first is worse than the other, and half the interval of it."""
    measure = contest.measures[0]
    sign = -1.0 if measure.larger_is_better else 1.0
    values = sign * (best.values[measure.name] - other.values[measure.name])
    return float(np.nanmean(values)), contest.half_width(values)


def mean_places(contests: list[Contest], names: list[str]) -> list[str]:
    """Return the mean place of rankers in leaderboards, 1 for the first."""
    places: dict[str, list[float]] = {name: [] for name in names}
    for contest in contests:
        measure: Measure = contest.measures[0]
        sign = -1.0 if measure.larger_is_better else 1.0
        own = [result for result in contest.results if result.name in places]
        ranks = rankdata([sign * result.mean(measure) for result in own])
        for result, rank in zip(own, ranks, strict=True):
            places[result.name].append(rank)
    return [f"{np.mean(found):.2f}" if found else "" for found in places.values()]


def show(options: argparse.Namespace) -> None:
    """Print a table of means, and for each table the best of ours beside the best other."""
    found = {name: contest_of(name, options.data, options.out) for name in options.tables}
    found = {name: pair[0] for name, pair in found.items() if pair}
    names = list(dict.fromkeys(r.name for c in found.values() for r in c.results))
    names.sort(key=lambda name: name.startswith(TREES[2:]))
    for kind, tables in (("mean rank loss", ORDINAL), ("NDCG@10", GRADED)):
        here = [name for name in tables if name in found]
        columns = [n for n in names if any(n == r.name for t in here for r in found[t].results)]
        if not here:
            continue
        print(f"\n| {kind} | {' | '.join(columns)} | best of ours behind the best other |")
        print(f"|---|{'--:|' * len(columns)}--:|")
        for table in here:
            contest = found[table]
            measure: Measure = contest.measures[0]
            by_name = {result.name: result for result in contest.results}
            cells = [
                f"{by_name[name].mean(measure):.4f}" if name in by_name else "" for name in columns
            ]
            best = contest.best.name
            cells = [f"**{c}**" if n == best else c for n, c in zip(columns, cells, strict=True)]
            ours = [result for result in contest.results if result.origin == OURS]
            others = [result for result in contest.results if result.origin not in (OURS, "")]
            verdict = ""
            if ours and others:
                mean, half = gap(contest, ours[0], others[0])
                word = "first" if mean < 0 else "level" if mean <= half else "behind"
                verdict = f"{mean:+.4f} ± {half:.4f} {word}"
            mark = "" if table in DEVELOPMENT else " *"
            print(f"| {table}{mark} | {' | '.join(cells)} | {verdict} |")
        for what, those in (
            ("all", here),
            ("those looked at", [t for t in here if t in DEVELOPMENT]),
            ("the others (*)", [t for t in here if t not in DEVELOPMENT]),
        ):
            places = mean_places([found[t] for t in those], columns)
            print(f"| *mean place: {what}* | {' | '.join(places)} | |")
    if options.chosen:
        for name in found:
            for ranker, settings in contest_of(name, options.data, options.out)[1].items():
                print(name, ranker, *settings)


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("PECKORDER_DATA"))
    parser.add_argument("--tables", nargs="+", default=[*ORDINAL, *GRADED])
    parser.add_argument("--rankers", nargs="+", default=list(TREES), help="how names begin")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after these")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--chosen", action="store_true", help="with --show: settings, too")
    options = parser.parse_args()
    if options.show:
        show(options)
    else:
        run(options)


if __name__ == "__main__":
    main()
