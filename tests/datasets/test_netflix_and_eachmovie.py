"""The Netflix Prize and EachMovie, in the forms in which they were published."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from peckorder import datasets
from peckorder.exceptions import DataError
from support.helpers import exactly

NAN = np.nan
FIRST = "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n"
SECOND = "30:\n822109,4,2004-10-11\n7,1,2004-05-25\n"
TITLES = "1,2003,Dinosaur Planet\n2,NULL,What, If Ever,\n30,2000,Am\xe9lie\n"


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


def load(name, folder):
    """Load less than the published set, which gives a warning."""
    with pytest.warns(UserWarning, match="to be the published set; got"):
        return getattr(datasets, name)(folder)


@pytest.mark.parametrize(
    ("below", "files"),
    [
        ("netflix_prize", {"combined_data_1__txt": FIRST, "combined_data_2__txt": SECOND}),
        (".", {"combined_data_1__txt": FIRST + SECOND}),
        ("netflix_prize/training_set", {"mv_0000001__txt": FIRST, "mv_0000030__txt": SECOND}),
        ("training_set", {"mv_0000001__txt": FIRST, "mv_0000030__txt": SECOND}),
        (".", {"mv_0000001__txt": FIRST, "mv_0000030__txt": SECOND}),
        (".", {"combined_data_1__txt__gz": gzip.compress((FIRST + SECOND).encode())}),
        (".", {"combined_data_1__txt": (FIRST + SECOND).replace("\n", "\r\n").rstrip()}),
        (".", {"combined_data_1__txt": FIRST + "\n" + SECOND}),
    ],
    ids=["combined", "one", "per movie", "no home", "plain", "packed", "Windows", "empty line"],
)
def test_the_netflix_prize_in_all_forms(tmp_path, below, files):
    put(tmp_path / below, **files)
    movies = load("load_netflix_prize", tmp_path)
    ratings = movies.ratings
    assert (ratings.users.tolist(), ratings.items.tolist()) == ([7, 822109, 1488844], [1, 30])
    assert_array_equal(ratings.matrix(), [[NAN, 1], [5, 4], [3, NAN]])
    assert (movies.scale, movies.titles, movies.years) == ((1, 5), {}, {})


def test_one_form_is_read_if_there_are_two(tmp_path):
    put(tmp_path, combined_data_1__txt=FIRST, mv_0000001__txt=FIRST, movie_titles__txt=TITLES)
    put(tmp_path, combined_data_1__txt__gz=gzip.compress(FIRST.encode()))
    movies = load("load_netflix_prize", tmp_path)
    assert len(movies.ratings) == 2
    assert movies.titles == {1: "Dinosaur Planet", 2: "What, If Ever,", 30: "Amélie"}
    assert movies.years == {1: 2003, 30: 2000}


def test_the_whole_prize_is_known_by_its_numbers(tmp_path):
    put(tmp_path, mv_0000001__txt=FIRST)
    sentence = (
        "load_netflix_prize: The Netflix Prize must have 100,480,507 ratings, 480,189 users, "
        "17,770 movies, 4617990/10132080/28811247/33750958/23168232 ratings of 1/2/3/4/5 to be "
        "the published set; got 2 ratings, 2 users, 1 movies, 0/0/1/0/1 ratings of 1/2/3/4/5."
    )
    with pytest.warns(UserWarning, match=exactly(sentence)):
        datasets.load_netflix_prize(tmp_path)


def by_lines(texts):
    """Ratings of files, line by line."""
    ratings = {}
    for text in texts:
        for line in text.split("\n"):
            if line.endswith(":"):
                movie = int(line[:-1])
            elif line:
                customer, rating, _ = line.split(",")
                ratings[int(customer), movie] = float(rating)
    return ratings


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**31 - 1),
            st.dictionaries(
                st.one_of(st.integers(0, 3), st.integers(0, 2**31 - 1)), st.integers(1, 5)
            ),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda movie: movie[0],
    ),
    st.booleans(),
    st.sampled_from([1 << 22, 7]),
)
def test_ratings_are_those_of_a_reader_of_lines(tmp_path_factory, movies, is_one_file, size):
    texts = [
        f"{movie}:\n" + "".join(f"{who},{stars},2005-01-02\n" for who, stars in votes.items())
        for movie, votes in movies
    ]
    if not any(votes for _, votes in movies):
        return
    folder = tmp_path_factory.mktemp("prize")
    files = ["".join(texts)] if is_one_file else texts
    for k, text in enumerate(files):
        (folder / f"combined_data_{k}.txt").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("peckorder._core.text_files.BLOCK", size)
        ratings = load("load_netflix_prize", folder).ratings
    user, item, value = ratings.triples()
    read = dict(zip(zip(user.tolist(), item.tolist(), strict=True), value.tolist(), strict=True))
    assert read == by_lines(files)


RULE = "be 'MovieID:' or, after such a line, 'CustomerID,Rating,Date'"


@pytest.mark.parametrize(
    "line",
    [
        "7,6,2005-09-06",
        "7,0,2005-09-06",
        "7,3.5,2005-09-06",
        "7,3",
        "7,",
        "7",
        ",3,2005-09-06",
        "x,3,2005-09-06",
        "-7,3,2005-09-06",
        "2147483648,3,2005-09-06",
        "99999999999999999999999,3,2005-09-06",
        "2: ",
        ":",
        " 7,3,2005-09-06",
        "7,3\x002005-09-06",
    ],
)
def test_a_damaged_line_of_the_prize_is_refused(tmp_path, line):
    put(tmp_path, combined_data_1__txt=FIRST + line + "\n" + SECOND)
    sentence = f"load_netflix_prize: line 4 of combined_data_1.txt must {RULE}; got "
    with pytest.raises(DataError) as info:
        datasets.load_netflix_prize(tmp_path)
    assert str(info.value) == f"{sentence}{line.strip()!r}."


def test_ratings_before_any_movie_are_refused(tmp_path):
    # The movie of one file is not that of the next.
    put(tmp_path, combined_data_1__txt=FIRST, combined_data_2__txt="7,3,2005-09-06\n")
    sentence = (
        f"load_netflix_prize: line 1 of combined_data_2.txt must {RULE}; got '7,3,2005-09-06'."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        datasets.load_netflix_prize(tmp_path)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {"mv_0000001__txt": "1:\n"},
            "the files of ratings must hold at least one rating; got none.",
        ),
        ({"mv_0000001__txt": ""}, "the files of ratings must hold at least one rating; got none."),
        (
            {"mv_0000001__txt": FIRST + "822109,4,2005-05-13\n"},
            "a user must rate an item once; got user 822109 and item 1 again in row 2. "
            "With duplicates='last', 'mean' or 'max' such ratings are merged.",
        ),
    ],
)
def test_what_is_no_set_of_ratings_is_refused(tmp_path, files, sentence):
    put(tmp_path, **files)
    with pytest.raises(DataError, match=exactly(f"load_netflix_prize: {sentence}")):
        datasets.load_netflix_prize(tmp_path)


@pytest.mark.parametrize("line", ["2,What", "x,2003,What", "2,199x,What"])
def test_a_damaged_title_is_refused(tmp_path, line):
    put(tmp_path, mv_0000001__txt=FIRST, movie_titles__csv="1,2003,Fine\n" + line)
    sentence = (
        "load_netflix_prize: line 2 of movie_titles.csv must be 'MovieID,Year,Title'; "
        f"got {line!r}."
    )
    with (
        pytest.raises(DataError, match=exactly(sentence)),
        pytest.warns(UserWarning, match="published set"),
    ):
        datasets.load_netflix_prize(tmp_path)


VOTES = (
    "1\t7\t0.8\t1\t8/1/96 00:00:00\n1\t9\t0\t0.2\t8/1/96 00:00:00\n2\t9\t1\t1\t2/3/97 10:11:12\n"
)
MOVIES = "7\tS\xe9ven\thttp://7\t\n8\tEight\t\t\n9\tNine\t\t\n"
PEOPLE = "1\t25\tM\t12345\n2\t\t\t\n"


@pytest.mark.parametrize("form", [str.lower, str.capitalize])
@pytest.mark.parametrize("below", [".", "eachmovie"])
def test_eachmovie(tmp_path, form, below):
    files = {"vote__txt": VOTES, "movie__txt": MOVIES, "person__txt": PEOPLE}
    put(tmp_path / below, **{form(name): text for name, text in files.items()})
    movies = load("load_eachmovie", tmp_path)
    assert_array_equal(movies.ratings.matrix(), [[0.8, 0], [NAN, 1]])
    assert_array_equal(movies.weights.matrix(), [[1, 0.2], [NAN, 1]])
    assert movies.ratings.items.tolist() == [7, 9]
    assert movies.scale == (0, 1)
    assert movies.titles == {7: "Séven", 8: "Eight", 9: "Nine"}
    assert movies.people == {1: ("25", "M", "12345"), 2: ("", "", "")}


def test_votes_alone_are_enough_and_the_last_counts(tmp_path):
    put(tmp_path, vote__txt__gz=gzip.compress((VOTES + "1\t7\t0.2\t.5\tx\n").encode()))
    sentence = (
        "load_eachmovie: vote.txt.gz must have 2,811,983 votes to be the published set; "
        "got 4 votes."
    )
    with pytest.warns(UserWarning, match=exactly(sentence)):
        movies = datasets.load_eachmovie(tmp_path)
    assert (len(movies.ratings), movies.titles, movies.people) == (3, {}, {})
    assert movies.ratings.of(1).values.tolist() == [0.2, 0]
    assert movies.weights.of(1).values.tolist() == [0.5, 0.2]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {"vote__txt": VOTES + "3\t7\t1.2\t1\tx\n"},
            "load_eachmovie, vote.txt: line 4 must be a line with a rating from 0 to 1; "
            "got '3\\t7\\t1.2\\t1\\tx'.",
        ),
        (
            {"vote__txt": VOTES + "3\t7\t1\n"},
            "load_eachmovie, vote.txt: line 4 must be 5 fields between '\\t'; got '3\\t7\\t1'.",
        ),
        (
            {"vote__txt": VOTES, "movie__txt": "7\tSeven\n8\n"},
            "load_eachmovie: line 2 of movie.txt must be a number and 1 or more fields after "
            "tabs; got '8'.",
        ),
        (
            {"vote__txt": VOTES, "person__txt": "one\t25\tM\t12345\n"},
            "load_eachmovie: line 1 of person.txt must be a number and 3 or more fields after "
            "tabs; got 'one\\t25\\tM\\t12345'.",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*published set")
def test_damaged_files_of_eachmovie_are_refused(tmp_path, files, sentence):
    put(tmp_path, **files)
    with pytest.raises(DataError, match=exactly(sentence)):
        datasets.load_eachmovie(tmp_path)
