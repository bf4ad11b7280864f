"""The report of a run: one HTML page, and the results as JSON."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from peckorder._core.text_files import write_text
from peckorder.experiments.framework.journal import as_json
from peckorder.experiments.framework.run import Outcome, PartOutcome
from peckorder.experiments.framework.verdicts import RULE
from peckorder.reports import Report, Section, Table
from peckorder.reports import write as write_page


def report(outcome: Outcome, command: str) -> Report:
    """Lay a run out as a page: what holds, then every part, then departures.

    Parameters
    ----------
    outcome : Outcome
        What `run` returned.
    command : str
        The shell command that repeats the run.

    Returns
    -------
    Report
        For `peckorder.reports.write`.
    """
    experiment = outcome.experiment
    sections = [
        *_what_holds(outcome.parts),
        *(_section(each) for each in outcome.parts),
    ]
    if experiment.departures:
        sections.append(Section("Departures from the paper", experiment.departures))
    settings = json.dumps(as_json(asdict(outcome.config)))
    facts = (
        ("seed", str(outcome.seed)),
        ("preset", outcome.preset),
        ("settings", settings),
        *((f"data of {each.part.name}", each.data) for each in outcome.parts),
        *outcome.versions.items(),
    )
    left_out = [each.part.title for each in outcome.parts if each.left_out]
    lead = f"{experiment.citation} Regenerated; ours beside the printed figures."
    if outcome.preset == "quick":
        lead += " A trial on made data, so small that its verdicts mean little."
    if left_out:
        lead += f" Left out for want of data: {'; '.join(left_out)}."
    return Report(
        title=experiment.title,
        lead=lead,
        sections=tuple(sections),
        command=command,
        facts=tuple((name, value) for name, value in facts if value),
    )


def _what_holds(parts: Iterable[PartOutcome]) -> Iterable[Section]:
    rows = [
        (claim.text, claim.holds, claim.found)
        for each in parts
        for claim in each.shown.claims
    ]
    if rows:
        table = Table(("the paper says", "holds", "here"), tuple(rows))
        yield Section("What holds", (RULE,), (table,))


def _section(each: PartOutcome) -> Section:
    if each.left_out:
        return Section(each.part.title, (f"Left out. {each.left_out}",))
    shown = each.shown
    return Section(
        each.part.title,
        shown.paragraphs,
        (*shown.tables, *shown.timed_tables),
        (*shown.charts, *shown.timed_charts),
    )


def stem_of(name: str, preset: str, seed: int) -> str:
    """Return how the names of a run's files begin: a seed of its own is part of it."""
    return f"{name}-{preset}-seed{seed}" if seed else f"{name}-{preset}"


def write(outcome: Outcome, folder: Path, command: str) -> tuple[Path, ...]:
    """Write the page, the results and the times; each file whole or not at all.

    Parameters
    ----------
    outcome : Outcome
        What `run` returned.
    folder : Path
        Where the files go; it must exist.
    command : str
        The shell command that repeats the run.

    Returns
    -------
    tuple of Path
        The page, the results, and the times if any were taken.
    """
    stem = stem_of(outcome.experiment.name, outcome.preset, outcome.seed)
    page, results = folder / f"{stem}.html", folder / f"{stem}.json"
    written = [page, results]
    write_text("reproduce", results, [json.dumps(outcome.results(), indent=1), "\n"])
    if seconds := outcome.seconds():
        written.append(folder / f"{stem}-seconds.json")
        write_text("reproduce", written[-1], [json.dumps(seconds, indent=1), "\n"])
    write_page(report(outcome, command), page)
    return tuple(written)
