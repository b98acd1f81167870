"""`run --detach` beside others of its kind, and beside a server that is just ending."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.real.served import environment, tailrace, wait_for

from tailrace.server.tables.lock import Lock, Owner, held

RUN = ("run", "--detach", "--json", "-j", "1", "--")


def test_two_at_once_share_one_server_and_neither_bag_is_lost(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tailrace", *RUN, "echo {} > {}.txt", ":::", word],
            cwd=tmp_path, env=environment({}), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )
        for word in ("a", "b")
    ]  # fmt: skip
    told = [json.loads(one.communicate(timeout=90)[0]) for one in started]
    assert sorted(one["bag"] for one in told) == [1, 2]
    for word in ("a", "b"):
        wait_for(lambda word=word: (tmp_path / f"{word}.txt").exists())
    wait_for(lambda: not held(tmp_path / ".tailrace"))


def test_a_server_that_is_ending_is_waited_for_and_followed(tmp_path: Path) -> None:
    runs = tmp_path / ".tailrace"
    lock, refused = Lock(runs), threading.Event()

    class Ending(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(503)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
            refused.set()

        def log_message(self, *words: object) -> None:
            """Nobody listens."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Ending) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        lock.announce(Owner(address=f"http://127.0.0.1:{server.server_port}", token="x"))
        threading.Thread(target=lambda: (refused.wait(60), lock.free()), daemon=True).start()
        told = json.loads(tailrace(tmp_path, *RUN, "echo > done", ":::", "1").stdout)
        server.shutdown()
    assert refused.is_set() and told["bag"] == 1
    wait_for((tmp_path / "done").exists)
    wait_for(lambda: not held(runs))
