"""Loaders on small files in the publishers' forms, and what they say of others."""

import gzip
import re
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder import datasets
from peckorder.exceptions import DataError, MissingDataError
from support.helpers import exactly
from support.tables import written
from support.workbooks import row_of, workbook

U_DATA = "1\t7\t5\t881250949\n1\t9\t3\t881250950\n2\t9\t1\t881250951\n"
U_ITEM = "7|Séven (1995)|01-Jan-1995||x|0\n9|Nine (2009)|01-Jan-2009||x|0\n"
RATINGS_DAT = "1::7::5::978300760\n1::9::3::978302109\n2::9::1::978301968\n"
MOVIES_DAT = "7::Séven (1995)::Thriller\n8::Eight::Drama\n9::Nine (2009)::Musical\n"
CSV = "user,movie,rating\n1,7,5\n1,9,3\n2,9,1\n"
LATEST = "userId,movieId,rating,timestamp\n1,7,5.0,1\n1,9,3.0,2\n2,9,1.0,3\n"
MATRIX = [[5, 3], [np.nan, 1]]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Keep tests from folders that are there."""
    monkeypatch.delenv("PECKORDER_DATA", raising=False)
    monkeypatch.setenv("PECKORDER_CACHE", str(tmp_path / "cache"))


def put(folder, **files):
    """Write files whose names have dots for double underscores."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode("latin-1")
        (folder / name.replace("__", ".")).write_bytes(data)


def zipped(path, **files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode("latin-1")
            archive.writestr(f"{path.stem}/{name.replace('__', '.')}", data)


def not_whole(load, *arguments, **options):
    """Load less than the published set, which gives a warning."""
    with pytest.warns(UserWarning, match="to be the published set; got"):
        return load(*arguments, **options)


def test_movielens_100k_in_its_own_form(tmp_path):
    put(tmp_path / "ml-100k", u__data=U_DATA, u__item=U_ITEM)
    sentence = (
        "load_movielens_100k: u.data must have 100,000 ratings, 943 users, 1,682 movies"
        ", 6110/11370/27145/34174/21201 ratings of 1/2/3/4/5 to be the published set; "
        "got 3 ratings, 2 users, 2 movies, 1/0/1/0/1 ratings of 1/2/3/4/5."
    )
    with pytest.warns(UserWarning, match=exactly(sentence)):
        movies = datasets.load_movielens_100k(tmp_path)
    assert_array_equal(movies.ratings.matrix(), MATRIX)
    assert movies.scale == (1, 5)
    assert movies.titles == {7: "Séven (1995)", 9: "Nine (2009)"}


@pytest.mark.parametrize(
    "files",
    [
        {"ratings__dat": RATINGS_DAT, "movies__dat": MOVIES_DAT},
        {"ratings__csv": CSV},
        {"ratings__csv": LATEST},
        {"ratings__csv__gz": gzip.compress(CSV.encode())},
        {"ratings__dat__gz": gzip.compress(RATINGS_DAT.encode())},
    ],
    ids=["own", "csv", "latest", "packed", "own, packed"],
)
@pytest.mark.parametrize("below", [".", "ml-1m"])
def test_movielens_1m_in_all_forms(tmp_path, files, below):
    put(tmp_path / below, **files)
    movies = not_whole(datasets.load_movielens_1m, tmp_path)
    assert_array_equal(movies.ratings.matrix(), MATRIX)
    assert movies.titles.get(8) == ("Eight" if "movies__dat" in files else None)


def test_an_archive_is_read_where_it_is(tmp_path):
    zipped(tmp_path / "ml-1m.zip", ratings__dat=RATINGS_DAT, movies__dat=MOVIES_DAT)
    movies = not_whole(datasets.load_movielens_1m, tmp_path)
    assert_array_equal(movies.ratings.matrix(), MATRIX)
    assert len(movies.titles) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["ml-1m.zip"]


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_an_archive_cut_short_is_refused(tmp_path, share):
    path = tmp_path / "ml-1m.zip"
    zipped(path, ratings__dat=RATINGS_DAT * 50)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(DataError, match=r"ml-1m\.zip must be a sound zip file; got"):
        datasets.load_movielens_1m(tmp_path)


def test_a_damaged_member_is_refused(tmp_path):
    path = tmp_path / "ml-1m.zip"
    zipped(path, ratings__dat=RATINGS_DAT)
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"ml-1m\.zip must be a sound zip file; got"):
        datasets.load_movielens_1m(tmp_path)


