"""What an experiment is made of: presets, parts, what is measured and shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from numpy.random import Generator

from peckorder.reports import Chart, Table

Values: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one repetition of a part found.

    `values` is of what JSON can hold (NumPy's arrays and numbers count, NaN becomes
    None) and depends on the seed alone. `seconds` is of the same form, for what no two
    runs have in common: how long things took.
    """

    values: Values
    seconds: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper, and whether it holds in this run.

    `holds` is a verdict of `_judging.verdict`, or "not tried"; `found` says on what
    grounds.
    """

    text: str
    holds: str
    found: str


@dataclass(frozen=True, slots=True)
class Shown:
    """How a part of an experiment is reported.

    `timed_tables` and `timed_charts` hold seconds: they stand in the report, but not
    among the results, which are equal for equal seeds.
    """

    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    claims: tuple[Claim, ...] = ()
    timed_tables: tuple[Table, ...] = ()
    timed_charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One table or figure: data, repetitions, and what they come to.

    Parameters
    ----------
    name : str
        Short, for files: ``"square"``.
    title : str
        Heading of its section: ``"Figure 2: the square problem"``.
    load : callable
        ``load(config, folder)`` returns the data, from a folder of the user or made;
        raises MissingDataError, which leaves this part out of the run. It must be a
        function of a module, for it travels to other processes.
    count : callable
        ``count(config)`` is the number of repetitions.
    measure : callable
        ``measure(config, data, unit, rng)`` does repetition `unit`, a number from 0 on,
        and returns `Measured`; all randomness is from `rng`. A function of a module.
    show : callable
        ``show(config, units, seconds)`` turns the values of all repetitions, in their
        order, into tables, charts and claims.
    alone : bool, default=False
        Nothing else runs meanwhile: for what takes the time.
    """

    name: str
    title: str
    load: Callable[[Any, Path | None], Any]
    count: Callable[[Any], int]
    measure: Callable[[Any, Any, int, Generator], Measured]
    show: Callable[[Any, Sequence[Values], Sequence[Values]], Shown]
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Experiment:
    """The tables and figures of one paper.

    Parameters
    ----------
    name : str
        What the command line calls it: ``"crammer-singer-2001"``.
    title, citation : str
        Of the paper.
    presets : mapping of str to a frozen dataclass
        The configurations "quick", "full" and "paper".
    parts : tuple of Part
        In the order of the paper.
    departures : tuple of str
        Where the run is not what the paper did, and why.
    """

    name: str
    title: str
    citation: str
    presets: Mapping[str, Any]
    parts: tuple[Part, ...]
    departures: tuple[str, ...] = ()
