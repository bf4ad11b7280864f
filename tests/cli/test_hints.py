"""A refusal says what to do: by the right option, the right name, the right row."""

import pytest

from peckorder.comparison.candidates import Candidate
from peckorder.comparison.contest import choose_candidates
from peckorder.exceptions import DataError
from support.command_line import check_refused, output_of, run, table, write_table
from support.tables import written


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write_table(folder / "t.csv", n_rows=40)
    for name, first, second in (("a.run", "x", "y"), ("b.run", "y", "x")):
        lines = [
            f"{q} Q0 {d} {k} {3 - k}.0 t\n"
            for q in range(6)
            for k, d in enumerate((first, second), 1)
        ]
        (folder / name).write_text("".join(lines))
    (folder / "other.run").write_text("99 Q0 x 1 2.0 t\n")
    (folder / "q.qrels").write_text("".join(f"{q} 0 x 1\n{q} 0 y 0\n" for q in range(6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        fit = ("fit", "t.csv", "--ranker", "MPRank", "--target", "grade", "--quiet")
        assert run(*fit, "-o", "m.peckorder") == 0
        fuse = ("fuse", "a.run", "b.run", "--qrels", "q.qrels", "--rounds", "2")
        more = ("-o", "f.run", "--folds", "2", "--quiet")
        assert run(*fuse, *more, "--save", "f.peckorder") == 0
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("rank", "f.peckorder", "xx=a.run"),
            "rank: runs must be called as those that the model learnt from, a, b; got 'xx'.",
        ),
        (
            ("rank", "m.peckorder", "a.run"),
            "rank: file must be a table, with the columns that the model learnt from, "
            "a, b, c, colour; got a.run.",
        ),
        (
            ("evaluate", "a.run"),
            "evaluate: qrels must be given, by --qrels FILE, to measure a run (or "
            "targets, by --target NAME); got a.run alone.",
        ),
        (
            ("fuse", "a.run", "other.run", "--qrels", "q.qrels", "-o", "o.run"),
            "fuse: other.run and q.qrels must have queries in common; got such as '99' and '0'.",
        ),
        (
            ("fuse", "a.run", "b.run", "--qrels", "q.qrels", "-m", "tau"),
            "fuse: metrics with qrels must be of ap, rr, p, recall, hits, ndcg, with a "
            "grade in brackets if any; got 'tau'.",
        ),
    ],
)
def test_refusals_say_what_to_do(folder, capsys, words, sentence):
    assert check_refused(capsys, *words) == sentence


def test_text_among_numbers_has_its_row_in_any_block(folder, capsys, monkeypatch):
    monkeypatch.setattr("peckorder.tables.files.csv.BLOCK", 256)
    words = ("rank", "m.peckorder", "wrong.csv")
    lines = (folder / "t.csv").read_text().splitlines()
    cells = lines[33].split(",")
    lines[33] = ",".join([*cells[:2], "abc", *cells[3:]])
    (folder / "wrong.csv").write_text("\n".join(lines) + "\n")
    assert check_refused(capsys, *words, "-o", "o.csv") == (
        "wrong.csv: column 'a' must be numbers; got 'abc' in row 33."
    )


def test_the_refusal_of_utf_16_says_what_to_type(folder, capsys):
    (folder / "wide.csv").write_text("a,grade\n1,2\n", encoding="utf-16")
    assert check_refused(capsys, "compare", "wide.csv") == (
        "wide.csv: text must be UTF-8; got UTF-16. Change it before, as by iconv -f "
        "utf-16 -t utf-8."
    )


@pytest.mark.parametrize(
    "words",
    [("compare",), ("compare", "--task", "magnitude"), ("fit", "--ranker", "PRank", "-o", "m")],
)
def test_a_mistyped_label_is_pointed_at(tmp_path, capsys, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    labels = ["1", "5", "", "five", *"12345"]
    path = tmp_path / "t.csv"
    rows = "".join(f"{k / 7},{label}\n" for k, label in enumerate(labels))
    path.write_text(f"a,stars\n{rows}")
    said = check_refused(capsys, *words, path)
    assert said.endswith(" Or mend 'five' in row 4: all other labels are numbers.")
    assert said.startswith(f"{words[0]}: ")


def test_labels_that_are_text_are_no_slips(tmp_path, capsys):
    path = written(tmp_path / "t.csv", "a,stars\n0.1,low\n0.2,high\n0.3,1\n0.4,2\n")
    assert "mend" not in check_refused(capsys, "compare", path)


def test_names_of_rankers_may_have_commas_between():
    taking_part = tuple(
        Candidate(name, lambda setting: None, origin=origin)
        for name, origin in (("PRank", "p"), ("Ridge", "s"), ("A, b", "s"), ("none", ""))
    )

    def chosen(*names):
        return [candidate.name for candidate in choose_candidates("ordinal", taking_part, names)]

    assert chosen("prank, Ridge,") == ["PRank", "Ridge", "none"]
    assert chosen("A, b") == ["A, b", "none"]
    with pytest.raises(DataError, match=r"got 'Rigde'\. Did you mean 'Ridge'\?"):
        chosen("PRank,Rigde")


def test_explain_says_what_it_wrote_and_one_is_not_many(folder, capsys):
    words = ("explain", "m.peckorder", "t.csv", "-o", "ex.csv")
    shown = output_of(capsys, *words, "--top", "4")
    assert "40 rows in ex.csv" in shown
    assert "1 other " in shown
    n_rows = len((folder / "ex.csv").read_text().splitlines()) - 1
    assert n_rows == len(table(40)[1])
