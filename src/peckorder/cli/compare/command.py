"""`peckorder compare`: find out which ranker is best."""

from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from peckorder.cli.options import AsJson, Quiet

Several: TypeAlias = Annotated[list[str] | None, Parameter(negative="")]


def compare(
    *files: str,
    task: str | None = None,
    target: str | None = None,
    qid: str | None = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    drop: Several = None,
    classes: Several = None,
    columns: str | None = None,
    qrels: str | None = None,
    metric: str | None = None,
    rankers: Several = None,
    folds: int = 5,
    rows: int | None = None,
    format: str | None = None,
    save: Path | None = None,
    repeats: int | None = None,
    seed: int = 0,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path(
        "peckorder-report.html"
    ),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out which ranker is best on a file; print a leaderboard, write a report.

    Example: peckorder compare wine.csv --target quality --save wine.peckorder

    Example: peckorder compare train.txt.gz --metric ndcg@5

    Example: peckorder compare u.data --columns user,item,rating,timestamp

    Example: peckorder compare bm25.run dense.run --qrels qrels.txt

    What is to be learnt is told from the columns: ordered classes, real-valued
    relevance, grades within queries, ratings of items by people. All rankers that can
    do it are cross-validated, queries and people kept whole, beside LightGBM, XGBoost,
    mord and scikit-learn's ridge where these are installed. Without a file they are
    compared on embedded data.

    Parameters
    ----------
    files
        A table (csv, tsv, parquet, jsonl, LETOR; also .gz and .zst), "-" for standard
        input, or several TREC runs with --qrels.
    task
        ordinal, magnitude, graded or ratings, if it is not told rightly.
    target, qid
        Columns: what to predict, and the queries within which rows are compared.
    user, item, rating
        Columns of ratings. Without ratings or queries, --user is the column of people,
        whose rows no fold cuts in two; by default one that is named so.
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
        people than folds, or fewer than two rows a fold for msd, there are fewer.
    rows
        Compare on so many rows, drawn at random, at most; by default 50,000. Queries
        and people are drawn whole, two of them though they have more rows. Of
        ratings: test so many people, by default 500; beyond 250,000 ratings it is
        learnt from those of some people, drawn at random, and said.
    format
        Of the file, if its name does not tell: csv, tsv, parquet, jsonl, letor.
    save
        A model file for the best of peckorder's own rankers, fitted to all rows that
        were compared (see --rows).
    repeats
        Without a file: repetitions, each with rows of its own; at least 2.
    seed
        Where the random numbers start; from 0 to 2**31.
    out
        The HTML file to write; not the one of --save.
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    """
    from peckorder.cli.compare.embedded import run_compare

    run_compare(
        files,
        task=task,
        target=target,
        qid=qid,
        user=user,
        item=item,
        rating=rating,
        drop=drop,
        classes=classes,
        columns=columns,
        qrels=qrels,
        metric=metric,
        rankers=rankers,
        folds=folds,
        rows=rows,
        format=format,
        save=save,
        repeats=repeats,
        seed=seed,
        out=out,
        json=json,
        quiet=quiet,
    )
