"""Digests that identify data by their content."""

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse

from peckorder._core.errors import refusal
from peckorder.feedback.ratings.ratings import Ratings


def fingerprint(value: object) -> str:
    """Return the SHA-256 of arrays, text, numbers and containers of them."""
    digest = hashlib.sha256()
    _update(digest, value)
    return digest.hexdigest()


def _update(digest: "hashlib._Hash", value: Any) -> None:
    # Types and lengths are included, so that neighbours cannot be confused.
    digest.update(type(value).__name__.encode())
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        if value.dtype == object:
            for element in value.ravel().tolist():
                _update(digest, element)
        else:
            digest.update(np.ascontiguousarray(value).tobytes())
    elif sparse.issparse(value):
        ordered = value.tocsr()
        # Only the shape shows columns and last rows without entries.
        digest.update(str(ordered.shape).encode())
        for element in (ordered.data, ordered.indices, ordered.indptr):
            _update(digest, element)
    elif isinstance(value, Ratings):
        for column in (value.users, value.items, value.csr):
            _update(digest, column)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            _update(digest, getattr(value, field.name))
    elif isinstance(value, dict):
        for key, element in value.items():
            _update(digest, key)
            _update(digest, element)
    elif isinstance(value, list | tuple):
        digest.update(str(len(value)).encode())
        for element in value:
            _update(digest, element)
    elif value is None or isinstance(value, str | bytes | int | float | np.generic):
        digest.update(repr(value).encode())
    else:
        raise refusal(
            "data",
            "be arrays, text, numbers and containers of them",
            type(value).__name__,
            error=TypeError,
        )
