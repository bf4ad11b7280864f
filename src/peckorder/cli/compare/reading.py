"""Files to be compared on, with a header or without."""

from collections.abc import Collection, Mapping

from peckorder.datasets import Qrels, Run
from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns
from peckorder.tables.files.read import format_of, guessed, read_columns
from peckorder.tables.files.runs import as_run, read_qrels, read_run_columns, run_names
from peckorder.tables.files.source import check_is_file as check_file
from peckorder.tables.files.source import is_standard, name_of, opened


def read_table(
    path: str,
    format: str | None,
    names: tuple[str, ...] | None,
    ids: Collection[str] = (),
) -> Columns:
    """Read a table; one without a line of names has those given, or numbers.

    `ids` are columns of ids, beside those named so.
    """
    check_file(path)
    if is_standard(path):  # which can be read once only
        return read_columns(path, format=format, ids=ids, names=names)
    kind = format_of(path, format)
    if kind is None:
        with opened(path) as file:
            kind = guessed(file.head)
    if kind in ("run", "qrels"):
        raise DataError(
            f"compare: qrels must be given, by --qrels FILE, to compare runs; got "
            f"{name_of(path)} alone."
        )
    return read_columns(path, format=kind, ids=ids, names=names)


def read_runs(paths: tuple[str, ...], qrels: str) -> tuple[Mapping[str, Run], Qrels]:
    """Read TREC runs, called by their files' names, and judgements."""
    names = run_names("compare", paths)
    runs = {
        name: as_run("compare", read_run_columns("compare", path))
        for name, path in zip(names, paths, strict=True)
    }
    return runs, read_qrels("compare", qrels)
