"""A line between callers and a server that breaks where it is told to: within a TLS record.

It reads the heads of the records that the server sends, which are in clear, so that it knows where
one ends. It passes some bytes of a record on, and then nothing more.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

DATA = 23  # the kind of a record that carries what is said, once they have greeted
HEAD = 5


class Cutting:
    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("https://").rpartition(":")
        self._server = (host, int(port))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}"
        self._guard = threading.Lock()
        self._lines: list[socket.socket] = []
        self._wanted = 0
        self.cuts = 0
        self.reset = False  # or an end that looks like a quiet one
        threading.Thread(target=self._listen, daemon=True).start()

    def cut(self, times: int) -> None:
        """So many more answers, each on its own connection."""
        with self._guard:
            self._wanted = times

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                server = socket.create_connection(self._server, timeout=60)
                server.settimeout(None)
                self._lines += [caller, server]
                threading.Thread(target=self._carry, args=(caller, server), daemon=True).start()

    def _carry(self, caller: socket.socket, server: socket.socket) -> None:
        """Closed when nobody reads from it any more: its number may be another's at once."""
        up = threading.Thread(target=_up, args=(caller, server), daemon=True)
        up.start()
        was_cut = self._down(caller, server)
        if was_cut and self.reset:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            _close(caller, socket.SHUT_RD)
        else:
            _close(caller)
        _close(server)
        up.join()
        caller.close()
        server.close()

    def _down(self, caller: socket.socket, server: socket.socket) -> bool:
        """Whether it was cut."""
        with suppress(OSError):
            records = 0
            for record in _records(server):
                records += record[0] == DATA
                # The first are the rest of the greeting, and tickets for the next one.
                if records > 3 and self._takes_one():
                    caller.sendall(record[: HEAD + (len(record) - HEAD) // 2])
                    return True
                caller.sendall(record)
        return False

    def _takes_one(self) -> bool:
        with self._guard:
            if not self._wanted:
                return False
            self._wanted -= 1
            self.cuts += 1
            return True

    def end(self) -> None:
        self._listening.close()
        for line in self._lines:
            _close(line)


def _records(line: socket.socket) -> Iterator[bytes]:
    with line.makefile("rb") as stream:
        while len(head := stream.read(HEAD)) == HEAD:
            yield head + stream.read(struct.unpack("!H", head[3:])[0])


def _up(caller: socket.socket, server: socket.socket) -> None:
    with suppress(OSError):
        while data := caller.recv(65536):
            server.sendall(data)
    _close(server)


def _close(line: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    with suppress(OSError):
        line.shutdown(how)


@contextmanager
def cutting(url: str) -> Iterator[Cutting]:
    made = Cutting(url)
    try:
        yield made
    finally:
        made.end()
