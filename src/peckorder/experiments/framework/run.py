"""Run an experiment: all repetitions of all parts, on all cores, resumably."""

import hashlib
import os
import platform
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import peckorder
from peckorder import feedback
from peckorder._core.validation import Rule, whole
from peckorder._version import __version__
from peckorder.exceptions import MissingDataError
from peckorder.experiments.framework.experiment import Experiment, Part, Shown
from peckorder.experiments.framework.journal import Entry, Journal, as_json

Progress: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """What became of one part: its repetitions, or why it was left out."""

    part: Part
    data: str
    units: tuple[dict[str, Any], ...]
    seconds: tuple[dict[str, Any], ...]
    shown: Shown
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A whole run.

    So many repetitions were taken from the journal of an interrupted run, or else a
    journal of something else was put aside.
    """

    experiment: Experiment
    preset: str
    seed: int
    versions: dict[str, str]
    parts: tuple[PartOutcome, ...]
    n_resumed: int = 0
    put_aside: Path | None = None

    @property
    def config(self) -> Any:
        """The configuration that was run."""
        return self.experiment.presets[self.preset]

    def results(self) -> dict[str, Any]:
        """Return all that was found, as JSON: equal for equal seeds and data."""
        parts: dict[str, Any] = {}
        for each in self.parts:
            if each.left_out:
                parts[each.part.name] = {"left_out": each.left_out}
                continue
            parts[each.part.name] = {
                "title": each.part.title,
                "data": each.data,
                "tables": [asdict(table) for table in each.shown.tables],
                "claims": [asdict(claim) for claim in each.shown.claims],
                "repetitions": list(each.units),
            }
        whole_run = {
            "experiment": self.experiment.name,
            "paper": self.experiment.citation,
            "preset": self.preset,
            "seed": self.seed,
            "settings": asdict(self.config),
            "versions": self.versions,
            "departures": list(self.experiment.departures),
            "parts": parts,
        }
        return dict(as_json(whole_run))

    def seconds(self) -> dict[str, Any]:
        """Return the times that were taken, which no two runs have in common."""
        return {
            each.part.name: {
                "tables": [as_json(asdict(table)) for table in each.shown.timed_tables],
                "repetitions": list(each.seconds),
            }
            for each in self.parts
            if any(each.seconds)
        }


def run(
    experiment: Experiment,
    preset: str = "quick",
    *,
    seed: int = 0,
    data: Path | None = None,
    journal: Path | None = None,
    jobs: int = 1,
    on_progress: Progress | None = None,
) -> Outcome:
    """Run `experiment`; go on where an interrupted run with this journal stopped.

    Repetition u of a part draws from a generator of (seed, part, u), and every
    repetition has one thread for its algebra, so that what is found depends neither
    on `jobs` nor on where a run was interrupted.

    Parameters
    ----------
    experiment : Experiment
        What to run; see `peckorder.experiments.find`.
    preset : str, default="quick"
        "quick" takes seconds, on made data; "full" minutes, on real data; "paper" has
        the printed number of repetitions, and takes hours.
    seed : int, default=0
        Decides everything random.
    data : Path or None, default=None
        Folder with the data sets. None: the one named by PECKORDER_DATA, then the
        cache of downloads.
    journal : Path or None, default=None
        Where finished repetitions are kept, for whoever starts the same run again.
        None: they are not.
    jobs : int, default=1
        Processes that work side by side.
    on_progress : callable or None, default=None
        Called with (repetitions done, repetitions in all, what runs).

    Returns
    -------
    Outcome
        Tables, charts and claims of every part.

    Examples
    --------
    >>> from peckorder import experiments
    >>> outcome = experiments.run(experiments.find("crammer-singer-2001"), "quick")
    >>> outcome.results()["seed"]
    0
    """
    check(experiment, preset, seed=seed, jobs=jobs)
    config = experiment.presets[preset]
    versions = {
        "peckorder": __version__,
        "code": _code(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
    }
    _loaded.cache_clear()  # files may have changed since
    total = sum(part.count(config) for part in experiment.parts)
    tell = on_progress or (lambda done, total, label: None)
    tell(0, total, "Reading data")
    book = None
    if journal is not None:
        named = {"experiment": experiment.name, "preset": preset, "seed": seed}
        book = Journal(
            journal, {**named, "settings": asdict(config), "versions": versions}
        )
    n_taken = 0 if book is None else len(book)
    try:
        parts, done = [], 0
        for part in experiment.parts:
            parts.append(
                _run_part(part, config, seed, data, book, jobs, done, total, tell)
            )
            done += part.count(config)
            tell(done, total, part.title)
    finally:
        if book is not None:
            book.close()
    n_resumed, put_aside = (0, None) if book is None else (n_taken, book.put_aside)
    found = tuple(parts)
    return Outcome(experiment, preset, int(seed), versions, found, n_resumed, put_aside)


def check(experiment: Experiment, preset: str, *, seed: int, jobs: int) -> None:
    """Raise as `run` does for arguments that it does not take."""
    known = tuple(experiment.presets)
    Rule(f"one of {', '.join(known)}", lambda value: value in known).check(
        "experiments", "preset", preset
    )
    whole(0).check("experiments", "seed", seed)
    whole(1).check("experiments", "jobs", jobs)


def _run_part(
    part: Part,
    config: Any,
    seed: int,
    folder: Path | None,
    book: Journal | None,
    jobs: int,
    done: int,
    total: int,
    tell: Progress,
) -> PartOutcome:
    tell(done, total, part.title)
    try:
        loaded = _loaded(part.load, config, folder)
    except MissingDataError as missing:
        return PartOutcome(part, "", (), (), Shown(), _without_paths(missing, folder))
    data = fingerprint(loaded)
    entries: dict[int, Entry] = {}
    if book is not None:
        for unit in range(part.count(config)):
            if (entry := book.find(part.name, unit, data)) is not None:
                entries[unit] = entry
    missing_units = [u for u in range(part.count(config)) if u not in entries]
    jobs = 1 if part.alone else jobs
    for unit, entry in _measured(part, config, seed, folder, missing_units, jobs):
        if book is not None:
            book.add(part.name, unit, data, entry)
        entries[unit] = entry
        tell(done + len(entries), total, part.title)
    ordered = [entries[unit] for unit in range(part.count(config))]
    units = tuple(values for values, _ in ordered)
    seconds = tuple(taken for _, taken in ordered)
    return PartOutcome(part, data, units, seconds, part.show(config, units, seconds))


def _measured(
    part: Part,
    config: Any,
    seed: int,
    folder: Path | None,
    units: Sequence[int],
    jobs: int,
) -> Iterator[tuple[int, Entry]]:
    if jobs == 1 or len(units) < 2:
        for unit in units:
            yield _measure(part, config, seed, folder, unit)
        return
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)
    with warnings.catch_warnings():
        # Idle ones leave between two parts, and are started again.
        warnings.filterwarnings("ignore", message="A worker stopped")
        yield from workers(
            delayed(_measure)(part, config, seed, folder, unit) for unit in units
        )


def _measure(
    part: Part, config: Any, seed: int, folder: Path | None, unit: int
) -> tuple[int, Entry]:
    """Do one repetition, in whatever process this is."""
    rng = np.random.default_rng([seed, crc32(part.name.encode()), unit])
    data = _loaded(part.load, config, folder)
    with threadpool_limits(1), warnings.catch_warnings():
        # Hundreds of small fits: one that stops early is part of what is measured.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = part.measure(config, data, unit, rng)
    return unit, (as_json(found.values), as_json(found.seconds))


def _without_paths(missing: MissingDataError, folder: Path | None) -> str:
    """Return what is missing, the user's own folder being called <data>."""
    named = str(folder) if folder is not None else os.environ.get("PECKORDER_DATA")
    return str(missing).replace(named, "<data>") if named else str(missing)


@cache
def _code() -> str:
    """Return a digest of peckorder's sources: other code may find other numbers."""
    root = Path(peckorder.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=2)
def _loaded(
    load: Callable[[Any, Path | None], Any], config: Any, folder: Path | None
) -> Any:
    """Read data once a process: parts that share a set often follow each other."""
    return load(config, folder)


def fingerprint(value: Any) -> str:
    """Return the SHA-256 of data: of arrays, text, numbers, and what is made of them.

    Of the content, not of files: the same set gives the same, packed or not.
    """
    return feedback.fingerprint("experiments", value)
