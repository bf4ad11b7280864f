"""`peckorder compare`: find out which ranker is best."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from cyclopts import Parameter

from peckorder._core.errors import refusal
from peckorder.cli.options import PRINTED, OutPath, OutputOptions, Several


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Options of `peckorder compare`.

    Parameters
    ----------
    task
        ordinal, magnitude, graded or ratings, if it is not recognised rightly.
    target
        The column to predict.
    qid
        The column of queries, within which rows are compared.
    user
        The column of people. Without ratings or queries, no fold divides the rows of a
        person; by default a column that is named so.
    item
        The column of items, of ratings.
    rating
        The column of ratings.
    drop
        A column to leave out; give it again for more.
    classes
        The labels from lowest to highest, as in poor,fair,good; needed if they are
        text.
    columns
        Names for the columns of a file, as in user,item,rating.
    qrels
        TREC judgements: the files are runs then, compared with each other and with
        ways to fuse them.
    metric
        What decides, as in ndcg@5 or ap; of grades and runs ndcg@10, of ratings
        disagreement, of classes the mean rank loss, of magnitudes msd.
    rankers
        Rankers of the leaderboard to take part, as in PRank,RankBoost; or give it
        again for each.
    folds
        Folds of the cross-validation; at least 2. Where there are fewer queries or
        people than folds, or fewer than two rows per fold for msd, there are fewer.
    rows
        Compare on so many rows, drawn at random, at most; by default 50,000. Queries
        and people are drawn whole, two of them though they have more rows. Of
        ratings: test so many people, by default 500; beyond 250,000 ratings only
        those of some people, drawn at random, are learnt from, which is noted.
    format
        Of the file, if its name does not tell: csv, tsv, parquet, jsonl, letor.
    save
        A model file for the best of peckorder's own rankers, fitted to all rows that
        were compared (see --rows).
    repeats
        Without a file: repetitions, each with new rows; at least 2.
    seed
        Where the random numbers start; from 0 to 2**31.
    out
        The HTML file to write; not the one of --save.
    """

    task: str | None = None
    target: str | None = None
    qid: str | None = None
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    drop: Several = None
    classes: Several = None
    columns: str | None = None
    qrels: str | None = None
    metric: str | None = None
    rankers: Several = None
    folds: int = 5
    rows: int | None = None
    format: str | None = None
    save: Path | None = None
    repeats: int | None = None
    seed: int = 0
    out: OutPath = Path("peckorder-report.html")

    def check_embedded(self) -> None:
        """Refuse options that mean nothing without a file."""
        for name in (
            *("task", "target", "qid", "user", "item", "rating", "drop", "classes"),
            *("columns", "qrels", "metric", "rankers", "rows", "format", "save"),
        ):
            self._refuse(name, "left out without a file")

    def check_files(self) -> None:
        """Refuse options that mean nothing with a file."""
        self._refuse("repeats", "left out with a file, which has folds")

    def _refuse(self, name: str, rule: str) -> None:
        value = getattr(self, name)
        if value is not None:
            value = list(value) if isinstance(value, tuple) else value
            raise refusal(name, f"be {rule}", repr(str(value)))

    def command(self, files: tuple[str, ...]) -> str:
        """Return the command that gives the same result again."""
        words = ["peckorder", "compare", *files]
        for name in ("qrels", "task", "target", "qid", "user", "item", "rating"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", value]
        for name in ("drop", "rankers"):
            for value in getattr(self, name) or ():
                words += [f"--{name}", value]
        if self.classes is not None:
            words += ["--classes", ",".join(self.classes)]
        for name in ("columns", "metric", "rows", "format", "save"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", str(value)]
        words += ["--folds", str(self.folds), "--seed", str(self.seed)]
        return shlex.join(words)


DEFAULTS = CompareOptions()


def compare(
    *files: str, options: CompareOptions = DEFAULTS, output: OutputOptions = PRINTED
) -> None:
    """Find out which ranker is best on a file; print a leaderboard, write a report.

    Example: peckorder compare wine.csv --target quality --save wine.peckorder

    Example: peckorder compare train.txt.gz --metric ndcg@5

    Example: peckorder compare u.data --columns user,item,rating,timestamp

    Example: peckorder compare bm25.run dense.run --qrels qrels.txt

    The task is recognised from the columns: ordered classes, real-valued
    relevance, grades within queries, ratings of items by people. All rankers that can
    do it are cross-validated, queries and people kept whole, beside LightGBM, XGBoost,
    mord and scikit-learn's ridge where these are installed. Without a file they are
    compared on embedded data.

    Parameters
    ----------
    files
        A table (csv, tsv, parquet, jsonl, LETOR; also .gz and .zst), "-" for standard
        input, or several TREC runs with --qrels.
    """
    if files:
        from peckorder.cli.compare.work import compare_files

        options.check_files()
        compare_files(files, options, output)
    else:
        from peckorder.cli.compare.embedded import compare_embedded

        options.check_embedded()
        compare_embedded(options, output)
