"""Workbooks of Excel 97, written the plainest way there is."""

import struct

SECTOR = 512


def record(kind, content=b""):
    return struct.pack("<HH", kind, len(content)) + content


def number(row, column, value):
    return record(0x0203, struct.pack("<HHHd", row, column, 0, value))


def packed(value):
    """Return 30 bits for an integer or a number of two decimals, and two for which."""
    hundredths = value != int(value)
    whole = round(value * 100) if hundredths else int(value)
    return (whole << 2 & 0xFFFFFFFF) | (3 if hundredths else 2)


def row_of(row, values):
    cells = b"".join(struct.pack("<HI", 0, packed(value)) for value in values)
    ends = struct.pack("<HH", row, 0), struct.pack("<H", len(values) - 1)
    return record(0x00BD, ends[0] + cells + ends[1])


def workbook(cells):
    """Return a compound file with one worksheet that has these records."""
    stream = record(0x0809, struct.pack("<HH", 0x0600, 0x0005) + bytes(12))
    place = len(stream) + 4 + 8 + 6 + 4
    stream += record(0x0085, struct.pack("<IH", place, 0) + b"\6\0sheet1")
    stream += record(0x000A)
    stream += record(0x0809, struct.pack("<HH", 0x0600, 0x0010) + bytes(12))
    stream += cells + record(0x000A)
    size = max(len(stream), 4096)
    n_data = -(-size // SECTOR)
    stream = stream.ljust(n_data * SECTOR, b"\0")
    n_table = -(-(n_data + 2) // 127)
    last, free, table = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
    following = [table] * n_table + [last] + [n_table + 2 + i for i in range(n_data - 1)] + [last]
    following += [free] * (n_table * 128 - len(following))
    places = [*range(n_table), *[free] * (109 - n_table)]
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16)
    head += struct.pack("<HHHHH", 62, 3, 0xFFFE, 9, 6) + bytes(6)
    sizes = (0, n_table, n_table, 0, 4096, last, 0, last, 0)
    head += struct.pack("<9I", *sizes)
    head += struct.pack("<109I", *places)

    def entry(name, kind, child, start, length):
        text = name.encode("utf-16-le") + b"\0\0"
        sides = struct.pack("<BBIII", kind, 1, free, free, child)
        return (text.ljust(64, b"\0") + struct.pack("<H", len(text)) + sides).ljust(
            116, b"\0"
        ) + struct.pack("<III", start, length, 0)

    directory = entry("Root Entry", 5, 1, last, 0)
    directory += entry("Workbook", 2, free, n_table + 1, size)
    directory = directory.ljust(SECTOR, b"\0")
    return head + struct.pack(f"<{len(following)}I", *following) + directory + stream
