"""The data model: what a ranking problem is made of."""

from peckorder.feedback._labels import LabelColumn, read_labels
from peckorder.feedback._queries import Queries
from peckorder.feedback._scale import Scale

__all__ = ["LabelColumn", "Queries", "Scale", "read_labels"]
