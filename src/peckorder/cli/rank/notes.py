"""Notes about ranked rows beside their scores, such as cells a model cannot use."""

from collections.abc import Mapping
from typing import Final

from peckorder._core.typing import Array
from peckorder.tables.columns import Columns, is_empty
from peckorder.tables.files.source import short
from peckorder.tables.roles import ColumnRole

# Columns whose gaps are noted one by one.
_MOST: Final = 5


class Notes:
    """What users should know of the rows of a file, counted block by block."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self.n_lists = 0
        self.column_roles: list[ColumnRole] = []
        self._unseen: dict[str, tuple[int, str]] = {}
        self._gaps: dict[str, tuple[int, str]] = {}
        self._n_rows = 0

    def add(self, sentence: str) -> None:
        """Add a sentence."""
        self._sentences.append(sentence)

    def add_role(self, role: ColumnRole) -> None:
        """Add the role of a column."""
        self.column_roles.append(role)

    def count_unseen(self, columns: Columns, levels: Mapping[str, set[str]]) -> None:
        """Count texts that a model has not learnt from, of columns with known ones."""
        for column, known in levels.items():
            self._count(column, columns.arrays[column], known)

    def count_gaps(self, columns: Columns, replacements: Mapping[str, str]) -> None:
        """Count the empty cells of columns, for which a model uses something else."""
        self._n_rows += len(columns)
        for column, what in replacements.items():
            n = int(is_empty(columns.arrays[column]).sum())
            if n:
                self._gaps[column] = self._gaps.get(column, (0, ""))[0] + n, what

    def _count(self, column: str, cells: Array, known: set[str]) -> None:
        unseen = [c for c in cells.tolist() if c is not None and str(c) not in known]
        if unseen:
            n_before, first = self._unseen.get(column, (0, str(unseen[0])))
            self._unseen[column] = n_before + len(unseen), first

    def _gap_sentences(self) -> list[str]:
        sentences = [
            f"{column}: {n} of {self._n_rows} row{'' if self._n_rows == 1 else 's'} "
            f"empty, taken as {what}."
            for column, (n, what) in self._gaps.items()
        ]
        more = len(sentences) - _MOST
        if more <= 1:
            return sentences
        return [*sentences[:_MOST], f"And {more} more columns have empty cells."]

    @property
    def sentences(self) -> list[str]:
        """All sentences."""
        return [
            *self._sentences,
            *(
                f"{column}: {n} row{' has' if n == 1 else 's have'} a value that the "
                f"model has not learnt from, such as {short(first)}; it counts as none."
                for column, (n, first) in self._unseen.items()
            ),
            *self._gap_sentences(),
        ]
