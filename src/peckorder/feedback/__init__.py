"""The data model: what a ranking problem is made of."""

# Names imported "as" themselves are for the other packages of the library.
from peckorder.feedback._fingerprint import fingerprint as fingerprint
from peckorder.feedback._labels_and_queries import MISSING_LABELS as MISSING_LABELS
from peckorder.feedback._labels_and_queries import LabelColumn, Queries, read_labels
from peckorder.feedback._labels_and_queries import Opinions as Opinions
from peckorder.feedback._labels_and_queries import is_missing as is_missing
from peckorder.feedback._labels_and_queries import missing_cells as missing_cells
from peckorder.feedback._labels_and_queries import read_column as read_column
from peckorder.feedback._labels_and_queries import read_grades as read_grades
from peckorder.feedback._labels_and_queries import read_only as read_only
from peckorder.feedback._pair_lists import GradedRows, PairList, Pairs
from peckorder.feedback._pairs_by_id import columns_of_frame as columns_of_frame
from peckorder.feedback._pairs_by_id import find_pair_columns as find_pair_columns
from peckorder.feedback._preferences import Preferences
from peckorder.feedback._scale import Scale
from peckorder.feedback.ratings.csv import CsvForm, read_rows
from peckorder.feedback.ratings.ids import Ids as Ids
from peckorder.feedback.ratings.ids import id_list as id_list
from peckorder.feedback.ratings.ratings import Ratings
from peckorder.feedback.ratings.rows import RatingRows

__all__ = [
    "CsvForm",
    "GradedRows",
    "LabelColumn",
    "PairList",
    "Pairs",
    "Preferences",
    "Queries",
    "RatingRows",
    "Ratings",
    "Scale",
    "read_labels",
    "read_rows",
]
