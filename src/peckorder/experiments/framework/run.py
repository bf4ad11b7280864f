"""Run an experiment: all repetitions of all parts, in parallel, resumable."""

import hashlib
import json
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import peckorder
from peckorder import feedback
from peckorder._core.errors import entry_named, refusal
from peckorder._core.file_locks import lock
from peckorder._core.text_files import as_json
from peckorder._core.validation import Rule, whole
from peckorder._version import __version__
from peckorder.exceptions import MissingDataError
from peckorder.experiments.framework import Data, Experiment, Part, Preset, Shown, Values
from peckorder.experiments.framework.claims import judged
from peckorder.experiments.framework.given import describe_ratings, given_ranks, given_ratings
from peckorder.reports import Table

Progress: TypeAlias = Callable[[int, int, str], None]
fingerprint = entry_named("experiments")(feedback.fingerprint)


TRIAL = (
    "A trial run on small synthetic data: it shows that the machinery runs, and says nothing "
    "about the paper. It has no verdicts, and nothing printed beside it."
)
# The values and the seconds of one repetition.
Entry = tuple[Values, Values]


def measured_json(value: object) -> Any:
    """Return measured values as JSON has them; refuse what it does not have."""
    return as_json(value, _refuse)


def _refuse(value: object) -> NoReturn:
    raise refusal(
        "measured values",
        "be numbers, text, lists and dictionaries",
        type(value).__name__,
        error=TypeError,
    )


class Journal:
    """Finished repetitions on disk, one per line, after a line that names the run.

    A line that a crash cut short is dropped with everything after it. A journal of
    another run (other settings, seed, versions or code) is renamed to `put_aside`. Two
    runs cannot write to one journal.
    """

    def __init__(self, path: Path, run: Values) -> None:
        self.path = path
        self.put_aside: Path | None = None
        self._entries: dict[tuple[str, int, str], Entry] = {}
        # How many results were there already, of these very data.
        self.n_found = 0
        head = json.dumps({"run": as_json(run)}, sort_keys=True)
        self._file = path.open("a+b")
        _lock(self._file, path)
        valid = self._read(head)
        if valid == 0 and path.stat().st_size > 0:
            # The old file stays open and locked under its new name.
            other = self._file
            self.put_aside = path.with_name(f"{path.name}.old")
            path.replace(self.put_aside)
            self._file = path.open("a+b")
            _lock(self._file, path)
            other.close()
        self._file.truncate(valid)
        if valid == 0:
            self._write(head)

    def _read(self, head: str) -> int:
        """Read the entries of an earlier run; return the length of the valid part."""
        valid = 0
        self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            if valid == 0:
                if line.decode("utf-8", "replace").strip() != head:
                    break
            else:
                try:
                    entry = json.loads(line)
                    key = entry["part"], entry["unit"], entry["data"]
                    self._entries[key] = entry["values"], entry["seconds"]
                except (ValueError, KeyError, TypeError):
                    break
            valid += len(line)
        return valid

    def _write(self, line: str) -> None:
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def find(self, part: str, unit: int, data: str) -> Entry | None:
        """Return the result of repetition `unit` of a part on these data, if any."""
        found = self._entries.get((part, unit, data))
        self.n_found += found is not None
        return found

    def add(self, part: str, unit: int, data: str, entry: Entry) -> None:
        """Store the result of a repetition."""
        line = {"part": part, "unit": unit, "data": data}
        line |= {"values": entry[0], "seconds": entry[1]}
        self._write(json.dumps(line))
        self._entries[part, unit, data] = entry

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock a file against other writers, where the system has such locks."""
    if not lock(file):
        file.close()
        raise refusal(
            "journal",
            "belong to one run at a time",
            f"{path.name!r}, which another run is writing",
            hint="Wait for it, or choose another folder.",
            error=FileExistsError,
        )


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """The result of one part: its repetitions, or why it was left out."""

    part: Part
    data: str
    units: tuple[Values, ...]
    seconds: tuple[Values, ...]
    shown: Shown
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a whole run.

    `n_resumed` repetitions were read from the journal of an interrupted run. If the
    journal belonged to another run, it was renamed to `put_aside`. `source` says what
    the data are; `is_given` whether they are ratings that the user gave.
    """

    experiment: Experiment
    preset: str
    seed: int
    versions: dict[str, str]
    parts: tuple[PartOutcome, ...]
    n_resumed: int = 0
    put_aside: Path | None = None
    source: str = ""
    is_given: bool = False

    @property
    def config(self) -> Preset:
        """The configuration that was run."""
        return self.experiment.presets[self.preset]

    def results(self) -> Values:
        """Return all results in JSON form: equal for equal seeds and data."""
        parts: Values = {}
        for outcome in self.parts:
            name = outcome.part.name
            if outcome.left_out:
                parts[name] = {"left_out": outcome.left_out}
                continue
            parts[name] = {
                "title": outcome.part.title,
                "data": outcome.data,
                "tables": [asdict(table) for table in outcome.shown.tables],
                "claims": [asdict(claim) for claim in outcome.shown.claims],
                "repetitions": list(outcome.units),
            }
        results = {
            "experiment": self.experiment.name,
            "paper": self.experiment.citation,
            "preset": self.preset,
            "seed": self.seed,
            "source": self.source,
            "settings": asdict(self.config),
            "versions": self.versions,
            "departures": list(self.experiment.departures),
            "parts": parts,
        }
        return dict(as_json(results))

    def seconds(self) -> Values:
        """Return the measured times, which differ between runs."""
        return {
            outcome.part.name: {
                "tables": [as_json(asdict(t)) for t in outcome.shown.timed_tables],
                "repetitions": list(outcome.seconds),
            }
            for outcome in self.parts
            if any(outcome.seconds)
        }


