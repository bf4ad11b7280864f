"""The bytes of model files: arrays, a strict JSON header, and what may be in them."""

from peckorder.storage.format.container import (
    VERSION,
    Contents,
    from_bytes,
    read_file,
    to_bytes,
    write_file,
)
from peckorder.storage.format.errors import Damaged, Unstorable
from peckorder.storage.format.node import Node
from peckorder.storage.format.packing import pack
from peckorder.storage.format.scalars import read_value

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
    "write_file",
]
