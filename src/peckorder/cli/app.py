"""The commands, and their exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.

What is imported here is what `--help` and a wrong option wait for; what does the work is
imported when a command runs.
"""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn

from cyclopts import App, CycloptsError
from rich.console import Console

from peckorder import __version__
from peckorder._core.errors import entry, entry_named, refusal_of
from peckorder._core.text_files import FULL
from peckorder.cli.options import (
    CompareOptions,
    EvaluateOptions,
    ExplainOptions,
    FitOptions,
    FuseOptions,
    OutputOptions,
    PairOptions,
    RankOptions,
    ReproduceOptions,
)
from peckorder.tables.files.standard_streams import DASH, STDIN

# What the work of some commands needs beside the parser.
_EXTRA = {"pyarrow", "jinja2", "matplotlib"}
_INSTALL = "pip install 'peckorder[cli]'"

app = App(
    name="peckorder",
    help="Learn to put things in order: from ratings, grades, preferences and lists.",
    version=__version__,
    suppress_keyboard_interrupt=False,
)
data = App(
    name="data",
    help="List the data sets that peckorder knows; download one.\n\n"
    "Example: PECKORDER_DATA=my-data peckorder data\n\n"
    "Example: peckorder data fetch ml-100k",
)


@app.command
@entry
def compare(
    *files: str,
    options: CompareOptions = CompareOptions(),
    pairs: PairOptions = PairOptions(),
    output: OutputOptions = OutputOptions(),
) -> None:
    """Find out which ranker is best on a file; print a leaderboard, write a report.

    Example: peckorder compare wine.csv --target quality --save wine.peckorder

    Example: peckorder compare train.txt.gz --metric ndcg@5

    Example: peckorder compare u.data --columns user,item,rating,timestamp

    Example: peckorder compare bm25.run dense.run --qrels qrels.txt

    Example: peckorder compare matches.csv --items teams.csv

    The task is recognised from the columns: ordered classes, real-valued
    relevance, grades within queries, ratings of items by people. All rankers that can
    do it are cross-validated, queries and people kept whole, beside LightGBM, XGBoost,
    CatBoost, mord and scikit-learn's ridge where these are installed. Without a file
    they are compared on embedded data.

    Parameters
    ----------
    files
        A table (csv, tsv, parquet, jsonl, LETOR, arff, xlsx; also .gz and .zst), "-" for
        standard input, several TREC runs with --qrels, or pairs with --items.
    """
    from peckorder.cli import checks

    checks.check_compare(files, options, pairs)
    with _starting(output):
        from peckorder.cli import compare as work
        from peckorder.cli.compare.pairs import compare_pairs

    if pairs.items is not None:
        compare_pairs(files[0], options, pairs, output)
    elif files:
        work.compare_files(files, options, output)
    else:
        work.compare_embedded(options, output)


@app.command
@entry
def fit(
    file: str,
    /,
    *,
    options: FitOptions,
    pairs: PairOptions = PairOptions(),
    output: OutputOptions = OutputOptions(),
) -> None:
    """Fit a ranker to a file; write the model, with the names of its features.

    Example: peckorder fit wine.csv --target quality --ranker MPRank --set C=10 -o
    wine.peckorder

    Example: peckorder fit ratings.dat --ranker PersonalRanker -o films.peckorder

    Example: peckorder fit matches.csv --items teams.csv --ranker RankBoost -o
    teams.peckorder

    Parameters
    ----------
    file
        A table, or with --items pairs; "-" to read standard input.
    """
    from peckorder.cli import checks

    checks.check_fit(file, options, pairs)
    with _starting(output):
        from peckorder.cli.fit import run_fit

    run_fit(file, options, pairs, output)


