"""Arguments of `fit_people` are checked before any work, also those that do not apply."""

import math

import numpy as np
import pytest

from peckorder import MPRank, PRank, Ratings
from peckorder.collaborative import PersonalRanker
from peckorder.distributed import fit_people, open_people
from peckorder.exceptions import DataError, ModelFileError
from support.helpers import exactly
from support.worker_tasks import SMALL_RATINGS

FEATURES = {"estimator": MPRank(), "features": np.eye(3)}
PERSONAL = {"estimator": PersonalRanker(n_factors=1, random_state=0)}


def fit(estimator, **options):
    return fit_people(SMALL_RATINGS, None, estimator, n_jobs=1, **options)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (FEATURES, "features, which are taken as they are"),
        (PERSONAL, "a PersonalRanker, which has its own"),
    ],
    ids=["features", "PersonalRanker"],
)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fill", "bogus"),
        ("center", "nonsense"),
        ("references", -7),
        ("references", []),
        ("center", 0.0),
    ],
)
def test_what_is_said_of_viewers_where_there_are_none(options, why, name, value):
    sentence = f"fit_people: {name} must be None with {why}; got {value!r}."
    with pytest.raises(TypeError, match=exactly(sentence)):
        fit(**options, **{name: value})


def test_names_of_metrics_are_read_where_nothing_is_held_out():
    with pytest.raises(ValueError, match=r"metric such as 'ap'.*; got 'nonsense'"):
        fit(PRank(), metrics="nonsense")


def test_ratings_that_a_metric_refuses_are_refused_before_any_work(tmp_path):
    test = Ratings(list("aabc"), [2, 3, 3, 1], [2, 4, 5, -1])
    test = test.restrict(users=list("abc"), items=[1, 2, 3])
    for estimator in (PRank(), PERSONAL["estimator"]):
        with pytest.raises(DataError) as caught:
            fit(estimator, test=test, metrics=["disagreement", "ndcg@5"], store=tmp_path / "people")
        assert str(caught.value) == (
            "fit_people: test must have ratings that 'ndcg@5' can be measured on; got "
            "others: ndcg: y_true must be >= 0 to be a gain; got -1.0."
        )
    assert list(tmp_path.iterdir()) == []
    assert len(fit(PRank(), test=test)) == 3


def test_scores_that_a_metric_refuses_are_measured_as_nan():
    # The third item, which nobody has rated, is far away from the others.
    features = np.array([[1.0], [2.0], [1e200]])
    rated = Ratings(list("aabbc"), [1, 2, 1, 2, 3], [5, 1, 1, 3, 2])
    train = rated.restrict(users=list("ab"), items=[1, 2, 3])
    test = Ratings(list("aab"), [3, 1, 2], [2, 5, 3])
    test = test.restrict(users=list("ab"), items=[1, 2, 3])
    people = fit_people(
        train, None, MPRank(), features=features, test=test, metrics=["msd", "misranking"], n_jobs=1
    )
    assert sorted(people) == ["a", "b"]
    table = people.columns()
    a = table["person"].index("a")
    assert math.isnan(table["msd"][a])
    assert table["misranking"][a] in (0.0, 1.0)


@pytest.mark.parametrize("name", ["people", "people.sqlite"])
def test_a_store_that_has_lost_what_is_shared(name, tmp_path):
    path, ranker = tmp_path / name, PERSONAL["estimator"]
    fit_people(SMALL_RATINGS, ["a"], ranker, n_jobs=1, store=path)
    if path.suffix:
        import sqlite3

        base = sqlite3.connect(path)
        base.execute("DELETE FROM about WHERE name = 'shared'")
        base.commit()
        base.close()
    else:
        (path / "_shared.peckorder").unlink()
    sentence = "people: a store of PersonalRanker must have what is shared; got none."
    with pytest.raises(ModelFileError, match=exactly(sentence)):
        fit(ranker, store=path)
    assert list(open_people(path)) == ["a"]
