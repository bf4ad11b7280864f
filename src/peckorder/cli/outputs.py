"""Checks, before any work, of the files that a command is to write."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from peckorder import reports
from peckorder._core.errors import refusal
from peckorder._core.typing import PathLike
from peckorder.storage.format.container import MAGIC
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.files.write import check_target


def check_outputs(
    outputs: Mapping[str, PathLike | None], inputs: Iterable[PathLike | None]
) -> None:
    """Refuse files that cannot be written, are read, or are given for two outputs.

    `outputs` are files by their options; None and "-" are skipped.

    Examples
    --------
    >>> from peckorder.cli.outputs import check_outputs
    >>> check_outputs({"-o": "no-such.csv"}, ["m.peckorder", "no-such.csv"])
    Traceback (most recent call last):
    peckorder.exceptions.DataError: -o must be another file than what is read; got \
'no-such.csv' for both.
    """
    read = [path for path in inputs if path is not None and not is_standard(path)]
    seen: dict[str, PathLike] = {}
    for option, path in outputs.items():
        if path is None or is_standard(path):
            continue
        if any(_is_same(path, other) for other in read):
            raise refusal(option, "be another file than what is read", f"{str(path)!r} for both")
        for before, other in seen.items():
            if _is_same(path, other):
                raise refusal(f"{before} and {option}", "be two files", f"{str(path)!r} for both")
        seen[option] = path
        check_target(path)


def check_model(option: str, path: PathLike) -> None:
    """Refuse to write a model over a file that is something else, and not empty."""
    if not Path(path).is_file():
        return
    with Path(path).open("rb") as file:
        head = file.read(len(MAGIC))
    if head not in (b"", MAGIC):
        raise refusal(
            option,
            "be a new file, or a model that is written over",
            f"{str(path)!r}, which is no model",
        )


def check_report(out: Path) -> None:
    """Refuse a path where no report can be written."""
    if is_standard(out):
        raise refusal("out", "be a file", "'-'")
    check_encodable("out", out)
    reports.check_path(out)


def check_encodable(what: str, *paths: PathLike) -> None:
    """Refuse names that are not UTF-8, in which the report is written."""
    for path in paths:
        try:
            str(path).encode("utf-8")
        except UnicodeEncodeError:
            raise refusal(what, "have a name in UTF-8", f"{str(path)!a}") from None


def _is_same(path: PathLike, other: PathLike) -> bool:
    """Return whether two paths lead to one file; pipes and devices do not count."""
    if not (Path(path).exists() and Path(other).exists()):
        return os.path.realpath(path) == os.path.realpath(other)
    return Path(path).is_file() and os.path.samefile(path, other)
