"""Data told apart by a digest of what is in them."""

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse

from peckorder.feedback.ratings.ratings import Ratings


def fingerprint(who: str, value: Any) -> str:
    """Return the SHA-256 of data: of arrays, text, numbers, and what is made of them.

    Of the content, not of files: the same set gives the same, packed or not.
    """
    digest = hashlib.sha256()
    _update(who, digest, value)
    return digest.hexdigest()


def _update(who: str, digest: Any, value: Any) -> None:
    # Names and lengths go in as well, so that neighbours cannot be mistaken.
    digest.update(type(value).__name__.encode())
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        if value.dtype == object:
            for each in value.ravel().tolist():
                _update(who, digest, each)
        else:
            digest.update(np.ascontiguousarray(value).tobytes())
    elif sparse.issparse(value):
        ordered = value.tocsr()
        # Columns and last rows without entries are in the shape alone.
        digest.update(str(ordered.shape).encode())
        for each in (ordered.data, ordered.indices, ordered.indptr):
            _update(who, digest, each)
    elif isinstance(value, Ratings):
        for part in (value.users, value.items, value.csr):
            _update(who, digest, part)
    elif is_dataclass(value) and not isinstance(value, type):
        for each_field in fields(value):
            _update(who, digest, getattr(value, each_field.name))
    elif isinstance(value, dict):
        for key, each in value.items():
            _update(who, digest, key)
            _update(who, digest, each)
    elif isinstance(value, list | tuple):
        digest.update(str(len(value)).encode())
        for each in value:
            _update(who, digest, each)
    elif value is None or isinstance(value, str | bytes | int | float | np.generic):
        digest.update(repr(value).encode())
    else:
        raise TypeError(
            f"{who}: data must be arrays, text, numbers and what is made of them; got "
            f"{type(value).__name__}."
        )