@entry_named("experiments")
def run(
    experiment: Experiment,
    preset: str = "quick",
    *,
    seed: int = 0,
    data: Path | None = None,
    ratings: Path | None = None,
    journal: Path | None = None,
    jobs: int = 1,
    on_progress: Progress | None = None,
) -> Outcome:
    """Run `experiment`; resume an interrupted run from its journal.

    Repetition u of a part uses a generator seeded with (seed, part, u) and one thread
    for linear algebra. So the results depend neither on `jobs` nor on interrupts.

    Parameters
    ----------
    experiment : Experiment
        What to run; see `peckorder.experiments.find`.
    preset : str, default="quick"
        "quick" takes seconds, on synthetic data; "full" minutes, on real data; "paper"
        has the printed number of repetitions and takes hours.
    seed : int, default=0
        Seed of all random numbers.
    data : Path or None, default=None
        Folder with the data sets. None: the one named by PECKORDER_DATA, then the
        cache of downloads.
    ratings : Path or None, default=None
        A file or folder of ratings, as `datasets.load_ratings` reads it: the parts on
        ratings are run on these, at the sizes of the preset, and the other parts are
        not run.
    journal : Path or None, default=None
        File of finished repetitions, from which the same run can resume. None: they
        are not stored.
    jobs : int, default=1
        Number of parallel processes.
    on_progress : callable or None, default=None
        Called with (repetitions done, repetitions in total, title of the part).

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
    source = "synthetic" if getattr(config, "synthetic", False) else "as published"
    given_ratings.cache_clear()
    given_ranks.cache_clear()
    if ratings is not None:
        data, source = ratings, describe_ratings(ratings)
        config = replace(config, synthetic=False)
        # What departures say of data is of those that were to be had.
        lead = (
            f"The data are {source}. Below, what is said of other data does not concern this run."
        )
        departures = (lead, *experiment.departures)
        experiment = replace(experiment, parts=experiment.rating_parts, departures=departures)
    versions = {
        "peckorder": __version__,
        "code": _code(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
    }
    _loaded.cache_clear()  # files may have changed since
    total = sum(part.count(config) for part in experiment.parts)
    report_progress = on_progress or (lambda done, total, label: None)
    report_progress(0, total, "Reading data")
    book = None
    if journal is not None:
        names = {"experiment": experiment.name, "preset": preset, "seed": seed}
        settings = asdict(config)
        names["source"] = source
        book = Journal(journal, {**names, "settings": settings, "versions": versions})
    outcomes, done = [], 0
    try:
        for part in experiment.parts:

            def report(n: int, part: Part = part, start: int = done) -> None:
                report_progress(start + n, total, part.title)

            outcomes.append(_PartRun(part, config, seed, data).run(book, jobs, report))
            done += part.count(config)
            report_progress(done, total, part.title)
    finally:
        if book is not None:
            book.close()
    parts = _as_trial(outcomes) if is_trial(config) else _with_verdicts(outcomes)
    return Outcome(
        replace(experiment, presets={**experiment.presets, preset: config}),
        preset,
        int(seed),
        versions,
        parts,
        0 if book is None else book.n_found,
        None if book is None else book.put_aside,
        source,
        ratings is not None,
    )


@entry_named("experiments")
def check(experiment: Experiment, preset: str, *, seed: int, jobs: int) -> None:
    """Raise as `run` does for invalid arguments."""
    presets = tuple(experiment.presets)
    Rule(f"one of {', '.join(presets)}", lambda value: value in presets).check("preset", preset)
    whole(0).check("seed", seed)
    whole(1).check("jobs", jobs)


def is_trial(config: Preset) -> bool:
    """Return whether a preset is of synthetic data in the place of the paper's."""
    return bool(getattr(config, "synthetic", False))


