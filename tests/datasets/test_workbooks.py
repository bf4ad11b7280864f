"""Numbers from workbooks."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder.datasets.published.jester import read_xls
from peckorder.exceptions import DataError
from support.workbooks import number, record, row_of, workbook

ROWS = [[3, -9.95, 99.0, 0.5], [2, 10, -0.01, 99]]


def test_numbers_of_all_kinds():
    cells = row_of(0, ROWS[0]) + record(0x0204, bytes(9)) + row_of(1, ROWS[1][:2])
    cells += number(1, 2, ROWS[1][2]) + number(3, 3, 1 / 3)
    expected = np.full((4, 4), np.nan)
    expected[0], expected[1, :3], expected[3, 3] = ROWS[0], ROWS[1][:3], 1 / 3
    assert_array_equal(read_xls(workbook(cells)), expected)


def test_the_first_worksheet_alone():
    second = record(0x0809, bytes([0, 6, 16, 0]) + bytes(12)) + number(0, 0, 7.0)
    cells = number(0, 0, 1.0) + record(0x000A) + second
    assert read_xls(workbook(cells)).tolist() == [[1.0]]


def test_a_general_reader_reads_the_same():
    xlrd = pytest.importorskip("xlrd")
    rng = np.random.default_rng(0)
    table = np.round(rng.uniform(-10, 10, (300, 101)), 2)
    content = workbook(b"".join(row_of(i, row) for i, row in enumerate(table)))
    sheet = xlrd.open_workbook(file_contents=content).sheets()[0]
    theirs = np.array([sheet.row_values(i) for i in range(sheet.nrows)])
    assert_array_equal(read_xls(content), theirs)
    assert_array_equal(theirs, table)


WHOLE = workbook(b"".join(row_of(i, range(100)) for i in range(100)))


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "another beginning"),
        (b"user,item,rating\n", "another beginning"),
        (WHOLE[:9000], "a sector missing"),
        (WHOLE[:600], "a sector missing"),
        (workbook(b""), "no numbers"),
        (workbook(record(0x0203, bytes(14))[:2]), "a worksheet cut short"),
    ],
)
def test_damaged_workbooks_are_refused(content, cause):
    sentence = "a workbook must be one of Excel 97 to 2003, whole; got one with "
    with pytest.raises(DataError) as info:
        read_xls(content)
    assert str(info.value) == f"{sentence}{cause}."


@pytest.mark.parametrize("seed", range(40))
def test_damage_anywhere_is_refused_or_read(seed):
    rng = np.random.default_rng(seed)
    content = bytearray(WHOLE)
    places = rng.integers(0, 1200, 8)
    for place in places:
        content[place] = rng.integers(256)
    try:
        table = read_xls(bytes(content))
    except DataError:
        return
    assert table.ndim == 2
