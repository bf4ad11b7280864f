"""The work of `peckorder data` and `peckorder reproduce`: data sets, and papers on them."""

import shlex
from collections.abc import Sequence

from joblib import effective_n_jobs
from rich.console import Console, JustifyMethod
from rich.table import Table as Screen

from peckorder import datasets, experiments
from peckorder._core.errors import refusal
from peckorder._core.validation import did_you_mean
from peckorder.cli.options import OutputOptions, ReproduceOptions
from peckorder.cli.outputs import ResultPrinter
from peckorder.datasets.fetching.folders import catalogue
from peckorder.datasets.fetching.publishers import Published
from peckorder.experiments import Outcome
from peckorder.reports import Cell


def list_data(output: OutputOptions) -> None:
    """List data sets: where to get them, on which terms, which are here."""
    sets = catalogue()
    ResultPrinter(output).emit(
        {
            published.folder: {
                "title": published.title,
                "loader": f"peckorder.datasets.{published.loader}",
                "get": published.get.rstrip(","),
                "page": published.page,
                "terms": published.terms,
                "can_be_fetched": published.fetch is not None,
                "found": found,
            }
            for published, found in sets
        },
        *(
            f"{published.folder}: {published.title}\n"
            + (f"    here: {found}\n" if found else _how(published))
            + f"    terms: {published.terms}"
            for published, found in sets
        ),
        "Put each in a folder of its name, below one that PECKORDER_DATA names.",
    )


def _how(published: Published) -> str:
    """Return how to get a data set that is not here."""
    get = published.get.rstrip(",")
    if published.fetch:
        get += f", or: peckorder data fetch {published.folder}"
    return f"    not here\n    get: {get}\n    from: {published.page}\n"


def fetch_data(name: str | None, url: str | None, output: OutputOptions) -> None:
    """Download a data set from its publisher, unless it is here; check and read it."""
    sets = {published.folder: published for published, _ in catalogue()}
    can = [folder for folder, published in sets.items() if published.fetch]
    rule = f"be one of {', '.join(can)}"
    if name is None:
        raise refusal("name", rule, "none")
    if name not in sets:
        raise refusal("name", rule, repr(name), hint=did_you_mean(name, can, {}))
    published = sets[name]
    if published.fetch is None:
        raise refusal(
            "name", rule, repr(name), hint=f"Get {published.get.rstrip(',')} from {published.page}."
        )
    printer = ResultPrinter(output)
    options = {} if url is None else {"url": url}
    with printer.progress(f"Fetching {name}"):
        bunch = getattr(datasets, published.fetch)(**options)
    folder = next(found for published, found in catalogue() if published.folder == name)
    printer.emit(
        {"name": name, "found": folder, "ratings": len(bunch.ratings)},
        f"{published.title}: {len(bunch.ratings)} ratings, in {folder}",
        f"Terms: {published.terms}.",
    )


def _check_places(options: ReproduceOptions) -> None:
    """Refuse files and folders that are not there."""
    data, ratings, out = options.data, options.ratings, options.out
    if data is not None and not data.is_dir():
        raise refusal("data", "be a folder that exists", repr(str(data)), error=FileNotFoundError)
    if ratings is not None and not ratings.exists():
        raise refusal("ratings", "be a file or folder", repr(str(ratings)), error=FileNotFoundError)
    if ratings is not None and data is not None:
        raise refusal("data", "be left out with --ratings, which takes its place", repr(str(data)))
    if out.exists() and not out.is_dir():
        raise refusal("out", "be a folder", f"the file {str(out)!r}", error=NotADirectoryError)


def run_reproduce(name: str | None, options: ReproduceOptions, output: OutputOptions) -> None:
    """Regenerate a paper's tables and figures; without a name, list the papers."""
    preset, data, out, seed = options.preset, options.data, options.out, options.seed
    ratings = options.ratings
    printer = ResultPrinter(output)
    console = printer.console
    if name is None:
        cited = {paper: experiments.find(paper).citation for paper in experiments.NAMES}
        screen = Screen(title="peckorder reproduce NAME", title_justify="left")
        screen.add_column("name", no_wrap=True)
        screen.add_column("paper")
        for paper, citation in cited.items():
            screen.add_row(paper, citation)
        printer.emit({"papers": cited}, screen)
        return
    experiment = experiments.find(name)
    jobs = effective_n_jobs(-1) if options.jobs is None else options.jobs
    experiments.check(experiment, preset, seed=seed, jobs=jobs)
    _check_places(options)
    out.mkdir(parents=True, exist_ok=True)
    journal = (
        out / f"{experiments.stem_of(name, preset, seed, is_given=ratings is not None)}.journal"
    )
    with printer.progress("Reading data") as report_progress:
        try:
            outcome = experiments.run(
                experiment,
                preset,
                seed=seed,
                data=data,
                ratings=ratings,
                journal=journal,
                jobs=jobs,
                on_progress=report_progress,
            )
        except KeyboardInterrupt as stop:
            how = str(stop) or "Interrupted."
            raise type(stop)(f"{how} The same command goes on from here.") from None
    if not any(part.units for part in outcome.parts):
        # Files of an earlier run are worth more than a page without a figure.
        journal.unlink()
        gone = " ".join(dict.fromkeys(part.left_out for part in outcome.parts if part.left_out))
        raise refusal("nothing could be run", hint=gone, error=FileNotFoundError)
    words = ["peckorder", "reproduce", name, "--preset", preset, "--seed", str(seed)]
    if data is not None:
        words += ["--data", str(data)]
    if ratings is not None:
        words += ["--ratings", str(ratings)]
    written = experiments.write(outcome, out, shlex.join(words))
    if not any(part.left_out for part in outcome.parts):
        journal.unlink(missing_ok=True)
    print_outcome(console, outcome)
    console.print(f"Data: {outcome.source}.", highlight=False, soft_wrap=True)
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


def print_outcome(console: Console, outcome: Outcome) -> None:
    """Print the tables of a run, and what was left out."""
    if experiments.is_trial(outcome.config):
        console.print(f"{experiments.TRIAL} For that: --preset full.\n")
    titles: dict[str, list[str]] = {}
    for part in outcome.parts:
        if part.left_out:
            titles.setdefault(part.left_out, []).append(part.part.title)
        for table in part.shown.tables:
            console.print(_screen(part.part.title, table.columns, table.rows, table.caption))
    for left_out, of_parts in titles.items():
        console.print(f"{'; '.join(of_parts)}: left out. {left_out}\n")
    if claims := experiments.claims_table(outcome.parts):
        console.print(_screen("What holds", claims.columns, claims.rows))


def _screen(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str = ""
) -> Screen:
    """Return a table of the report as one for the terminal."""
    table = Screen(title=title, caption=caption, title_justify="left", caption_justify="left")
    for k, heading in enumerate(headings):
        is_prose = any(len(str(row[k])) > 30 for row in rows)
        justify: JustifyMethod = "left" if is_prose or not k else "right"
        # Names are folded where the screen is narrow, not cut.
        table.add_column(heading, justify=justify, overflow="fold", min_width=_longest(rows, k))
    for row in rows:
        table.add_row(*(c if isinstance(c, str) else f"{c:.4g}" for c in row))
    return table


def _longest(rows: Sequence[Sequence[Cell]], k: int) -> int | None:
    """Return the length of the longest word of the names; of other columns None."""
    words = [word for row in rows for word in str(row[0]).split()]
    return min(max(map(len, words), default=1), 20) if k == 0 else None
