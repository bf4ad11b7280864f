"""The same rows as files of every kind that streams read, and where blocks end."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from peckorder.datasets import dump_letor
from peckorder.streams import from_arrays, from_csv, from_letor, from_parquet

KINDS = ("parquet", "arrow", "csv", "letor", "arrays")


def frame_of(X, y, qid=None, weight=None):
    """Return a frame with the columns x0, x1, ..., y, and q and w if there are any."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["y"] = y
    if qid is not None:
        frame["q"] = qid
    if weight is not None:
        frame["w"] = weight
    return frame


def write_files(folder, files):
    """Write frames, tables of Arrow and texts to files, by their names."""
    for name, content in files.items():
        path = Path(folder) / name
        if isinstance(content, str):
            path.write_text(content)
        elif isinstance(content, pa.Table):
            pq.write_table(content, path)
        elif path.suffix == ".parquet":
            content.to_parquet(path)
        else:
            content.to_csv(path, index=False)


def written(kind, folder, X, y, qid=None, rows=None, group=7, files=1):
    """Write rows to files of a kind; return the stream of them."""
    folder = Path(folder) / kind
    folder.mkdir()
    bounds = np.linspace(0, len(y), files + 1).astype(int)
    for number in range(files):
        some = slice(bounds[number], bounds[number + 1])
        part = X[some], y[some], None if qid is None else qid[some]
        _write(kind, folder, number, part, group)
    q = None if qid is None else "q"
    if kind in ("parquet", "arrow"):
        return from_parquet(folder, "y", q, rows=rows)
    if kind == "csv":
        return from_csv(folder, "y", q, rows=rows)
    if kind == "letor":
        return from_letor(folder, n_features=X.shape[1], rows=rows)
    names = [name for name in ("X", "y", "qid") if (folder / f"{name}.npy").exists()]
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in names}
    return from_arrays(**arrays, rows=rows)


def _write(kind, folder, number, part, group):
    X, y, qid = part
    name = folder / f"part.{number}"
    if kind == "letor":
        dump_letor(X, y, f"{name}.txt", qid=qid)
    elif kind == "csv":
        frame_of(X, y, qid).to_csv(f"{name}.csv", index=False)
    elif kind == "parquet":
        table = pa.Table.from_pandas(frame_of(X, y, qid), preserve_index=False)
        pq.write_table(table, f"{name}.parquet", row_group_size=group)
    elif kind == "arrow":
        table = pa.Table.from_pandas(frame_of(X, y, qid), preserve_index=False)
        with pa.ipc.new_file(f"{name}.arrow", table.schema) as writer:
            writer.write_table(table, max_chunksize=group)
    else:
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
        if qid is not None:
            np.save(folder / "qid.npy", qid)


def expected_sizes(qid, n_rows, most):
    """Return how many rows each block has: whole queries while they fit, slowly."""
    if qid is None:
        return [min(most, n_rows - first) for first in range(0, n_rows, most)]
    lengths, last = [], object()
    for one in qid:
        if one == last:
            lengths[-1] += 1
        else:
            lengths.append(1)
        last = one
    sizes = []
    for length in lengths:
        if sizes and sizes[-1] + length <= most:
            sizes[-1] += length
        else:
            sizes.append(length)
    return sizes


def rows_of(blocks):
    """Return the rows of all blocks, one below the other, as plain lists."""
    blocks = list(blocks)
    return {
        "X": np.concatenate([_dense(block.X) for block in blocks]).tolist(),
        "y": np.concatenate([block.y for block in blocks]).tolist(),
        "qid": None
        if blocks[0].qid is None
        else np.concatenate([block.qid for block in blocks]).tolist(),
    }


def _dense(X):
    return X.toarray() if hasattr(X, "toarray") else X
