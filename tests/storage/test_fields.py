"""Tables of fields: one declaration writes and reads, and refuses what does not fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from peckorder.storage.fields import (
    OMITTED,
    Field,
    Table,
    flag,
    floats,
    ints,
    nested,
    nullable,
    number,
    texts,
    whole,
)
from peckorder.storage.format import Damaged, Node, pack
from support.helpers import refuses

POINT = Table(Field("at", floats("columns")))
TABLE = Table(
    Field("weights", floats("rows", "columns"), "weights_"),
    Field("ends", ints("rows+1", below="total")),
    Field("scale", nullable(number(low=0.0))),
    Field("note", texts(), "note_", optional=True),
    Field("point", nested(POINT, SimpleNamespace)),
    Field("is_new", flag(), lambda owner: owner.is_new or OMITTED, optional=True),
)


def owner(**changes):
    values = {
        "weights_": np.ones((2, 3)),
        "ends": np.array([0, 1, 4]),
        "scale": None,
        "point": SimpleNamespace(at=np.zeros(3)),
        "is_new": False,
    }
    return SimpleNamespace(**values | changes)


def node_of(table, value):
    arrays = []
    return Node.of(pack(table.write(value), arrays), arrays)


def read(value, table=TABLE):
    node = node_of(table, value)
    node.sizes["total"] = 5
    values = table.read(node)
    node.close()
    return values


def test_written_values_are_read():
    values = read(owner(note_=["a", "b"], is_new=True, scale=2))
    assert values["weights_"].shape == (2, 3)
    assert values["ends"].tolist() == [0, 1, 4]
    assert values["scale"] == 2.0
    assert values["note_"] == ["a", "b"]
    assert values["point"].at.tolist() == [0.0, 0.0, 0.0]
    assert values["is_new"] is True


def test_missing_values_are_null_or_omitted():
    entries = TABLE.write(owner())
    assert entries["scale"] is None
    assert entries["note"] is None
    assert "is_new" not in entries
    values = read(owner())
    assert values["scale"] is None
    assert not {"note_", "is_new"} & values.keys()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"weights_": np.ones(2)}, "weights must be of shape (2)"),
        ({"weights_": np.full((2, 3), np.nan)}, "weights must be finite"),
        ({"ends": np.array([0, 1])}, "ends must be of shape (3)"),
        ({"ends": np.array([0, 1, 5])}, "ends must be from 0 to below 5"),
        ({"scale": -1.0}, "scale must be a finite number >= 0"),
        ({"note_": [1, 2]}, "note must be texts"),
        ({"point": SimpleNamespace(at=np.zeros(2))}, "point.at must be of shape (3)"),
    ],
)
def test_values_that_break_a_rule_are_refused(changes, rule):
    with refuses(f"in which {rule}", Damaged):
        read(owner(**changes))


def test_a_size_that_no_field_has_set_is_refused():
    node = node_of(TABLE, owner())
    with refuses("in which ends must be null without total", Damaged):
        TABLE.read(node)


def test_derived_tables_complete_after_their_base():
    calls = []
    base = Table(Field("n", whole()), complete=lambda node: calls.append("base"))
    more = base.extended(Field("m", whole()), complete=lambda node: calls.append(node.values["m"]))
    assert read(SimpleNamespace(n=1, m=7), more) == {"n": 1, "m": 7}
    assert calls == ["base", 7]
