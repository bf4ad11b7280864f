"""Many machines: the same estimators on a Dask cluster. Needs the extra `dask`."""

from peckorder.distributed._fit import fit

__all__ = ["fit"]
