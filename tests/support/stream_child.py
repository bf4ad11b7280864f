"""A process that learns from streams, and is killed meanwhile by a test.

It reads lines of JSON, each of which says what to learn; does so in a process of its
own, which tells its number and the rows learnt so far; and says how that one ended.
"""

import json
import os
import sys
import time
import traceback
import warnings

import numpy as np

from peckorder import AggregatePRank, MPRank, PRank
from peckorder.streams import fit, from_arrays, from_csv, from_letor, from_parquet

ESTIMATORS = {
    "averaged": lambda: PRank(unit_norm=False),
    "rbf": lambda: PRank(kernel="rbf", gamma=0.5),
    "members": lambda: AggregatePRank(n_estimators=5, random_state=3),
    "mprank": lambda: MPRank(C=2.0),
}
STREAMS = {
    "parquet": lambda path: from_parquet(path, "y", "q", rows=15),
    "csv": lambda path: from_csv(path, "y", "q", rows=15),
    "letor": lambda path: from_letor(path, n_features=3, rows=15),
    "arrays": lambda path: from_arrays(
        *(np.load(f"{path}/{n}.npy", mmap_mode="r") for n in ("X", "y", "qid")), rows=15
    ),
}


def tell(*words):
    """Write a line at once, not to be cut by another process."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def learn(task):
    """Do what a task says, slowly enough to be killed anywhere."""

    def report(done, _):
        tell("rows", done)
        time.sleep(task["pause"])

    fit(
        ESTIMATORS[task["estimator"]](),
        STREAMS[task["kind"]](task["path"]),
        n_passes=task["n_passes"],
        checkpoint=task["checkpoint"],
        every=task["every"],
        progress=report,
    )


def main():
    """Learn what the lines say, one after the other."""
    # All is compiled before the first process is begun.
    for make in ESTIMATORS.values():
        make().partial_fit(np.eye(3), np.array([1, 2, 3]))
    warnings.simplefilter("ignore", DeprecationWarning)
    tell("ready")
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                learn(json.loads(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        tell("pid", pid)
        _, status = os.waitpid(pid, 0)
        tell("ended", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
