"""The bytes of model files: arrays, a strict JSON header, and what may be in them."""

from peckorder.formats._container import (
    VERSION,
    Contents,
    from_bytes,
    read_file,
    to_bytes,
    write_file,
)
from peckorder.formats._damaged import Damaged
from peckorder.formats._node import Node
from peckorder.formats._packing import Unstorable, pack
from peckorder.formats._scalars import read_value, unsuited

__all__ = [
    "VERSION",
    "Contents",
    "Damaged",
    "Node",
    "Unstorable",
    "from_bytes",
    "pack",
    "read_file",
    "read_value",
    "to_bytes",
    "unsuited",
    "write_file",
]
