"""Files as blobs: cut, named, put together again; kept here, and fetched once."""

from __future__ import annotations

import errno
import io
import os
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.worker import blobs
from tailrace.worker.blobs import CHUNK, Broken, File, describe, digest
from tailrace.worker.cache import Cache
from tailrace.worker.courier import Courier, Delivered, Ready
from tailrace.worker.joining import Join

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

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server: Any = self.server
            server.gate.wait(60)
            name, _, query = self.path.rpartition("/")[2].partition("?")
            allowed = int(query.removeprefix("attempt=")) in server.may
            data = server.held[name] if allowed else b'{"error": "not yours"}'
            server.asked[name] += 1
            self.send_response(200 if allowed else 404)
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
        url = f"http://127.0.0.1:{depot.server_address[1]}"
        cache = Cache(str(folder / "cache"), 10**9)
        self.courier = Courier(Join(url), cache, str(folder / "scratch"), self.arrived.set)

    def fetch(self, attempt: int, *files: File) -> list[Any]:
        inputs = [{"name": f"i{k}", "hash": f.hash, "size": f.size} for k, f in enumerate(files)]
        return self.courier.fetch({"attempt": attempt, "inputs": inputs}, {})

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


def test_an_input_that_cannot_be_had_fails_the_attempt_on_this_host(
    depot: Any, tmp_path: Path
) -> None:
    file, depot.held = stored(BIG)
    depot.may = set()
    depot.gate.set()
    waiting = Waiting(depot, tmp_path)
    waiting.fetch(1, file)
    (failed,) = waiting.take(1)
    assert isinstance(failed, Delivered) and failed.result["outcome"] == "host_failed"
    assert "not yours" in failed.result["error"]
    gone = {"attempt": 2, "inputs": [{"name": "x", "path": "/no/such"}]}
    (missing,) = waiting.courier.fetch(gone, {})
    assert "/no/such" in missing.result["error"]


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
    assert "No space left" in failed.result["error"]
    waiting.fetch(2, file)
    (ready,) = waiting.take(1)
    assert isinstance(ready, Ready)
