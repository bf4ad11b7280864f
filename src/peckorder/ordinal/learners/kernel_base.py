"""What learners with a kernel share: the rows that they keep, and learning by blocks."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from peckorder._core.row_transform import NONE, RowTransform, UnusableRow
from peckorder._core.typing import Bools, Floats, Ints, Rows
from peckorder.ordinal.compiled import dual
from peckorder.ordinal.compiled.dual import KernelValues
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.base import MOST_ROUNDS, Learner, finite_scores
from peckorder.similarity import kernel_function
from peckorder.similarity.kernel_function import NO_ITEMS, Items, KernelFunction
from peckorder.storage.fields import Field, FieldType, Table, ints, matrix, nested
from peckorder.storage.format import Node

NO_VALUES = np.empty((0, 0))


@dataclass(kw_only=True)
class KernelLearner(Learner):
    """A learner whose scores are sums of kernels with the rows of its `support`.

    `budget` is the most rows to keep, 0 for all of them.
    """

    kernel: KernelFunction
    budget: int
    support: Items = NO_ITEMS

    @abstractmethod
    def _learn(self, block: RowBlock, items: Items, values: KernelValues, earlier: Ints) -> int:
        """Learn the rows of a block, now items; return that of an unusable one, or -1.

        `earlier` has, with a budget, the last position before of the same row, or -1.
        """

    @property
    def transform(self) -> RowTransform:  # type: ignore[override]
        """How rows are transformed."""
        return self.kernel.transform

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        first = 0
        while first < block.n_rows:
            size = kernel_function.block_size(len(self.support))
            sub_block = block.sub_block(first, size)
            try:
                items = self.kernel.items(sub_block.rows, sub_block.selected, sub_block.numbers)
            except UnusableRow as damaged:
                return first + (damaged.row or 0)
            past, now = self.kernel.values(items, self.support), self.kernel.values_among(items)
            earlier = _earlier_positions(self.support, items) if self.budget else NONE
            unusable = self._learn(sub_block, items, KernelValues(past, now), earlier)
            if unusable >= 0:
                return first + unusable
            first += sub_block.n_rows
        return -1

    def _add_support(self, items: Items, coef: Floats, kept: Bools) -> Floats:
        """Add new items, and remove what is not kept; return coefficients of the rest.

        coef (support + items, columns). A row that is learnt again, in another pass,
        has its number already: coefficients add up, unless there is a budget.
        """
        old, new = kept[: len(self.support)], kept[len(self.support) :]
        support = self.support if old.all() else self.support[old]
        added, coef = self.kernel.supporting(items, new), coef[kept]
        follow_on = not (len(added) and len(support)) or added.number.min() > support.number.max()
        is_again = np.zeros(len(added), dtype=bool)
        if not (self.budget or follow_on):
            is_again = np.isin(added.number, support.number)
        if not is_again.any():
            self.support = support + added
            return coef
        number = np.concatenate([support.number, added.number])
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
        total = np.zeros((len(first), coef.shape[1]))
        np.add.at(total, inverse, coef)
        self.support = support + added[~is_again]
        return total[np.argsort(first)]

    def _scores(self, rows: Rows, coef: Floats) -> Floats:
        """Return the sum of the kernels of every row with the support."""

        def score(block: slice, past: Floats) -> Floats:
            values = np.empty(len(past))
            dual.scores(KernelValues(past, NO_VALUES), coef, values)
            return values

        return finite_scores(np.concatenate(self.kernel.map_blocks(rows, self.support, score)))


def _earlier_positions(support: Items, items: Items) -> Ints:
    """Return per position of both the last one before of the same row, or -1."""
    number = np.concatenate([support.number, items.number])
    order = np.argsort(number, kind="stable")
    is_same = number[order[1:]] == number[order[:-1]]
    earlier = np.full(len(number), -1)
    earlier[order[1:][is_same]] = order[:-1][is_same]
    return earlier


_ITEMS = Table(
    Field("matrix", matrix("support", "columns")), Field("number", ints("support", below="numbers"))
)


def _read_support(node: Node, name: str) -> Items:
    """Read rows that others are compared with, as wide as these will be."""
    kernel = node.owner.kernel
    is_precomputed, n_columns = kernel.is_precomputed, kernel.n_columns
    node.sizes["columns"] = 0 if is_precomputed else n_columns + kernel.transform.intercept
    node.sizes["numbers"] = n_columns if is_precomputed else MOST_ROUNDS
    support: Items = NO_ITEMS
    if node.has(name):
        support = nested(_ITEMS, Items).read(node, name)
        if len(support) == 0:
            raise node.refuse(f"{name}.number", "of one row at least")
    if len(support) != node.sizes["support"]:
        raise node.refuse(name, f"of {node.sizes['support']} rows")
    return support


SUPPORT: Final = Field(
    "support", FieldType(_read_support, lambda items: _ITEMS.write(items) if len(items) else None)
)
