"""The work of `peckorder reproduce`."""

import shlex
from pathlib import Path

from joblib import effective_n_jobs
from rich.console import Console
from rich.table import Table as Screen

from peckorder import experiments
from peckorder.cli.console import Speaker
from peckorder.experiments import Outcome
from peckorder.reports import Table


def run_reproduce(
    name: str | None,
    *,
    preset: str,
    data: Path | None,
    out: Path,
    seed: int,
    jobs: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Regenerate a paper's tables and figures; without a name, list the papers."""
    speaker = Speaker(json=json, quiet=quiet)
    console = speaker.console
    if name is None:
        cited = {each: experiments.find(each).citation for each in experiments.NAMES}
        speaker.say({"papers": cited}, papers())
        return
    experiment = experiments.find(name)
    jobs = jobs if jobs is not None else effective_n_jobs(-1)
    experiments.check(experiment, preset, seed=seed, jobs=jobs)
    if data is not None and not data.is_dir():
        raise FileNotFoundError(
            f"reproduce: data must be a folder that exists; got {str(data)!r}."
        )
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(
            f"reproduce: out must be a folder; got the file {str(out)!r}."
        )
    out.mkdir(parents=True, exist_ok=True)
    journal = out / f"{experiments.stem_of(name, preset, seed)}.journal"
    with speaker.bar("Reading data") as on_progress:
        try:
            outcome = experiments.run(
                experiment,
                preset,
                seed=seed,
                data=data,
                journal=journal,
                jobs=jobs,
                on_progress=on_progress,
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "Interrupted. The same command goes on from here."
            ) from None
    if not any(each.units for each in outcome.parts):
        # Files of an earlier run are worth more than a page without a figure.
        journal.unlink()
        gone = "; ".join(each.left_out for each in outcome.parts if each.left_out)
        raise FileNotFoundError(f"reproduce: nothing could be run. {gone}")
    words = ["peckorder", "reproduce", name, "--preset", preset, "--seed", str(seed)]
    if data is not None:
        words += ["--data", str(data)]
    written = experiments.write(outcome, out, shlex.join(words))
    if not any(each.left_out for each in outcome.parts):
        journal.unlink(missing_ok=True)
    print_outcome(console, outcome)
    if preset == "quick":
        console.print("Made data, few repetitions: for real ones, --preset full.")
    if outcome.n_resumed:
        console.print(f"{outcome.n_resumed} repetitions were those of an earlier run.")
    if outcome.put_aside is not None:
        console.print(
            f"A journal of other settings or code was put aside: {outcome.put_aside}",
            highlight=False,
            soft_wrap=True,
        )
    files = [str(path) for path in written]
    speaker.say({"results": outcome.results(), "files": files}, *files)


def papers() -> Screen:
    """Return the papers there are, as a table for the terminal."""
    screen = Screen(title="peckorder reproduce NAME", title_justify="left")
    screen.add_column("name", no_wrap=True)
    screen.add_column("paper")
    for name in experiments.NAMES:
        screen.add_row(name, experiments.find(name).citation)
    return screen


def print_outcome(console: Console, outcome: Outcome) -> None:
    """Print the tables of a run, and what was left out."""
    for each in outcome.parts:
        if each.left_out:
            console.print(f"{each.part.title}: left out. {each.left_out}\n")
            continue
        for table in each.shown.tables:
            console.print(screen(each.part.title, table))
    rows = tuple(
        (claim.text, claim.holds, claim.found)
        for each in outcome.parts
        for claim in each.shown.claims
    )
    if rows:
        console.print(screen("What holds", Table(("claim", "holds", "here"), rows)))


def screen(title: str, table: Table) -> Screen:
    """Return a table of the report as one for the terminal."""
    shown = Screen(
        title=title, caption=table.caption, title_justify="left", caption_justify="left"
    )
    for place, heading in enumerate(table.columns):
        is_prose = any(len(str(row[place])) > 30 for row in table.rows)
        shown.add_column(heading, justify="left" if is_prose or not place else "right")
    for row in table.rows:
        shown.add_row(*(c if isinstance(c, str) else f"{c:.4g}" for c in row))
    return shown
