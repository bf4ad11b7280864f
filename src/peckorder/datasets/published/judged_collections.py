"""Judged collections: cystic fibrosis, and OHSUMED of TREC-9."""

import re

import numpy as np
from sklearn.utils import Bunch

from peckorder._core.errors import entry, refusal
from peckorder.datasets.fetching.folders import (
    DataFile,
    Folder,
    find,
    read_lines,
    refuse_line,
    require,
)
from peckorder.datasets.fetching.publishers import PUBLISHED, check_facts
from peckorder.datasets.formats.trec import load_qrels, load_run

_CYSTIC_FIBROSIS, _TREC9 = PUBLISHED["cystic_fibrosis"], PUBLISHED["ohsumed_trec9"]
_SCORES = re.compile(r"[0-2]{4}")

# Names of runs; files that are not compressed take precedence.
_RUNS = "*.run.gz", "*.run"


@entry
def load_cystic_fibrosis(folder: Folder = None) -> Bunch:
    r"""Read the judgements of the cystic fibrosis collection: 100 queries, four judges.

    Parameters
    ----------
    folder : path, default=None
        Where ``cystic_fibrosis`` is, or its file `cfquery_text_100q.txt`. (The XML that
        circulates lacks a query and has a damaged score.) None: PECKORDER_DATA, then
        the cache.

    Returns
    -------
    bunch : Bunch
        `qid` and `docid` (n_pairs,), integers; `scores` (n_pairs, 4), one per judge, 0
        to 2; `y` (n_pairs,), their sum; `queries`, a dict from ids to texts.

    Raises
    ------
    MissingDataError
        If the file is not found, with what to get and where to put it.
    DataError
        For the first malformed line, with its number.

    Examples
    --------
    >>> import tempfile, pathlib, warnings
    >>> from peckorder.datasets import load_cystic_fibrosis
    >>> text = "QN 00001\nQU Is CF mucus\n   abnormal?\nNR 00002\n"
    >>> text += "RD  139 1222  151 0001\n"
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # one query is not the whole set
    ...     _ = (pathlib.Path(folder) / "cfquery_text_100q.txt").write_text(text)
    ...     judged = load_cystic_fibrosis(folder)
    >>> judged.docid, judged.y, judged.queries[1]
    (array([139, 151]), array([7, 1]), 'Is CF mucus abnormal?')
    """
    found = require(_CYSTIC_FIBROSIS, ("cfquery_text_100q.txt",), folder)
    texts: dict[int, list[str]] = {}
    promised: dict[int, int] = {}
    pairs: dict[tuple[int, int], str] = {}
    query, tag = 0, ""
    for number, line in read_lines(found, "latin-1"):
        if not line.strip():
            continue
        tag, words = line[:2].strip() or tag, line[2:].split()
        if tag == "QN":
            query = _whole(found, number, line, words)
            if query in texts:
                refuse_line(found, number, "a query that is new", line)
            texts[query] = []
        elif query == 0 or tag not in ("QU", "NR", "RD"):
            refuse_line(found, number, "of a query, with QN, QU, NR or RD", line)
        elif tag == "QU":
            texts[query] += words
        elif tag == "NR":
            promised[query] = _whole(found, number, line, words)
        else:
            _read_pairs(found, number, line, query, words, pairs)
    for judged in texts:
        n_pairs = sum(1 for pair in pairs if pair[0] == judged)
        if promised.get(judged) != n_pairs:
            raise refusal(
                f"query {judged}",
                f"have the {promised.get(judged)} documents that it says",
                n_pairs,
            )
    facts = {"queries": len(texts), "judged pairs": len(pairs)}
    check_facts(found.name, _CYSTIC_FIBROSIS.facts, facts)
    scores = np.array([list(map(int, word)) for word in pairs.values()])
    scores = scores.reshape(-1, 4)
    ids = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    return Bunch(
        qid=ids[:, 0].copy(),
        docid=ids[:, 1].copy(),
        scores=scores,
        y=scores.sum(axis=1),
        queries={query: " ".join(words) for query, words in texts.items()},
    )


def _whole(found: DataFile, number: int, line: str, words: list[str]) -> int:
    if len(words) != 1 or not words[0].isdecimal():
        refuse_line(found, number, "of a query, with a number", line)
    return int(words[0])


def _read_pairs(
    found: DataFile,
    number: int,
    line: str,
    query: int,
    words: list[str],
    pairs: dict[tuple[int, int], str],
) -> None:
    documents, scores = words[::2], words[1::2]
    if len(documents) != len(scores):
        refuse_line(found, number, "pairs of a document and its scores", line)
    for document, score in zip(documents, scores, strict=True):
        if not document.isdecimal() or not _SCORES.fullmatch(score):
            rule = "pairs of a document and its scores, four digits from 0 to 2"
            refuse_line(found, number, rule, f"{document} {score}")
        if (query, int(document)) in pairs:
            rule = "documents that are new to the query"
            refuse_line(found, number, rule, document)
        pairs[query, int(document)] = score


@entry
def load_ohsumed_trec9(folder: Folder = None) -> Bunch:
    """Read OHSUMED of TREC-9: 63 queries, 3,205 judgements, and runs.

    Parameters
    ----------
    folder : path, default=None
        Where ``ohsumed_trec9`` is, or its files: `qrels.ohsu.88-91`, `query.ohsu.1-63`
        and, in a folder `runs`, any number of files that end in ``.run``. None:
        PECKORDER_DATA, then the cache.

    Returns
    -------
    bunch : Bunch
        `runs`, a dict from names to `Run`, and `qrels`, a `Qrels`: what `from_runs`
        takes; `queries`, a dict from ids to titles, empty without their file.

    Examples
    --------
    >>> from peckorder.datasets import from_runs, load_ohsumed_trec9
    >>> trec = load_ohsumed_trec9()  # doctest: +SKIP
    >>> X, y, qid = from_runs(trec.runs, trec.qrels)  # doctest: +SKIP
    """
    found = require(_TREC9, ("qrels.ohsu.88-91",), folder)
    with found.open() as file:
        qrels = load_qrels(file)
    folder_of_runs = found.path.parent / "runs"
    files = [file for end in _RUNS for file in sorted(folder_of_runs.glob(end))]
    runs = {file.name.partition(".run")[0]: load_run(file) for file in files}
    topics = find(_TREC9, ("query.ohsu.1-63",), folder)
    facts = {"queries": len(np.unique(qrels.qid)), "judgements": len(qrels)}
    check_facts(found.name, _TREC9.facts, facts)
    return Bunch(runs=runs, qrels=qrels, queries={} if topics is None else _topics(topics))


def _topics(found: DataFile) -> dict[str, str]:
    titles: dict[str, str] = {}
    query = ""
    for number, line in read_lines(found, "latin-1"):
        if line.startswith("<num>"):
            query = line.rpartition(":")[2].strip()
        elif line.startswith("<title>"):
            if not query:
                refuse_line(found, number, "the title of a query that has a <num>", line)
            titles[query] = line.removeprefix("<title>").strip()
    return titles
