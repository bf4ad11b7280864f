"""A model file as bytes: who wrote it, a header, arrays, a checksum.

See docs/model-files.md for the layout. Where an array stands follows from the sizes of
those before, so that none can be wrong; together they must come to the
size of the file before memory is asked for.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from math import prod
from pathlib import Path
from re import DOTALL
from re import compile as pattern
from struct import pack, unpack_from
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.text_files import whole_file
from peckorder._core.typing import Array, PathLike
from peckorder.storage.format.values import Damaged

# A byte beyond ASCII and both kinds of line ends: no text, and damaged by what
# damages text.
MAGIC: Final = b"\x89pko\r\n\x1a\n"
VERSION: Final = 1
# Arrays start at multiples of this, a cache line.
ALIGNMENT: Final = 64

_FIRST = len(MAGIC) + 8
_DIGEST = hashlib.sha256().digest_size
_TYPES: Final = frozenset(
    ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
)
_CHUNK = 1 << 24


class Contents(NamedTuple):
    """What is in a model file: plain values, and the arrays they refer to."""

    header: dict[str, Any]
    arrays: list[Array]


def write_file(path: PathLike, contents: Contents) -> None:
    """Write a file that appears when all of it is on the disk, or never."""
    parts = _checked_parts(contents)
    with whole_file(path) as file:
        for part in parts:
            file.write(part)


def to_bytes(contents: Contents) -> bytes:
    """Return the bytes that a file would have."""
    return b"".join(_checked_parts(contents))


def read_file(path: PathLike) -> Contents:
    """Read what a file holds; raise Damaged if it is no sound model file."""
    if not stat.S_ISREG(mode := os.stat(path).st_mode):
        is_folder = stat.S_ISDIR(mode)
        raise Damaged(f"which is {'a folder' if is_folder else 'no regular file'}")
    with Path(path).open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        n_header = _check_start(_read(file, min(size, _FIRST)), size)
        file.seek(0)
        # One piece of memory for all: the file's size, no more.
        content = _read(file, size)
    return _split(content, n_header)


def from_bytes(data: bytes | bytearray | memoryview) -> Contents:
    """Read what `to_bytes` returned, trusting nothing of it; raise Damaged."""
    # A copy, which arrays may be changed in, and which begins where numbers may.
    content = np.array(np.frombuffer(data, dtype=np.uint8))
    return _split(content, _check_start(content[:_FIRST], len(content)))


def _split(content: Array, n_header: int) -> Contents:
    body: Any = content[:-_DIGEST]
    if hashlib.sha256(body).digest() != content[-_DIGEST:].tobytes():
        raise Damaged("which is damaged: its checksum does not fit")
    header = decoded(content[_FIRST : _FIRST + n_header].tobytes())
    forms = _checked_forms(header.pop("arrays", None), len(body))
    offsets = list(_offsets(n_header, [form.n_bytes for form in forms]))
    if offsets[-1] != len(body):
        is_short = offsets[-1] > len(body)
        raise Damaged(f"which is {'shorter' if is_short else 'longer'} than it says")
    arrays = [
        form.array(content[offset : offset + form.n_bytes])
        for offset, form in zip(offsets, forms, strict=False)
    ]
    return Contents(header, arrays)


class _Form(NamedTuple):
    """The type of an array, its shape, and which of its dimensions goes fastest."""

    kind: str
    shape: tuple[int, ...]
    order: Any

    @property
    def n_bytes(self) -> int:
        return prod(self.shape) * int(self.kind[2:])

    def array(self, content: Array) -> Array:
        # In the machine's order of bytes, which is the file's but for few machines.
        native = np.dtype(self.kind).newbyteorder("=")
        numbers = content.view(self.kind).astype(native, copy=False)
        return numbers.reshape(self.shape, order=self.order)


def _check_start(start: Array, size: int) -> int:
    """Return the length of the header, or say why there is none."""
    text = start.tobytes()
    if size == 0:
        raise Damaged("which is empty")
    if not text.startswith(MAGIC):
        if MAGIC.startswith(text):
            raise Damaged("which is cut short")
        raise Damaged("which does not begin as one")
    if len(text) < _FIRST:
        raise Damaged("which is cut short")
    version, n_header = unpack_from("<II", text, len(MAGIC))
    if version > VERSION:
        raise Damaged(
            f"which is of format version {version}, beyond {VERSION}: a newer version "
            "of peckorder wrote it"
        )
    if version == 0:
        raise Damaged("which is of format version 0, of which there is none")
    if n_header > LONGEST:
        raise Damaged(f"whose header is longer than {LONGEST:,} bytes")
    if size < _FIRST + n_header + _DIGEST:
        raise Damaged("which is cut short")
    return int(n_header)


def _read(file: Any, size: int) -> Array:
    content = np.empty(size, dtype=np.uint8)
    offset = 0
    while offset < size:
        n_read = file.readinto(content[offset : offset + _CHUNK])
        if not n_read:
            raise Damaged("which is cut short")
        offset += n_read
    return content


def _checked_forms(forms: object, most: int) -> list[_Form]:
    """Return what arrays there are; no dimension is beyond the size of the file."""
    if not isinstance(forms, list):
        raise Damaged("whose header lists no arrays")
    checked = []
    for form in forms:
        if not (isinstance(form, list) and len(form) == 3):
            raise Damaged("whose header describes an array badly")
        kind, shape, order = form
        is_sound = (
            isinstance(kind, str)
            and kind in _TYPES
            and isinstance(shape, list)
            and 1 <= len(shape) <= 2
            and all(type(n) is int and 0 <= n <= most for n in shape)
            and order in ("C", "F")
        )
        if not is_sound:
            raise Damaged("whose header describes an array badly")
        checked.append(_Form(kind, tuple(shape), order))
    return checked


def _plain(array: Array) -> Array:
    """Return an array in one piece, with the lower bytes first."""
    little = np.asarray(array, dtype=array.dtype.newbyteorder("<"))
    if little.flags.f_contiguous:
        return little
    return np.ascontiguousarray(little)


def _order(array: Array) -> str:
    return "C" if array.flags.c_contiguous else "F"


def _offsets(n_header: int, sizes: list[int]) -> Iterator[int]:
    """Yield the offset of each array, and the end of all."""
    offset = _aligned(_FIRST + n_header)
    for size in sizes:
        yield offset
        offset = _aligned(offset + size)
    yield offset


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _checked_parts(contents: Contents) -> Iterator[Any]:
    """Return all bytes of a file, the checksum last; refuse a header too long."""
    arrays = [_plain(array) for array in contents.arrays]
    described = [[a.dtype.str, list(a.shape), _order(a)] for a in arrays]
    header = encoded({**contents.header, "arrays": described})
    if len(header) > LONGEST:
        raise refusal(
            "labels and parameters",
            f"be at most {LONGEST:,} bytes of JSON to be saved",
            f"{len(header):,}",
            error=ValueError,
        )
    return _parts(header, arrays)


def _parts(header: bytes, arrays: list[Array]) -> Iterator[Any]:
    """Yield all bytes of a file, the checksum last."""
    digest = hashlib.sha256()
    start = MAGIC + pack("<II", VERSION, len(header)) + header
    parts: list[Any] = [start.ljust(_aligned(len(start)), b"\0")]
    for array in arrays:
        if array.size:
            parts.append(array.ravel(order="K").view(np.uint8))
        parts.append(b"\0" * (_aligned(array.nbytes) - array.nbytes))
    for part in parts:
        digest.update(part)
        yield part
    yield digest.digest()


# Python needs some thirty times as much for what it reads.
LONGEST = 1 << 23
DEEPEST = 32

# Never steps back, and matches a text without an end too: linear in any header.
_TEXT = pattern(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', DOTALL)
# The longest integer that `scalar` writes has fewer.
_MOST_DIGITS = 1300
_NO_BRACKETS = pattern(rb"[^\[\]{}]+")


def encoded(header: dict[str, Any]) -> bytes:
    """Write a header, equal ones as equal bytes. Floats come back to the bit."""
    text = json.dumps(
        header, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
    )
    return text.encode("ascii")


def decoded(text: bytes, what: str = "header") -> dict[str, Any]:
    """Read a header, or another object; refuse what is deep, says a thing twice, is no JSON."""
    if _depth(text) > DEEPEST:
        raise Damaged(f"whose {what} is nested more than {DEEPEST} deep")
    try:
        found = json.loads(
            text.decode("ascii"),
            object_pairs_hook=partial(_unique_names, what=what),
            parse_constant=partial(_refuse_constant, what=what),
            parse_int=_whole,
        )
    except (ValueError, RecursionError):
        raise Damaged(f"whose {what} is no JSON") from None
    if not isinstance(found, dict):
        raise Damaged(f"whose {what} is no JSON object")
    return found


def _depth(text: bytes) -> int:
    """Return how deep brackets are nested, before anything is made of them."""
    brackets = _NO_BRACKETS.sub(b"", _TEXT.sub(b"", text))
    steps = (1 if bracket in b"[{" else -1 for bracket in brackets)
    return max(accumulate(steps), default=0)


def _unique_names(pairs: list[tuple[str, Any]], what: str) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise Damaged(f"whose {what} says a thing twice")
    return entries


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError
    return int(digits)


def _refuse_constant(word: str, what: str) -> NoReturn:
    raise Damaged(f"whose {what} has {word}, which is no JSON")
