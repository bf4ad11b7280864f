"""What PersonalRanker refuses, and people it knows too little of."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from peckorder import MPRankCV, Ratings
from peckorder.collaborative import PersonalRanker
from peckorder.exceptions import DataError
from support.helpers import exactly, raises_unchanged

TABLE = [[5, 1, 3, np.nan], [4, 2, 5, 1], [3, 3, np.nan, 3], [np.nan, 2, np.nan, np.nan]]
RATINGS = Ratings.from_matrix(TABLE, users=list("abcd"), items=list("wxyz"))


def fitted(**options):
    return PersonalRanker(n_factors=1, random_state=0, **options).fit(RATINGS)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_factors": -1}, "n_factors must be an integer >= 0; got -1."),
        ({"factorizer": "qr"}, "factorizer must be one of 'als', 'svd'; got 'qr'."),
        ({"damping": -1}, "damping must be a finite number >= 0; got -1."),
        ({"cosine_weight": -1}, "cosine_weight must be a finite number >= 0; got -1."),
        ({"audience_weight": np.inf}, "audience_weight must be a finite number >= 0; got inf."),
        ({"max_iter": 0}, "max_iter must be an integer >= 1; got 0."),
        ({"C": 0}, "C must be None, 'leave_pair_out' or a finite number > 0; got 0."),
        ({"C": "best"}, "C must be None, 'leave_pair_out' or a finite number > 0; got 'best'."),
        ({"estimator": 3}, "estimator must be None or have fit and predict; got 3."),
        ({"references": 0}, "references must be None, an integer >= 1 or a list of ids; got 0."),
        (
            {"references": "a"},
            "references must be None, an integer >= 1 or a list of ids; got 'a'.",
        ),
    ],
)
def test_parameters(options, sentence):
    model = PersonalRanker(**options)
    with raises_unchanged(model, ValueError, f"PersonalRanker: {sentence}"):
        model.fit(RATINGS)


@pytest.mark.parametrize(
    ("ratings", "error", "sentence"),
    [
        (TABLE, TypeError, "ratings must be Ratings; got an object of type list."),
        (
            pd.DataFrame({"user": [1], "item": [1], "rating": [1]}),
            TypeError,
            "ratings must be Ratings; got an object of type DataFrame. Make them of a frame "
            "with Ratings.from_frame(frame, user=, item=, rating=), which takes the names of "
            "its columns.",
        ),
        (
            Bunch(ratings=RATINGS),
            TypeError,
            "ratings must be Ratings; got an object of type Bunch. They are in its .ratings: "
            "give these.",
        ),
        (
            Ratings([1, 2], [1, 1], [3, 3]),
            DataError,
            "ratings must have two different values; got 3.0 alone.",
        ),
    ],
)
def test_ratings(ratings, error, sentence):
    with pytest.raises(error, match=exactly(f"PersonalRanker: {sentence}")):
        PersonalRanker().fit(ratings)


def test_unknown_references():
    sentence = "Ratings: user must be one of the 4 that are known; got 'q'."
    with pytest.raises(DataError, match=exactly(sentence)):
        PersonalRanker(references=["a", "q"]).fit(RATINGS)


UNKNOWN = (
    "PersonalRanker: user must be one who has rated something (4 have; update(user, "
    "item, rating) adds one); got 'q'."
)


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda model: model.predict("q"), DataError, UNKNOWN),
        (lambda model: model.recommend("q"), DataError, UNKNOWN),
        (lambda model: model.fit_people(["q"]), DataError, UNKNOWN),
        (
            lambda model: model.predict("a", ["w", "q"]),
            DataError,
            "Ratings: item must be one of the 4 that are known; got 'q'.",
        ),
        (
            lambda model: model.predict("a", "w"),
            DataError,
            "PersonalRanker: items must be a list of ids, such as ['w']; got 'w'.",
        ),
        (
            lambda model: model.predict("a", 242),
            DataError,
            "PersonalRanker: items must be a list of ids, such as [242]; got 242.",
        ),
        (
            lambda model: model.predict("a", [["w"]]),
            DataError,
            "PersonalRanker: items must be a list of ids; got [['w']].",
        ),
        (lambda model: model.explain("q", "w"), DataError, UNKNOWN),
        (
            lambda model: model.explain("a", "q"),
            DataError,
            "Ratings: item must be one of the 4 that are known; got 'q'.",
        ),
        (
            lambda model: model.recommend("a", 0),
            ValueError,
            "PersonalRanker: n must be an integer >= 1; got 0.",
        ),
        (
            lambda model: model.recommend("a", exclude_rated=1),
            ValueError,
            "PersonalRanker: exclude_rated must be True or False; got 1.",
        ),
        (
            lambda model: model.update("a", "q", 3),
            DataError,
            "Ratings: item must be one of the 4 that are known; got 'q'.",
        ),
        (
            lambda model: model.update("a", "w", np.nan),
            ValueError,
            "PersonalRanker: rating must be a finite number; got nan.",
        ),
        (
            lambda model: model.update(["a"], "w", 3),
            DataError,
            "PersonalRanker: user must be an id; got ['a'].",
        ),
    ],
)
def test_questions(ask, error, sentence):
    model = fitted()
    with pytest.raises(error, match=exactly(sentence)):
        ask(model)
    assert len(model._people) == 0


def test_an_error_of_the_estimator_leaves_the_ranker_as_it_was():
    model = fitted(estimator=MPRankCV(cost="none"))
    with pytest.raises(ValueError, match=r"^MPRankCV: cost must be"):
        model.update("a", "z", 3)
    assert len(model._people) == 0


def test_explanations_are_of_the_kernel():
    model = fitted(references=["b"])
    sentence = (
        "PersonalRanker: estimator must be None to be explained; got None and references=['b']."
    )
    with pytest.raises(TypeError, match=exactly(sentence)):
        model.explain("a", "w")


TOO_FEW = (
    "PersonalRanker: a person has too few different ratings to learn from: the item means "
    "are used, shifted to the level of the person's ratings, if any."
)


@pytest.mark.parametrize("user", ["c", "d"])
def test_a_person_without_two_ratings_has_shifted_item_means(user):
    model = fitted()
    values = RATINGS.of(user).values
    rated = ~np.isnan(RATINGS.restrict(users=[user]).matrix()[0])
    expected = (values - model.item_means_[rated]).mean()
    with pytest.warns(UserWarning, match=exactly(TOO_FEW)):
        scores = model.predict(user)
    assert_allclose(scores - model.item_means_, expected)
    assert_allclose(scores[rated].mean(), values.mean())
    with pytest.warns(UserWarning, match=exactly(TOO_FEW)):
        listed = model.recommend(user, exclude_rated=False)
    assert not listed.is_personal
    assert str(listed).splitlines()[-1] == "not personal: too little is known of the person"
    best = np.argsort(-model.item_means_, kind="stable")
    assert listed.items.tolist() == RATINGS.items[best].tolist()
    with pytest.warns(UserWarning, match=exactly(TOO_FEW)):
        explanation = model.explain(user, "z")
    assert_allclose(explanation.score, scores[3])
    assert len(explanation.items) == len(explanation.viewers) == 0


def test_a_person_whose_ratings_are_all_held_back_has_the_item_means():
    left = RATINGS.restrict(items=["w", "y", "z"])
    model = PersonalRanker(n_factors=1, random_state=0).fit(left)
    with pytest.warns(UserWarning, match=exactly(TOO_FEW)):
        scores = model.predict("d")
    assert_allclose(scores, model.item_means_)


def test_with_an_estimator_two_ratings_are_too_few():
    model = fitted(references=["a", "b"])
    model.update("new", "w", 1).update("new", "x", 5)
    with pytest.warns(UserWarning, match=exactly(TOO_FEW)):
        model.predict("new")


def test_ratings_given_twice_are_refused_before_they_get_here():
    with pytest.raises(DataError, match="a user must rate an item once"):
        Ratings(["a", "a"], ["w", "w"], [1, 2])


def test_items_nobody_rated_have_a_score():
    kept, _ = RATINGS.split(0.6, random_state=0)
    model = PersonalRanker(n_factors=1, random_state=0).fit(kept)
    assert np.isfinite(model.item_means_).all()
    assert np.isfinite(model.predict("b")).all()


def test_people_added_are_counted_and_a_near_miss_is_named():
    kept = RATINGS.restrict(items=["w", "y", "z"])  # "d" rated none of these
    model = PersonalRanker(n_factors=1, random_state=0).fit(kept)
    model.update("new", "w", 4).update("a", "z", 4)
    with pytest.raises(DataError, match=r"something \(4 have; .*; got 'q'\.$"):
        model.predict("q")
    with pytest.raises(DataError, match=r"; got 'A'\. Did you mean 'a'\?$"):
        model.predict("A")
    assert model.users_.tolist() == list("abcd")


@pytest.mark.parametrize("rating", [0.5, 5.5])
def test_a_rating_off_the_range_is_taken_with_a_warning(rating):
    model = fitted()
    sentence = "PersonalRanker: a rating is outside the range of those given to fit, 1 to 5."
    with pytest.warns(UserWarning, match=exactly(sentence)):
        model.update("a", "z", rating)
    assert model._people.get("a").ratings[1].tolist() == [5, 1, 3, rating]
    model.update("a", "z", 5).update("a", "z", 1)


@pytest.mark.parametrize("rating", [1e200, -1e200, 4006.0, -4000.0])
def test_a_rating_far_off_the_range_is_refused(rating):
    model = fitted().update("a", "z", 2)
    before = model.predict("a")
    sentence = (
        "PersonalRanker: rating must be near the ratings of fit, which are from 1 to 5; got "
        f"{rating!r}."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        model.update("a", "z", rating)
    assert_array_equal(model.predict("a"), before)


@pytest.mark.parametrize("rating", [4005.0, -3999.0])
def test_the_farthest_rating_has_finite_scores(rating):
    with pytest.warns(UserWarning, match="outside the range"):
        model = fitted().update("a", "z", rating)
    assert np.isfinite(model.predict("a")).all()


def test_many_people_of_whom_too_little_is_known_are_one_warning():
    users = [f"person {k}" for k in range(50)]
    model = fitted()
    for user in users:
        model.update(user, "w", 3.0)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for user in users:
            model.predict(user)
    assert [str(warning.message) for warning in shown] == [TOO_FEW]


def test_people_compared_with_themselves_alone_have_a_list_that_is_not_personal():
    assert not fitted(references=["a"]).recommend("a", exclude_rated=False).is_personal
