"""What a folder of people takes away when a run goes on, and what it leaves."""

from peckorder import PRank
from peckorder.distributed import fit_people, open_people
from support.worker_tasks import SMALL_RATINGS


def fit(people, path):
    return fit_people(SMALL_RATINGS, people, PRank(), n_jobs=1, store=path)


def test_drafts_are_removed_and_hidden_files_of_others_are_not(tmp_path):
    path = tmp_path / "people"
    fit(["a"], path)
    drafts = {
        f".{name}.0123abcd" for name in ("_people.json", "_shared.peckorder", "part-00001.parquet")
    }
    theirs = {".notes.metadata", ".letter.0123abcd", "._people.json.01234567890"}
    for name in drafts | theirs:
        (path / name).write_text("some text")
    (path / ".snapshot.of_today").mkdir()
    (path / "._people.json.ffffffff").mkdir()
    assert sorted(fit(None, path)) == list("abc")
    names = {each.name for each in path.iterdir()}
    assert not names & drafts
    assert theirs | {".snapshot.of_today", "._people.json.ffffffff"} < names
    assert sorted(open_people(path)) == list("abc")
