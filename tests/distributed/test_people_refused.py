"""What `fit_people` refuses, in a sentence, before anything is written."""

import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from peckorder import MPRank, PRank, Ratings
from peckorder.collaborative import PersonalRanker
from peckorder.distributed import fit_people, open_people
from peckorder.distributed.people import store_parquet
from peckorder.exceptions import DataError, MissingExtraError, ModelFileError
from support.helpers import exactly
from support.tables import written
from support.worker_tasks import SMALL_RATINGS

STORES = pytest.mark.parametrize("name", ["people", "people.sqlite"])


def fit(people=None, estimator=None, ratings=SMALL_RATINGS, **options):
    return fit_people(ratings, people, estimator or PRank(), **{"n_jobs": 1} | options)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        (
            {"ratings": [[1, 2]]},
            TypeError,
            "fit_people: ratings must be Ratings; got an object of type list.",
        ),
        (
            {"people": ["a", "d"]},
            DataError,
            "fit_people: each of people must be one of the 3 that are known; got 'd'.",
        ),
        (
            {"people": ["a", "b", "a"]},
            DataError,
            "fit_people: people must be distinct; got 'a' again.",
        ),
        ({"people": []}, DataError, "fit_people: people must be None or name somebody; got none."),
        ({"people": "ab"}, DataError, "fit_people: people must be a list of ids; got 'ab'."),
        (
            {"estimator": "PRank"},
            TypeError,
            "fit_people: estimator must be an object with fit, such as MPRank(); got 'PRank'.",
        ),
        (
            {"estimator": PRank},
            TypeError,
            "fit_people: estimator must be an object with fit, such as MPRank(); got "
            "<class 'peckorder.ordinal.prank.PRank'>.",
        ),
        (
            {"estimator": Ridge()},
            TypeError,
            "fit_people: estimator must be one of peckorder's own, whose models can be "
            "stored without code; got Ridge().",
        ),
        (
            {"estimator": MPRank(C=-1.0)},
            ValueError,
            "MPRank: C must be a finite number > 0; got -1.0.",
        ),
        (
            {"estimator": PersonalRanker(), "features": np.ones((3, 1))},
            TypeError,
            "fit_people: features must be None with a PersonalRanker, which has its "
            "own; got an object of type ndarray.",
        ),
        (
            {"features": np.ones((2, 1))},
            DataError,
            "fit_people: features must have a row for each of the 3 items; got 2 rows.",
        ),
        ({"references": 0}, ValueError, "fit_people: references must be an integer >= 1; got 0."),
        (
            {"references": []},
            DataError,
            "fit_people: references must be a number, or name somebody; got none.",
        ),
        (
            {"references": ["z"]},
            DataError,
            "fit_people: references: user must be one of the 3 that are known; got 'z'.",
        ),
        (
            {"fill": "mode"},
            ValueError,
            "fit_people: fill must be one of 'median', 'mean', 'zero', 'abstain'; got 'mode'.",
        ),
        (
            {"fill": "abstain"},
            ValueError,
            "fit_people: fill must be 'median', 'mean' or 'zero' for an estimator that "
            "takes no NaN; got 'abstain' with PRank().",
        ),
        (
            {"test": SMALL_RATINGS.restrict(items=[1, 2])},
            DataError,
            "fit_people: test must have the same items as ratings, as after "
            "ratings.split(); got others.",
        ),
        (
            {"test": SMALL_RATINGS.restrict(users=["a"])},
            DataError,
            "fit_people: test must have the same users as ratings, as after "
            "ratings.split(); got others.",
        ),
        (
            {"test": SMALL_RATINGS, "metrics": ["ap", "ap"]},
            ValueError,
            "fit_people: metrics must be distinct; got ['ap', 'ap'].",
        ),
        (
            {"progress": "yes"},
            ValueError,
            "fit_people: progress must be None, True, False or a function of (done, "
            "total); got 'yes'.",
        ),
        ({"n_jobs": 0}, ValueError, "fit_people: n_jobs must be None or an integer >= 1; got 0."),
        ({"store": 7}, TypeError, "fit_people: store must be None or a path; got 7."),
    ],
)
def test_arguments(options, error, sentence):
    with pytest.raises(error, match=exactly(sentence)):
        fit(**options)


