"""What the name of a file says: standard streams, its format, whether it is there.

Commands check names before they import what reads and writes: nothing here does.
"""

import os
from pathlib import Path

from peckorder._core.errors import named, refusal
from peckorder._core.parameters import did_you_mean
from peckorder._core.text_files import check_target as check_path
from peckorder.tables.files.standard_streams import is_standard

FORMATS = ("csv", "tsv", "parquet", "jsonl", "letor", "run", "qrels", "arff", "xlsx")
# What is read only.
READ_ONLY = ("arff", "xlsx")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".dat": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".letor": "letor",
    ".svm": "letor",
    ".svmlight": "letor",
    ".libsvm": "letor",
    ".run": "run",
    ".res": "run",
    ".trec": "run",
    ".qrels": "qrels",
    ".qrel": "qrels",
    ".arff": "arff",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
_COMPRESSION_SUFFIXES = (".gz", ".zst")


def name_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a file in messages."""
    return "standard input" if is_standard(path) else str(path)


def shown_out(path: object) -> str:
    """Return the name of an output file in messages."""
    return "standard output" if is_standard(path) else str(path)


def check_is_file(path: str | os.PathLike[str]) -> None:
    """Raise if there is nothing to read at a path."""
    if is_standard(path):
        return
    with named(str(path)):
        if not Path(path).exists():
            folder = Path(path).parent
            names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
            hint = did_you_mean(Path(path).name, names, {})
            raise refusal("there is no such file", hint=hint, error=FileNotFoundError)
        if Path(path).is_dir():
            raise refusal("the file", "be a file", "a folder", error=IsADirectoryError)


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise, before any work, if nothing can be written at a path."""
    if not is_standard(path):
        with named(str(path)):
            check_path("the output", path)


def format_of(path: str | os.PathLike[str], format: str | None) -> str | None:
    """Return the format of a file to read; None if only its contents show it."""
    if format in FORMATS:
        return format
    if format is None and not is_standard(path):
        return _SUFFIXES.get(_suffix(path))
    rule, got = f"be one of {', '.join(FORMATS)}", repr(format)
    hint = did_you_mean(format, FORMATS, {})
    if format is None:
        rule, got = f"be given, one of {', '.join(FORMATS)}", "none"
        hint = "Add --format csv."
    with named(name_of(path)):
        raise refusal("format", rule, got, hint=hint, error=ValueError)


def format_to_write(
    path: str | os.PathLike[str], format: str | None, *, text: str = "letor", advice: str = ""
) -> str:
    """Return the format of a file to write: `text` if it is called .txt.

    `advice` is the hint of the refusal of other suffixes.
    """
    suffixes = [suffix for suffix, name in _SUFFIXES.items() if name not in READ_ONLY]
    if format in READ_ONLY:
        formats = [name for name in FORMATS if name not in READ_ONLY]
        with named(str(path)):
            raise refusal("the format", f"be one of {', '.join(formats)} to be written", format)
    if format is not None or is_standard(path) or _suffix(path) in suffixes:
        return str(format_of(path, format))
    if _suffix(path) == ".txt":
        return text
    rule = f"be one of {', '.join([*suffixes, '.txt'])}"
    with named(str(path)):
        got = repr(_suffix(path))
        raise refusal("the suffix", rule, got, hint=advice, error=ValueError)


def _suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a name, without that of the compression."""
    inner = Path(path)
    if inner.suffix.lower() in _COMPRESSION_SUFFIXES:
        inner = inner.with_suffix("")
    return inner.suffix.lower()