def test_the_folders_that_are_looked_at(tmp_path, monkeypatch):
    put(tmp_path / "cache" / "ml-1m", ratings__csv=CSV)
    assert len(not_whole(datasets.load_movielens_1m).ratings) == 3
    put(tmp_path / "mine" / "ml-1m", ratings__csv=CSV + "3,7,1\n")
    monkeypatch.setenv("PECKORDER_DATA", str(tmp_path / "mine"))
    assert len(not_whole(datasets.load_movielens_1m).ratings) == 4
    with pytest.raises(MissingDataError, match="got nothing in"):
        datasets.load_movielens_1m(tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1\t7\t5\n", "line 3 must be 4 fields between '\\t'; got '1\\t7\\t5'."),
        ("3\t7\t6\t1\n", "line 3 must be a line with a rating from 1 to 5; got '3\\t7\\t6\\t1'."),
        (
            "1\t7\t5\t1\n",
            "a user must rate an item once; got user 1 and item 7 again in line 3. "
            "With duplicates='last', 'mean' or 'max' such ratings are merged.",
        ),
    ],
)
def test_damaged_ratings_are_refused(tmp_path, text, sentence):
    put(tmp_path, u__data="1\t7\t5\t1\n2\t7\t4\t1\n" + text)
    sentence = f"load_movielens_100k, u.data: {sentence}"
    with pytest.raises(DataError, match=exactly(sentence)):
        datasets.load_movielens_100k(tmp_path)


def test_damaged_titles_are_refused(tmp_path):
    put(tmp_path, u__data=U_DATA, u__item="7|Seven\nNine\n")
    sentence = "load_movielens_100k: line 2 of u.item must be 'movie|title|...'; got 'Nine'."
    with pytest.raises(DataError, match=exactly(sentence)):
        datasets.load_movielens_100k(tmp_path)


LOADERS = {
    "load_movielens_100k": ("ml-100k/u.data or ml-100k/ratings.csv", "grouplens.org"),
    "load_movielens_1m": ("ml-1m/ratings.dat or ml-1m/ratings.csv", "grouplens.org"),
    "load_jester": ("jester/jester-data-1.xls", "eigentaste.berkeley.edu"),
    "load_book_crossing": (
        "book_crossing/BX-Book-Ratings.csv or book_crossing/"
        "BX_Book_Ratings_explicit_171k.csv or book_crossing/ratings.csv",
        "informatik.uni-freiburg.de",
    ),
    "load_netflix_matrix": ("netflix_subset/netflix_1200x1200.txt", "whoever has it"),
    "load_netflix_prize": (
        "netflix_prize/combined_data_1.txt or netflix_prize/training_set/mv_0000001.txt",
        "kaggle.com",
    ),
    "load_eachmovie": ("eachmovie/vote.txt or eachmovie/Vote.txt", "whoever has them"),
    "load_cystic_fibrosis": ("cystic_fibrosis/cfquery_text_100q.txt", "hearst/irbook"),
    "load_ohsumed_trec9": ("ohsumed_trec9/qrels.ohsu.88-91", "trec.nist.gov"),
    "load_ohsumed_fold": ("ohsumed_letor/part1.txt", "microsoft.com"),
    "load_mq2007_agg_fold": ("mq2007_agg/A1.txt", "letor-4-0"),
    "load_lightgbm_lambdarank": ("lightgbm_lambdarank/rank.train", "LightGBM"),
}


@pytest.mark.parametrize(("name", "words"), LOADERS.items())
def test_without_data_the_message_says_what_to_get(tmp_path, name, words):
    fold = [1] if name.endswith("fold") else []
    with pytest.raises(MissingDataError) as info:
        getattr(datasets, name)(*fold)
    message = str(info.value)
    pattern = rf"^{name}: .* must be there as {re.escape(words[0])}; got nothing in "
    assert re.search(pattern, message)
    assert words[1] in message
    assert "PECKORDER_DATA" in message
    assert f"put it in {tmp_path / 'cache'}" in message
    assert (f"fetch_{name[5:]}()" in message) == hasattr(datasets, f"fetch_{name[5:]}")
    with pytest.raises(MissingDataError) as info:
        getattr(datasets, name)(*fold, tmp_path / "none")
    message = str(info.value)
    assert message.startswith(f"{name}: folder must be one that exists; got ")
    assert f"put it in {tmp_path / 'none' / words[0].split('/')[0]}" in message
    assert words[1] in message


def test_a_file_where_a_folder_must_be(tmp_path, monkeypatch):
    path = written(tmp_path / "ml-100k.zip", b"")
    for name, given in (("folder", path), ("PECKORDER_DATA", None)):
        sentence = (
            f"load_movielens_100k: {name} must be a folder; got the file "
            f"{str(path)!r}. Name the folder that it is in."
        )
        with pytest.raises(MissingDataError, match=exactly(sentence)):
            datasets.load_movielens_100k(given)
        monkeypatch.setenv("PECKORDER_DATA", str(path))


