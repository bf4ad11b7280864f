"""Models from files."""

import os
from typing import Any

import peckorder.collaborative
import peckorder.estimators
import peckorder.third_party  # noqa: F401  (their classes may be named by a file)
from peckorder._core.errors import entry, refusal
from peckorder._core.typing import PathLike
from peckorder.exceptions import ModelFileError
from peckorder.storage import format as formats
from peckorder.storage.format import Damaged, Node, read_file
from peckorder.storage.mixin import MODELS
from peckorder.storage.models import read_model

__all__ = ["from_bytes", "load"]


@entry
def load(path: PathLike) -> Any:
    """Read a model that was written by its method `save`.

    Safe with files from strangers: a file holds numbers, texts and plain values, all of
    which are checked; no code, and nothing that asks for more memory than a small
    multiple of its size. What is loaded predicts what the model did that was saved, to
    the bit, and goes on learning as it would have.

    Parameters
    ----------
    path : path
        The file. Files of all earlier versions can be read.

    Returns
    -------
    model : estimator
        Of the class that was saved, fitted.

    Raises
    ------
    ModelFileError
        If the file is no model file, is damaged, or of a newer format.
    FileNotFoundError
        If there is none.

    Notes
    -----
    O(size of the file) time and memory.

    Examples
    --------
    >>> import peckorder, tempfile
    >>> model = peckorder.PRank().fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/stars.peckorder")
    ...     loaded = peckorder.load(f"{folder}/stars.peckorder")
    >>> loaded.partial_fit([[3.0]], [3]).n_rounds_
    4
    """
    if not isinstance(path, str | os.PathLike):
        raise refusal("path", "be a path", repr(path), error=TypeError)
    shown = repr(os.fspath(path))
    try:
        contents = read_file(path)
        return read_model(Node.of(*contents), MODELS)
    except FileNotFoundError:
        raise refusal(
            "path", "be a model file", f"{shown}, which does not exist", error=FileNotFoundError
        ) from None
    except Damaged as error:
        raise refusal(
            "path", "be a sound model file", f"{shown}, {error}", error=ModelFileError
        ) from None


@entry
def from_bytes(data: bytes | bytearray | memoryview) -> Any:
    """Read a model from what its method `to_bytes` returned.

    Safe with bytes from strangers, as `load` is with files.

    Parameters
    ----------
    data : bytes
        All of a model file.

    Returns
    -------
    model : estimator
        Of the class that was saved, fitted.

    Raises
    ------
    ModelFileError
        If the bytes are those of no sound model file.

    Notes
    -----
    O(len(data)) time and memory.

    Examples
    --------
    >>> import peckorder.io
    >>> model = peckorder.PRank().fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    >>> peckorder.io.from_bytes(model.to_bytes()).n_rounds_
    3
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise refusal(
            "data", "be bytes", f"an object of type {type(data).__name__}", error=TypeError
        )
    try:
        return read_model(Node.of(*formats.from_bytes(data)), MODELS)
    except Damaged as error:
        raise refusal(
            "data",
            "be a sound model file",
            f"{len(data):,} bytes of one {error}",
            error=ModelFileError,
        ) from None
