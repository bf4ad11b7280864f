"""The run: rows go out in lots, records come in, nobody is forgotten or taken twice."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Final

from peckorder.distributed.people.tasks import Record
from peckorder.distributed.people.workers import Workers

# Seconds that a lot of rows should take, and the most rows in one.
_LOT: Final = 0.25
_MOST: Final = 256
# So many deaths of processes in a row, each with others, nobody having been learnt: it
# is not people.
_HOPELESS: Final = 12


class Deaths(RuntimeError):
    """Processes died; `rows` are of people who were with them, alone if it `is_over`.

    Then everybody else is learnt.
    """

    def __init__(self, rows: list[int], *, is_over: bool) -> None:
        super().__init__("processes died")
        self.rows, self.is_over = rows, is_over


class Run:
    """Hands rows to workers, and records to `take`, each person once.

    Where a process died, those who were with it are suspects. They are given out again
    one by one, and nobody else meanwhile: so whoever ends a process is found. Such a
    person is set aside until all others are learnt, then tried again, and to blame when
    processes have died often enough. So however many there are, nobody has to wait for
    them; and if one process after the other dies with different people, it is over
    soon. This comes to an end: every few deaths are followed by a person who is learnt
    or set aside, and of those set aside each is tried a few times.
    """

    def __init__(
        self,
        workers: Workers,
        rows: Sequence[int],
        take: Callable[[list[Record]], None],
    ) -> None:
        self._workers, self._take = workers, take
        self._waiting, self._suspects = deque(rows), deque[int]()
        self._aside = deque[int]()
        self._deaths: Counter[int] = Counter()
        self._guilty: list[int] = []
        self._n_out = self._in_a_row = 0
        self._is_alone = False
        self._seconds = _LOT

    def finish(self) -> None:
        """Learn everybody; raise `Deaths` if that cannot be."""
        while self._hand_out():
            learnt, lost = self._workers.news()
            self._n_out -= len(learnt) + len(lost)
            for records in learnt:
                self._in_a_row = 0
                self._keep_pace(records)
                self._take(records)
            if lost:
                self._suspect(lost)
        if self._guilty:
            raise Deaths(self._guilty, is_over=True)

    def _hand_out(self) -> bool:
        """Give out what may be; return whether there is anything to wait for."""
        if self._suspects:
            if self._n_out == 0:
                self._is_alone = True
                self._submit([self._suspects.popleft()])
            return True
        self._is_alone = False
        while self._waiting and self._n_out < self._workers.room:
            self._submit(self._next_lot())
        if self._n_out == 0 and self._aside:
            self._is_alone = True
            self._submit([self._aside.popleft()])
        return self._n_out > 0

    def _submit(self, rows: list[int]) -> None:
        self._n_out += 1
        self._workers.submit(rows)

    def _next_lot(self) -> list[int]:
        """Take rows that are worth a message; few at the end, so that all have some."""
        fair = -(-len(self._waiting) // self._workers.room)
        size = max(1, min(int(_LOT / self._seconds), _MOST, fair))
        return [self._waiting.popleft() for _ in range(size)]

    def _keep_pace(self, records: list[Record]) -> None:
        now = sum(record.seconds for record in records) / len(records)
        self._seconds = 0.5 * (self._seconds + max(now, _LOT / _MOST))

    def _suspect(self, lost: list[list[int]]) -> None:
        self._in_a_row += 1
        if not self._is_alone:
            self._suspects.extend(row for rows in lost for row in rows)
        else:
            [[row]] = lost
            self._deaths[row] += 1
            is_guilty = self._deaths[row] >= self._workers.attempts
            (self._guilty if is_guilty else self._aside).append(row)
        if self._in_a_row >= _HOPELESS and (self._suspects or self._waiting):
            some = [*self._guilty, *self._aside, *self._suspects]
            raise Deaths(some, is_over=False)
