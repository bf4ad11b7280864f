"""Model files damaged in every way one can think of, with or without a new checksum."""

import copy
import hashlib
import json
import struct

import numpy as np

MAGIC = b"\x89pko\r\n\x1a\n"
SIZES = {"f8": 8, "f4": 4, "f2": 2, "i8": 8, "i4": 4, "i2": 2, "i1": 1}
SIZES |= {"u8": 8, "u4": 4, "u2": 2, "u1": 1, "b1": 1}

# What a header may be made to say instead.
VALUES = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    7,
    2**31,
    2**53,
    2**62,
    2**63,
    -(2**63),
    10**30,
    0.0,
    -1.0,
    1e308,
    5e-324,
    "",
    "x",
    "poly",
    "rbf",
    "linear",
    "precomputed",
    "voted",
    "last",
    "PRank",
    "SVRank",
    "PersonalRanker",
    "__class__",
    [],
    [[]],
    [-1],
    [2**40],
    [2**40, 2**40],
    {},
    {"float": "nan"},
    {"float": "inf"},
    {"array": 0},
    {"array": 1},
    {"array": -1},
    {"array": 10**9},
    {"labels": {"kind": "values", "values": [1, 1]}},
    {"tuple": [1, [2]]},
    {"date": "2020-13-01"},
    {"bytes": "zz"},
    {"estimator": {"name": "PRank", "parameters": {}}},
    {"timedelta64": ["s", 2**40, 0]},
]


def aligned(place):
    return -(-place // 64) * 64


def opened(content):
    """Return the header of a file and the bytes of its arrays."""
    n_header = struct.unpack_from("<II", content, 8)[1]
    header = json.loads(content[16 : 16 + n_header])
    place, parts = aligned(16 + n_header), []
    for kind, shape, _ in header["arrays"]:
        size = int(np.prod(shape)) * SIZES[kind[1:]]
        parts.append(content[place : place + size])
        place = aligned(place + size)
    return header, parts


def closed(header, parts, version=1):
    """Put a file together again, with a checksum that fits."""
    text = json.dumps(header, allow_nan=True).encode()
    return sealed(laid_out(text, parts, version))


def laid_out(text, parts, version=1):
    start = MAGIC + struct.pack("<II", version, len(text)) + text
    pieces = [start.ljust(aligned(len(start)), b"\0")]
    pieces += [part.ljust(aligned(len(part)), b"\0") for part in parts]
    return b"".join(pieces)


def sealed(body):
    return body + hashlib.sha256(body).digest()


def places(node, path=()):
    """Yield where all values of a header are."""
    yield path
    if isinstance(node, dict | list):
        inner = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in inner:
            yield from places(value, (*path, key))


def pick(rng, items):
    return items[rng.integers(len(items))]


def any_bytes(content, rng):
    """Damage a file without a thought: its checksum tells."""
    content = bytearray(content)
    way = rng.integers(5)
    place = int(rng.integers(len(content)))
    if way == 0:
        content[place] ^= 1 << int(rng.integers(8))
    elif way == 1:
        del content[place:]
    elif way == 2:
        content[place:place] = rng.bytes(int(rng.integers(1, 200)))
    elif way == 3:
        size = int(rng.integers(1, 64))
        content[place : place + size] = rng.bytes(size)
    else:
        del content[place : place + int(rng.integers(1, 64))]
    return bytes(content)


def any_bytes_sealed(content, rng):
    """Damage a file anywhere, and give it a checksum that fits."""
    return sealed(any_bytes(content[:-32], rng))


def header_value(content, rng):
    """Make the header say something else in one place."""
    header, parts = opened(content)
    path = pick(rng, [path for path in places(header) if path])
    node = header
    for key in path[:-1]:
        node = node[key]
    way, key = rng.integers(8), path[-1]
    if way == 0 and isinstance(node, dict):
        del node[key]
    elif way == 1 and isinstance(node, dict):
        node[pick(rng, ["x", "array", "labels", "state", "__class__"])] = node[key]
    elif way == 2 and type(node[key]) is int:
        node[key] += int(pick(rng, [-1, 1, 64, -64, 2**32]))
    elif way == 3:
        other = pick(rng, list(places(header)))
        found = header
        for part in other:
            found = found[part]
        node[key] = copy.deepcopy(found)
    else:
        node[key] = copy.deepcopy(pick(rng, VALUES))
    return closed(header, parts)


def array_value(content, rng):
    """Change some numbers of an array: beyond what there is, to nothing, to NaN."""
    header, parts = opened(content)
    filled = [i for i, part in enumerate(parts) if part]
    if not filled:
        return any_bytes_sealed(content, rng)
    number = pick(rng, filled)
    kind = header["arrays"][number][0]
    array = np.frombuffer(parts[number], dtype=kind).copy()
    if array.dtype.kind == "f":
        wild = [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e300, -1e300, 2.0**53, 3.0]
    elif array.dtype.kind == "b":
        array, wild = array.view(np.uint8), [0, 1, 2, 255]
    else:
        limits = np.iinfo(array.dtype)
        wild = [limits.min, limits.max, 0, 1, len(array), limits.max // 2]
        wild += [-1] if limits.min < 0 else []
        wild += [int(array[0]) + 1, int(array.max()), int(array.max()) - 1]
        wild = [value for value in wild if limits.min <= value <= limits.max]
    for _ in range(int(pick(rng, [1, 1, 2, len(array)]))):
        with np.errstate(over="ignore"):
            array[rng.integers(len(array))] = pick(rng, wild)
    parts[number] = array.tobytes()
    return closed(header, parts)


def array_shape(content, rng):
    """Make an array longer, shorter, of another type, or trade it for another."""
    header, parts = opened(content)
    forms = header["arrays"]
    if not forms:
        return any_bytes_sealed(content, rng)
    number, other = rng.integers(len(forms), size=2)
    kind, shape, _ = forms[number]
    way = rng.integers(6)
    if way == 0 and shape[0]:
        row = len(parts[number]) // shape[0]
        parts[number], shape[0] = parts[number][row:], shape[0] - 1
    elif way == 1 and shape[0]:
        row = len(parts[number]) // shape[0]
        parts[number], shape[0] = parts[number] + parts[number][:row], shape[0] + 1
    elif way == 2:
        same = [k for k, n in SIZES.items() if n == SIZES[kind[1:]]]
        chosen = pick(rng, same)
        forms[number][0] = ("|" if chosen[1] == "1" else "<") + chosen
    elif way == 3:
        forms[number], forms[other] = forms[other], forms[number]
        parts[number], parts[other] = parts[other], parts[number]
    elif way == 4:
        forms[number][1] = shape[::-1] if len(shape) == 2 else [*shape, 1]
    else:
        forms[number][1], parts[number] = [0] * len(shape), b""
    return closed(header, parts)


def several(content, rng):
    """Do two or three of these at once: what one would show another may hide."""
    for _ in range(int(rng.integers(1, 3))):
        if any(opened(content)[1]):
            content = pick(rng, [array_value, array_value, array_shape])(content, rng)
    return header_value(content, rng)


WAYS = [any_bytes, any_bytes_sealed, header_value, header_value, array_value]
WAYS += [array_value, array_shape, several]
