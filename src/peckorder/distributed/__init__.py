"""Many machines: fits, metrics and fleets of rankers on a Dask cluster.

Needs the extra `dask`; fleets do without it on one machine.
"""

from peckorder.distributed._fit import fit
from peckorder.distributed._metrics import score
from peckorder.distributed._people import fit_people
from peckorder.distributed._people_reader import People, open_people
from peckorder.distributed._repartition import repartition_by_qid

__all__ = [
    "People",
    "fit",
    "fit_people",
    "open_people",
    "repartition_by_qid",
    "score",
]
