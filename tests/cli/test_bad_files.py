"""Every command that reads files, and files that are wrong: one sentence, code 2."""

import gzip

import pytest

from peckorder._core import text_files
from support.command_line import check_refused, run, write_table
from support.tables import written

COMMANDS = {
    "fit": ("fit", "FILE", "--target", "grade", "--ranker", "MPRank", "-o", "OUT"),
    "rank": ("rank", "MODEL", "FILE", "-o", "OUT"),
    "evaluate": ("evaluate", "FILE", "--target", "grade", "--score", "a"),
    "evaluate a run": ("evaluate", "FILE", "--qrels", "QRELS"),
    "qrels": ("evaluate", "RUN", "--qrels", "FILE"),
    "fuse": ("fuse", "RUN", "FILE", "-o", "OUT"),
    "explain": ("explain", "MODEL", "FILE", "-o", "OUT"),
    "rank, model": ("rank", "FILE", "GOOD", "-o", "OUT"),
    "info": ("info", "FILE"),
}
FILES = {
    "empty.csv": b"",
    "names.csv": b"a,b,c,grade\n",
    "one column.csv": b"x\n1\n2\n",
    "mixed.csv": b"a,b,c,grade\n1,2,3,4\noops,2,3,what\n",
    "long.csv": b"a" * 1_000_000,
    "unknown.suffix": b"\x89PNG\0\1",
    "no target.csv": b"p,q,r\n1,2,3\n4,5,6\n",
    "latin.csv": "a,b,c,grade\n1,2,3,ü\n".encode("latin-1"),
    "names in latin.csv": "ä,b,c,grade\n1,2,3,4\n".encode("latin-1"),
    "wide.csv": "a,b,c,grade\n1,2,3,4\n".encode("utf-16"),
    "ragged.csv": b"a,b,c,grade\n1,2,3,4\n1,2\n",
    "bomb.csv.gz": gzip.compress(b"a,b,c,grade\n" + b"1,2,3,4\n" * (1 << 20)),
    "cut.csv.gz": gzip.compress(b"a,b,c,grade\n" + b"1,2,3,4\n" * 99)[:-9],
    "broken.parquet": b"PAR1" + bytes(99),
    "broken.jsonl": b'{"a": 1}\n{"a": \n',
    "nested.jsonl": b'{"a": {"b": 1}, "grade": 2}\n',
    "broken.letor": b"1 qid:1 1:0.5\nwhat\n",
    "empty.txt": b"",
    "broken.run": b"1 Q0 d1 1 0.5\n",
    "folder.csv": None,
    "absent.csv": ...,
}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    data = write_table(folder / "w.csv", colours=False)
    model = folder / "m.peckorder"
    words = ("fit", data, "--target", "grade", "--ranker", "MPRank", "--quiet")
    assert run(*words, "-o", model) == 0
    (folder / "my.run").write_text("1 Q0 d1 1 0.5 me\n")
    (folder / "my.qrels").write_text("1 0 d1 1\n")
    return {"MODEL": model, "GOOD": data, "RUN": folder / "my.run", "QRELS": folder / "my.qrels"}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("command", COMMANDS)
def test_one_sentence(tmp_path, capsys, monkeypatch, good, command, file):
    monkeypatch.setattr(text_files, "_ALWAYS_ALLOWED", 1 << 20)
    path = tmp_path / file
    content = FILES[file]
    if content is None:
        path.mkdir()
    elif content is not ...:
        path.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    places = good | {"FILE": path, "OUT": tmp_path / "out.csv"}
    words = [places.get(word, word) for word in COMMANDS[command]]
    sentence = check_refused(capsys, *words)
    assert sentence.endswith((".", "?"))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", ["fit", "evaluate", "rank", "explain"])
def test_a_byte_order_mark_does_no_harm(tmp_path, capsys, good, command):
    path = written(tmp_path / "excel.csv", b"\xef\xbb\xbf" + good["GOOD"].read_bytes())
    places = good | {"FILE": path, "OUT": tmp_path / "out.csv"}
    assert run(*[places.get(word, word) for word in COMMANDS[command]]) == 0
    assert capsys.readouterr().err == ""
