"""The client's end of the pipe to its keeper: starts it below its guard, speaks to it, and outlives
both."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import Any, Dict, FrozenSet, List, Mapping

from . import begun, container, fresh
from .pipe import Lines, Outbox
from .tree import kill_all_below

Json = Dict[str, Any]
_CODE = """from {package}.guard import stand_above
guarded = stand_above({fd})
from {package}.keeper import main
main({fd}, {lock_fd}, guarded, {folder!r}, {capacity!r})
"""
_KILL_PATIENCE_S = 10.0
MOST_TOLD = 64  # bags of which the keeper keeps what their tasks share


class KeeperLink:
    def __init__(self, folder: str, lock_fd: int, capacity: Mapping[str, int]) -> None:
        self._folder, self._lock_fd, self._capacity = folder, lock_fd, dict(capacity)
        self._begun_path = os.path.join(folder, "begun")
        self._start()

    def _start(self) -> None:
        """Its own session keeps the terminal's signals away; the client says when to end."""
        begun.forget(self._begun_path)
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        code = _CODE.format(
            package=fresh.PACKAGE,
            fd=theirs.fileno(),
            lock_fd=self._lock_fd,
            folder=self._folder,
            capacity=self._capacity,
        )
        self.process = subprocess.Popen(
            fresh.command(code),
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), self._lock_fd),
            env=fresh.environment(),
            start_new_session=True,
        )
        theirs.close()
        ours.setblocking(False)
        self._socket = ours
        self.fd = ours.fileno()
        self._lines, self._outbox = Lines(self.fd), Outbox(self.fd)
        self._told: Dict[str, Json] = {}

    # Both raise EOFError when the keeper is dead.

    def read(self) -> List[bytes]:
        return self._lines.read()

    def flush(self) -> bool:
        return self._outbox.flush()

    def start(self, order: Json, terms: Json) -> None:
        """What a bag's attempts share travels once."""
        bag = str(order["bag"])
        told = self._told.get(bag)
        if told is not terms:
            self._told[bag] = terms
            if told != terms:
                self._outbox.put({"bag": bag, "terms": terms})
                self._forget_oldest()
        self._outbox.put({"start": order})

    def _forget_oldest(self) -> None:
        if len(self._told) > MOST_TOLD:
            bag = next(iter(self._told))
            del self._told[bag]
            self._outbox.put({"forget": bag})

    def kill(self, attempt: int, grace_s: float, outcome: str) -> None:
        self._outbox.put({"kill": attempt, "grace_s": grace_s, "outcome": outcome})

    def ask_usage(self, every_s: float) -> None:
        self._outbox.put({"usage_s": every_s})

    def begun(self) -> FrozenSet[int]:
        """Attempts that the keeper has begun, dead or alive; those that run are among them."""
        return begun.read(self._begun_path)

    def replace(self) -> None:
        """The keeper died: its tasks are the guard's now or ours, and must not go on unwatched."""
        self._socket.close()
        kill_all_below(_KILL_PATIENCE_S)
        container.remove_all(self._folder)
        self._start()

    def close(self) -> None:
        """The end of the pipe ends the keeper and all tasks; then ours, should it have failed."""
        self._socket.close()
        try:
            self.process.wait(_KILL_PATIENCE_S)
        except subprocess.TimeoutExpired:
            pass
        kill_all_below(1.0)
