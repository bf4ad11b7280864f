"""Data larger than memory: blocks of rows, and rankers that learn one after another."""

from peckorder.streams._arrays import from_arrays
from peckorder.streams._block import Block, Stream
from peckorder.streams._csv import from_csv
from peckorder.streams._fit import fit
from peckorder.streams._letor import from_letor
from peckorder.streams._parquet import from_parquet

__all__ = [
    "Block",
    "Stream",
    "fit",
    "from_arrays",
    "from_csv",
    "from_letor",
    "from_parquet",
]
