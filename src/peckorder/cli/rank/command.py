"""`peckorder rank`: put the rows of a file in order."""

from dataclasses import dataclass

from cyclopts import Parameter

from peckorder.cli.options import PRINTED, Flag, OutputOptions, OutText
from peckorder.tables.files.standard_streams import STDIN


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions:
    """Options of `peckorder rank`.

    Parameters
    ----------
    out
        The file to write; "-", the default, for standard output.
    qid
        The column of queries; by default the usual names.
    docid
        The column that names documents, for runs; by default the usual names.
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


DEFAULTS = RankOptions()


def rank(
    model: str, /, *files: str, options: RankOptions = DEFAULTS, output: OutputOptions = PRINTED
) -> None:
    """Score the rows of a file, and number them within their queries.

    Example: peckorder rank wine.peckorder new.csv --out ranked.csv

    Example: zcat test.txt.gz | peckorder rank m.peckorder - --format letor
    --out-format run --docid docid > my.run

    Example: peckorder rank films.peckorder --user 17 --max-rows 20

    Example: peckorder rank fused.peckorder new/bm25.run dense=new/d2.run --out my.run

    Files may be larger than memory: rows are read in blocks, and a query is held until
    it is complete. The rows of a query must stand together, therefore. Columns of the
    file that are no features are kept, in Parquet and JSON lines as numbers if all
    cells are; score, position, gap (to the next in the list) and above_cut (whether a
    row stands above the largest gap) are added, in place of those that the file has.
    Without a column of queries all rows are one list, of which only scores are held in
    memory, unless --sort is asked for. A summary as JSON needs --out FILE.

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
    from peckorder.cli.rank.work import run_rank

    run_rank(model, files, options, output)
