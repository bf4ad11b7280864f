"""Files to write that would take the place of what is read, or of one another."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from peckorder.storage.format.container import MAGIC
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.files.write import check_target

_Path: TypeAlias = str | os.PathLike[str]


def check_outputs(
    who: str, outputs: Mapping[str, _Path | None], inputs: Iterable[_Path | None]
) -> None:
    """Refuse, before any work, places where nothing can, or should, be written.

    `outputs` are files by their options, None and "-" apart. Each must be one that can
    be written, none of `inputs`, and no other output.

    Examples
    --------
    >>> from peckorder.cli.outputs import check_outputs
    >>> check_outputs("rank", {"-o": "no-such.csv"}, ["m.peckorder", "no-such.csv"])
    Traceback (most recent call last):
    ValueError: rank: -o must be another file than what is read; got 'no-such.csv' \
for both.
    """
    read = [path for path in inputs if path is not None and not is_standard(path)]
    seen: dict[str, _Path] = {}
    for option, path in outputs.items():
        if path is None or is_standard(path):
            continue
        if any(_is_same(path, other) for other in read):
            raise ValueError(
                f"{who}: {option} must be another file than what is read; got "
                f"{str(path)!r} for both."
            )
        for before, other in seen.items():
            if _is_same(path, other):
                raise ValueError(
                    f"{who}: {before} and {option} must be two files; got "
                    f"{str(path)!r} for both."
                )
        seen[option] = path
        check_target(path)


def check_model(who: str, option: str, path: _Path) -> None:
    """Refuse to write a model over a file that is something else, and not empty."""
    if not Path(path).is_file():
        return
    with Path(path).open("rb") as file:
        head = file.read(len(MAGIC))
    if head not in (b"", MAGIC):
        raise ValueError(
            f"{who}: {option} must be a new file, or a model that is written over; got "
            f"{str(path)!r}, which is no model."
        )


def _is_same(path: _Path, other: _Path) -> bool:
    """Say whether two paths lead to one file; pipes and devices are none."""
    if not (Path(path).exists() and Path(other).exists()):
        return os.path.realpath(path) == os.path.realpath(other)
    return Path(path).is_file() and os.path.samefile(path, other)
