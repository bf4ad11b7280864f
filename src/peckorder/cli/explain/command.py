"""`peckorder explain`: why a row has the score it has."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from peckorder.cli.options import PRINTED, OutputOptions


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


DEFAULTS = ExplainOptions()


def explain(
    model: str,
    file: str | None = None,
    /,
    *,
    options: ExplainOptions = DEFAULTS,
    output: OutputOptions = PRINTED,
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
    from peckorder.cli.explain.work import run_explain

    run_explain(model, file, options, output)