def test_items_that_a_fitted_ranker_does_not_know():
    ranker = PersonalRanker(n_factors=1, random_state=0).fit(SMALL_RATINGS)
    other = Ratings(["e", "e"], [1, 9], [1, 5])
    with pytest.raises(DataError, match="item must be one of the 3 that are known"):
        fit(None, ranker, other)


def test_ids_that_no_column_holds(tmp_path):
    ratings = Ratings([1.5, 1.5, 2.5], [1, 2, 1], [1, 2, 3])
    sentence = "fit_people: people must be texts, or integers of 64 bits, to be stored; got float."
    with pytest.raises(DataError, match=exactly(sentence)):
        fit(ratings=ratings, store=tmp_path / "people")
    assert sorted(fit([1.5], ratings=ratings)) == [1.5]


# Stores of something else


@STORES
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"estimator": MPRank()}, "estimator, parameters, fill, ..."),
        ({"estimator": PRank(max_iter=9)}, "parameters (max_iter)"),
        ({"ratings": Ratings(list("abc"), [1, 2, 3], [5, 4, 4])}, None),
        ({"test": SMALL_RATINGS}, "test, metrics"),
        ({"references": 2}, "references"),
        ({"center": 1.0}, "center"),
        ({"fill": "zero"}, "fill"),
        ({"features": np.ones((3, 1))}, "features"),
    ],
    ids=lambda value: None if value is None or isinstance(value, str) else next(iter(value)),
)
def test_another_call_is_refused(name, change, named, tmp_path):
    path = tmp_path / name
    before = fit(["a"], store=path).columns()
    with pytest.raises(DataError, match="which was made with other") as caught:
        fit(store=path, **change)
    if named and "..." not in named:
        sentence = (
            f"fit_people: store must be new, or one of the same call; got "
            f"{str(path)!r}, which was made with other {named}. Choose another store."
        )
        assert str(caught.value) == sentence
    assert open_people(path).columns() == before


@STORES
def test_another_version_is_refused(name, tmp_path, monkeypatch):
    from peckorder.distributed.people import fit_people as module

    path = tmp_path / name
    fit(["a"], store=path)
    monkeypatch.setattr(module, "__version__", "99.0")
    with pytest.raises(DataError, match="made with other peckorder"):
        fit(store=path)
    monkeypatch.setattr(module, "FORMAT", 2)
    with pytest.raises(DataError, match=r"store must be of format 2; got .* format 1"):
        fit(store=path)


HOLD = """
import sys
from peckorder import PRank, Ratings
from peckorder.distributed import fit_people

def wait(done, total):
    if done == 1:
        print("there", flush=True)
        sys.stdin.readline()

ratings = Ratings(list("aabbbcc"), [1, 2, 1, 2, 3, 2, 3], [5, 1, 4, 2, 5, 1, 4])
fit_people(ratings, None, PRank(), n_jobs=1, store=sys.argv[1], progress=wait)
"""


def store_in_use(path):
    return exactly(
        f"fit_people: store must be of one run at a time; got {str(path)!r}, which "
        "another run writes to. Wait for it, or choose another."
    )


@STORES
def test_a_store_in_use(name, tmp_path):
    path, refused = tmp_path / name, []

    def once_more(done, total):
        with pytest.raises(FileExistsError, match=store_in_use(path)):
            fit(store=path)
        refused.append(done)

    assert len(fit(store=path, progress=once_more)) == 3
    assert refused[-1] == 3
    assert len(fit(store=path)) == 3


@pytest.mark.slow
@STORES
def test_a_store_that_another_process_uses(name, tmp_path):
    path = tmp_path / name
    sources = str(next(p for p in map(str, sys.path) if p.endswith("src")))
    with subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {sources!r})\n{HOLD}",
         str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout.readline() == "there\n"
        with pytest.raises(FileExistsError, match=store_in_use(path)):
            fit(store=path)
        open_people(path)  # others may read
        other.communicate("\n")
    assert other.returncode == 0
    assert len(fit(store=path)) == 3


# Paths without a store


