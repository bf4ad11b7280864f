"""`peckorder evaluate`: how good an order is."""

from typing import Annotated

from cyclopts import Parameter

from peckorder.cli._options import AsJson, Quiet


def evaluate(
    file: str,
    /,
    *,
    metric: Annotated[
        list[str] | None, Parameter(name=["--metric", "-m"], negative="")
    ] = None,
    qrels: str | None = None,
    target: str | None = None,
    score: str | None = None,
    qid: str | None = None,
    ties: str = "expected",
    bootstrap: int = 1000,
    seed: int = 0,
    per_query: str | None = None,
    format: str | None = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure predictions, or a TREC run: means over queries, 95 % intervals.

    Example: peckorder evaluate my.run --qrels qrels.txt -m ndcg@10 -m ap

    Example: peckorder evaluate scored.csv --target grade --score score --qid qid

    With --qrels, listed documents that are not judged have grade 0, judged ones that
    the run does not list earn nothing, and queries that are not in both are left out:
    with --ties docid the figures are those of trec_eval.

    Parameters
    ----------
    file
        A table with columns of targets and scores, or a TREC run; "-" to read
        standard input.
    metric
        Such as ndcg@10, ap, rr, p@5, recall@100, tau, disagreement; give it again for
        more. By default ndcg@10, ap and rr.
    qrels
        TREC judgements to hold a run against.
    target, score, qid
        Names of columns; by default the usual ones. Without a column of queries all
        rows are one list.
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
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    """
    from peckorder.cli._evaluate_work import run_evaluate

    run_evaluate(
        file,
        metric=metric,
        qrels=qrels,
        target=target,
        score=score,
        qid=qid,
        ties=ties,
        bootstrap=bootstrap,
        seed=seed,
        per_query=per_query,
        format=format,
        json=json,
        quiet=quiet,
    )