def _with_verdicts(outcomes: Sequence[PartOutcome]) -> tuple[PartOutcome, ...]:
    """Judge the claims of all parts together."""
    claims = iter(judged([claim for each in outcomes for claim in each.shown.claims]))
    return tuple(
        replace(
            each, shown=replace(each.shown, claims=tuple(next(claims) for _ in each.shown.claims))
        )
        for each in outcomes
    )


def _as_trial(outcomes: Sequence[PartOutcome]) -> tuple[PartOutcome, ...]:
    """Leave out the claims, and the columns of what is printed."""
    return tuple(
        replace(
            each,
            shown=replace(
                each.shown, claims=(), tables=tuple(map(_without_printed, each.shown.tables))
            ),
        )
        for each in outcomes
    )


def _without_printed(table: Table) -> Table:
    kept = [i for i, name in enumerate(table.columns) if "printed" not in name and name != "gap"]
    rows = [row for row in table.rows if not str(row[0]).endswith((" printed", " published"))]
    return replace(
        table,
        columns=tuple(table.columns[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in rows),
    )


@dataclass(frozen=True, slots=True)
class _PartRun:
    """All that decides the results of a part, as it is sent to other processes."""

    part: Part
    config: Preset
    seed: int
    folder: Path | None

    def run(self, book: Journal | None, jobs: int, report: Callable[[int], None]) -> PartOutcome:
        """Run the repetitions that are not in the journal, and show all of them."""
        part = self.part
        report(0)
        try:
            loaded = _loaded(part.load, self.config, self.folder)
        except MissingDataError as missing:
            text = _without_paths(missing, self.folder)
            return PartOutcome(part, "", (), (), Shown(), text)
        data = fingerprint(loaded)
        n_units = part.count(self.config)
        entries: dict[int, Entry] = {}
        if book is not None:
            for unit in range(n_units):
                if (entry := book.find(part.name, unit, data)) is not None:
                    entries[unit] = entry
        remaining = [unit for unit in range(n_units) if unit not in entries]
        for unit, entry in self._measure_all(remaining, 1 if part.alone else jobs):
            if book is not None:
                book.add(part.name, unit, data, entry)
            entries[unit] = entry
            report(len(entries))
        units = tuple(entries[unit][0] for unit in range(n_units))
        seconds = tuple(entries[unit][1] for unit in range(n_units))
        shown = part.show(self.config, units, seconds)
        return PartOutcome(part, data, units, seconds, shown)

    def _measure_all(self, units: Sequence[int], jobs: int) -> Iterator[tuple[int, Entry]]:
        if jobs == 1 or len(units) < 2:
            yield from map(self.measure, units)
            return
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)
        with warnings.catch_warnings():
            # Idle workers stop between two parts, and are started again.
            warnings.filterwarnings("ignore", message="A worker stopped")
            yield from pool(delayed(self.measure)(unit) for unit in units)

    def measure(self, unit: int) -> tuple[int, Entry]:
        """Run one repetition, in any process."""
        rng = np.random.default_rng([self.seed, crc32(self.part.name.encode()), unit])
        data = _loaded(self.part.load, self.config, self.folder)
        with threadpool_limits(1), warnings.catch_warnings():
            # Hundreds of small fits: one that stops early is a result like any other.
            warnings.simplefilter("ignore", ConvergenceWarning)
            measured = self.part.measure(self.config, data, unit, rng)
        return unit, (measured_json(measured.values), measured_json(measured.seconds))


def _without_paths(missing: MissingDataError, folder: Path | None) -> str:
    """Return the message with the user's folder written as <data>, a file by its name."""
    path = str(folder) if folder is not None else os.environ.get("PECKORDER_DATA")
    if not path:
        return str(missing)
    # As a whole: a name such as . or a is in other words, too.
    whole_path = rf"(?<![^\s'\"]){re.escape(path)}(?=[\s'\"/\\]|\.?$|\.\s)"
    name = Path(path).name if Path(path).is_file() else "<data>"
    return re.sub(whole_path, lambda match: name, str(missing))


@cache
def _code() -> str:
    """Return a digest of peckorder's sources: other code may give other results."""
    root = Path(peckorder.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=2)
def _loaded(
    load: Callable[[Preset, Path | None], Data], config: Preset, folder: Path | None
) -> Data:
    """Load data once per process: consecutive parts often share a data set."""
    return load(config, folder)
