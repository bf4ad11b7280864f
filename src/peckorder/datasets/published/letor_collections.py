"""Published collections of graded documents, in folds."""

from collections.abc import Mapping

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Ints
from peckorder._core.validation import Rule, whole
from peckorder.datasets.fetching.folders import Folder, read_lines, refuse_line, require
from peckorder.datasets.fetching.publishers import PUBLISHED, Fact, Published, check_facts, counts
from peckorder.datasets.formats.letor import load_letor
from peckorder.datasets.formats.runs import Documents

_FOLD = Rule("1, 2, 3, 4 or 5", lambda value: whole(1).accepts(value) and int(value) <= 5)
_OHSUMED, _MQ2007 = PUBLISHED["ohsumed_letor"], PUBLISHED["mq2007_agg"]
_LIGHTGBM = PUBLISHED["lightgbm_lambdarank"]


@entry
def load_ohsumed_fold(fold: int, folder: Folder = None) -> Bunch:
    """Read a fold of OHSUMED: 106 queries, 16,140 documents, grades 0 to 2.

    Fold k tests on part k, validates on the part before it (for the first, the fifth),
    and trains on the other three.

    Parameters
    ----------
    fold : {1, 2, 3, 4, 5}
        Which fold.
    folder : path, default=None
        Where ``ohsumed_letor`` is, or its files `part1.txt` to `part5.txt`, also with
        ``.gz``. None: PECKORDER_DATA, then the cache.

    Returns
    -------
    bunch : Bunch
        `train`, `validation` and `test`, each a `Documents`: unpacks as ``X, y, qid``.

    Raises
    ------
    MissingDataError
        If a part is not found, with what to get and where to put it.

    Examples
    --------
    >>> from peckorder.datasets import load_ohsumed_fold
    >>> fold = load_ohsumed_fold(1)  # doctest: +SKIP
    >>> X, y, qid = fold.train  # doctest: +SKIP
    """
    _FOLD.check("fold", fold)
    parts = _parts(_OHSUMED, "part", folder)
    check_facts(_OHSUMED.title, _OHSUMED.facts, _facts(parts))
    return _fold(parts, int(fold))


@entry
def load_mq2007_agg_fold(fold: int, folder: Folder = None) -> Bunch:
    """Read a fold of MQ2007-agg: 21 ranked lists of 1,692 queries, grades 0 to 2.

    A feature is minus the rank of a document in a list, NaN if the list does not
    contain it. Folds are those of `load_ohsumed_fold`.

    Parameters
    ----------
    fold : {1, 2, 3, 4, 5}
        Which fold.
    folder : path, default=None
        Where ``mq2007_agg`` is, or its files `A1.txt` to `A5.txt`, also with ``.gz``.
        None: PECKORDER_DATA, then the cache.

    Returns
    -------
    bunch : Bunch
        `train`, `validation` and `test`, each a `Documents`: unpacks as ``X, y, qid``.

    Examples
    --------
    >>> from peckorder.datasets import load_mq2007_agg_fold
    >>> fold = load_mq2007_agg_fold(1)  # doctest: +SKIP
    """
    _FOLD.check("fold", fold)
    parts = [
        Documents(-part.X, part.y, part.qid, part.docid) for part in _parts(_MQ2007, "A", folder)
    ]
    check_facts(_MQ2007.title, _MQ2007.facts, _facts(parts))
    return _fold(parts, int(fold))


@entry
def load_lightgbm_lambdarank(folder: Folder = None) -> Bunch:
    """Read LightGBM's example of ranking: 201 and 50 queries, grades 0 to 4.

    Parameters
    ----------
    folder : path, default=None
        Where ``lightgbm_lambdarank`` is, or its files `rank.train`, `rank.test` and,
        with the sizes of queries, `rank.train.query` and `rank.test.query`. None:
        PECKORDER_DATA, then the cache.

    Returns
    -------
    bunch : Bunch
        `train` and `test`, each a `Documents`: unpacks as ``X, y, qid``. Queries are
        numbered from 0 on, continuing from train to test.

    Examples
    --------
    >>> from peckorder.datasets import load_lightgbm_lambdarank
    >>> train, test = load_lightgbm_lambdarank().values()  # doctest: +SKIP
    """
    read, n_queries = {}, 0
    for name in ("train", "test"):
        found = require(_LIGHTGBM, (f"rank.{name}",), folder)
        with found.open() as file:
            X, y, _ = load_letor(file, sparse=True)
        sizes = _sizes(name, folder)
        if sizes.sum() != len(y):
            raise refusal(
                f"rank.{name}.query",
                f"add up to the {len(y)} documents of rank.{name}",
                sizes.sum(),
            )
        qid = n_queries + np.repeat(np.arange(len(sizes)), sizes)
        n_queries += len(sizes)
        read[name] = Documents(X, y, qid)
        check_facts(f"rank.{name}", _LIGHTGBM.facts[name], _facts([read[name]]))
    width = max(part.X.shape[1] for part in read.values())
    for name, part in read.items():
        X = sparse.csr_array(part.X)
        X.resize(X.shape[0], width)
        read[name] = Documents(X.toarray(), part.y, part.qid)
    return Bunch(**read)


def _sizes(name: str, folder: Folder) -> Ints:
    found = require(_LIGHTGBM, (f"rank.{name}.query",), folder)
    sizes = []
    for number, line in read_lines(found, "ascii"):
        word = line.strip()
        if word:
            if not word.isdecimal() or int(word) == 0:
                refuse_line(found, number, "the size of a query", line)
            sizes.append(int(word))
    return np.array(sizes, dtype=np.int64)


def _parts(data: Published, stem: str, folder: Folder) -> list[Documents]:
    files = [require(data, (f"{stem}{k}.txt",), folder) for k in range(1, 6)]
    parts = []
    for found in files:
        with found.open() as file:
            part = load_letor(file, sparse=False, comments=True)
        if part.qid is None:
            raise refusal(found.name, "have queries", "none")
        parts.append(part)
    widths = [part.X.shape[1] for part in parts]
    if len(set(widths)) > 1:
        raise refusal(
            "all parts", "have the same features", f"{', '.join(map(str, widths))} of them"
        )
    return parts


def _facts(parts: list[Documents]) -> Mapping[str, Fact]:
    y = np.concatenate([part.y for part in parts])
    queries = [np.unique(part.qid) for part in parts if part.qid is not None]
    return {
        "features": parts[0].X.shape[1],
        "queries": len(np.unique(np.concatenate(queries))),
        "documents": len(y),
        "documents of grade 0/1/2": counts(y, range(3)),
        "as highest grade": float(y.max()),
    }


def _fold(parts: list[Documents], fold: int) -> Bunch:
    train = _together([parts[(fold + i) % 5] for i in range(3)])
    return Bunch(train=train, validation=parts[fold - 2], test=parts[fold - 1])


def _together(parts: list[Documents]) -> Documents:
    """Return the rows of several parts as one."""
    docids = [part.docid for part in parts if part.docid is not None]
    return Documents(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.qid for part in parts]),
        np.concatenate(docids) if len(docids) == len(parts) else None,
    )