@app.command
@entry
def rank(
    model: str,
    /,
    *files: str,
    options: RankOptions = RankOptions(),
    output: OutputOptions = OutputOptions(),
) -> None:
    """Score the rows of a file, and number them within their queries.

    Example: peckorder rank wine.peckorder new.csv --out ranked.csv

    Example: zcat test.txt.gz | peckorder rank m.peckorder - --format letor
    --out-format run --docid docid > my.run

    Example: peckorder rank films.peckorder --user 17 --max-rows 20

    Example: peckorder rank fused.peckorder new/bm25.run dense=new/d2.run --out my.run

    Files may be larger than memory: rows are read in blocks, and a query is held until
    it is complete. The rows of a query must stand together, therefore. Columns of the
    file that are no features, or text of many values, are kept, in Parquet and JSON
    lines as numbers if all cells are; score, position, gap (to the next in the list)
    and above_cut (whether a row stands above the largest gap) are added, in place of
    those that the file has. Without a column of queries all rows are one list, of which
    only scores are held in memory, unless --sort is asked for. A summary as JSON needs
    --out FILE.

    Parameters
    ----------
    model
        A model file.
    files
        A table with the features of the model; further columns are kept. For a
        PersonalRanker one of users and items, or none with --user. "-" reads standard
        input. For a model of `peckorder fuse --save`, or `peckorder compare --save` of
        runs, as many runs as it learnt from, called as then, or NAME=FILE.
    """
    from peckorder.cli import checks

    checks.check_rank(model, files, options, output)
    with _starting(output):
        from peckorder.cli.rank import run_rank

    run_rank(model, files, options, output)


@app.command
@entry
def evaluate(
    file: str,
    /,
    *,
    options: EvaluateOptions = EvaluateOptions(),
    pairs: PairOptions = PairOptions(),
    output: OutputOptions = OutputOptions(),
) -> None:
    """Measure predictions, or a TREC run: means over queries, 95 % intervals.

    Example: peckorder evaluate my.run --qrels qrels.txt -m ndcg@10 -m ap

    Example: peckorder evaluate ranked.csv

    Example: peckorder evaluate ranked.csv --model wine.peckorder

    Example: peckorder evaluate scored.csv --target grade --score score --qid qid

    Example: peckorder evaluate ranked.csv -m "mean rank loss" --classes poor,fair,good

    Example: peckorder evaluate matches.csv --items teams.csv --model teams.peckorder

    Without --metric, predicted classes are measured as `peckorder compare` does it, by
    their mean rank loss, the share that is exactly right, macro_mae and qwk; scores by
    disagreement of pairs if there are classes, by disagreement, msd, rmse and mae if
    targets are real numbers, and otherwise by ndcg@10, ap and rr.

    Rows without a target, a score or a query are left out, which is said.

    With --items the file is of pairs, whose items are scored by the model, or by the
    column of scores that the items have: the share of pairs in the wrong order, and where
    pairs have sizes by how much these are missed (msd, mad). Intervals are over connected
    components of pairs, or over pairs where all are connected.

    With --qrels, listed documents that are not judged have grade 0, judged ones that
    the run does not list earn nothing, and queries that are not in both are left out:
    with --ties docid the figures are those of trec_eval.

    Parameters
    ----------
    file
        A table with columns of targets and scores, a TREC run, or with --items pairs;
        "-" to read standard input.
    """
    from peckorder.cli import checks

    checks.check_evaluate(file, options, pairs, output)
    with _starting(output):
        from peckorder.cli.evaluate import run_evaluate

    run_evaluate(file, options, pairs, output)


@app.command
@entry
def fuse(
    runs: list[str],
    /,
    *,
    options: FuseOptions = FuseOptions(),
    output: OutputOptions = OutputOptions(),
) -> None:
    """Fuse TREC runs into one: learnt from judgements, or by counts of places.

    Example: peckorder fuse bm25.run dense.run boolean.run --qrels qrels.txt

    With judgements RankBoost learns how to combine the runs, whole queries held out in
    turn, and stands beside Borda's count and reciprocal rank fusion. Scores written
    for a judged query come from models that did not see it; for others, from all.
    Folds, ties (expected over all orders) and figures are those of `peckorder compare
    RUN RUN --qrels FILE`, which tries more ways to fuse.

    Parameters
    ----------
    runs
        Two or more runs; those of one query may differ in length. "-" to read one
        from standard input.
    """
    from peckorder.cli import checks

    checks.check_fuse(runs, options, output)
    with _starting(output):
        from peckorder.cli.fuse import run_fuse

    run_fuse(runs, options, output)


@app.command
@entry
def explain(
    model: str,
    file: str | None = None,
    /,
    *,
    options: ExplainOptions = ExplainOptions(),
    output: OutputOptions = OutputOptions(),
) -> None:
    """Tell how much each feature adds to the scores of rows.

    Example: peckorder explain wine.peckorder new.csv --row 1 --row 7

    Example: peckorder explain films.peckorder --user 17 --item 50

    Of RankBoost a feature adds what its weak rankings say, of a linear model its
    weight times its value; with the constant part they sum to the score. A
    PersonalRanker tells which rated items and which other people speak for a rating.

    Parameters
    ----------
    model
        A model file: RankBoost, PersonalRanker, or a linear model.
    file
        A table with the features of the model; "-" reads standard input.
    """
    from peckorder.cli import checks

    checks.check_explain(model, file, options, output)
    with _starting(output):
        from peckorder.cli.models import run_explain

    run_explain(model, file, options, output)


