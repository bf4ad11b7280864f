"""`peckorder fit`: learn a ranker from a file."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from peckorder.cli.options import PRINTED, OutPath, OutputOptions, Several


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """Options of `peckorder fit`.

    Parameters
    ----------
    ranker
        PRank, AggregatePRank, WidrowHoff or MulticlassPerceptron for ordered classes;
        MPRank, MPRankCV, SVRank or RankBoost for grades and magnitudes; PersonalRanker
        for ratings.
    out
        The model file to write: a new one, or in place of a model.
    set_
        A parameter, as in --set C=10; give it again for more. Other parameters are
        those of `peckorder compare`. Without --set the same is chosen here as there:
        C by leaving pairs out, rounds of boosting by early stopping.
    target
        The column to predict. By default the usual names, or the last column.
    qid
        The column of queries, within which rows are compared. By default the usual
        names.
    user
        The column of people. For PersonalRanker those who rate; for others, also a
        column named so where there are no queries, people who are left out whole where
        settings are chosen; it is no feature.
    item
        The column of items, for PersonalRanker.
    rating
        The column of ratings, for PersonalRanker.
    classes
        The labels from lowest to highest, if they are text.
    drop
        A column to leave out; give it again for more.
    columns
        Names for the columns of a file, as in user,item,rating.
    scale
        Put features to mean 0 and deviation 1, empty cells to the mean; the model file
        keeps how. By default for all rankers but RankBoost.
    format
        Of the file, if its name does not tell: csv, tsv, parquet, jsonl, letor.
    """

    ranker: str
    out: OutPath
    set_: Annotated[tuple[str, ...] | None, Parameter(name="--set", negative="")] = None
    target: str | None = None
    qid: str | None = None
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    classes: Several = None
    drop: Several = None
    columns: str | None = None
    scale: bool | None = None
    format: str | None = None

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns that are given, by their roles."""
        names = ("target", "qid", "user", "item", "rating")
        return {name: getattr(self, name) for name in names}


def fit(file: str, /, *, options: FitOptions, output: OutputOptions = PRINTED) -> None:
    """Fit a ranker to a file; write the model, with the names of its features.

    Example: peckorder fit wine.csv --target quality --ranker MPRank --set C=10 -o
    wine.peckorder

    Example: peckorder fit ratings.dat --ranker PersonalRanker -o films.peckorder

    Parameters
    ----------
    file
        A table; "-" to read standard input.
    """
    from peckorder.cli.fit.work import run_fit

    run_fit(file, options, output)
