"""What tests of fleets need in processes of their own: tasks that end these."""

import ctypes
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peckorder import Ratings
from peckorder.distributed.people.tasks import HeldOut

# Three people, who rated two or three of three items.
SMALL_RATINGS = Ratings(list("aabbbcc"), [1, 2, 1, 2, 3, 2, 3], [5, 1, 4, 2, 5, 1, 4])
FIVE = Ratings(list(range(12)), [0] * 12, [1.0] * 12)


def all_of(people):
    """Return all that is kept of people but how long it took."""
    source = people._source
    records = {}
    for place, person in enumerate(source.columns["person"]):
        reason = source.columns["reason"][place]
        model = source.model(place) if reason is None else None
        measures = [repr(source.columns[name][place]) for name in source.about["metrics"]]
        n_ratings = source.columns["n_ratings"][place]
        records[person] = n_ratings, measures, reason, model
    # Nobody twice.
    assert len(records) == len(source.columns["person"])
    return records


@dataclass(frozen=True)
class Crashing:
    """A task whose models are rows; some rows end their process, the first times."""

    # How often each row does.
    times: dict[int, int]
    # Where it is noted down that it has.
    folder: str
    ratings: Any = FIVE
    held_out: Any = field(default_factory=lambda: HeldOut(None, ()))

    def learn(self, row, rated, values):
        notes = Path(self.folder)
        if len(list(notes.glob(f"{row}-*"))) < self.times.get(row, 0):
            (notes / f"{row}-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return row

    def scores(self, row, model, items):
        raise NotImplementedError

    def stored(self, row, model):
        return str(model).encode()


class Busy(Crashing):
    """A task that keeps all threads of its process waiting, as a decomposition does."""

    def learn(self, row, rated, values):
        (Path(self.folder) / "begun").touch()
        ctypes.PyDLL(None).sleep(60)


class Unlucky(Crashing):
    """A task that ends the second process that receives it."""

    def __reduce__(self):
        return _received, (self.times, self.folder)


def _received(times, folder):
    n_before = len(list(Path(folder).glob("received-*")))
    (Path(folder) / f"received-{n_before}").touch()
    if n_before == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return Unlucky(times, folder)
