"""`peckorder fuse`: one list out of several."""

from dataclasses import dataclass
from pathlib import Path

from cyclopts import Parameter

from peckorder.cli.options import PRINTED, Metrics, OutputOptions, OutText


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


DEFAULTS = FuseOptions()


def fuse(
    runs: list[str], /, *, options: FuseOptions = DEFAULTS, output: OutputOptions = PRINTED
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
    from peckorder.cli.fuse.work import run_fuse

    run_fuse(runs, options, output)