JOKES = [[2, *[99] * 98, 3.25, -9.95], [100, *[0.5] * 100], [1, 7, *[99] * 99]]


def test_jester_in_three_workbooks(tmp_path):
    home = tmp_path / "jester"
    for k, row in enumerate(JOKES, 1):
        content = workbook(row_of(0, row))
        if k < 3:
            zipped(home / f"jester_dataset_1_{k}.zip", **{f"jester-data-{k}__xls": content})
        else:
            put(home, **{"jester-data-3__xls": content})
    ratings = not_whole(datasets.load_jester, tmp_path).ratings
    assert ratings.users.tolist() == [1, 2, 3]
    assert ratings.of(1).items.tolist() == [99, 100]
    assert ratings.of(1).values.tolist() == [3.25, -9.95]
    assert ratings.of(3).items.tolist() == [1]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ([3, *JOKES[0][1:]], "row 1 must have as many ratings as it says, 3; got 2."),
        (
            [2, 11.5, *[99] * 99],
            "row 1 must have ratings from -10 to 10, or 99 for none; got 11.5.",
        ),
        ([1, 5], "a row must have 101 columns, the first a count; got 2."),
    ],
)
def test_rows_of_jokes_that_cannot_be_are_refused(tmp_path, row, sentence):
    for k in (1, 2, 3):
        put(tmp_path, **{f"jester-data-{k}__xls": workbook(row_of(0, row))})
    sentence = f"load_jester, jester-data-1.xls: {sentence}"
    with pytest.raises(DataError, match=exactly(sentence)):
        datasets.load_jester(tmp_path)


BOOKS = (
    '"User-ID";"ISBN";"Book-Rating"\n"276725";"034545104X";"0"\n'
    '"276726";"0155061224";"5"\n"276729";"é\\"0521";"3"\n'
)


def test_book_crossing_in_its_own_form(tmp_path):
    zipped(tmp_path / "BX-CSV-Dump.zip", **{"BX-Book-Ratings__csv": BOOKS})
    books = not_whole(datasets.load_book_crossing, tmp_path)
    assert books.ratings.users.tolist() == [276726, 276729]
    assert books.ratings.items.tolist() == ["0155061224", 'é"0521']
    assert books.scale == (1, 10)
    books = not_whole(datasets.load_book_crossing, tmp_path, implicit=True)
    assert books.ratings.of(276725).values.tolist() == [0]
    assert books.scale == (0, 10)


def test_book_crossing_as_plain_csv(tmp_path):
    put(tmp_path, ratings__csv="User_ID,ISBN,Book_Rating\n1,0451166892,5\n1,9,10\n")
    ratings = datasets.load_book_crossing(tmp_path).ratings
    assert ratings.items.tolist() == ["0451166892", "9"]


def test_a_matrix_of_another_size_gives_a_warning(tmp_path):
    put(tmp_path, netflix_1200x1200__txt="5 0\n0 1\n")
    ratings = not_whole(datasets.load_netflix_matrix, tmp_path).ratings
    assert_array_equal(ratings.matrix(missing=0), [[5, 0], [0, 1]])


FIBROSIS = (
    "QN 00001\nQU What is\n   this?\nNR 00003\nRD  139 1222  151 2211\n    166 0001\n\n"
    "QN 00002\nQU And that?\nNR 00001\nRD  139 0000\n"
)


def test_cystic_fibrosis(tmp_path):
    put(tmp_path, cfquery_text_100q__txt=FIBROSIS)
    judged = not_whole(datasets.load_cystic_fibrosis, tmp_path)
    assert judged.qid.tolist() == [1, 1, 1, 2]
    assert judged.docid.tolist() == [139, 151, 166, 139]
    assert judged.scores[1].tolist() == [2, 2, 1, 1]
    assert judged.y.tolist() == [7, 6, 1, 0]
    assert judged.queries == {1: "What is this?", 2: "And that?"}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "166 0001",
            "166 00018",
            "line 6 of cfquery_text_100q.txt must be pairs of a document and its "
            "scores, four digits from 0 to 2; got '166 00018'.",
        ),
        ("166 0001", "166", "line 6 of cfquery_text_100q.txt must be pairs of a "
         "document and its scores; got '166'."),
        ("166", "139", "line 6 of cfquery_text_100q.txt must be documents that are new "
         "to the query; got '139'."),
        ("00003", "00004", "query 1 must have the 4 documents that it says; got 3."),
        ("QN 00002", "QN 00001", "line 8 of cfquery_text_100q.txt must be a query that "
         "is new; got 'QN 00001'."),
        ("QN 00001", "QX 00001", "line 1 of cfquery_text_100q.txt must be of a query, "
         "with QN, QU, NR or RD; got 'QX 00001'."),
        ("NR 00003", "NR x", "line 4 of cfquery_text_100q.txt must be of a query, with "
         "a number; got 'NR x'."),
    ],
)  # fmt: skip
def test_damaged_judgements_are_refused(tmp_path, old, new, sentence):
    put(tmp_path, cfquery_text_100q__txt=FIBROSIS.replace(old, new, 1))
    with pytest.raises(DataError, match=exactly(f"load_cystic_fibrosis: {sentence}")):
        datasets.load_cystic_fibrosis(tmp_path)


