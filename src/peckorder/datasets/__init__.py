"""Data to learn from: made, or read as its publishers distribute it."""

from peckorder.datasets._letor import dump_letor, iter_letor, load_letor
from peckorder.datasets._make_letor import make_letor
from peckorder.datasets._runs import Documents, Qrels, Run, from_runs
from peckorder.datasets._square import make_square, square_features, square_labels
from peckorder.datasets._trec import dump_qrels, dump_run, load_qrels, load_run

__all__ = [
    "Documents",
    "Qrels",
    "Run",
    "dump_letor",
    "dump_qrels",
    "dump_run",
    "from_runs",
    "iter_letor",
    "load_letor",
    "load_qrels",
    "load_run",
    "make_letor",
    "make_square",
    "square_features",
    "square_labels",
]
