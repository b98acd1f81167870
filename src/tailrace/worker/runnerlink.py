"""The keeper's end of the channel to a runner: starts it, hands it calls, hears its answers."""

from __future__ import annotations

import base64
import json
import os
import pkgutil
import socket
from collections import OrderedDict
from typing import Any, Dict, List, NamedTuple, Tuple

from . import spawn
from .ring import Slot
from .runner import ANSWER, CALL, FORGET, FUNCTION, ORDER, PERMIT, SETTING

MOST_FUNCTIONS = 8  # that a runner keeps
_READ = 1 << 16  # larger ones would be mapped and unmapped each time
_BUFFER = 1 << 20
# Imported as a module of its own, so that `__main__` is as empty as the caller's functions expect.
_CODE = """import sys, types
channel, permits, size = map(int, sys.argv[1:])
with open(channel, "rb", buffering=0, closefd=False) as stream:
    source = b""
    while len(source) < size:
        source += stream.read(size - len(source)) or sys.exit()
runner = types.ModuleType("tailrace_runner")
sys.modules["tailrace_runner"], sys.argv = runner, [""]
exec(compile(source, "<tailrace runner>", "exec"), runner.__dict__)
runner.main(channel, permits)
"""
Json = Dict[str, Any]


class Answer(NamedTuple):
    kind: bytes
    begun_us: int
    ended_us: int
    cpu_us: int
    memory: int
    printed: Tuple[int, int]  # where stdout and stderr end now
    body: bytes


class RunnerLink:
    def __init__(self, function: Json, env: Dict[str, str], slot: Slot, parent: int) -> None:
        self.interpreter = _interpreter(function, env)
        source = pkgutil.get_data(__package__ or "", "runner.py") or b""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        self._take, self._give = os.pipe()
        try:
            numbers = (str(theirs.fileno()), str(self._take), str(len(source)))
            argv = [self.interpreter, "-c", _CODE, *numbers]
            for fd in (self._take, self._give):
                os.set_blocking(fd, False)
            inherited = (theirs.fileno(), self._take)
            program = spawn.Program(self.interpreter, argv, env, "", None, inherited)
            self.pid = spawn.fork(program, slot, parent)
        except BaseException:
            ours.close()
            self._close_permits()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._socket, self.fd = ours, ours.fileno()
        self.ended = self.closed = False
        self._heard = bytearray()
        self._parts: List[bytes] = []
        self._left = memoryview(b"")
        self._permits: List[bytes] = []
        self._permit = 0
        self._functions: "OrderedDict[int, str]" = OrderedDict()
        self._parts.append(source)
        self._put(SETTING, 0, 0, 0, 0, _setting(function))

    # ---- calls --------------------------------------------------------------------------------

    def call(self, order: Json, function: Json, item: bytes) -> int:
        """Sent with the next `flush`; its permit."""
        bag = int(order["bag"])
        if function["pickled"] and self._functions.get(bag) != function["pickled"]:
            self._put_function(bag, function["pickled"])
        self._permit = (self._permit + 1) & 0xFFFFFFFF
        self._put(CALL, self._permit, bag, order["attempt"], order.get("index") or 0, item)
        self._permits.append(PERMIT.pack(self._permit))
        return self._permit

    def _put_function(self, bag: int, pickled: str) -> None:
        """A server that was set back may give a number to another bag."""
        if bag in self._functions:
            self._forget_function(bag)
        elif len(self._functions) >= MOST_FUNCTIONS:
            self._forget_function(next(iter(self._functions)))
        self._functions[bag] = pickled
        self._put(FUNCTION, 0, bag, 0, 0, base64.b64decode(pickled))

    def _forget_function(self, bag: int) -> None:
        del self._functions[bag]
        self._put(FORGET, 0, bag, 0, 0, b"")

    def _put(
        self, kind: bytes, permit: int, bag: int, attempt: int, index: int, body: bytes
    ) -> None:
        self._parts.append(ORDER.pack(kind, permit, bag, attempt, index, len(body)))
        if body:
            self._parts.append(body)

    @property
    def unsent(self) -> bool:
        return bool(self._parts or self._left)

    def flush(self) -> bool:
        """False when something is left for later. One that is dead is found out when it is reaped.
        A permit may arrive before its call: the runner then waits for the call."""
        if self._permits:
            os.write(self._give, b"".join(self._permits))
            self._permits = []
        while self.unsent:
            if not self._left:
                self._left, self._parts = memoryview(b"".join(self._parts)), []
            try:
                self._left = self._left[os.write(self.fd, self._left) :]
            except BlockingIOError:
                return False
            except OSError:
                self._left, self._parts = memoryview(b""), []
        return True

    def take_back_permits(self) -> int:
        """How many of the newest calls will not begin now."""
        count, self._permits = len(self._permits), []
        while True:
            try:
                data = os.read(self._take, 4096)
            except BlockingIOError:
                return count
            count += len(data) // PERMIT.size

    # ---- answers ------------------------------------------------------------------------------

    def read(self, at_once: int) -> List[Answer]:
        """Whole answers that have arrived."""
        while True:
            try:
                data = os.read(self.fd, _READ)
            except BlockingIOError:
                return self._whole()
            except OSError:
                data = b""
            if not data:
                self.ended = True
                return self._whole()
            self._heard += data
            at_once -= len(data)
            if at_once <= 0:
                return self._whole()

    def _whole(self) -> List[Answer]:
        heard, at, found = self._heard, 0, []
        while len(heard) - at >= ANSWER.size:
            kind, _, begun, ended, cpu, memory, out, err, size = ANSWER.unpack_from(heard, at)
            end = at + ANSWER.size + size
            if end > len(heard):
                break
            body = bytes(heard[at + ANSWER.size : end])
            found.append(Answer(kind, begun, ended, cpu, memory, (out, err), body))
            at = end
        del heard[:at]
        return found

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._socket.close()
            self._close_permits()

    def _close_permits(self) -> None:
        os.close(self._take)
        os.close(self._give)


def item_of(order: Json) -> bytes:
    """Pickled, as it was sent; a large one has come as a file. OSError when that is gone."""
    for laid in order.get("inputs") or ():
        with open(laid["path"], "rb") as stream:
            return stream.read()
    return base64.b64decode(order["item"])


def _setting(function: Json) -> bytes:
    names = ("python", "path", "cloudpickle")
    return json.dumps({name: function.get(name) or "" for name in names}).encode()


def _interpreter(function: Json, env: Dict[str, str]) -> str:
    """The caller's, if this host has it; else its own of the same version."""
    given = str(function.get("interpreter") or "")
    if given and os.access(given, os.X_OK):
        return given
    name = f"python{function['python']}"
    try:
        return spawn.find(name, env.get("PATH", os.defpath))
    except spawn.CannotStart:
        text = f"this host has neither {given} nor {name}, which the bag needs; install one"
        raise spawn.CannotStart("host_failed", None, text) from None
