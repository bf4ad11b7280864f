"""Who publishes which data, where, and on what terms: facts, in one place."""

from collections.abc import Mapping
from dataclasses import dataclass

_GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_GROUPLENS_TERMS = "for research; not to be redistributed or used commercially without permission"
_LETOR = (
    "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
)
# Checksums, where they are known. GroupLens gives MD5 sums beside its archives
# (ml-100k.zip.md5); those of Jester are taken from the archives that go around.
KNOWN: Mapping[str, str] = {
    "ml-100k.zip": "md5:0e33842e24a9c977be4e0107933c0723",
    "ml-1m.zip": "md5:c4d9eecfca2ab87c1945afe126590906",
    "jester_dataset_1_1.zip": "sha256:"
    "cb7841756ded125b15f3d95c9f8241224065e96354c132a46ae4214deeab7615",
    "jester_dataset_1_2.zip": "sha256:"
    "4d312fd824d8c8cb2c9c952a7b1fb7c00d1f5fd3ece370f7285aa701d371748b",
    "jester_dataset_1_3.zip": "sha256:"
    "7f548d3762d3506cf7cd37d8cb9e3adb67984a7da7aa2d2096d5e0b1b884758d",
}


@dataclass(frozen=True, slots=True)
class Published:
    """A data set as its publisher distributes it.

    `archives` are what is downloaded from the address `base`; None where nothing can
    be. Each has to hold a `member`, if one is named: other files are not it.
    """

    title: str
    folder: str
    get: str
    page: str
    terms: str
    fetch: str | None = None
    base: str | None = None
    archives: tuple[str, ...] = ()
    member: str | None = None


MOVIELENS_100K = Published(
    title="MovieLens 100K",
    folder="ml-100k",
    get="ml-100k.zip",
    page="https://grouplens.org/datasets/movielens/100k/",
    terms=_GROUPLENS_TERMS,
    fetch="fetch_movielens_100k",
    base=_GROUPLENS,
    archives=("ml-100k.zip",),
)
MOVIELENS_1M = Published(
    title="MovieLens 1M",
    folder="ml-1m",
    get="ml-1m.zip",
    page="https://grouplens.org/datasets/movielens/1m/",
    terms=_GROUPLENS_TERMS,
    fetch="fetch_movielens_1m",
    base=_GROUPLENS,
    archives=("ml-1m.zip",),
)
JESTER = Published(
    title="Jester data set 1",
    folder="jester",
    get="jester_dataset_1_1.zip, jester_dataset_1_2.zip and jester_dataset_1_3.zip",
    page="https://eigentaste.berkeley.edu/dataset/",
    terms="free for research that cites Goldberg et al., Information Retrieval 2001",
    fetch="fetch_jester",
    base="https://eigentaste.berkeley.edu/dataset/",
    archives=tuple(f"jester_dataset_1_{k}.zip" for k in (1, 2, 3)),
)
BOOK_CROSSING = Published(
    title="Book-Crossing",
    folder="book_crossing",
    get="BX-CSV-Dump.zip, or its BX-Book-Ratings.csv,",
    page="http://www2.informatik.uni-freiburg.de/~cziegler/BX/",
    terms="free for research that cites Ziegler et al., WWW 2005",
    fetch="fetch_book_crossing",
    base="http://www2.informatik.uni-freiburg.de/~cziegler/BX/",
    archives=("BX-CSV-Dump.zip",),
    member="BX-Book-Ratings.csv",
)
NETFLIX_MATRIX = Published(
    title="A Netflix-style matrix",
    folder="netflix_subset",
    get="netflix_1200x1200.txt (rows of 1200 numbers, 0 for none)",
    page="whoever has it: the Netflix Prize data are no longer distributed",
    terms="the Netflix Prize rules forbid redistribution",
)
CYSTIC_FIBROSIS = Published(
    title="The judgements of the cystic fibrosis collection",
    folder="cystic_fibrosis",
    get="the queries as text, as cfquery_text_100q.txt,",
    page="https://people.ischool.berkeley.edu/~hearst/irbook/cfc.html",
    terms="as its page says; described by Shaw et al., LISR 1991",
)
OHSUMED = Published(
    title="OHSUMED with 25 features",
    folder="ohsumed_letor",
    get="the five parts of OHSUMED, as part1.txt to part5.txt,",
    page=_LETOR,
    terms="not to be redistributed; as its page says",
)
OHSUMED_TREC9 = Published(
    title="OHSUMED of TREC-9",
    folder="ohsumed_trec9",
    get="qrels.ohsu.88-91, query.ohsu.1-63 and runs of yours, as runs/*.run,",
    page="https://trec.nist.gov/data/t9_filtering.html",
    terms="for experiments; not for use in clinics or libraries",
)
MQ2007_AGG = Published(
    title="MQ2007-agg of LETOR 4.0",
    folder="mq2007_agg",
    get="MQ2007-agg, of which A1.txt to A5.txt,",
    page=_LETOR + "letor-4-0/",
    terms="not to be redistributed; as its page says",
)
LIGHTGBM_LAMBDARANK = Published(
    title="LightGBM's example of lambdarank",
    folder="lightgbm_lambdarank",
    get="rank.train, rank.train.query, rank.test and rank.test.query",
    page="https://github.com/microsoft/LightGBM/tree/master/examples/lambdarank",
    terms="MIT",
)
