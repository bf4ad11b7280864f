"""What can be given to the commands: one frozen dataclass of options per command.

cyclopts reads its fields, defaults and help texts, and the work takes it as it is.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from peckorder.tables.files.standard_streams import STDIN

Flag: TypeAlias = Annotated[bool, Parameter(negative="")]
Several: TypeAlias = Annotated[tuple[str, ...] | None, Parameter(negative="")]
Metrics: TypeAlias = Annotated[
    tuple[str, ...] | None, Parameter(name=["--metric", "-m"], negative="")
]
OutText: TypeAlias = Annotated[str, Parameter(name=["--out", "-o"])]
OutPath: TypeAlias = Annotated[Path, Parameter(name=["--out", "-o"])]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How a result is printed.

    Parameters
    ----------
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    verbose
        Print what is being done, and how long it may take, as lines on standard error
        where that is no terminal, which has a bar.
    """

    json: Flag = False
    quiet: Flag = False
    verbose: Flag = False


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """What a table is to be read as, for `peckorder compare` and `peckorder fit`.

    Parameters
    ----------
    task
        ordinal, magnitude, graded or ratings, if it is not recognised rightly.
    target
        The column to predict. By default the usual names, or the last column.
    qid
        The column of queries, within which rows are compared. By default the usual
        names; "none" for no column, as of user, item and rating, too.
    user
        The column of people, of ratings. Without ratings or queries, no fold divides
        the rows of a person; by default a column that is named so. It is no feature.
    item
        The column of items, of ratings.
    rating
        The column of ratings.
    drop
        A column to leave out; give it again for more.
    category
        A column whose values have no order, though they are numbers or look ordered;
        give it again for more.
    keep
        A column to learn from though it looks like an id; give it again for more.
    classes
        The labels from lowest to highest, as in poor,fair,good; needed if they are
        text, but for words as these, whose order is known.
    columns
        Names for the columns of a file, as in user,item,rating.
    format
        Of the file, if its name does not tell: csv, tsv, parquet, jsonl, letor.
    """

    task: str | None = None
    target: str | None = None
    qid: str | None = None
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    drop: Several = None
    category: Several = None
    keep: Several = None
    classes: Several = None
    columns: str | None = None
    format: str | None = None

    def roles(self) -> dict[str, str | None]:
        """Return the columns that are given, by their roles."""
        names = ("target", "qid", "user", "item", "rating")
        return {name: getattr(self, name) for name in names}

    def ids(self) -> list[str]:
        """Return the columns of ids that are given."""
        return [name for name in (self.qid, self.user, self.item) if name]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(TableOptions):
    """Options of `peckorder compare`.

    Parameters
    ----------
    qrels
        TREC judgements: the files are runs then, compared with each other and with
        ways to fuse them.
    metric
        What decides, as in ndcg@5 or ap, or any that the leaderboard shows. By default
        of grades and runs ndcg@10, of ratings disagreement, of classes the mean rank
        loss, of magnitudes rmsd, the root of the mean squared difference of pairs.
    rankers
        Rankers of the leaderboard to take part, as in PRank,RankBoost; or give it
        again for each.
    folds
        Folds of the cross-validation; at least 2. Where there are fewer queries or
        people than folds, or fewer than two rows per fold for rmsd, there are fewer.
    rows
        Compare on so many rows, drawn at random, at most; by default 50,000. Queries
        and people are drawn whole, two of them though they have more rows. Of
        ratings: test so many people, by default 500; beyond 250,000 ratings only
        those of some people, drawn at random, are learnt from, which is noted.
    save
        A model file for the best ranker, of whatever library, fitted to all rows that
        were compared (see --rows). One of another library needs that library.
    repeats
        Without a file: repetitions, each with new rows; at least 2.
    seed
        Where the random numbers start; from 0 to 2**31.
    out
        The HTML file to write; not the one of --save.
    by
        What of pairs is left out, with --items: as in `peckorder fit`.
    """

    qrels: str | None = None
    metric: str | None = None
    rankers: Several = None
    folds: int = 5
    rows: int | None = None
    save: Path | None = None
    repeats: int | None = None
    seed: int = 0
    out: OutPath = Path("peckorder-report.html")
    by: str | None = None

    def command(self, files: tuple[str, ...]) -> list[str]:
        """Return the words of the command that gives the same result again."""
        words = ["peckorder", "compare", *files]
        for name in ("qrels", "task", "target", "qid", "user", "item", "rating"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", value]
        for name in ("drop", "category", "keep", "rankers"):
            for value in getattr(self, name) or ():
                words += [f"--{name}", value]
        if self.classes is not None:
            words += ["--classes", ",".join(self.classes)]
        for name in ("columns", "metric", "rows", "format", "save"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", str(value)]
        return [*words, "--folds", str(self.folds), "--seed", str(self.seed)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions:
    """What a file of pairs is to be read as, for `compare`, `fit` and `evaluate`.

    Parameters
    ----------
    items
        A table of items: the file is of pairs of them then, one that is better and one
        that is worse, by their ids.
    id
        The column of ids in that table. By default the usual names, or the first column
        that has all ids of the pairs.
    better
        The column of pairs with the id of the better item; by default better, winner,
        preferred or chosen.
    worse
        The column with the id of the other: worse, loser, other or rejected.
    weight
        The column with the weight of each pair, if there is one: weight; "none" for no
        column.
    size
        The column that tells by how much the one is better, if there is one: size or
        margin; "none" for no column. RankBoost learns the order only.
    """

    items: str | None = None
    id: str | None = None
    better: str | None = None
    worse: str | None = None
    weight: str | None = None
    size: str | None = None

    def words(self) -> list[str]:
        """Return the words of a command that give these options."""
        every = ((field.name, getattr(self, field.name)) for field in fields(self))
        return [word for name, value in every if value for word in (f"--{name}", value)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions(TableOptions):
    """Options of `peckorder fit`.

    Parameters
    ----------
    ranker
        Its name in a leaderboard, such as "MPRank (RBF kernel)" or LightGBM, or that of
        its class: PRank, AggregatePRank, WidrowHoff or MulticlassPerceptron for ordered
        classes; MPRank, MPRankCV, SVRank or RankBoost for classes, grades and
        magnitudes; PersonalRanker for ratings.
    out
        The model file to write: a new one, or in place of a model.
    set_
        A parameter, as in --set C=10; give it again for more. All others are those of
        `peckorder compare`, and are chosen as there: C by leaving pairs out, rounds of
        boosting and other settings on rows left out.
    scale
        Put features to mean 0 and deviation 1, empty cells to the mean; the model file
        keeps how. By default for all rankers but RankBoost.
    by
        What of pairs is left out to choose settings, with --items: pair, other pairs of
        the same items, by default; row, for items that are new; or component, for
        connected components of pairs.
    """

    ranker: str
    out: OutPath
    by: str | None = None
    set_: Annotated[tuple[str, ...] | None, Parameter(name="--set", negative="")] = None
    scale: bool | None = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions:
    """Options of `peckorder rank`.

    Parameters
    ----------
    out
        The file to write; "-", the default, for standard output.
    qid
        The column of queries; by default the usual names. "none" for no column.
    docid
        The column that names documents, for runs; by default the usual names, "none"
        for no column.
    target
        The column of targets, with which lines of LETOR begin; by default the usual
        names, as in `evaluate`. With none, or --target none, all are 0.
    positions
        Number rows within their lists, and tell gaps. Without, rows go straight
        through, in any order of queries.
    user
        For a PersonalRanker: the column of users, or the person if there is no file,
        who gets the 10 best of what they have not rated, or --max-rows.
    item
        For a PersonalRanker: the column of items, or the one item to score for a
        person if there is no file.
    columns
        Names for the columns of a file, as in user,item,rating.
    cut
        Write only rows above the largest gap of their list.
    min_gap
        Lists without a gap above this one are not cut.
    max_rows
        Write no more rows of a list than this, the first by their positions.
    sort
        Write lists best first, not in the order of the file.
    features
        Keep the columns of features too; of a LETOR file those of the model.
    format
        Of the file: csv, tsv, parquet, jsonl, letor or run, if its name does not tell.
    out_format
        Of the file to write, if its name does not tell.
    rows
        Rows of a block.
    """

    out: OutText = STDIN
    qid: str | None = None
    docid: str | None = None
    target: str | None = None
    positions: bool = True
    user: str | None = None
    item: str | None = None
    columns: str | None = None
    cut: Flag = False
    min_gap: float = 0.0
    max_rows: int | None = None
    sort: Flag = False
    features: Flag = False
    format: str | None = None
    out_format: str | None = None
    rows: int = 65_536


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """Options of `peckorder evaluate`.

    Parameters
    ----------
    metric
        Such as ndcg@10, ap, rr, p@5, recall@100, tau, disagreement; of predicted
        classes "mean rank loss", "exactly right", "zero-one loss", macro_mae, qwk; of
        scores on the scale of the targets rmse, mae. Give it again for more, or names
        with commas between.
    model
        A model file: the columns of targets and queries are those that it learnt from.
    qrels
        TREC judgements to evaluate a run against.
    target
        The column of targets; by default the usual names, those of `peckorder compare`.
    score
        The column of scores; by default the usual names, "none" for no column.
    predicted
        The column of predicted classes; by default the one that `peckorder rank`
        writes, "none" for no column.
    classes
        The labels from lowest to highest, as in poor,fair,good, if they are text.
    qid
        The column of queries; by default the usual names, and the people of ratings.
        Without one, or with --qid none, all rows are one list.
    ties
        What equal scores mean: expected, best, worst, order, or docid as in trec_eval.
    bootstrap
        Samples of queries behind an interval.
    seed
        Where these samples start.
    per_query
        A file for the values of each query.
    format
        Of the file, if its name does not tell: csv, tsv, parquet, jsonl, letor, run.
    """

    metric: Metrics = None
    model: str | None = None
    qrels: str | None = None
    target: str | None = None
    score: str | None = None
    predicted: str | None = None
    classes: Several = None
    qid: str | None = None
    ties: str = "expected"
    bootstrap: int = 1000
    seed: int = 0
    per_query: str | None = None
    format: str | None = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FuseOptions:
    """Options of `peckorder fuse`.

    Parameters
    ----------
    qrels
        TREC judgements. Without them only borda and rrf can be had.
    out
        The run to write; "-" for standard output.
    method
        rankboost, borda or rrf. By default rankboost with qrels, rrf without.
    rounds
        Rounds of boosting; by default those that do best on queries left out, as in
        `peckorder compare`.
    folds
        Folds of the cross-validation.
    metric
        What to measure, such as ap or ndcg@10; give it again for more. The first
        decides; by default ndcg@10, as in `peckorder compare`.
    save
        A file for the learnt model; its features are called like the runs, and
        `peckorder rank MODEL RUN RUN` fuses other runs of these names.
    tag
        The name of the system in the run that is written.
    seed
        Where random numbers start.
    """

    qrels: str | None = None
    out: OutText = "fused.run"
    method: str | None = None
    rounds: int | None = None
    folds: int = 5
    metric: Metrics = None
    save: Path | None = None
    tag: str = "peckorder"
    seed: int = 0


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """Options of `peckorder explain`.

    Parameters
    ----------
    row
        Which row, from 1 on; give it again for more. By default the first.
    top
        How many features of a row are shown, those that add most first.
    user
        For a PersonalRanker: the person, without file, row and out.
    item
        For a PersonalRanker: the item, without file, row and out.
    out
        A file for all rows of the table: one column per feature, the constant, the
        score.
    format
        Of the file, if its name does not tell: csv, tsv, parquet, jsonl, letor.
    """

    row: Annotated[tuple[int, ...] | None, Parameter(negative="")] = None
    top: int = 10
    user: str | None = None
    item: str | None = None
    out: Annotated[str | None, Parameter(name=["--out", "-o"])] = None
    format: str | None = None


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
    ratings
        File or folder of ratings, in place of the paper's: a table of users, items and
        ratings, or a published set such as the Netflix Prize or EachMovie. The parts on
        ratings are run on these, at the sizes of the preset.
    out
        Folder for the files; made if it is not there.
    seed
        Where the random numbers start.
    jobs
        Processes that work side by side; by default one per core.
    """

    preset: str = "quick"
    data: Path | None = None
    ratings: Path | None = None
    out: OutPath = Path(".")
    seed: int = 0
    jobs: int | None = None


def separate_columns(columns: str | None) -> tuple[str, ...] | None:
    """Return names of columns that are given with commas between.

    Examples
    --------
    >>> from peckorder.cli.options import separate_columns
    >>> separate_columns("user, item,rating")
    ('user', 'item', 'rating')
    """
    return None if columns is None else tuple(map(str.strip, columns.split(",")))
