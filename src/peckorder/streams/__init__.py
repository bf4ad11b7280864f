"""Data larger than memory: blocks of rows, and rankers that learn one after another."""

from peckorder.streams._arrays import from_arrays
from peckorder.streams._block import Block, Stream

__all__ = ["Block", "Stream", "from_arrays"]
