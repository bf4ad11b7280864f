"""Small tables: for a terminal, or as frames."""

from typing import Any

from peckorder.exceptions import MissingExtraError


def table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Lay out a table for a terminal; all but the first column to the right."""
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def frame(library: str, rows: Any) -> Any:
    """Return rows as a frame of a library that may not be there."""
    from importlib import import_module

    try:
        frames = import_module(library)
    except ImportError:
        raise MissingExtraError(
            f"metrics: {library} must be installed for this; got none. Type "
            "pip install 'peckorder[frames]'."
        ) from None
    return frames.DataFrame(rows)
