"""What is to be said of ranked rows beside their scores: cells a model cannot use."""

from collections.abc import Mapping
from typing import Any, Final

from numpy.typing import NDArray

from peckorder.tables.columns import Columns, is_empty
from peckorder.tables.files.source import short
from peckorder.tables.roles import ColumnRole

# Columns of which gaps are said one by one.
_MOST: Final = 5


class Noted:
    """Counts, block by block, what people should know of the rows of a file."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self.column_roles: list[ColumnRole] = []
        self._unseen: dict[str, tuple[int, str]] = {}
        self._gaps: dict[str, tuple[int, str]] = {}
        self._n_rows = 0

    def say(self, sentence: str) -> None:
        """Take down a sentence."""
        self._said.append(sentence)

    def take(self, role: ColumnRole) -> None:
        """Record the role of a column."""
        self.column_roles.append(role)

    def look(self, columns: Columns, levels: Mapping[str, set[str]]) -> None:
        """Count texts that a model has not learnt from, of columns with known ones."""
        for column, known in levels.items():
            self._count(column, columns.arrays[column], known)

    def count_gaps(self, columns: Columns, taken_as: Mapping[str, str]) -> None:
        """Count the empty cells of columns, for which a model takes something else."""
        self._n_rows += len(columns)
        for column, what in taken_as.items():
            n = int(is_empty(columns.arrays[column]).sum())
            if n:
                self._gaps[column] = self._gaps.get(column, (0, ""))[0] + n, what

    def _count(self, column: str, cells: NDArray[Any], known: set[str]) -> None:
        unseen = [c for c in cells.tolist() if c is not None and str(c) not in known]
        if unseen:
            n_before, first = self._unseen.get(column, (0, str(unseen[0])))
            self._unseen[column] = n_before + len(unseen), first

    def _gap_sentences(self) -> list[str]:
        said = [
            f"{column}: {n} of {self._n_rows} row{'' if self._n_rows == 1 else 's'} "
            f"empty, taken as {what}."
            for column, (n, what) in self._gaps.items()
        ]
        more = len(said) - _MOST
        if more <= 1:
            return said
        return [*said[:_MOST], f"And {more} more columns have empty cells."]

    @property
    def sentences(self) -> list[str]:
        """All that is to be said."""
        return [
            *self._said,
            *(
                f"{column}: {n} row{' has' if n == 1 else 's have'} a value that the "
                f"model has not learnt from, such as {short(first)}; it counts as none."
                for column, (n, first) in self._unseen.items()
            ),
            *self._gap_sentences(),
        ]