@STORES
def test_a_folder_that_is_not_there(name, tmp_path):
    path = tmp_path / "none" / name
    sentence = f"fit_people: store must be in a folder that exists; got {str(path)!r}."
    with pytest.raises(FileNotFoundError, match=exactly(sentence)):
        fit(store=path)
    sentence = f"people: path must be a store of people; got {str(path)!r}, which does not exist."
    with pytest.raises(FileNotFoundError, match=exactly(sentence)):
        open_people(path)


@STORES
def test_something_else(name, tmp_path):
    path = tmp_path / name
    sentence = f"people: path must be a store of people; got {str(path)!r}."
    if path.suffix:
        path.write_bytes(b"some text, and more of it" * 99)
    else:
        path.mkdir()
        (path / "letter.txt").write_text("dear")
    for ask in (lambda: fit(store=path), lambda: open_people(path)):
        with pytest.raises(DataError, match=exactly(sentence)):
            ask()
    if path.suffix:
        assert path.read_bytes().startswith(b"some text")
    else:
        assert [each.name for each in path.iterdir()] == ["letter.txt"]


def test_a_database_of_something_else(tmp_path):
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE letters (text)")
    base.close()
    with pytest.raises(DataError, match="path must be a store of people"):
        fit(store=path)
    with pytest.raises(DataError, match="path must be a store of people"):
        open_people(path)


def test_a_file_where_a_folder_should_be(tmp_path):
    path = written(tmp_path / "people", "text")
    sentence = f"fit_people: store must be a folder, or end in .sqlite; got {str(path)!r}, a file."
    with pytest.raises(DataError, match=exactly(sentence)):
        fit(store=path)


def test_a_run_that_fails_at_once_leaves_nothing(tmp_path):
    equal = Ratings(list("aab"), [1, 2, 1], [3, 3, 3])
    for name in ("people", "people.sqlite"):
        with pytest.raises(DataError, match="ratings must have two different values"):
            fit(None, PersonalRanker(), equal, store=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_files_that_were_copied_or_damaged(tmp_path):
    path = tmp_path / "people"
    fit(store=path)
    part = path / "part-00000.parquet"
    (path / "part-00001.parquet").write_bytes(part.read_bytes())
    with pytest.raises(DataError, match="each person once; got one who is there again"):
        open_people(path)
    (path / "part-00001.parquet").write_bytes(b"PAR1")
    sentence = (
        "people: files of a store must be sound and of people; got "
        f"{str(path / 'part-00001.parquet')!r}."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        open_people(path)
    with pytest.raises(DataError, match=exactly(sentence)):
        fit(store=path)


def test_a_damaged_model(tmp_path):
    path = tmp_path / "people.sqlite"
    ranker = PersonalRanker(n_factors=1, random_state=0)
    fit(None, ranker, store=path)
    with sqlite3.connect(path) as base:
        base.execute("UPDATE people SET model = x'00' WHERE person = 'a'")
        base.execute("UPDATE about SET value = NULL WHERE name = 'shared'")
    base.close()
    with pytest.raises(ModelFileError, match="must have what is shared; got none"):
        open_people(path)["b"]
    other = tmp_path / "other.sqlite"
    fit(None, ranker, store=other)
    with sqlite3.connect(other) as base:
        base.execute("UPDATE people SET model = x'00' WHERE person = 'a'")
    base.close()
    with pytest.raises(ModelFileError, match="a person must be sound to be read"):
        open_people(other)["a"]
    assert open_people(other)["b"].predict().shape == (3,)


def test_models_that_share_nothing_make_no_ranker():
    sentence = (
        "people: estimator must be a PersonalRanker, to have a part that all share; got 'PRank'."
    )
    with pytest.raises(TypeError, match=exactly(sentence)):
        fit().ranker()


def test_without_pyarrow_the_other_store_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    sentence = (
        "fit_people: pyarrow must be installed for a folder of Parquet files; got "
        "none. Type pip install 'peckorder[frames]', or choose a store that ends in "
        ".sqlite."
    )
    with pytest.raises(MissingExtraError, match=exactly(sentence)):
        fit(store=tmp_path / "people")
    assert list(tmp_path.iterdir()) == []
    assert len(fit(store=tmp_path / "people.sqlite")) == 3
    assert store_parquet.ABOUT == "_people.json"
