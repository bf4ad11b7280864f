"""Models from files."""

from peckorder.io._load import load

__all__ = ["load"]
