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
# Values that read well, of a kind or size that does not belong where a number or a
# label does.
STRANGE = [
    None,
    True,
    2**63 - 1,
    2**64,
    -(2**63) - 1,
    10**400,
    0.25,
    "\ud800",
    "\0",
    [1, "x"],
    {"float": "-inf"},
    {"tuple": []},
    {"tuple": [{"float": "nan"}]},
    {"tuple": ["\ud800", None]},
    {"timedelta": [1, 2, 3]},
    {"timedelta": [0, 0, 0]},
    {"timedelta64": ["s", 1, 5]},
    {"timedelta64": ["Y", 3, 1]},
    {"timedelta64": ["D", 1, -(2**63)]},
    {"timedelta64": ["as", 1, 2**63 - 1]},
    {"datetime64": ["D", 1, 5]},
    {"datetime64": ["ns", 1, -(2**63)]},
    {"date": "2020-01-01"},
    {"datetime": "2020-01-01T01:02:03"},
    {"datetime": "2020-01-01T01:02:03+02:00"},
    {"bytes": "00ff"},
    {"labels": {"kind": "values", "values": ["\ud800", 2**64, None]}},
    {"labels": {"kind": "values", "values": []}},
]
NUMBERS = [0, 1, -1, 0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e300, 1.7e308, -1.7e308]
NUMBERS += [2**31, 2**53, 2**62, 2**63 - 1, 2**63, 10**30, 10**400, {"float": "nan"}]
# Where a header has the parameters of a model.
PARAMETERS = {"parameters", "begun_with"}


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


def strange_value(content, rng):
    """Give a parameter, or something else that is no array, a value of another kind."""
    header, parts = opened(content)
    leaves = [path for path in places(header) if path and path[0] != "arrays"]
    leaves = [path for path in leaves if path[-1] != "array" and not _has_inner(header, path)]
    parameters = [path for path in leaves if PARAMETERS & set(path[:-1])]
    for _ in range(int(pick(rng, [1, 1, 1, 2]))):
        path = pick(rng, parameters if parameters and rng.integers(2) else leaves)
        node = header
        for key in path[:-1]:
            node = node[key]
        is_number = type(node[path[-1]]) in (int, float) and rng.integers(2)
        node[path[-1]] = copy.deepcopy(pick(rng, NUMBERS if is_number else STRANGE + VALUES))
    return closed(header, parts)


def _has_inner(node, path):
    for key in path:
        node = node[key]
    return isinstance(node, dict | list) and len(node) > 0


LABELS = {"numbers", "texts", "bytes", "dates", "durations", "objects", "strings", "values"}


def _are_labels(node):
    """Whether a node is labels: coders of columns have a kind, too."""
    parts = [value for value in node.values() if isinstance(value, dict)]
    are_arrays = bool(parts) and all("array" in part for part in parts)
    return node.get("kind") in LABELS and (are_arrays or isinstance(node.get("values"), list))


def strange_labels(content, rng):
    """Put labels of another kind in the place of some, as many as there were."""
    header, parts = opened(content)
    found = [node for node in _inner(header) if _are_labels(node)]
    if not found:
        return strange_value(content, rng)
    labels = pick(rng, found)
    shapes = [header["arrays"][v["array"]][1] for v in labels.values() if isinstance(v, dict)]
    n = len(labels["values"]) if "values" in labels else shapes[-1][0] - ("ends" in labels)
    kind = pick(rng, ["values", "values", "texts", "strings", "objects", "dates", "durations"])
    after = {"kind": kind}
    texts = [pick(rng, ["\ud800", "x", "\0", "y" * 9, "\U0010ffff", ""]) for _ in range(n)]
    if kind == "values":
        after["values"] = [copy.deepcopy(pick(rng, STRANGE)) for _ in range(n)]
    elif kind == "texts":
        letters = np.array(texts, dtype="U9").view(np.uint32).reshape(n, 9)
        after["letters"] = {"array": letters}
    elif kind in ("strings", "objects"):
        written = [text.encode("utf-8", "surrogatepass") for text in texts]
        after["text"] = {"array": np.frombuffer(b"".join(written), dtype=np.uint8)}
        after["ends"] = {"array": np.cumsum([0, *map(len, written)], dtype=np.int64)}
    else:
        wild = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**40, 2**63 - 1]
        after |= {"unit": pick(rng, ["D", "ns", "Y", "as"]), "step": pick(rng, [1, 7, 2**31 - 1])}
        after["counts"] = {"array": np.array([pick(rng, wild) for _ in range(n)], dtype=np.int64)}
    labels.clear()
    labels |= after
    return closed(*_numbered(header, parts))


def _inner(node):
    """Yield all objects of a header."""
    if isinstance(node, dict):
        yield node
    if isinstance(node, dict | list):
        for inner in node.values() if isinstance(node, dict) else node:
            yield from _inner(inner)


def _numbered(header, parts):
    """Return a header, and the arrays that it refers to or has in it."""
    forms, kept = [], []

    def visit(node):
        if isinstance(node, list):
            return [visit(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        if node.keys() != {"array"}:
            return {key: visit(inner) for key, inner in node.items()}
        array = node["array"]
        if isinstance(array, np.ndarray):
            forms.append([array.dtype.str, list(array.shape), "C"])
            kept.append(array.tobytes())
        else:
            forms.append(header["arrays"][array])
            kept.append(parts[array])
        return {"array": len(kept) - 1}

    changed = visit({key: value for key, value in header.items() if key != "arrays"})
    return changed | {"arrays": forms}, kept


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
    with np.errstate(over="ignore"):
        if rng.integers(6) == 0:
            array[:] = pick(rng, wild)
        for _ in range(int(pick(rng, [1, 1, 2, len(array)]))):
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
WAYS += [array_value, array_shape, several, strange_value, strange_labels]
