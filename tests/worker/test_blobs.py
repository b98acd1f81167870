"""Files as blobs: cut, named, put together again; kept here, and fetched once."""

from __future__ import annotations

import errno
import io
import json
import os
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.worker import blobs, errands
from tailrace.worker.blobs import CHUNK, Broken, File, describe, digest
from tailrace.worker.cache import Cache
from tailrace.worker.courier import Courier, Delivered, Ready
from tailrace.worker.joining import Join
from tailrace.worker.staging import attempt_folder

from .conftest import wait_for

BIG = b"".join(bytes([n]) * CHUNK for n in range(5)) + b"rest"


def stored(data: bytes) -> tuple[File, dict[str, bytes]]:
    told = describe(io.BytesIO(data))
    cut = [data[at : at + blobs.CHUNK] for at in range(0, len(data), blobs.CHUNK)] or [b""]
    return told.file, {**dict(zip(told.chunks, cut, strict=True)), **told.lists}


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_a_file_is_put_together_as_it_was(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    file, held = stored(data)
    assert file.size == size and blobs.content(file, held.__getitem__) == data
    assert {name for name, _ in blobs.blobs_of(file, held.__getitem__)} == set(held)
    assert all(digest(part) == name for name, part in held.items())


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=5000))
def test_lists_of_lists_of_chunks(data: bytes) -> None:
    """With chunks of 64 bytes a list holds two, so that a small file has many storeys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blobs, "CHUNK", 64)
        file, held = stored(data)
        assert blobs.content(file, held.__getitem__) == data
        found = dict(blobs.blobs_of(file, held.__getitem__))
        assert found == {name: len(part) for name, part in held.items()}
        assert max(found.values()) <= 64


def test_a_size_that_is_not_the_files_is_found_out() -> None:
    file, held = stored(BIG)
    for size in (file.size - 5, file.size + 1, CHUNK * 9, 40):
        with pytest.raises((Broken, KeyError)):
            data = blobs.content(File(file.hash, size), held.__getitem__)
            assert len(data) == size


class Source:
    """Gives blobs, counts them, and fails when told to."""

    def __init__(self, held: dict[str, bytes]) -> None:
        self.held, self.asked = held, Counter[str]()
        self.fails_after = 10**9

    def __call__(self, name: str) -> bytes:
        if self.asked.total() >= self.fails_after:
            raise ConnectionError
        self.asked[name] += 1
        return self.held[name]


def nothing() -> None:
    pass


def test_a_broken_download_goes_on_where_it_stopped_also_in_the_next_session(
    tmp_path: Path,
) -> None:
    file, held = stored(BIG)
    source = Source(held)
    source.fails_after = 4  # the list and three chunks
    with pytest.raises(ConnectionError):
        Cache(str(tmp_path), 10**9).fetch(file, source, nothing)
    first, source.fails_after = set(source.asked), 10**9
    cache = Cache(str(tmp_path), 10**9)
    cache.fetch(file, source, nothing)
    assert Path(cache.path(file)).read_bytes() == BIG
    again = {name for name, count in source.asked.items() if count > 1}
    assert again == {file.hash} and len(first) == 4


def test_after_a_restart_of_the_machine_files_are_looked_at_again(tmp_path: Path) -> None:
    file, held = stored(BIG)
    cache = Cache(str(tmp_path), 10**9)
    cache.fetch(file, Source(held), nothing)
    path = Path(cache.path(file))
    path.chmod(0o600)
    path.write_bytes(BIG[: 2 * CHUNK] + bytes(CHUNK) + BIG[3 * CHUNK :])  # what was never synced
    (tmp_path / "boot").write_text("another")
    later, source = Cache(str(tmp_path), 10**9), Source(held)
    assert not later.has(file)
    later.fetch(file, source, nothing)
    assert path.read_bytes() == BIG and source.asked.total() == 2  # the list and one chunk


def test_the_oldest_go_and_those_in_use_stay(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path), 25)
    files = [stored(bytes([n]) * 10) for n in range(4)]
    (a, _), (b, _), (c, _), (d, _) = files
    for file, held in files[:2]:
        cache.fetch(file, Source(held), nothing)
    cache.use(a)
    cache.fetch(c, Source(files[2][1]), nothing)
    assert [cache.has(file) for file in (a, b, c)] == [True, False, True]
    cache.use(c)
    cache.fetch(d, Source(files[3][1]), nothing)  # nothing can go: it is larger than it may be
    assert [cache.has(file) for file in (a, c)] == [True, True]
    cache.let_go(a)
    cache.let_go(c)
    kept = [file for file in (a, c, d) if cache.has(file)]
    assert len(kept) == 2 and len([p for p in tmp_path.iterdir() if "-" in p.name]) == 2


@pytest.mark.parametrize("restarted", [False, True])
def test_the_one_that_was_used_longest_ago_goes_first(tmp_path: Path, restarted: bool) -> None:
    """Also when the worker was started again since, which knows it by the files' times."""
    cache = Cache(str(tmp_path), 30)
    files = [stored(bytes([n]) * 10) for n in range(4)]
    (a, _), (b, _), (c, _), (d, _) = files
    for second, (file, held) in enumerate(files[:3]):
        cache.fetch(file, Source(held), nothing)
        os.utime(cache.path(file), (second, second))
    cache.use(a)
    cache.let_go(a)
    if restarted:
        cache = Cache(str(tmp_path), 30)
    cache.fetch(d, Source(files[3][1]), nothing)
    assert [cache.has(file) for file in (a, b, c, d)] == [True, False, True, True]


