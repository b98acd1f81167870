"""A small real HTTP server that speaks the server's side of the work call, for tests of the worker.

It believes in what it sent, sends again what was not held, drops what is held but not believed,
acknowledges every result, and notes those that come again although they were acknowledged.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class ScriptedDesk:
    def __init__(self, port: int = 0, token: str = "secret", bundle: int = 500) -> None:
        self.token, self.bundle = token, bundle
        self.waiting: list[Json] = []
        self.believed: dict[int, Json] = {}
        self.bags: dict[str, Json] = {}
        self.results: dict[int, Json] = {}
        self.acked: set[int] = set()  # those whose acknowledgement has left
        self.arrived_after_ack: list[int] = []
        self.sessions: dict[str, int] = {}
        self.newest: dict[str, int] = {}
        self.calls: list[Json] = []
        self.drops: set[int] = set()
        self.stop: str | None = None
        self.fail_with: int | None = None
        self.changed = threading.Condition()
        self.port = port
        self.up()

    # ---- for the test -------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        desk = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                desk.serve(self)

            def log_message(self, *_args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_args: Any) -> None:
                pass

        self.alive = True
        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def down(self) -> None:
        """Nobody listens any more, and calls that wait get no answer."""
        self.server.shutdown()
        self.server.server_close()
        with self.changed:
            self.alive = False
            self.changed.notify_all()

    def add(self, *orders: Json, **terms: Any) -> None:
        """Attempts of one bag; `terms` is what they share."""
        with self.changed:
            bag = str(len(self.bags) + 1)
            self.bags[bag] = {
                "name": "bag", "folder": "/", "env": {}, "needs": {"cores": 1000}, "limits": {},
                "files": "here", "keep_output": 4096, "result": {}, "grace_s": 1, "scratch": None,
            } | terms  # fmt: skip
            for order in orders:
                self.waiting.append({"bag": int(bag), "index": order["attempt"]} | order)
            self.changed.notify_all()

    def drop(self, attempt: int) -> None:
        with self.changed:
            self.drops.add(attempt)
            self.believed.pop(attempt, None)
            self.changed.notify_all()

    def tell_to_stop(self, why: str) -> None:
        with self.changed:
            self.stop = why
            self.changed.notify_all()

    def wait_for(self, *attempts: int, within: float = 20.0) -> list[Json]:
        until = time.monotonic() + within
        with self.changed:
            while not all(attempt in self.results for attempt in attempts):
                left = until - time.monotonic()
                assert left > 0, f"only {sorted(self.results)} arrived, waited for {attempts}"
                self.changed.wait(left)
            return [self.results[attempt] for attempt in attempts]

    def wait_until(self, true: Any, within: float = 20.0) -> None:
        until = time.monotonic() + within
        with self.changed:
            while not true():
                left = until - time.monotonic()
                assert left > 0, "waited in vain"
                self.changed.wait(min(left, 0.05))

    # ---- the call -----------------------------------------------------------------------------

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        if handler.headers.get("Authorization") != f"Bearer {self.token}":
            self._send(handler, 401, {"error": "token"})
            return
        if self.fail_with is not None:
            self._send(handler, self.fail_with, {"error": "told to fail"})
            return
        reply = self._answer(json.loads(body))
        if not self.alive:
            handler.close_connection = True
            return
        self._send(handler, 200, reply)
        self.acked.update(reply["ack"])

    def _send(self, handler: BaseHTTPRequestHandler, status: int, value: Json) -> None:
        data = json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _answer(self, call: Json) -> Json:
        with self.changed:
            self.calls.append(call)
            reply: Json = {"seq": call["seq"], "start": [], "bags": {}, "drop": [], "save": [],
                           "ack": [], "contact_s": 60, "stop": None}  # fmt: skip
            self._take_results(call, reply)
            if not self._is_newest(call):
                return reply
            until = time.monotonic() + call["wait_s"]
            while not self._say(call, reply):
                left = until - time.monotonic()
                if left <= 0 or not self.alive or not self._is_newest(call):
                    break
                self.changed.wait(left)
            return reply

    def _take_results(self, call: Json, reply: Json) -> None:
        for result in call["results"]:
            attempt = result["attempt"]
            if attempt in self.acked:
                self.arrived_after_ack.append(attempt)
            self.results.setdefault(attempt, result)
            self.believed.pop(attempt, None)
            reply["ack"].append(attempt)
        self.changed.notify_all()

    def _is_newest(self, call: Json) -> bool:
        host, mine = call["host"], (call["session"], call["seq"])
        if mine < self.newest.get(host, (0, 0)):
            return False
        if self.newest.get(host, (0, 0))[0] < call["session"]:
            self.believed = {a: o for a, o in self.believed.items() if a in call["held"]}
        self.newest[host] = mine
        return True

    def _say(self, call: Json, reply: Json) -> bool:
        held = set(call["held"])
        reply["stop"] = self.stop
        reply["drop"] = [each for each in held if each not in self.believed]
        known = held | {result["attempt"] for result in call["results"]}
        start = [order for each, order in self.believed.items() if each not in known]
        room = self.bundle - len(held) if call["capacity"].get("cores") else 0
        while self.waiting and room > len(start):
            order = self.waiting.pop(0)
            self.believed[order["attempt"]] = order
            start.append(order)
        reply["start"] = start
        reply["bags"] = {str(order["bag"]): self.bags[str(order["bag"])] for order in start}
        return bool(start or reply["drop"] or reply["ack"] or reply["stop"])