@pytest.mark.parametrize(
    ("load", "stem", "sign"),
    [(datasets.load_ohsumed_fold, "part", 1), (datasets.load_mq2007_agg_fold, "A", -1)],
)
@pytest.mark.parametrize("fold", [1, 2, 3, 4, 5])
def test_folds(tmp_path, load, stem, sign, fold):
    for k in range(1, 6):
        line = f"{k % 3} qid:{k} 1:{k} 2:NULL #docid = d{k}\n"
        put(tmp_path, **{f"{stem}{k}__txt": line})
    parts = not_whole(load, fold, tmp_path)
    before = 5 if fold == 1 else fold - 1
    assert parts.test.qid.tolist() == [fold]
    assert parts.validation.qid.tolist() == [before]
    assert sorted(parts.train.qid.tolist()) == sorted({1, 2, 3, 4, 5} - {fold, before})
    assert_array_equal(parts.test.X, [[sign * fold, np.nan]])
    assert parts.test.docid.tolist() == [f"d{fold}"]
    assert len(parts.train.docid) == 3


def test_parts_that_do_not_fit_are_refused(tmp_path):
    for k in range(1, 6):
        put(tmp_path, **{f"part{k}__txt": f"1 qid:{k} {k}:1\n"})
    sentence = (
        "load_ohsumed_fold: all parts must have the same features; got 1, 2, 3, 4, 5 of them."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        datasets.load_ohsumed_fold(1, tmp_path)
    put(tmp_path, part1__txt="1 1:1\n")
    with pytest.raises(DataError, match=r"part1\.txt must have queries; got none"):
        datasets.load_ohsumed_fold(1, tmp_path)
    with pytest.raises(ValueError, match="fold must be 1, 2, 3, 4 or 5; got 6"):
        datasets.load_ohsumed_fold(6, tmp_path)


def test_runs_and_judgements(tmp_path):
    put(
        tmp_path / "ohsumed_trec9",
        **{
            "qrels__ohsu__88-91": "OHSU1\td1\t2\n",
            "query__ohsu__1-63": "<top>\n<num> Number: OHSU1\n<title> a woman\n",
        },
    )
    put(tmp_path / "ohsumed_trec9" / "runs", a__run="OHSU1 Q0 d1 1 2.5 a\n")
    trec = not_whole(datasets.load_ohsumed_trec9, tmp_path)
    X, y, _ = datasets.from_runs(trec.runs, trec.qrels)
    assert (X.tolist(), y.tolist()) == ([[1.0]], [2.0])
    assert trec.queries == {"OHSU1": "a woman"}


def test_sizes_of_queries(tmp_path):
    files = {
        "rank__train": "2 1:0.5\n0 3:1\n1 1:1\n",
        "rank__train__query": "2\n1\n",
        "rank__test": "1 2:4\n",
        "rank__test__query": "1\n",
    }
    put(tmp_path, **files)
    parts = not_whole(datasets.load_lightgbm_lambdarank, tmp_path)
    assert parts.train.qid.tolist() == [0, 0, 1]
    assert parts.test.qid.tolist() == [2]
    assert_array_equal(parts.test.X, [[0, 4, 0]])
    put(tmp_path, rank__train__query="2\n2\n")
    sentence = (
        "load_lightgbm_lambdarank: rank.train.query must add up to the 3 documents of "
        "rank.train; got 4."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        datasets.load_lightgbm_lambdarank(tmp_path)
    put(tmp_path, rank__train__query="2\nx\n")
    sentence = (
        "load_lightgbm_lambdarank: line 2 of rank.train.query must be the size of a query; got 'x'."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        datasets.load_lightgbm_lambdarank(tmp_path)
