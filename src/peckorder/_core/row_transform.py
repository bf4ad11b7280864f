"""How learners of several families look at a row, and the signal that one is unfit."""

from dataclasses import dataclass

import numpy as np

NONE = np.empty(0, dtype=np.int64)


class Stopped(Exception):
    """A row gave a score that is not finite, or of a run that diverges.

    The row is None if it is not known: it made the weights infinite.
    """

    def __init__(self, row: int | None) -> None:
        super().__init__(row)
        self.row = row


@dataclass(frozen=True, slots=True)
class View:
    """How a learner looks at a row: with a constant feature, at unit norm."""

    intercept: bool
    unit_norm: bool
