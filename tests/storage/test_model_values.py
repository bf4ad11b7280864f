"""Labels and parameters of every plain kind go through a file unchanged."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from peckorder.storage.format import Contents, Node, pack, read_file, read_value, write_file
from peckorder.storage.format.labels import as_objects, write_labels
from peckorder.storage.models import parameter
from support.helpers import same

plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**300), 2**300),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    # An hour that comes twice is refused.
    st.datetimes(timezones=st.none()).map(lambda moment: moment.replace(fold=0)),
    st.timedeltas(),
)
nested = st.recursive(plain, lambda inner: st.lists(inner, max_size=3).map(tuple))
KINDS = ("?", "i1", "u2", "i8", "u8", ">i4", "f2", "f4", "f8", "U3", ">U2", "S4")
numbers = st.sampled_from([*KINDS, "M8[D]", "m8[3us]"])


def written(header, tmp_path):
    """Return a header and arrays as they come out of a file."""
    arrays = []
    packed = pack(header, arrays)
    path = tmp_path / "file"
    write_file(path, Contents(packed, arrays))
    return Node.of(*read_file(path))


def native(array):
    return array.astype(array.dtype.newbyteorder("="))


def check_labels(array, tmp_path):
    node = written({"labels": write_labels(array)}, tmp_path)
    found = node.labels("labels")
    node.close()
    assert found.shape == array.shape
    assert same(found, native(array))


@given(st.lists(nested, max_size=4))
def test_values_of_parameters(tmp_path_factory, values):
    node = written({"x": parameter(values)}, tmp_path_factory.mktemp("values"))
    assert repr(read_value("x", node.raw("x"))) == repr(values)


@given(st.lists(nested, max_size=8, unique_by=repr))
def test_labels_that_are_objects(tmp_path_factory, values):
    array = as_objects(values)
    node = written({"x": write_labels(array)}, tmp_path_factory.mktemp("labels"))
    assert repr(node.labels("x").tolist()) == repr(values)


@given(numbers, st.binary(min_size=0, max_size=160))
def test_labels_that_are_arrays(tmp_path_factory, kind, content):
    dtype = np.dtype(kind)
    if dtype.kind in "US":
        array = np.array([chr(65 + byte % 26) * (byte % 4) for byte in content], dtype)
    elif dtype.kind == "b":
        array = np.frombuffer(content, np.uint8) % 2 == 1
    else:
        size = len(content) // dtype.itemsize * dtype.itemsize
        array = np.frombuffer(content[:size], dtype)
    check_labels(array, tmp_path_factory.mktemp("arrays"))


@given(st.integers(0, 5), st.integers(0, 5), st.booleans(), st.booleans())
def test_arrays_keep_the_order_of_their_dimensions(tmp_path_factory, n, m, turn, cut):
    array = np.arange(4.0 * (n + 1) * (m + 1)).reshape(2 * n + 2, 2 * m + 2)
    array = array.T if turn else array
    array = array[::2, ::2] if cut else array
    node = written({"x": array}, tmp_path_factory.mktemp("order"))
    found = node.floats("x", None, None)
    assert found.flags.aligned
    assert found.flags.writeable
    assert found.tolist() == array.tolist()
    if not cut:
        assert found.flags.c_contiguous == array.flags.c_contiguous
        assert found.flags.f_contiguous == array.flags.f_contiguous
