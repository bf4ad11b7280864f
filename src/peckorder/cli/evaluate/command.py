"""`peckorder evaluate`: how good an order is."""

from dataclasses import dataclass

from cyclopts import Parameter

from peckorder.cli.options import PRINTED, Metrics, OutputOptions, Several


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """Options of `peckorder evaluate`.

    Parameters
    ----------
    metric
        Such as ndcg@10, ap, rr, p@5, recall@100, tau, disagreement; of predicted
        classes "mean rank loss", "exactly right", "zero-one loss". Give it again for
        more.
    qrels
        TREC judgements to evaluate a run against.
    target
        The column of targets; by default the usual names, those of `peckorder compare`.
    score
        The column of scores; by default the usual names.
    predicted
        The column of predicted classes; by default the one that `peckorder rank`
        writes.
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


DEFAULTS = EvaluateOptions()


def evaluate(
    file: str, /, *, options: EvaluateOptions = DEFAULTS, output: OutputOptions = PRINTED
) -> None:
    """Measure predictions, or a TREC run: means over queries, 95 % intervals.

    Example: peckorder evaluate my.run --qrels qrels.txt -m ndcg@10 -m ap

    Example: peckorder evaluate ranked.csv

    Example: peckorder evaluate scored.csv --target grade --score score --qid qid

    Example: peckorder evaluate ranked.csv -m "mean rank loss" --classes poor,fair,good

    Without --metric, predicted classes are measured as `peckorder compare` does it, by
    their mean rank loss, and scores by ndcg@10, ap and rr, or the disagreement of pairs
    if there are classes.

    Rows without a target, a score or a query are left out, which is said.

    With --qrels, listed documents that are not judged have grade 0, judged ones that
    the run does not list earn nothing, and queries that are not in both are left out:
    with --ties docid the figures are those of trec_eval.

    Parameters
    ----------
    file
        A table with columns of targets and scores, or a TREC run; "-" to read
        standard input.
    """
    from peckorder.cli.evaluate.work import run_evaluate

    run_evaluate(file, options, output)
