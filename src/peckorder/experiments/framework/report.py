"""The report of a run: one HTML page, and the results as JSON."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from peckorder._core.errors import entry_named
from peckorder._core.text_files import as_json, write_text
from peckorder.experiments.framework.claims import RULE, tally
from peckorder.experiments.framework.run import TRIAL, Outcome, PartOutcome, is_trial
from peckorder.reports import Report, Section, Table
from peckorder.reports import write as write_page


def report(outcome: Outcome, command: str) -> Report:
    """Return the page of a run: verdicts, then every part, then departures.

    Parameters
    ----------
    outcome : Outcome
        The result of `run`.
    command : str
        The shell command that repeats the run.

    Returns
    -------
    Report
        For `peckorder.reports.write`.
    """
    experiment = outcome.experiment
    sections = [*_what_holds(outcome.parts), *_sections(outcome.parts)]
    if experiment.departures:
        sections.append(Section("Departures from the paper", experiment.departures))
    settings = json.dumps(as_json(asdict(outcome.config)))
    facts = (
        ("seed", str(outcome.seed)),
        ("preset", outcome.preset),
        ("data", outcome.source),
        ("settings", settings),
        *((f"data of {result.part.name}", result.data) for result in outcome.parts),
        *outcome.versions.items(),
    )
    left_out = [r.part.title for r in outcome.parts if r.left_out]
    lead = f"{experiment.citation} Regenerated; ours beside the printed figures."
    if outcome.is_given:
        lead += f" On {outcome.source}."
    if is_trial(outcome.config):
        lead = f"{TRIAL} {experiment.citation}"
    if left_out:
        lead += f" Left out because data are missing: {'; '.join(left_out)}."
    return Report(
        title=experiment.title,
        lead=lead,
        sections=tuple(sections),
        command=command,
        facts=tuple((name, value) for name, value in facts if value),
    )


def _what_holds(parts: Iterable[PartOutcome]) -> Iterable[Section]:
    if table := claims_table(parts):
        yield Section("What holds", (RULE,), (table,))


def claims_table(parts: Iterable[PartOutcome]) -> Table | None:
    """Return all claims with their verdicts, None if there is none."""
    rows = [
        (claim.text, claim.holds, tally(claim), claim.found)
        for result in parts
        for claim in result.shown.claims
    ]
    headings = ("the paper says", "holds", "comparisons", "here")
    return Table(headings, tuple(rows)) if rows else None


def _sections(parts: Iterable[PartOutcome]) -> Iterable[Section]:
    told = set()
    for result in parts:
        if result.left_out in told:
            yield Section(result.part.title, ("Left out, for want of the same data.",))
        else:
            yield _section(result)
        if result.left_out:
            told.add(result.left_out)


def _section(result: PartOutcome) -> Section:
    if result.left_out:
        return Section(result.part.title, (f"Left out. {result.left_out}",))
    shown = result.shown
    return Section(
        result.part.title,
        shown.paragraphs,
        (*shown.tables, *shown.timed_tables),
        (*shown.charts, *shown.timed_charts),
    )


def stem_of(name: str, preset: str, seed: int, *, is_given: bool = False) -> str:
    """Return the stem of the names of a run's files, with the seed unless it is 0."""
    stem = f"{name}-{preset}-ratings" if is_given else f"{name}-{preset}"
    return f"{stem}-seed{seed}" if seed else stem


@entry_named("reproduce")
def write(outcome: Outcome, folder: Path, command: str) -> tuple[Path, ...]:
    """Write the page, the results and the times; each file atomically.

    Parameters
    ----------
    outcome : Outcome
        The result of `run`.
    folder : Path
        Where the files go; it must exist.
    command : str
        The shell command that repeats the run.

    Returns
    -------
    tuple of Path
        The page, the results, and the times if any were measured.
    """
    stem = stem_of(outcome.experiment.name, outcome.preset, outcome.seed, is_given=outcome.is_given)
    page, results = folder / f"{stem}.html", folder / f"{stem}.json"
    written = [page, results]
    write_text(results, [json.dumps(outcome.results(), indent=1), "\n"])
    if seconds := outcome.seconds():
        written.append(folder / f"{stem}-seconds.json")
        write_text(written[-1], [json.dumps(seconds, indent=1), "\n"])
    write_page(report(outcome, command), page)
    return tuple(written)
