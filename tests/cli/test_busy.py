"""A server that has more calls than it can see to tells a command when to come again: it does, says
so, and then does what it was asked to do."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.conftest import ask

from tailrace.cli.servers import waiting
from tailrace.cli.servers.reached import of
from tailrace.python.elsewhere import Elsewhere
from tailrace.server.serving import Serving
from tailrace.server.web.door import Door
from tailrace.server.web.turnstile import FIRST, Turnstile

REFUSAL = "the server has more calls in hand than it can see to: come again; trying again, for"


class Shutting(Turnstile):
    """The turnstile of a real server, full for as many calls as one says."""

    def shut(self, calls: int) -> None:
        self.room, self._left = 0, calls

    def refuse(self, now: float) -> None:
        self._left -= 1
        self.room = 0 if self._left else FIRST
        super().refuse(now)


class Busy:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.turnstile = Shutting()
        self._loop = asyncio.new_event_loop()
        self._up, self._end = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._up.wait(60)
        told = ask(folder, "tokens", "add", "ada", "--user").out
        (join,) = (word for word in told.split() if word.startswith("http://"))
        self.join = folder / "ada.join"
        self.join.write_text(join + "\n")
        self.join.chmod(0o600)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        async with Serving(self.folder / ".tailrace", (), Door()) as serving:
            serving.world.turnstile = self.turnstile
            self._up.set()
            await self._end.wait()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(60)


@contextmanager
def busy(folder: Path) -> Iterator[Busy]:
    made = Busy(folder)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a command would have waited."""
    found: list[float] = []
    clock = SimpleNamespace(sleep=found.append, monotonic=time.monotonic)
    monkeypatch.setattr(waiting, "time", clock)
    return found


COMMANDS = (
    "submit -q -- echo {} ::: 1 2", "status", "status 1", "results 1", "explain 1", "explain 1/1",
    "logs 1/0", "hosts", "add 1 ::: 3", "retry 1", "fetch 1", "cancel 1 --yes", "watch 1 -q",
)  # fmt: skip


def test_every_command_comes_again_when_it_is_told_to(tmp_path: Path, pauses: list[float]) -> None:
    with busy(tmp_path) as server:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for words in COMMANDS:
            del pauses[:]
            server.turnstile.shut(2)
            command, *more = words.split()
            done = ask(elsewhere, command, "--server", str(server.join), *more)
            assert done.err.count(REFUSAL) == 1 and "trying" not in done.out, (words, done)
            assert done.code in (0, 1) and server.turnstile.room == FIRST, (words, done)
            assert len(pauses) >= 2 and min(pauses) >= 1.0, (words, pauses)  # as told, or longer
        assert server.turnstile.refused == 2 * len(COMMANDS)
        server.turnstile.shut(1)
        assert ask(elsewhere, "login", str(server.join)).err.count(REFUSAL) == 1
        assert ask(elsewhere, "login", "--forget").code == 0
        server.turnstile.shut(1)  # and a command of the server's own folder
        done = ask(tmp_path, "explain", "1")
        assert done.code == 0 and done.err.count(REFUSAL) == 1


def test_files_are_taken_along_once_there_is_room(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("x")
    bag = (
        'command = "cat in.txt {x}"\nfiles = "staged"\ninputs = ["in.txt"]\n[parameters]\nx = [1]\n'
    )
    (tmp_path / "bag.toml").write_text(bag)
    with busy(tmp_path) as server:
        server.turnstile.shut(1)
        done = ask(tmp_path, "submit", "--server", str(server.join), "bag.toml")
        assert done.code == 0 and "1 file" in done.out, done
        assert done.err.count("does not take or give files") == 1, done


def test_a_command_does_not_wait_for_ever(
    tmp_path: Path, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = map(float, range(0, 10_000, 10))
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(moments))
    with busy(tmp_path) as server:
        server.turnstile.shut(10_000)
        done = ask(tmp_path, "hosts", "--server", str(server.join))
        assert done.code == 6 and "cannot answer now" in done.err
        assert 1 < server.turnstile.refused < 20


def test_python_comes_again_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with busy(tmp_path) as server:
        server.turnstile.shut(1)
        Elsewhere(of(str(server.join), "test")).close()
        assert server.turnstile.refused == 1
    assert REFUSAL in caplog.text
