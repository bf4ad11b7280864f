"""Quotation marks and cells that are odd only together."""

import pytest

from peckorder import streams
from peckorder.exceptions import DataError
from peckorder.tables.files.read import read_columns
from support.tables import written


@pytest.mark.parametrize("last", ['"z,"', '","', '"5,"""', '"say ""a,"""'])
def test_quoted_cells_may_end_with_a_delimiter(tmp_path, last):
    path = written(tmp_path / "t.csv", f"q,label,a,title\n1,1,0.5,x\n1,0,0.25,{last}\n")
    assert len(read_columns(path).arrays["title"]) == 2
    stream = streams.from_csv(path, target="label", qid="q", features=["a"])
    assert sum(len(block.y) for block in stream) == 2


@pytest.mark.parametrize("text", ['a,b\n1,x\n2,"foo\n3,""baz\n', 'a,b\n1,"x\n2,y\n'])
def test_an_open_quotation_is_refused(tmp_path, text):
    path = written(tmp_path / "t.csv", text)
    with pytest.raises(DataError, match="quotation marks must be closed"):
        read_columns(path)


def test_decimal_points_beside_decimal_commas_are_refused_by_their_cell(tmp_path):
    path = written(tmp_path / "t.csv", "q;label;a\n1;1;0,5\n1;0;1.5\n2;1;2,5\n2;0;3,5\n")
    with pytest.raises(DataError, match=r"'a' must be numbers; got '1.5' in row 2"):
        list(streams.from_csv(path, target="label", qid="q", delimiter=";"))


def test_a_query_that_is_missing_is_refused_among_texts(tmp_path):
    path = written(tmp_path / "t.csv", "label,q,a\n1,NA,2\n0,x,3\n")
    with pytest.raises(DataError, match="qid must be without gaps"):
        list(streams.from_csv(path, target="label", qid="q"))
