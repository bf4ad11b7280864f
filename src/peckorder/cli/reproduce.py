"""`peckorder reproduce`: a paper's tables and figures, ours beside the printed."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table as Screen

from peckorder._core.errors import refusal
from peckorder.cli.options import PRINTED, OutPath, OutputOptions

if TYPE_CHECKING:
    from peckorder.experiments import Outcome
    from peckorder.reports import Cell


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceOptions:
    """Options of `peckorder reproduce`.

    Parameters
    ----------
    preset
        quick: seconds, on synthetic data. full: minutes, on real data. paper: the
        printed number of repetitions, hours.
    data
        Folder with the data sets; else the one that PECKORDER_DATA names.
    out
        Folder for the files; made if it is not there.
    seed
        Where the random numbers start.
    jobs
        Processes that work side by side; by default one per core.
    """

    preset: str = "quick"
    data: Path | None = None
    out: OutPath = Path(".")
    seed: int = 0
    jobs: int | None = None


DEFAULTS = ReproduceOptions()


def reproduce(
    name: str | None = None,
    /,
    *,
    options: ReproduceOptions = DEFAULTS,
    output: OutputOptions = PRINTED,
) -> None:
    """Regenerate a paper's tables and figures; without a name, list the papers.

    Example: peckorder reproduce cortes-2007 --preset full --data my-data --out results

    Writes NAME-PRESET.html and NAME-PRESET.json. An interrupted run goes on where it
    stopped when the command is given again.

    Parameters
    ----------
    name
        The paper, such as freund-2003.
    """
    from joblib import effective_n_jobs

    from peckorder import experiments
    from peckorder.cli.console import ResultPrinter

    preset, data, out, seed = options.preset, options.data, options.out, options.seed
    printer = ResultPrinter(output)
    console = printer.console
    if name is None:
        cited = {paper: experiments.find(paper).citation for paper in experiments.NAMES}
        printer.emit({"papers": cited}, papers(cited))
        return
    experiment = experiments.find(name)
    jobs = effective_n_jobs(-1) if options.jobs is None else options.jobs
    experiments.check(experiment, preset, seed=seed, jobs=jobs)
    if data is not None and not data.is_dir():
        raise refusal("data", "be a folder that exists", repr(str(data)), error=FileNotFoundError)
    if out.exists() and not out.is_dir():
        raise refusal("out", "be a folder", f"the file {str(out)!r}", error=NotADirectoryError)
    out.mkdir(parents=True, exist_ok=True)
    journal = out / f"{experiments.stem_of(name, preset, seed)}.journal"
    with printer.progress("Reading data") as report_progress:
        try:
            outcome = experiments.run(
                experiment,
                preset,
                seed=seed,
                data=data,
                journal=journal,
                jobs=jobs,
                on_progress=report_progress,
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt("Interrupted. The same command goes on from here.") from None
    if not any(part.units for part in outcome.parts):
        # Files of an earlier run are worth more than a page without a figure.
        journal.unlink()
        gone = "; ".join(part.left_out for part in outcome.parts if part.left_out)
        raise refusal("nothing could be run", hint=gone, error=FileNotFoundError)
    words = ["peckorder", "reproduce", name, "--preset", preset, "--seed", str(seed)]
    if data is not None:
        words += ["--data", str(data)]
    written = experiments.write(outcome, out, shlex.join(words))
    if not any(part.left_out for part in outcome.parts):
        journal.unlink(missing_ok=True)
    print_outcome(console, outcome)
    if preset == "quick":
        console.print("Synthetic data, few repetitions: for real ones, --preset full.")
    if outcome.n_resumed:
        console.print(f"{outcome.n_resumed} repetitions were those of an earlier run.")
    if outcome.put_aside is not None:
        console.print(
            f"A journal of other settings or code was put aside: {outcome.put_aside}",
            highlight=False,
            soft_wrap=True,
        )
    files = [str(path) for path in written]
    printer.emit({"results": outcome.results(), "files": files}, *files)


def papers(cited: Mapping[str, str]) -> Screen:
    """Return the papers there are, as a table for the terminal."""
    screen = Screen(title="peckorder reproduce NAME", title_justify="left")
    screen.add_column("name", no_wrap=True)
    screen.add_column("paper")
    for name, citation in cited.items():
        screen.add_row(name, citation)
    return screen


def print_outcome(console: Console, outcome: "Outcome") -> None:
    """Print the tables of a run, and what was left out."""
    for part in outcome.parts:
        if part.left_out:
            console.print(f"{part.part.title}: left out. {part.left_out}\n")
            continue
        for table in part.shown.tables:
            console.print(_screen(part.part.title, table.columns, table.rows, table.caption))
    claims = [
        (claim.text, claim.holds, claim.found)
        for part in outcome.parts
        for claim in part.shown.claims
    ]
    if claims:
        console.print(_screen("What holds", ("claim", "holds", "here"), claims))


def _screen(
    title: str, headings: Sequence[str], rows: Sequence[Sequence["Cell"]], caption: str = ""
) -> Screen:
    """Return a table of the report as one for the terminal."""
    table = Screen(title=title, caption=caption, title_justify="left", caption_justify="left")
    for k, heading in enumerate(headings):
        is_prose = any(len(str(row[k])) > 30 for row in rows)
        table.add_column(heading, justify="left" if is_prose or not k else "right")
    for row in rows:
        table.add_row(*(c if isinstance(c, str) else f"{c:.4g}" for c in row))
    return table
