"""Downloads from a server of our own: whole or not at all, kept and checked."""

import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from peckorder import datasets
from peckorder.datasets.fetching import download
from peckorder.datasets.fetching.publishers import PUBLISHED
from peckorder.exceptions import DataError, DownloadError, MissingDataError
from support.tables import written

U_DATA = "1\t7\t5\t1\n1\t9\t3\t2\n2\t9\t1\t3\n"


def archive(text=U_DATA, name="ml-100k/u.data"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(zipfile.ZipInfo(name), text)
    return file.getvalue()


class Server(ThreadingHTTPServer):
    """Serves files from memory; may cut them short, or hide how long they are."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = {}, []
        self.cut, self.tells_length = None, True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/sets"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path.removeprefix("/sets/"))
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        if self.server.tells_length:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.cut])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.delenv("PECKORDER_DATA", raising=False)
    monkeypatch.setenv("PECKORDER_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def unknown(monkeypatch):
    """Forget the checksums that are known of the sets, as small archives have others."""
    for published in PUBLISHED.values():
        for name in published.archives:
            monkeypatch.setitem(published.archives, name, "")


def fetch(server, folder=None, **options):
    with pytest.warns(UserWarning, match="to be the published set"):
        return datasets.fetch_movielens_100k(folder, url=server.url, **options)


def names(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def check_nothing_is_kept(tmp_path):
    assert names(tmp_path) == []
    with pytest.raises(MissingDataError):
        datasets.load_movielens_100k()


@pytest.mark.usefixtures("unknown")
def test_what_is_fetched_is_kept_and_read(server, tmp_path):
    server.files["ml-100k.zip"] = archive()
    assert len(fetch(server).ratings) == 3
    home = tmp_path / "cache" / "ml-100k"
    assert names(tmp_path) == ["checksums.json", "ml-100k.zip"]
    record = json.loads((home / "checksums.json").read_text())["ml-100k.zip"]
    assert record["digest"].startswith("sha256:")
    assert record["bytes"] == len(archive())
    assert record["url"] == f"{server.url}/ml-100k.zip"
    fetch(server)
    assert server.asked == ["/sets/ml-100k.zip"]
    with pytest.warns(UserWarning, match="to be the published set"):
        assert len(datasets.load_movielens_100k().ratings) == 3


@pytest.mark.usefixtures("unknown")
def test_another_folder(server, tmp_path):
    server.files["ml-100k.zip"] = archive()
    fetch(server, tmp_path / "mine")
    assert (tmp_path / "mine" / "ml-100k" / "ml-100k.zip").is_file()


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize("tells_length", [True, False])
def test_a_cut_connection_leaves_nothing(server, tmp_path, tells_length):
    content = archive(U_DATA * 20_000)
    server.files["ml-100k.zip"] = content
    server.cut, server.tells_length = len(content) // 2, tells_length
    with pytest.raises(DownloadError) as info:
        datasets.fetch_movielens_100k(url=server.url)
    message = str(info.value)
    assert message.startswith(f"fetch_movielens_100k: {server.url}/ml-100k.zip must ")
    if tells_length:
        assert "whole" in message or "IncompleteRead" in message
    else:
        assert message.endswith("be a zip file; got another, or a part of one.")
    check_nothing_is_kept(tmp_path)
    server.cut = None
    with pytest.raises(DataError, match="again in line 4"):
        datasets.fetch_movielens_100k(url=server.url)


@pytest.mark.usefixtures("unknown")
def test_a_page_instead_of_the_file_is_refused(server, tmp_path):
    server.files["ml-100k.zip"] = b"<html>Sorry</html>"
    with pytest.raises(DownloadError, match="must be a zip file; got another"):
        datasets.fetch_movielens_100k(url=server.url)
    check_nothing_is_kept(tmp_path)


@pytest.mark.usefixtures("unknown")
def test_a_damaged_archive_is_refused(server, tmp_path):
    content = bytearray(archive())
    content[50] ^= 0xFF
    server.files["ml-100k.zip"] = bytes(content)
    with pytest.raises(DownloadError, match=r"got 'ml-100k/u\.data' damaged in it"):
        datasets.fetch_movielens_100k(url=server.url)
    check_nothing_is_kept(tmp_path)


def test_an_address_where_nothing_is(server, tmp_path):
    with pytest.raises(DownloadError, match=r"must be there to be downloaded; got .*404"):
        datasets.fetch_movielens_100k(url=server.url)
    check_nothing_is_kept(tmp_path)


def test_a_server_that_is_not_there(server, tmp_path):
    url = "http://127.0.0.1:1/"
    with pytest.raises(DownloadError, match="must be there to be downloaded; got"):
        datasets.fetch_movielens_100k(url=url)
    check_nothing_is_kept(tmp_path)


def test_another_file_than_the_one_that_is_known_is_refused(server, tmp_path):
    server.files["ml-100k.zip"] = archive()
    known = PUBLISHED["ml-100k"].archives["ml-100k.zip"]
    with pytest.raises(DownloadError) as info:
        datasets.fetch_movielens_100k(url=server.url)
    assert f"must have the checksum {known}, which is known; got md5:" in str(info.value)
    check_nothing_is_kept(tmp_path)


@pytest.mark.usefixtures("unknown")
def test_a_file_that_has_changed_is_refused(server, tmp_path):
    server.files["ml-100k.zip"] = archive()
    fetch(server)
    path = tmp_path / "cache" / "ml-100k" / "ml-100k.zip"
    path.unlink()
    server.files["ml-100k.zip"] = archive(U_DATA + "3\t7\t1\t4\n")
    with pytest.raises(DownloadError, match="recorded at the first download; got sha"):
        datasets.fetch_movielens_100k(url=server.url)
    assert not path.exists()
    server.files["ml-100k.zip"] = archive()
    assert len(fetch(server).ratings) == 3


@pytest.mark.usefixtures("unknown")
def test_what_changes_on_the_disk_is_refused(server, tmp_path):
    server.files["ml-100k.zip"] = archive()
    fetch(server)
    path = written(tmp_path / "cache" / "ml-100k" / "ml-100k.zip", archive(U_DATA + "3\t7\t1\t4\n"))
    for load in (datasets.load_movielens_100k, datasets.fetch_movielens_100k):
        with pytest.raises(DataError, match="recorded when it was downloaded; got sha"):
            load()
    (path.parent / "checksums.json").write_text("[]")
    with pytest.raises(DataError, match="must be what a download recorded"):
        datasets.load_movielens_100k()


@pytest.mark.usefixtures("unknown")
def test_what_is_half_downloaded_is_never_read(server, tmp_path):
    home = tmp_path / "cache" / "ml-100k"
    home.mkdir(parents=True)
    (home / ".ml-100k.zip.0123abcd.part").write_bytes(archive())
    with pytest.raises(MissingDataError):
        datasets.load_movielens_100k()


@pytest.mark.usefixtures("unknown")
def test_an_interrupt_leaves_nothing(server, tmp_path, monkeypatch):
    server.files["ml-100k.zip"] = archive()

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "_check_archive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        datasets.fetch_movielens_100k(url=server.url)
    check_nothing_is_kept(tmp_path)


@pytest.mark.usefixtures("unknown")
def test_a_progress_bar(server, capsys):
    server.files["ml-100k.zip"] = archive()
    fetch(server, progress=True)
    shown = capsys.readouterr().err
    assert shown.startswith("\rml-100k.zip [")
    assert shown.endswith("] 100 % of 0.0 MB\n")


@pytest.mark.usefixtures("unknown")
def test_no_progress_bar_without_a_terminal(server, capsys):
    server.files["ml-100k.zip"] = archive()
    fetch(server)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize(
    ("fetch", "files"),
    [
        (datasets.fetch_movielens_1m, {"ml-1m.zip": ("ml-1m/ratings.dat", "1::2::3::4\n")}),
        (
            datasets.fetch_book_crossing,
            {
                "BX-CSV-Dump.zip": (
                    "BX-Book-Ratings.csv",
                    '"User-ID";"ISBN";"Book-Rating"\n"1";"2";"3"\n',
                )
            },
        ),
    ],
)
def test_other_sets_are_fetched(server, fetch, files):
    for name, (member, text) in files.items():
        server.files[name] = archive(text, member)
    with pytest.warns(UserWarning, match="to be the published set"):
        assert fetch(url=server.url + "/").ratings.csr.data.tolist() == [3]
    assert server.asked == [f"/sets/{name}" for name in files]


def test_the_three_parts_of_jester_are_asked_for(server):
    with pytest.raises(DownloadError, match="jester_dataset_1_1"):
        datasets.fetch_jester(url=server.url)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"url": "ftp://x"},
            "url must be None or an address that begins with http:// or https://; got 'ftp://x'.",
        ),
        ({"folder": 3}, "folder must be None or a path; got 3."),
        ({"progress": "no"}, "progress must be None or True or False; got 'no'."),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(ValueError) as info:  # noqa: PT011
        datasets.fetch_movielens_100k(**options)
    assert str(info.value) == f"fetch_movielens_100k: {sentence}"


def test_another_archive_is_refused_and_not_recorded(server, tmp_path):
    server.files["BX-CSV-Dump.zip"] = archive()
    with pytest.raises(DownloadError, match=r"must hold BX-Book-Ratings\.csv; got "):
        datasets.fetch_book_crossing(url=server.url)
    assert names(tmp_path) == []


def test_parameters_are_checked_before_anything_is_downloaded(server):
    with pytest.raises(ValueError, match="implicit must be True or False; got 3"):
        datasets.fetch_book_crossing(url=server.url, implicit=3)
    assert server.asked == []
