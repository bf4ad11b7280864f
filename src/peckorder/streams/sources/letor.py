"""Streams of LETOR's text files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from peckorder._core.errors import entry, entry_named, refusal
from peckorder._core.typing import Labels
from peckorder._core.validation import boolean, optional, whole
from peckorder.datasets.formats.letor import DTYPE, MISSING, QID_DTYPE, documents
from peckorder.datasets.formats.letor_reader import LetorBlock, LetorReader
from peckorder.streams.block import Block, Stream, default_rows
from peckorder.streams.sources.files import (
    FileStream,
    Paths,
    file_identity,
    found_files,
    require_pyarrow,
)

_SUFFIXES = (".txt", ".txt.gz", ".txt.zst", ".letor", ".svm", ".dat")


@entry
def from_letor(
    path: Paths,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool = False,
    zero_based: bool = False,
    missing: float = np.nan,
    qid_dtype: type | None = None,
    rows: int | None = None,
) -> Stream:
    r"""Return the rows of LETOR's files as a stream.

    Lines are ``grade qid:ID index:value ... # comment``, as `peckorder.datasets`
    reads them; some MB of text at a time.

    Parameters
    ----------
    path : path or list of paths
        A file, several in their order, or a folder: all files in it whose names end in
        .txt, .txt.gz, .txt.zst, .letor, .svm or .dat, in the order of their names with
        numbers by their value. Files are read through gzip if they begin as such, and
        with pyarrow through zstd if their names end in .zst.
    n_features : int, default=None
        Columns of every block. None: the highest index, for which all files are read
        once now.
    dtype, zero_based, missing
        As in `peckorder.datasets.load_letor`.
    sparse : bool, default=False
        Yield CSR arrays.
    qid_dtype : {None, int, str}, default=None
        Type of the queries. None: by the first MB of the first file; later text is an
        error then.
    rows : int, default=None
        The most rows of a block, unless a query has more. None: as many as have 4 MiB
        of features, were they dense.

    Returns
    -------
    stream : Stream
        To be iterated, or for `peckorder.streams.fit`. It has queries if the first line
        has one; `y` are float64.

    Notes
    -----
    To begin at a later row, the rows before are read and dropped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from peckorder.streams import from_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "train.txt"
    ...     size = file.write_text("1 qid:4 1:0.5\n0 qid:4 2:2\n2 qid:7 1:4\n")
    ...     for block in from_letor(file, rows=2):
    ...         print(block.X.tolist(), block.y.tolist(), block.qid.tolist())
    [[0.5, 0.0], [0.0, 2.0]] [1.0, 0.0] [4, 4]
    [[4.0, 0.0]] [2.0] [7]
    """
    optional(whole(1)).check("n_features", n_features)
    DTYPE.check("dtype", dtype)
    boolean.check("sparse", sparse)
    boolean.check("zero_based", zero_based)
    MISSING.check("missing", missing)
    QID_DTYPE.check("qid_dtype", qid_dtype)
    optional(whole(1)).check("rows", rows)
    files = found_files(path, _SUFFIXES)
    options = {"zero_based": bool(zero_based), "missing": float(missing)}
    return _LetorFiles(files, n_features, dtype, sparse, qid_dtype, rows, options)


class _LetorFiles(FileStream):
    source_name = "from_letor"

    def __init__(
        self,
        files: list[Path],
        n_features: int | None,
        dtype: DTypeLike,
        sparse: bool,
        qid_dtype: type | None,
        rows: int | None,
        options: dict[str, float],
    ) -> None:
        super().__init__(files)
        self._options = options
        self._dtype, self._sparse = np.dtype(dtype), sparse
        self._qid_dtype, self._n_columns = qid_dtype, n_features
        self._has_qid: bool | None = None
        self._decide_on_queries()
        if n_features is None:
            highest = max(int(b.column.max(initial=-1)) for b in self._lines())
            if highest < 0:
                raise refusal("path", "hold one feature at least", "none")
            n_features = highest + 1
        self.n_features = self._n_columns = n_features
        self.rows = rows or default_rows(n_features, self._dtype.itemsize)

    def _decide_on_queries(self) -> None:
        """Find in the first rows whether there are queries, and their type."""
        for lines in self._lines():
            if len(lines):
                self.has_queries = self._has_qid = lines.qid is not None
                if lines.qid is not None:
                    is_whole = lines.qid.dtype.kind == "i"
                    self._qid_dtype = self._qid_dtype or (int if is_whole else str)
                return
        raise refusal("path", "hold one row at least", "none")

    def pieces(self, start: int, skipped: Callable[[Labels], object]) -> Iterator[Block]:
        for lines in self._lines():
            n_before = min(start, len(lines))
            start -= n_before
            if n_before and lines.qid is not None:
                skipped(lines.qid[:n_before])
            if n_before < len(lines):
                rest = lines.rows(n_before, len(lines)) if n_before else lines
                X, y, qid = documents([rest], self.n_features, self._dtype, self._sparse)
                yield Block(X, y, qid)

    def labels(self) -> Iterator[Labels]:
        for lines in self._lines():
            yield lines.grade

    def identity(self) -> dict[str, object]:
        return {
            "source": "letor",
            "files": [file_identity(path) for path in self._paths],
            "columns": self.n_features,
            "types": [self._dtype.str, self._sparse, str(self._qid_dtype)],
            "options": [self._options["zero_based"], str(self._options["missing"])],
            "rows": self.rows,
        }

    @entry_named("from_letor")
    def _lines(self) -> Iterator[LetorBlock]:
        """Yield the lines of the files, some MB of text at a time."""
        for position, file in enumerate(self._paths):
            n_rows = 0
            reader = LetorReader(
                base=0 if self._options["zero_based"] else 1,
                n_columns=self._n_columns,
                largest=float(np.finfo(self._dtype).max),
                missing=self._options["missing"],
                qid_dtype=self._qid_dtype,
                keeps_comments=False,
                first_block_decides=True,
                has_qid=self._has_qid,
            )
            with nullcontext(file) if file.suffix != ".zst" else _inflated(file) as source:
                blocks = entry_named(f"from_letor: {file.name}")(reader.blocks)
                for lines in blocks(source):
                    n_rows += len(lines)
                    yield lines
            self._ended(position, n_rows)


def _inflated(file: Path) -> AbstractContextManager[Any]:
    require_pyarrow()
    from peckorder.tables.files.source import opened

    return opened(file, streamed=True, bounded=False, name=f"from_letor: {file.name}")
