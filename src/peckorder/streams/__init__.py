"""Data larger than memory: blocks of rows, and rankers that learn one after another."""

from peckorder.streams.block import Block, Stream
from peckorder.streams.fitting.fit import fit
from peckorder.streams.sources.arrays import from_arrays
from peckorder.streams.sources.csv import from_csv
from peckorder.streams.sources.letor import from_letor
from peckorder.streams.sources.parquet import from_parquet

__all__ = ["Block", "Stream", "fit", "from_arrays", "from_csv", "from_letor", "from_parquet"]