@app.command
@entry
def info(model: str, /, *, output: OutputOptions = OutputOptions()) -> None:
    """Tell what is in a model file: class, parameters, features, versions.

    Example: peckorder info wine.peckorder

    The whole file is read and checked, its checksum first: what is told is sound.

    Parameters
    ----------
    model
        The file, as written by `peckorder fit`, `peckorder compare --save` or `save`.
    """
    from peckorder.cli import checks

    checks.check_info(model)
    with _starting(output):
        from peckorder.cli.models import run_info

    run_info(model, output)


@app.command
@entry
def reproduce(
    name: str | None = None,
    /,
    *,
    options: ReproduceOptions = ReproduceOptions(),
    output: OutputOptions = OutputOptions(),
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
    with _starting(output):
        from peckorder.cli.published import run_reproduce

    run_reproduce(name, options, output)


@data.default
def listing(*, output: OutputOptions = OutputOptions()) -> None:
    """List data sets: where to get them, on which terms, which are here.

    Example: PECKORDER_DATA=my-data peckorder data
    """
    with _starting(output):
        from peckorder.cli.published import list_data

    list_data(output)


@data.command
@entry_named("data")
def fetch(
    name: str | None = None, /, *, url: str | None = None, output: OutputOptions = OutputOptions()
) -> None:
    """Download a data set from its publisher, unless it is here; check and read it.

    Example: peckorder data fetch ml-100k

    Parameters
    ----------
    name
        As `peckorder data` lists it.
    url
        The address of a mirror.
    """
    with _starting(output):
        from peckorder.cli.published import fetch_data

    fetch_data(name, url, output)


app.command(data)


@contextmanager
def _starting(output: OutputOptions) -> Iterator[None]:
    """Tell people, while modules are imported, that something happens."""
    console = Console(stderr=True)
    if not output.quiet and console.is_terminal:
        with console.status("Loading"):
            yield
        return
    if output.verbose and not output.quiet:
        console.print("Loading")
    yield


class Terminated(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does, so that no process of it is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> NoReturn:
        raise Terminated("Terminated.")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(arguments: list[str] | None = None) -> None:
    """Run one command; print what is wrong in one line instead of a traceback."""
    try:
        with _ended_as_by_ctrl_c(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _warn  # type: ignore[assignment]
            words = sys.argv[1:] if arguments is None else arguments
            words = [DASH if word == STDIN else word for word in words]
            app(words, exit_on_error=False, print_error=False)
    except KeyboardInterrupt as stop:
        _leave(str(stop) or "Interrupted.", 143 if isinstance(stop, Terminated) else 130)
    except BrokenPipeError:
        # Nobody reads on, as behind `| head`; Python must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except MemoryError:
        _leave("There is not enough memory for this.", 2)
    except ModuleNotFoundError as missing:
        advice = f"{missing.name} is not installed; run {_INSTALL}."
        _leave(advice if missing.name in _EXTRA else str(missing), 2)
    except (ValueError, TypeError, OSError, ImportError, CycloptsError) as error:
        if isinstance(error, TypeError) and refusal_of(error) is None:
            raise
        _leave(_sentence(error), 2)


def _warn(message: object, *details: object) -> None:
    _print(f"Note: {message}", "yellow")


def _sentence(error: Exception) -> str:
    """Return the message; the path of a model that is loaded is called `model`."""
    refused = refusal_of(error)
    if isinstance(error, OSError) and error.errno in FULL and refused is None:
        # All files that are written are named by their errors.
        return f"standard output: {error.strerror}"
    if refused is None or (refused.caller, refused.what) != ("load", "path"):
        return str(error)
    return str(replace(refused, caller="", what="model"))


def _leave(message: str, code: int) -> None:
    _print(message, "red")
    sys.exit(code)


def _print(message: str, style: str) -> None:
    from peckorder.cli.outputs import printable

    message = printable(message)
    Console(stderr=True, soft_wrap=True).print(message, style=style, markup=False, highlight=False)
