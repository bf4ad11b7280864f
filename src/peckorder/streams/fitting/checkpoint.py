"""Checkpoints: a model file with the position in a stream up to which it has learnt.

It is the file of `model.save` with an entry `stream`: the position, and digests of all
that the model depends on. `peckorder.load` reads it as the model learnt so far.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from peckorder._core.errors import entry_named, refusal
from peckorder._core.file_locks import only_one
from peckorder._core.text_files import check_target, remove_drafts
from peckorder._core.typing import Array
from peckorder._version import __version__
from peckorder.exceptions import ModelFileError
from peckorder.storage.format import Damaged, Node, pack, read_file, write_file
from peckorder.storage.mixin import StoredModel, inner_models
from peckorder.storage.models import packed, parameters_of, read_model
from peckorder.streams.block import Stream

# The beginning of the names of terms that are parameters.
_VALUE = "value of "


class Position(NamedTuple):
    """The position in a stream: whole passes, and rows of the next one.

    `n_all` are the rows of a whole pass, 0 before the end of the first.
    """

    n_passes: int = 0
    n_rows: int = 0
    is_finished: bool = False
    n_all: int = 0


@dataclass
class Checkpoint:
    """A file that holds a model and the position up to which it has learnt.

    `terms` are digests of what must be the same when learning resumes; `every` is the
    least time between two writes, in seconds.
    """

    path: Path
    terms: dict[str, str]
    every: float
    _written: float = 0.0

    @classmethod
    def of(cls, path: object, every: float, terms: dict[str, object]) -> "Checkpoint":
        """Return the checkpoint in a path at which a file may be."""
        path = _checked(path)
        digests = {name: _digest(term) for name, term in terms.items()}
        return cls(path, digests, every, monotonic())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the file: two fits would remove each other's drafts, and mix their rows."""
        with only_one(self.path.with_name(f".{self.path.name}.lock")) as is_free:
            if not is_free:
                raise refusal(
                    "checkpoint",
                    "be of one fit at a time",
                    f"{str(self.path)!r}, which another fit writes to",
                    hint="Wait for it, or choose another.",
                    error=FileExistsError,
                )
            yield

    def read(self) -> tuple[StoredModel, Position] | None:
        """Return the model and its position; None if there is no file yet."""
        remove_drafts(self.path)  # of a process that was killed
        try:
            contents = read_file(self.path)
            terms, position = _stream_of(contents.header)
            self._check_terms(terms)
            return read_model(Node.of(*contents), inner_models()), position
        except FileNotFoundError:
            return None
        except Damaged as error:
            raise refusal(
                "checkpoint",
                "be a sound one, or no file yet",
                f"{str(self.path)!r}, {error}",
                error=ModelFileError,
            ) from None

    @entry_named("fit")
    def write(self, model: StoredModel, position: Position) -> None:
        """Replace the file by a model and its position."""
        stream = {
            "terms": self.terms,
            "passes": position.n_passes,
            "rows": position.n_rows,
            "finished": position.is_finished,
            "rows_of_pass": position.n_all,
        }
        write_file(self.path, packed(model, stream))
        self._written = monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time for another write."""
        return monotonic() - self._written >= self.every

    def _check_terms(self, terms: dict[str, object]) -> None:
        names = [*self.terms, *(name for name in terms if name not in self.terms)]
        others = [name for name in names if terms.get(name) != self.terms.get(name)]
        if "estimator" in others:  # whose parameters are others anyway
            others = [name for name in others if not name.startswith(_VALUE)]
        if others:
            raise refusal(
                "checkpoint",
                "be of the same stream, estimator and options",
                f"{str(self.path)!r}, written with another {', another '.join(others)}",
                hint="Remove it to start anew.",
                error=ValueError,
            )


def terms_of(
    model: StoredModel, stream: Stream, classes: Array | None, n_passes: int
) -> dict[str, object]:
    """Return all that a model learnt from a stream depends on, by name."""
    return {
        "version of peckorder": __version__,
        "estimator": type(model).__name__,
        **{f"{_VALUE}{k}": _plain(v) for k, v in parameters_of(model).items()},
        "list of classes": None if classes is None else repr(classes.tolist()),
        "number of passes": n_passes,
        **{f"stream ({name})": part for name, part in stream.identity().items()},
    }


def _plain(parameter: object) -> list[object]:
    arrays: list[Any] = []
    return [pack(parameter, arrays), [array.tobytes().hex() for array in arrays]]


def _digest(term: object) -> str:
    return sha256(json.dumps(term, sort_keys=True).encode()).hexdigest()[:32]


def _checked(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise refusal("checkpoint", "be None or a path", repr(path), error=TypeError)
    # Of a link, its target: files beside a link are beside another file.
    target = os.path.realpath(path)
    check_target("checkpoint", target)
    return Path(target)


def _stream_of(header: dict[str, Any]) -> tuple[dict[str, object], Position]:
    """Read the terms and the position in a header, without changing it."""
    if "stream" not in header:
        raise Damaged("which holds a model, but no position in a stream")
    node = Node.of(header["stream"], [])
    terms = node.raw("terms")
    if not isinstance(terms, dict):
        raise node.refuse("terms", "an object")
    position = Position(
        node.whole("passes"), node.whole("rows"), node.flag("finished"), node.whole("rows_of_pass")
    )
    node.close()
    return terms, position
