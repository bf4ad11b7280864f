"""Text files of the TREC conferences: runs and judgements."""

import os
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import NoReturn, Self, TypeVar

import numpy as np

from peckorder._core.errors import entry, refusal
from peckorder._core.text_files import ENCODING, Source, check_source, read_text, shown, write_text
from peckorder._core.typing import Labels
from peckorder.datasets.formats.runs import IS_QRELS, IS_RUN, Qrels, Run

_Number = TypeVar("_Number", int, float)


@entry
def load_run(path: Source) -> Run:
    r"""Read a TREC run: lines of ``qid Q0 docid rank score tag``.

    O(n) for n lines. The second column is ignored.

    Parameters
    ----------
    path : path or file
        Decompressed if it is a gzip file.

    Returns
    -------
    run : Run
        The rows in the order of lines.

    Raises
    ------
    DataError
        For a line that is malformed or lists a document again, with its number.

    Examples
    --------
    >>> import io
    >>> from peckorder.datasets import load_run
    >>> run = load_run(io.StringIO("7 Q0 d2 1 9.5 bm25\n7 Q0 d1 2 7.25 bm25\n"))
    >>> run.docid.tolist(), run.score.tolist()
    (['d2', 'd1'], [9.5, 7.25])
    """
    check_source(path)
    table = _Table.read(path, {6: "qid Q0 docid rank score tag"})
    table.check_listed_once(docid=2)
    rank = np.array(table.numbers(3, int), dtype=np.int64)
    score = np.array(table.numbers(4, float), dtype=np.float64)
    return Run(table.words(0), table.words(2), score, rank, table.words(5))


@entry
def dump_run(run: Run, path: str | os.PathLike[str]) -> None:
    r"""Write a TREC run, atomically.

    Parameters
    ----------
    run : Run
        The rows, written in their order; scores are read back exactly.
    path : path
        Compressed if its name ends in ``.gz``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from peckorder.datasets import Run, dump_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "my.run"
    ...     dump_run(Run([7], ["d2"], [9.5], tag="mine"), file)
    ...     file.read_text()
    '7 Q0 d2 1 9.5 mine\n'
    """
    IS_RUN.check("run", run)
    columns = (run.qid, run.docid, run.rank, run.score, run.tag)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = (f"{q} Q0 {d} {rank} {score!r} {tag}\n" for q, d, rank, score, tag in rows)
    write_text(path, lines)


@entry
def load_qrels(path: Source) -> Qrels:
    r"""Read TREC judgements in four columns or three.

    Lines are ``qid iteration docid grade`` or ``qid docid grade``, all of one kind.
    O(n) for n lines. Grades are integers if all of them are, else real numbers.

    Parameters
    ----------
    path : path or file
        Decompressed if it is a gzip file.

    Returns
    -------
    qrels : Qrels
        The rows in the order of lines.

    Raises
    ------
    DataError
        For a line that is malformed or judges a document again, with its number.

    Examples
    --------
    >>> import io
    >>> from peckorder.datasets import load_qrels
    >>> load_qrels(io.StringIO("7 0 d2 1\n7 0 d1 0\n")).grade
    array([1, 0])
    >>> load_qrels(io.StringIO("7 d2 1\n7 d1 0\n")).docid.tolist()
    ['d2', 'd1']
    """
    check_source(path)
    forms = {4: "qid iteration docid grade", 3: "qid docid grade"}
    table = _Table.read(path, forms)
    table.check_listed_once(docid=-2)
    grade = np.array(table.numbers(-1, float), dtype=np.float64)
    if (np.trunc(grade) == grade).all() and (np.abs(grade) < 2**53).all():
        return Qrels(table.words(0), table.words(-2), grade.astype(np.int64))
    return Qrels(table.words(0), table.words(-2), grade)


@entry
def dump_qrels(qrels: Qrels, path: str | os.PathLike[str]) -> None:
    r"""Write TREC judgements in four columns, atomically.

    Parameters
    ----------
    qrels : Qrels
        The rows, written in their order.
    path : path
        Compressed if its name ends in ``.gz``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from peckorder.datasets import Qrels, dump_qrels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "my.qrels"
    ...     dump_qrels(Qrels([7], ["d2"], [1]), file)
    ...     file.read_text()
    '7 0 d2 1\n'
    """
    IS_QRELS.check("qrels", qrels)
    columns = (qrels.qid, qrels.docid, qrels.grade)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    write_text(path, (f"{q} 0 {d} {grade!r}\n" for q, d, grade in rows))


@dataclass(frozen=True, slots=True)
class _Table:
    """The words of the lines that are not empty, and the numbers of these lines."""

    form: str
    rows: list[list[bytes]]
    lines: list[int]

    @classmethod
    def read(cls, path: Source, forms: dict[int, str]) -> Self:
        """Read lines of equal numbers of words, one of the keys of `forms`."""
        table = cls("' or '".join(forms.values()), [], [])
        blocks = (block.split(b"\n")[:-1] for block in read_text(path))
        for number, line in enumerate(chain.from_iterable(blocks), 1):
            words = line.split()
            if not words:
                continue
            if not table.rows and len(words) in forms:
                table = cls(forms[len(words)], [], [])
            table.rows.append(words)
            table.lines.append(number)
            if len(words) not in forms or len(words) != len(table.rows[0]):
                table.refuse(-1)
        return table

    def refuse(self, row: int) -> NoReturn:
        """Raise for a row of another form."""
        line = shown(b" ".join(self.rows[row]))
        raise refusal(f"line {self.lines[row]}", f"be '{self.form}'", line)

    def words(self, column: int) -> Labels:
        """Return a column as text."""
        return np.array([row[column].decode(*ENCODING) for row in self.rows], dtype=str)

    def numbers(self, column: int, dtype: type[_Number]) -> list[_Number]:
        """Return a column as finite numbers."""
        numbers = []
        for i, row in enumerate(self.rows):
            try:
                number = dtype(row[column])
            except ValueError:
                self.refuse(i)
            fits = isfinite(number) if dtype is float else -(2**63) <= number < 2**63
            # Python reads 1_000 as a number; no other tool does.
            if not fits or b"_" in row[column]:
                self.refuse(i)
            numbers.append(number)
        return numbers

    def check_listed_once(self, docid: int) -> None:
        """Raise at the first document that is listed again for the same query."""
        seen = set()
        for row, line in zip(self.rows, self.lines, strict=True):
            if (row[0], row[docid]) in seen:
                document, query = shown(row[docid]), shown(row[0])
                raise refusal(
                    f"line {line}",
                    "list a document that is new to its query",
                    f"{document} again for query {query}",
                )
            seen.add((row[0], row[docid]))
