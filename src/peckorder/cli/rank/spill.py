"""All rows of a file as one list: only scores are held in memory."""

from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peckorder.tables.columns import Columns
from peckorder.tables.files.arrow import to_columns
from peckorder.tables.files.write import to_arrow


class Spilled:
    """Blocks of rows in a file without a name, which ends with this object.

    Rows are written once, in their order, and read again as often as wanted. Memory:
    the scores, 8 bytes a row, and a block.
    """

    def __init__(self, blocks: Iterable[Columns]) -> None:
        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115
        self._source = ""
        scores: list[NDArray[Any]] = [np.empty(0)]
        for block in blocks:
            self._source = block.source
            scores.append(block.arrays["score"])
            table = to_arrow(block)
            with pa.ipc.new_stream(self._file, table.schema) as writer:
                writer.write_table(table)
        self.score = np.concatenate(scores)

    def __enter__(self) -> "Spilled":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Columns]:
        """Yield the blocks in their order."""
        end = self._file.seek(0, 2)
        self._file.seek(0)
        while self._file.tell() < end:
            with pa.ipc.open_stream(self._file) as reader:
                table = reader.read_all()
            yield to_columns(self._source, table)
