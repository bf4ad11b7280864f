"""The framework of experiments: presets, parts, measured values, what is shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from numpy.random import Generator

from peckorder._core.data_files import read_toml
from peckorder.reports import Chart, Table

Values: TypeAlias = dict[str, Any]
# The values of all repetitions of a part, in their order.
Units: TypeAlias = Sequence[Values]
# A preset is a frozen dataclass of the paper; data are whatever its parts load.
Preset: TypeAlias = Any
Data: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of one repetition of a part.

    `values` must be representable in JSON (NumPy's arrays and numbers are converted,
    NaN becomes None) and must depend on the seed alone. `seconds` has the same form,
    for timings, which differ between runs.
    """

    values: Values
    seconds: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One difference that a claim is about.

    `sign` is 1 if it supports the claim, -1 if it contradicts it. `p` is how likely
    chance alone would make it as large on either side; None if chance plays no part.
    """

    sign: int
    p: float | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper, and whether it holds in this run.

    `found` is what was found in its place. A part gives the comparisons; when all parts
    are done `framework.claims.judged` adds the side of each that is sure, allowing for
    the number of them, and with them the verdict `holds`. A part gives `holds` itself
    where nothing can be compared: "not tried", or "cannot be told".
    """

    text: str
    comparisons: tuple[Comparison, ...]
    found: str
    holds: str = ""
    sides: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """How a part of an experiment is reported.

    `timed_tables` and `timed_charts` contain seconds. They are in the report, but not
    in the results, which are equal for equal seeds.
    """

    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    claims: tuple[Claim, ...] = ()
    timed_tables: tuple[Table, ...] = ()
    timed_charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One table or figure: data, repetitions, and how they are shown.

    Parameters
    ----------
    name : str
        Short, used in file names: ``"square"``.
    title : str
        Heading of its section: ``"Figure 2: the square problem"``.
    load : callable
        ``load(config, folder)`` returns the data, read from a folder or generated. If
        it raises MissingDataError, the part is left out of the run. It must be a
        function of a module, because it is sent to other processes.
    count : callable
        ``count(config)`` is the number of repetitions.
    measure : callable
        ``measure(config, data, unit, rng)`` runs repetition `unit`, counted from 0, and
        returns `Measured`; all randomness is from `rng`. A function of a module.
    show : callable
        ``show(config, units, seconds)`` turns the values of all repetitions, in their
        order, into tables, charts and claims.
    alone : bool, default=False
        Run nothing else at the same time, because the part measures time.
    """

    name: str
    title: str
    load: Callable[[Preset, Path | None], Data]
    count: Callable[[Preset], int]
    measure: Callable[[Preset, Data, int, Generator], Measured]
    show: Callable[[Preset, Units, Units], Shown]
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Experiment:
    """The tables and figures of one paper.

    Parameters
    ----------
    name : str
        Its name on the command line: ``"crammer-singer-2001"``.
    title, citation : str
        Of the paper.
    presets : mapping of str to a frozen dataclass
        The configurations "quick", "full" and "paper".
    parts : tuple of Part
        In the order of the paper.
    rating_parts : tuple of Part
        The parts on ratings that a user gives, whose `load` is given their path in
        place of a folder.
    departures : tuple of str
        Where the run differs from the paper, and why.
    """

    name: str
    title: str
    citation: str
    presets: Mapping[str, Preset]
    parts: tuple[Part, ...]
    rating_parts: tuple[Part, ...] = ()
    departures: tuple[str, ...] = ()


def experiment_of(
    package: str,
    config: Callable[..., Preset],
    parts: tuple[Part, ...],
    rating_parts: tuple[Part, ...],
) -> Experiment:
    """Return the experiment of a package, with the presets and texts of `paper.toml`.

    There a preset has what differs from the preset "full".
    """
    paper = read_toml(package, "paper.toml")
    presets = {
        name: config(**paper["presets"]["full"] | preset)
        for name, preset in paper["presets"].items()
    }
    texts = {key: paper[key] for key in ("name", "title", "citation", "departures")}
    return Experiment(**texts, presets=presets, parts=parts, rating_parts=rating_parts)
