"""Who publishes which data, where, and on what terms: facts, in one place."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_LETOR = (
    "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
)


@dataclass(frozen=True, slots=True)
class Published:
    """A data set as its publisher distributes it.

    `archives` are what is downloaded from the address `base`, with their checksums where
    these are known; empty where nothing can be. Each has to hold a `member`, if one is
    named: other files are not it.
    """

    title: str
    folder: str
    loader: str
    get: str
    page: str
    terms: str
    base: str = ""
    archives: Mapping[str, str | None] = field(default_factory=dict)
    member: str | None = None

    @property
    def fetch(self) -> str | None:
        """The name of the function that downloads the set; None if none does."""
        return self.loader.replace("load", "fetch") if self.archives else None


def _movielens(size: str, md5: str) -> Published:
    """Return a set of GroupLens, which gives MD5 sums beside its archives."""
    return Published(
        title=f"MovieLens {size.upper()}",
        folder=f"ml-{size}",
        loader=f"load_movielens_{size}",
        get=f"ml-{size}.zip",
        page=f"https://grouplens.org/datasets/movielens/{size}/",
        terms="for research; not to be redistributed or used commercially without permission",
        base="https://files.grouplens.org/datasets/movielens/",
        archives={f"ml-{size}.zip": f"md5:{md5}"},
    )


MOVIELENS_100K = _movielens("100k", "0e33842e24a9c977be4e0107933c0723")
MOVIELENS_1M = _movielens("1m", "c4d9eecfca2ab87c1945afe126590906")
JESTER = Published(
    title="Jester data set 1",
    folder="jester",
    loader="load_jester",
    get="jester_dataset_1_1.zip, jester_dataset_1_2.zip and jester_dataset_1_3.zip",
    page="https://eigentaste.berkeley.edu/dataset/",
    terms="free for research that cites Goldberg et al., Information Retrieval 2001",
    base="https://eigentaste.berkeley.edu/dataset/",
    # Of the archives that go around.
    archives={
        f"jester_dataset_1_{k}.zip": f"sha256:{digest}"
        for k, digest in (
            (1, "cb7841756ded125b15f3d95c9f8241224065e96354c132a46ae4214deeab7615"),
            (2, "4d312fd824d8c8cb2c9c952a7b1fb7c00d1f5fd3ece370f7285aa701d371748b"),
            (3, "7f548d3762d3506cf7cd37d8cb9e3adb67984a7da7aa2d2096d5e0b1b884758d"),
        )
    },
)
BOOK_CROSSING = Published(
    title="Book-Crossing",
    folder="book_crossing",
    loader="load_book_crossing",
    get="BX-CSV-Dump.zip, or its BX-Book-Ratings.csv,",
    page="http://www2.informatik.uni-freiburg.de/~cziegler/BX/",
    terms="free for research that cites Ziegler et al., WWW 2005",
    base="http://www2.informatik.uni-freiburg.de/~cziegler/BX/",
    archives={"BX-CSV-Dump.zip": None},
    member="BX-Book-Ratings.csv",
)
NETFLIX_MATRIX = Published(
    title="A Netflix-style matrix",
    folder="netflix_subset",
    loader="load_netflix_matrix",
    get="netflix_1200x1200.txt (rows of 1200 numbers, 0 for none)",
    page="whoever has it: the Netflix Prize data are no longer distributed",
    terms="the Netflix Prize rules forbid redistribution",
)
CYSTIC_FIBROSIS = Published(
    title="The judgements of the cystic fibrosis collection",
    folder="cystic_fibrosis",
    loader="load_cystic_fibrosis",
    get="the queries as text, as cfquery_text_100q.txt,",
    page="https://people.ischool.berkeley.edu/~hearst/irbook/cfc.html",
    terms="as its page says; described by Shaw et al., LISR 1991",
)
OHSUMED = Published(
    title="OHSUMED with 25 features",
    folder="ohsumed_letor",
    loader="load_ohsumed_fold",
    get="the five parts of OHSUMED, as part1.txt to part5.txt,",
    page=_LETOR,
    terms="not to be redistributed; as its page says",
)
OHSUMED_TREC9 = Published(
    title="OHSUMED of TREC-9",
    folder="ohsumed_trec9",
    loader="load_ohsumed_trec9",
    get="qrels.ohsu.88-91, query.ohsu.1-63 and runs of yours, as runs/*.run,",
    page="https://trec.nist.gov/data/t9_filtering.html",
    terms="for experiments; not for use in clinics or libraries",
)
MQ2007_AGG = Published(
    title="MQ2007-agg of LETOR 4.0",
    folder="mq2007_agg",
    loader="load_mq2007_agg_fold",
    get="MQ2007-agg, of which A1.txt to A5.txt,",
    page=_LETOR + "letor-4-0/",
    terms="not to be redistributed; as its page says",
)
LIGHTGBM_LAMBDARANK = Published(
    title="LightGBM's example of lambdarank",
    folder="lightgbm_lambdarank",
    loader="load_lightgbm_lambdarank",
    get="rank.train, rank.train.query, rank.test and rank.test.query",
    page="https://github.com/microsoft/LightGBM/tree/master/examples/lambdarank",
    terms="MIT",
)
SETS = (
    *(MOVIELENS_100K, MOVIELENS_1M, JESTER, BOOK_CROSSING, NETFLIX_MATRIX),
    *(CYSTIC_FIBROSIS, OHSUMED, OHSUMED_TREC9, MQ2007_AGG, LIGHTGBM_LAMBDARANK),
)
