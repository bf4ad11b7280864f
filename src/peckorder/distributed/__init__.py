"""Many machines: the same estimators on a Dask cluster. Needs the extra `dask`."""

from peckorder.distributed._fit import fit
from peckorder.distributed._metrics import score
from peckorder.distributed._repartition import repartition_by_qid

__all__ = ["fit", "repartition_by_qid", "score"]