def test_a_lie_is_not_kept(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path), 10**9)
    cache.put(File(digest(b"truth"), 5), b"false")
    assert not cache.has(File(digest(b"truth"), 5))


@pytest.fixture
def depot() -> Any:
    """A server of blobs, of which some attempts may read."""

    class Depot(ThreadingHTTPServer):
        daemon_threads = True

        def __init__(self) -> None:
            super().__init__(("127.0.0.1", 0), Handler)
            self.held: dict[str, bytes] = {}
            self.asked, self.gate, self.may = Counter[str](), threading.Event(), {1, 2}
            self.token, self.says, self.turned_away = "", 401, 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server: Any = self.server
            server.gate.wait(60)
            if self._is_turned_away():
                return
            name, _, query = self.path.rpartition("/")[2].partition("?")
            allowed = int(query.removeprefix("attempt=")) in server.may
            data = server.held[name] if allowed else b'{"error": "not yours"}'
            server.asked[name] += 1
            self._send(200 if allowed else 404, data)

        def do_POST(self) -> None:
            """All that are asked for are missing."""
            asked = json.loads(self._body())
            if not self._is_turned_away():
                self._send(200, json.dumps(asked["hashes"]).encode())

        def do_PUT(self) -> None:
            server: Any = self.server
            body, name = self._body(), self.path.rpartition("/")[2].partition("?")[0]
            if not self._is_turned_away():
                server.held[name] = body
                self._send(200, b"{}")

        def _is_turned_away(self) -> bool:
            server: Any = self.server
            if self.headers.get("Authorization", "") == server.token:
                return False
            server.turned_away += 1
            self._send(server.says, b'{"error": "wrong or missing token"}')
            return True

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers["Content-Length"]))

        def _send(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = Depot()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.gate.set()
    server.shutdown()
    server.server_close()


class Waiting:
    """A courier whose arrivals are waited for."""

    def __init__(self, depot: Any, folder: Path) -> None:
        self.arrived = threading.Event()
        self.join = Join(f"http://127.0.0.1:{depot.server_address[1]}")
        cache = Cache(str(folder / "cache"), 10**9)
        self.courier = Courier(self.join, cache, str(folder / "scratch"), self.arrived.set)

    def fetch(self, attempt: int, *files: File) -> list[Any]:
        inputs = [{"name": f"i{k}", "hash": f.hash, "size": f.size} for k, f in enumerate(files)]
        return self.courier.fetch({"attempt": attempt, "inputs": inputs}, {})

    def deliver(self, attempt: int, output: Path) -> None:
        self.fetch(attempt)
        told = [{"name": "out", "path": str(output), "size": output.stat().st_size}]
        result = {"attempt": attempt, "outcome": "succeeded", "outputs": told, "value": 7}
        assert self.courier.ended(result) == []

    def take(self, count: int) -> list[Any]:
        found: list[Any] = []
        while len(found) < count:
            assert self.arrived.wait(60)
            self.arrived.clear()
            found += self.courier.take()
        return found


def test_what_two_attempts_want_is_fetched_once(depot: Any, tmp_path: Path) -> None:
    file, depot.held = stored(BIG)
    waiting = Waiting(depot, tmp_path)
    assert waiting.fetch(1, file) == [] == waiting.fetch(2, file)
    depot.gate.set()
    found = waiting.take(2)
    assert [(type(one), one.order["attempt"]) for one in found] == [(Ready, 1), (Ready, 2)]
    assert Path(found[0].order["inputs"][0]["path"]).read_bytes() == BIG
    assert set(depot.asked.values()) == {1} and len(depot.asked) == 7
    (third,) = waiting.fetch(3, file)  # it is here
    assert third.order["attempt"] == 3


def test_the_first_is_dropped_and_the_second_still_gets_it(depot: Any, tmp_path: Path) -> None:
    file, depot.held = stored(BIG)
    waiting = Waiting(depot, tmp_path)
    waiting.fetch(1, file)
    waiting.fetch(2, file)
    (dropped,) = waiting.courier.stop(1, "cancelled")
    assert dropped.result["outcome"] == "cancelled"
    depot.may = {2}
    depot.gate.set()
    (ready,) = waiting.take(1)
    assert ready.order["attempt"] == 2


def test_what_nobody_wants_any_more_and_then_somebody_does(depot: Any, tmp_path: Path) -> None:
    file, depot.held = stored(BIG)
    waiting = Waiting(depot, tmp_path)
    waiting.fetch(1, file)
    waiting.courier.stop(1, "cancelled")
    assert waiting.fetch(2, file) == []
    depot.gate.set()
    (ready,) = waiting.take(1)
    assert ready.order["attempt"] == 2 and Path(ready.order["inputs"][0]["path"]).exists()


def test_an_input_that_cannot_be_had_fails_the_attempt_and_is_not_the_hosts_fault(
    depot: Any, tmp_path: Path
) -> None:
    file, depot.held = stored(BIG)
    depot.may = set()
    depot.gate.set()
    waiting = Waiting(depot, tmp_path)
    waiting.fetch(1, file)
    (failed,) = waiting.take(1)
    assert isinstance(failed, Delivered) and failed.result["outcome"] == "host_failed"
    assert "not yours" in failed.result["error"] and failed.result["of_bag"], "no host has it"
    gone = {"attempt": 2, "inputs": [{"name": "x", "path": "/no/such"}]}
    (missing,) = waiting.courier.fetch(gone, {})
    assert "/no/such" in missing.result["error"] and missing.result["of_bag"]


def test_an_input_that_is_not_as_its_bag_says_is_not_the_hosts_fault(
    depot: Any, tmp_path: Path
) -> None:
    file, depot.held = stored(b"short")
    depot.gate.set()
    waiting = Waiting(depot, tmp_path)
    waiting.fetch(1, File(file.hash, 7))
    (failed,) = waiting.take(1)
    assert failed.result["of_bag"] and "an input cannot be had" in failed.result["error"]


def test_bytes_that_are_not_what_they_should_be_are_refused(depot: Any, tmp_path: Path) -> None:
    file, held = stored(BIG)
    depot.held = {name: data if name == file.hash else data[:-1] for name, data in held.items()}
    depot.gate.set()
    waiting = Waiting(depot, tmp_path)
    waiting.fetch(1, file)
    (failed,) = waiting.take(1)
    assert "something else" in failed.result["error"]


def test_a_full_disk_fails_the_attempt_and_leaves_the_worker_alive(
    depot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, depot.held = stored(BIG)
    depot.gate.set()
    waiting = Waiting(depot, tmp_path)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        waiting.fetch(1, file)
        (failed,) = waiting.take(1)
    assert "No space left" in failed.result["error"] and "of_bag" not in failed.result
    waiting.fetch(2, file)
    (ready,) = waiting.take(1)
    assert isinstance(ready, Ready)


@pytest.mark.parametrize("status", [401, 408, 429])
def test_files_that_a_server_does_not_take_now_wait_for_a_new_token(
    depot: Any, tmp_path: Path, status: int
) -> None:
    """What a task has made is not thrown away for it, nor is the task begun anew."""
    waiting, output = Waiting(depot, tmp_path), _output(tmp_path)
    file, depot.held = stored(b"an input")
    depot.token, depot.says = "Bearer new", status
    depot.gate.set()
    waiting.deliver(1, output)
    waiting.fetch(2, file)
    wait_for(lambda: depot.turned_away >= 4)
    assert waiting.courier.take() == [] and output.exists()
    waiting.courier.turn_to(waiting.join._replace(token="new"))
    found = {type(one): one for one in waiting.take(2)}
    assert found[Ready].order["attempt"] == 2
    result = found[Delivered].result
    assert (result["outcome"], result["value"]) == ("succeeded", 7)
    assert depot.held[result["outputs"][0]["hash"]] == b"made"


def test_a_token_that_is_refused_for_long_is_not_waited_for(
    depot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errands, "PATIENCE_S", 0.0)
    waiting, depot.token = Waiting(depot, tmp_path), "Bearer new"
    waiting.deliver(1, _output(tmp_path))
    (failed,) = waiting.take(1)
    assert failed.result["outcome"] == "host_failed"
    assert "wrong or missing token" in failed.result["error"] and "of_bag" not in failed.result


def _output(folder: Path) -> Path:
    """Of attempt 1, where the courier clears up behind it."""
    path = Path(attempt_folder(str(folder / "scratch"), 1), "out")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"made")
    return path
