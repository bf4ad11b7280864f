"""Results that show themselves as a table: as text, and as HTML in a notebook."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape

# Cells of a table line by line, the first with headings.
Lines = Sequence[Sequence[str]]


class ShownAsTable(ABC):
    """What is printed as a table, with remarks below."""

    @abstractmethod
    def _lines(self) -> Lines:
        """Return the cells, the first line with headings."""

    def _remarks(self) -> Sequence[str]:
        """Return what is to be said below the table."""
        return ()

    def __repr__(self) -> str:
        return "\n".join([aligned(self._lines()), *self._remarks()])

    def _repr_html_(self) -> str:
        tags = ["th", *["td"] * (len(self._lines()) - 1)]
        head, *rows = (
            "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line)
            for tag, line in zip(tags, self._lines(), strict=True)
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return table + "".join(f"<p>{escape(remark)}</p>" for remark in self._remarks())


def aligned(lines: Lines) -> str:
    """Return lines of cells as text, in columns; all but the first to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
