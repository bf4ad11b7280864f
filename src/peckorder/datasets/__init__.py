"""Data to learn from: synthetic, or read as publishers distribute it."""

from peckorder.datasets.formats.letor import dump_letor, iter_letor, load_letor
from peckorder.datasets.formats.runs import Documents, Qrels, Run, from_runs
from peckorder.datasets.formats.trec import dump_qrels, dump_run, load_qrels, load_run
from peckorder.datasets.published.book_crossing import fetch_book_crossing, load_book_crossing
from peckorder.datasets.published.by_path import load_ratings
from peckorder.datasets.published.by_path import titled_ratings as titled_ratings
from peckorder.datasets.published.eachmovie import load_eachmovie
from peckorder.datasets.published.jester import fetch_jester, load_jester
from peckorder.datasets.published.judged_collections import load_cystic_fibrosis, load_ohsumed_trec9
from peckorder.datasets.published.letor_collections import (
    load_lightgbm_lambdarank,
    load_mq2007_agg_fold,
    load_ohsumed_fold,
)
from peckorder.datasets.published.movielens import (
    fetch_movielens_1m,
    fetch_movielens_100k,
    load_movielens_1m,
    load_movielens_100k,
)
from peckorder.datasets.published.netflix import load_netflix_prize
from peckorder.datasets.published.rating_tables import load_netflix_matrix, load_ratings_matrix
from peckorder.datasets.synthetic import (
    make_letor,
    make_ratings,
    make_square,
    square_features,
    square_labels,
)

__all__ = [
    "Documents",
    "Qrels",
    "Run",
    "dump_letor",
    "dump_qrels",
    "dump_run",
    "fetch_book_crossing",
    "fetch_jester",
    "fetch_movielens_1m",
    "fetch_movielens_100k",
    "from_runs",
    "iter_letor",
    "load_book_crossing",
    "load_cystic_fibrosis",
    "load_eachmovie",
    "load_jester",
    "load_letor",
    "load_lightgbm_lambdarank",
    "load_movielens_1m",
    "load_movielens_100k",
    "load_mq2007_agg_fold",
    "load_netflix_matrix",
    "load_netflix_prize",
    "load_ohsumed_fold",
    "load_ohsumed_trec9",
    "load_qrels",
    "load_ratings",
    "load_ratings_matrix",
    "load_run",
    "make_letor",
    "make_ratings",
    "make_square",
    "square_features",
    "square_labels",
]
