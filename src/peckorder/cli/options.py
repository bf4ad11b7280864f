"""Options that commands share.

The options of a command are one frozen dataclass, beside the command: cyclopts reads
its fields, defaults and help texts, and the work takes it as it is.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

Flag: TypeAlias = Annotated[bool, Parameter(negative="")]
Several: TypeAlias = Annotated[tuple[str, ...] | None, Parameter(negative="")]
Metrics: TypeAlias = Annotated[
    tuple[str, ...] | None, Parameter(name=["--metric", "-m"], negative="")
]
OutText: TypeAlias = Annotated[str, Parameter(name=["--out", "-o"])]
OutPath: TypeAlias = Annotated[Path, Parameter(name=["--out", "-o"])]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How a result is printed.

    Parameters
    ----------
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    """

    json: Flag = False
    quiet: Flag = False


PRINTED = OutputOptions()


def separate_columns(columns: str | None) -> tuple[str, ...] | None:
    """Return names of columns that are given with commas between.

    Examples
    --------
    >>> from peckorder.cli.options import separate_columns
    >>> separate_columns("user, item,rating")
    ('user', 'item', 'rating')
    """
    return None if columns is None else tuple(map(str.strip, columns.split(",")))
