"""`peckorder fit`: learn a ranker from a file."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from peckorder.cli.options import AsJson, Quiet


def fit(
    file: str,
    /,
    *,
    ranker: str,
    out: Annotated[Path, Parameter(name=["--out", "-o"])],
    set_: Annotated[list[str] | None, Parameter(name="--set", negative="")] = None,
    target: str | None = None,
    qid: str | None = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    classes: Annotated[list[str] | None, Parameter(negative="")] = None,
    drop: Annotated[list[str] | None, Parameter(negative="")] = None,
    columns: str | None = None,
    scale: bool | None = None,
    format: str | None = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit a ranker to a file; write the model, with the names of its features.

    Example: peckorder fit wine.csv --target quality --ranker MPRank --set C=10 -o
    wine.peckorder

    Example: peckorder fit ratings.dat --ranker PersonalRanker -o films.peckorder

    Parameters
    ----------
    file
        A table; "-" to read standard input.
    ranker
        PRank, AggregatePRank, WidrowHoff or MulticlassPerceptron for ordered classes;
        MPRank, MPRankCV, SVRank or RankBoost for grades and magnitudes; PersonalRanker
        for ratings.
    out
        The model file to write: a new one, or in place of a model.
    set_
        A parameter, as in --set C=10; give it again for more. Other parameters are
        those of `peckorder compare`. Without --set it is also chosen here what is
        chosen there: C by leaving pairs out, rounds of boosting by early stopping.
    target, qid
        Columns: what to predict, and the queries within which rows are compared. By
        default the usual names, or the last column.
    user, item, rating
        Columns of ratings, for PersonalRanker. For others --user, or a column named so
        where there are no queries, has the people who are left out whole where
        settings are chosen; it is no feature.
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
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    """
    from peckorder.cli.fit.work import run_fit

    run_fit(
        file,
        ranker=ranker,
        out=out,
        set_=set_,
        target=target,
        qid=qid,
        user=user,
        item=item,
        rating=rating,
        classes=classes,
        drop=drop,
        columns=columns,
        scale=scale,
        format=format,
        json=json,
        quiet=quiet,
    )
