"""Refusals: errors made of fields, which name their caller on the way out."""

import pickle

import pytest

from peckorder._core.errors import (
    Refusal,
    caller,
    entry,
    entry_named,
    named,
    refusal,
    refusal_of,
    warn,
    with_location,
)
from peckorder.exceptions import (
    ClusterError,
    DataError,
    DownloadError,
    MissingDataError,
    MissingExtraError,
    ModelFileError,
)

ERRORS = [
    ClusterError,
    DataError,
    DownloadError,
    MissingDataError,
    MissingExtraError,
    ModelFileError,
    FileExistsError,
    TypeError,
    ValueError,
]


@pytest.mark.parametrize("kind", ERRORS)
def test_fields_survive_pickling_and_take_a_caller_afterwards(kind):
    made = refusal("C", "be > 0", -1, hint="Raise it.", error=kind)
    got = pickle.loads(pickle.dumps(made))
    assert type(got) is kind
    assert refusal_of(got) == Refusal("C", "be > 0", "-1", "Raise it.")
    with pytest.raises(kind) as caught, named("fit"):
        raise got
    assert caught.value is got
    assert str(got) == "fit: C must be > 0; got -1. Raise it."
    assert str(pickle.loads(pickle.dumps(got))) == str(got)


def test_the_innermost_caller_is_named():
    @entry_named("outer")
    def outer():
        assert caller() == "outer"
        Inner().method()

    @entry
    class Inner:
        def method(self):
            assert caller() == "Inner"
            raise refusal("y", "be finite", "nan")

    with pytest.raises(DataError) as caught:
        outer()
    assert str(caught.value) == "Inner: y must be finite; got nan."
    assert caller() == "peckorder"


def test_a_generator_names_its_caller_and_leaves_that_of_others_alone():
    @entry_named("rows")
    def rows():
        yield caller()
        raise refusal("row 2", "be a number", "'x'")

    generator = rows()
    with named("reader"):
        assert next(generator) == "reader"
    assert caller() == "peckorder"
    with pytest.raises(DataError) as caught:
        next(generator)
    assert str(caught.value) == "rows: row 2 must be a number; got 'x'."


@pytest.mark.parametrize("name_first", [False, True])
def test_a_location_comes_last(name_first):
    error = refusal("y", "be finite", "nan", hint="Drop it.")
    if name_first:
        with pytest.raises(DataError), named("fit"):
            raise error
    located = with_location(error, "This is of partition 3.")
    located = pickle.loads(pickle.dumps(located))
    with pytest.raises(DataError), named("fit"):
        raise located
    assert refusal_of(located).location == "This is of partition 3."
    sentence = "fit: y must be finite; got nan. Drop it. This is of partition 3."
    assert str(located) == sentence


class OwnError(Exception):
    """An error of a user, who has another use for the name."""

    refusal = "no thanks"


def test_errors_of_users_pass_through_as_they_are():
    @entry
    def outer():
        raise OwnError("own")

    with pytest.raises(OwnError, match=r"^own$"):
        outer()


def test_a_warning_in_code_without_a_module_is_given():
    with pytest.warns(UserWarning, match=r"^peckorder: odd$"):
        exec("warn('odd')", {"__builtins__": {}, "warn": warn})
