"""Owners are told, of every occasion and in every way, by who really receives it on loopback."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

import pytest
from tests.real.served import serving, tailrace, wait_for
from tests.server.spoken import Spoken, spoken

from tailrace.server.telling import notices
from tailrace.server.telling.notifying import Notifying

MAIL = """import smtplib, sys
host, port, subject, to = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
with smtplib.SMTP(host, port) as link:
    link.sendmail("me@example.org", [to], f"Subject: {subject}\\n\\n{sys.stdin.read()}")
"""


class Hook:
    """A web hook: what was posted to it, and what it answers with."""

    def __init__(self, port: int = 0) -> None:
        self.posted: list[dict[str, Any]] = []
        self.status = 204
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if hook.status < 300:
                    hook.posted.append(json.loads(body))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *words: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def occasions(self) -> list[str]:
        return [one["occasion"] for one in self.posted]


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


class Postman(StreamRequestHandler):
    """As much of SMTP as a mail needs."""

    def handle(self) -> None:
        self._say("220 here")
        for line in self.rfile:
            word = line.split()[0].upper()
            if word == b"DATA":
                self._say("354 go on")
                letter = b"".join(iter(self.rfile.readline, b".\r\n"))
                self.server.letters.append(letter.decode())  # type: ignore[attr-defined]
            if word == b"QUIT":
                self._say("221 bye")
                return
            self._say("250 ok")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def letters() -> Iterator[tuple[int, list[str]]]:
    """The port of a post office, and what came there."""
    with ThreadingTCPServer(("127.0.0.1", 0), Postman) as office:
        office.letters = []  # type: ignore[attr-defined]
        threading.Thread(target=office.serve_forever, daemon=True).start()
        yield office.server_address[1], office.letters  # type: ignore[attr-defined]
        office.shutdown()


def _settings(folder: Path, *targets: str, **more: str) -> None:
    lines = [f"notify = {json.dumps(list(targets))}"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in more.items()]
    (folder / "tailrace.toml").write_text("\n".join(lines) + "\n")


def test_a_hook_a_mail_and_a_command_are_told_of_the_budget_and_of_the_end(
    tmp_path: Path, hook: Hook, letters: tuple[int, list[str]]
) -> None:
    (tmp_path / "mail.py").write_text(MAIL)
    port, came = letters
    mail = f'{sys.executable} mail.py 127.0.0.1 {port} "$TAILRACE_SUBJECT" ada@example.org'
    command = 'echo "$TAILRACE_OCCASION $TAILRACE_BAG" >> told.txt'
    _settings(tmp_path, hook.url, mail, command, price="9 USD/h")
    tailrace(tmp_path, "run", "-q", "--budget", "10 USD", "--", "sleep", "{}", ":::", "4")
    assert hook.occasions == ["budget", "finished"]
    assert hook.posted[0]["text"].startswith("9 USD of 10 USD is spent")
    assert (hook.posted[1]["count"], hook.posted[1]["done"], hook.posted[1]["failed"]) == (1, 1, 0)
    assert (tmp_path / "told.txt").read_text() == "budget 1\nfinished 1\n"
    assert [letter.splitlines()[0] for letter in came] == [
        "Subject: bag 1 (sleep): budget", "Subject: bag 1 (sleep): finished",
    ]  # fmt: skip
    assert "1 of 1 task succeeded" in came[1]


def test_a_hook_is_told_of_a_brake_and_of_a_budget_that_is_used_up(
    tmp_path: Path, hook: Hook
) -> None:
    _settings(tmp_path, hook.url)
    words = ("run", "-q", "--max-failures", "1", "--retries", "0", "--", "false", "{}", ":::")
    tailrace(tmp_path, *words, *map(str, range(20)), code=None)
    assert hook.occasions == ["braked"]
    _settings(tmp_path, hook.url, price="9 USD/h")
    tailrace(tmp_path, "run", "-q", "--budget", "5 USD", "--", "true", ":::", "1", code=None)
    assert hook.occasions[1:2] == ["stopped"], hook.posted


def test_a_hook_is_told_of_an_hour_without_a_result(
    tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "STILL_US", 1)
    with spoken(tmp_path) as server:
        server.submit("sleep 9999")
        server.work()
        server.loop.run_until_complete(_watched(server, hook))
    assert hook.occasions == ["still"]
    assert "no task has ended for an hour, 1 task left" in hook.posted[0]["text"]


async def _watched(server: Spoken, hook: Hook) -> None:
    notifying = Notifying(server.world, (hook.url,))
    notifying._try_to_look()
    notifying._try_to_look()
    await notifying.end()


def test_what_a_hook_did_not_take_is_told_by_the_next_server_once(
    tmp_path: Path, hook: Hook
) -> None:
    """The server is killed, so that nothing it might do at its end helps."""
    hook.status = 503
    _settings(tmp_path, hook.url)
    with serving(tmp_path, "--local") as server:
        tailrace(tmp_path, "submit", "--", "true", ":::", "1")
        wait_for(lambda: "tried again for a day" in (tmp_path / "log").read_text())
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    assert hook.posted == []
    hook.status = 204
    for starts in (2, 3):
        with serving(tmp_path, "--local") as server:
            _wait_for_start(tmp_path, starts)
            wait_for(lambda: hook.posted)
            assert server.end() == 0
    assert hook.occasions == ["finished"]


def _wait_for_start(folder: Path, number: int) -> None:
    """Until it would hear a signal: so many servers have said that they serve."""
    wait_for(lambda: (folder / "log").read_text().count("serving ") == number)


def test_a_run_whose_hook_is_away_leaves_its_notice_to_the_next_run(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    _settings(tmp_path, f"http://127.0.0.1:{port}/hook")
    told = tailrace(tmp_path, "run", "-q", "--", "true", ":::", "1")
    assert "1 not told; tried again when a server starts here" in told.stderr
    hook = Hook(port)
    try:
        tailrace(tmp_path, "run", "-q", "--again", "--", "true", ":::", "1")
        assert sorted(one["bag"] for one in hook.posted) == [1, 2]
    finally:
        hook.close()
