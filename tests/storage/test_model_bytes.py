"""Models as bytes: those of their files, and refused as these are."""

import numpy as np
import pytest

from peckorder import PRank
from peckorder.exceptions import ModelFileError
from peckorder.io import from_bytes
from support.helpers import refuses
from support.stored_models import CASES


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_those_of_the_file(name, tmp_path):
    model = CASES[name].fit()
    model.save(tmp_path / "model")
    data = model.to_bytes()
    assert data == (tmp_path / "model").read_bytes()
    loaded = from_bytes(memoryview(b" " + data)[1:])
    assert loaded.to_bytes() == data
    for mine, theirs in zip(CASES[name].ask(model), CASES[name].ask(loaded), strict=True):
        assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")


def test_a_model_from_bytes_continues_learning():
    model = PRank().fit([[0.0], [1.0]], [1, 2])
    loaded = from_bytes(model.to_bytes())
    assert loaded.partial_fit([[3.0]], [1]).n_rounds_ == 3


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "0 bytes of one which is empty"),
        (b"\x89pko", "4 bytes of one which is cut short"),
        (b"a model", "7 bytes of one which does not begin as one"),
    ],
)
def test_bytes_that_are_no_model_are_refused(data, what):
    sentence = f"from_bytes: data must be a sound model file; got {what}."
    with refuses(sentence, ModelFileError):
        from_bytes(data)


@pytest.mark.parametrize("place", [9, 200, -1])
def test_a_byte_that_changed_is_noticed(place):
    data = bytearray(PRank().fit([[0.0], [1.0]], [1, 2]).to_bytes())
    data[place] ^= 1
    with pytest.raises(ModelFileError, match="from_bytes: data must be"):
        from_bytes(data)


def test_other_values_than_bytes_are_refused():
    sentence = "from_bytes: data must be bytes; got an object of type str."
    with refuses(sentence, TypeError):
        from_bytes("model")
