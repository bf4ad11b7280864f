"""Many machines: fits, metrics and one ranker per person on a Dask cluster.

Needs the extra `dask`; rankers of people do without it on one machine.
"""

from peckorder.distributed.cluster.repartition import repartition_by_qid
from peckorder.distributed.fitting.fit import fit
from peckorder.distributed.metrics import score
from peckorder.distributed.people.fit_people import fit_people
from peckorder.distributed.people.reader import People, open_people

__all__ = ["People", "fit", "fit_people", "open_people", "repartition_by_qid", "score"]
