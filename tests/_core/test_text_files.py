"""What is left of a file that was not finished is known by its name."""

import pytest

from peckorder._core.text_files import remove_drafts, whole_file


def test_a_draft_is_removed_whatever_name_the_file_has(tmp_path):
    path = tmp_path / "a+b.model"
    with whole_file(path) as file:
        [begun] = tmp_path.iterdir()
        file.write(b"whole")
    begun.write_bytes(b"begun")  # as if it had been killed before the end
    others = [".a+b.model.lock", ".aab.model.01234567", ".a+b.model.0123456G"]
    for name in others:
        (tmp_path / name).touch()
    remove_drafts(path)
    assert {each.name for each in tmp_path.iterdir()} == {path.name, *others}
    assert path.read_bytes() == b"whole"


def test_a_draft_is_where_a_link_leads(tmp_path):
    there, link = tmp_path / "there", tmp_path / "link"
    there.mkdir()
    try:
        link.symlink_to(there / "model")
    except OSError:
        pytest.skip("there are no links here")
    (there / ".model.01234567").touch()
    remove_drafts(link)
    assert list(there.iterdir()) == []
