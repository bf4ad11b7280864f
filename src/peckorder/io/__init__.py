"""Models from files."""

from peckorder.io._load import from_bytes, load

__all__ = ["from_bytes", "load"]
