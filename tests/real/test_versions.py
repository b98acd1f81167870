"""Workers of another version than their server, as real files with another PROTOCOL in them."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.cli.conftest import ask
from tests.real import served
from tests.real.served import serving, wait_for, worker
from tests.server.spoken import WORK, spoken

from tailrace.worker import update, zipped
from tailrace.worker.joining import Join

LINE = b"\nPROTOCOL = 2\n"


def _speaking(protocol: int) -> bytes:
    """The worker of another version."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(zipped.build())) as ours, zipfile.ZipFile(made, "w") as other:
        for name in ours.namelist():
            data = ours.read(name)
            if name.endswith("/agent.py"):
                assert data.count(LINE) == 1
                data = data.replace(LINE, b"\nPROTOCOL = %d\n" % protocol)
            other.writestr(zipfile.ZipInfo(name), data)
    return made.getvalue()


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    made = _speaking(request.param)
    monkeypatch.setattr(served, "write", lambda path: Path(path).write_bytes(made))


@pytest.mark.parametrize("other", [0], indirect=True)
def test_an_older_worker_goes_on_as_the_server_s_and_as_the_same_process(
    tmp_path: Path, other: None
) -> None:
    with serving(tmp_path, "--tls", "own") as server:
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        done = ask(tmp_path, "submit", "-q", "--", "echo", "{}", ":::", "1", "2")
        assert done.code == 0, done.err
        with worker(tmp_path / "far", "--lifetime", "600", TAILRACE_JOIN=lab.text()) as far:
            log = tmp_path / "far/log"
            wait_for(lambda: server.ask(root, "GET", "/api/v1/bags/1")[1]["succeeded"] == 2)
            assert log.read_text().count("going on as") == 1 and far.poll() is None
            words = Path(f"/proc/{far.pid}/cmdline").read_bytes().decode().split("\0")
            ours = hashlib.sha256(zipped.build()).hexdigest()
            assert words[1] == str(tmp_path / f"far/worker-{ours[:16]}.pyz")
            assert words[2:4] == ["--folder", str(tmp_path / "far/files")]
            assert words[-3] == "--lifetime" and 0 < float(words[-2]) <= 600
            assert len(server.ask(root, "GET", "/api/v1/hosts")[1]) == 1
        assert (tmp_path / "far/worker.pyz").read_bytes() == _speaking(0)


@pytest.mark.parametrize("other", [1], indirect=True)
def test_a_worker_from_before_keys_ends_what_it_has_and_comes_back_as_a_newer_one(
    tmp_path: Path, other: None
) -> None:
    """It is given nothing new, and loses nothing."""
    far = tmp_path / "far"
    with serving(tmp_path) as server:
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        with worker(far, TAILRACE_JOIN=lab.text()):
            wait_for(lambda: "going on as" in (far / "log").read_text())
            done = ask(tmp_path, "submit", "-q", "--", "echo", "{}", ":::", "1")
            assert done.code == 0, done.err
            wait_for(lambda: server.ask(root, "GET", "/api/v1/bags/1")[1]["succeeded"] == 1)
        (host,) = server.ask(root, "GET", "/api/v1/hosts")[1]
        assert host["host"]["row"]["host"] == (far / "files/host").read_text().strip()


@pytest.mark.parametrize("other", [3], indirect=True)
def test_a_newer_worker_says_so_and_waits_for_its_server(tmp_path: Path, other: None) -> None:
    with serving(tmp_path) as server:
        lab = server.token("lab", "pool")
        with worker(tmp_path / "far", TAILRACE_JOIN=lab.text()) as far:
            log = tmp_path / "far/log"
            wait_for(lambda: "the server is older; trying again" in log.read_text())
            assert "protocol 2, this worker 3" in log.read_text()
            assert far.poll() is None
        assert list((tmp_path / "far").glob("worker-*")) == []


def test_a_call_of_another_version_is_told_so_even_if_it_cannot_be_read(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        file = server.call("GET", "/worker.pyz")[1]
        ours = {"protocol": 2, "worker": hashlib.sha256(file).hexdigest()}
        for body in ({**WORK, "seq": 1, "protocol": 0}, {"protocol": 7, "something": "else"}):
            status, told = server.call("POST", "/api/v1/work", body)
            assert status == 409 and ours.items() <= told.items()
        assert server.call("POST", "/api/v1/work", {"protocol": 2, "something": "else"})[0] == 400


def test_a_file_that_is_not_what_was_offered_is_not_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Liar(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"something else")

        def log_message(self, *_: object) -> None:
            pass

    own = tmp_path / "worker.pyz"
    own.write_bytes(b"as it was")
    monkeypatch.setattr("sys.argv", [str(own)])
    wanted = hashlib.sha256(b"as it should be").hexdigest()
    assert update.is_possible(wanted)
    assert not update.is_possible(hashlib.sha256(b"as it was").hexdigest())
    with HTTPServer(("127.0.0.1", 0), Liar) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(update.Unusable, match="another hash"):
            update._in_place(Join(f"http://127.0.0.1:{server.server_port}"), wanted)
        server.shutdown()
    assert list(tmp_path.iterdir()) == [own]
