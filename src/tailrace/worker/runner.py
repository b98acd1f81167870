"""A warm runner: a Python process that makes one call after another, as long as its keeper lives.

The keeper sends this file as text to the interpreter that the bag names, so it stands alone: the
standard library, no relative imports. Orders and answers travel over one socket. Before it begins a
call it takes that call's **permit**, a number, from a pipe that the keeper can read as well:
whoever read a permit has the call, so the keeper can take back what has not begun, and of a dead
runner it is known which call it had begun. Each answer is written before the next permit is taken.

What a call prints goes to files shared with the keeper; the answer says up to where they are its.
"""

from __future__ import annotations

import base64
import gc
import importlib.util
import io
import json
import os
import pickle
import resource
import select
import struct
import sys
import time
import traceback
import types
import zipfile
from typing import Any, Callable, Dict, Tuple

# kind, permit, bag, attempt, index, bytes that follow
ORDER = struct.Struct("<cIQQQQ")
# kind, permit, begun and ended (µs, monotonic), CPU (µs), memory, ends of stdout and stderr, bytes
ANSWER = struct.Struct("<cIQQQQQQQ")
PERMIT = struct.Struct("<I")
SETTING, FUNCTION, FORGET, CALL = b"S", b"F", b"X", b"C"
HELLO, REFUSED, ANSWERED = b"H", b"R", b"A"

MOST_PICKLED = 44 << 20  # of a result; as base64 it must fit into one call to the server
KEPT, MOST_KEPT = 16, 1 << 16  # functions that items brought, and the bytes of each
SMALL = 1000  # bytes pickled: a value that may also be shown
SHOWN = (int, float, str, list, dict, tuple)
UNCHANGING = (type(None), bool, int, float, complex, str, bytes)  # defaults of a function
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class TooLarge(Exception):
    """A result that no call to the server could carry."""


class Runner:
    def __init__(self, channel: int, permits: int) -> None:
        self._orders = io.BufferedReader(io.FileIO(channel, "rb", closefd=False), 1 << 18)
        self._channel, self._permits = channel, permits
        self._poll = select.poll()
        self._poll.register(permits, select.POLLIN)
        self._functions: Dict[int, Callable[..., Any]] = {}
        self._pickled: Dict[int, bytes] = {}
        self._lately: Dict[bytes, Callable[..., Any]] = {}
        self._begun_us = self._cpu_ns = 0
        self._ring = os.path.dirname(os.environ.get("TAILRACE_RESULT", ""))

    # ---- orders -------------------------------------------------------------------------------

    def run(self) -> None:
        self._begin()
        while True:
            permit = self._take_permit()
            bag, attempt, index, item = self._order(permit)
            self._call(permit, bag, attempt, index, item)

    def _begin(self) -> None:
        _, _, setting = self._frame()
        wanted = json.loads(setting)
        have = "%d.%d" % sys.version_info[:2]
        if have != wanted["python"]:
            text = "%s is Python %s, the bag needs %s" % (sys.executable, have, wanted["python"])
            self._write(REFUSED, 0, text.encode())
            os._exit(0)
        sys.path[:] = [""] + [p for p in wanted["path"] if p and p not in sys.path] + sys.path[1:]
        if wanted["cloudpickle"]:
            _ship(base64.b64decode(wanted["cloudpickle"]))
        self._write(HELLO, 0, b"")

    def _take_permit(self) -> int:
        while True:
            try:
                data = os.read(self._permits, PERMIT.size)
            except BlockingIOError:
                self._poll.poll()
                continue
            if not data:
                os._exit(0)  # the keeper is gone
            return int(PERMIT.unpack(data)[0])

    def _order(self, permit: int) -> Tuple[int, int, int, bytes]:
        """The call of this permit. Those before it were taken back."""
        while True:
            kind, head, body = self._frame()
            number, bag, attempt, index = head
            if kind == FUNCTION:
                self._pickled[bag] = body
            elif kind == FORGET:
                self._pickled.pop(bag, None)
                self._functions.pop(bag, None)
            elif number == permit:
                return bag, attempt, index, body

    def _frame(self) -> Tuple[bytes, Tuple[int, int, int, int], bytes]:
        head = self._orders.read(ORDER.size)
        if len(head) < ORDER.size:
            os._exit(0)
        kind, permit, bag, attempt, index, size = ORDER.unpack(head)
        return kind, (permit, bag, attempt, index), self._orders.read(size) if size else b""

    # ---- a call -------------------------------------------------------------------------------

    def _call(self, permit: int, bag: int, attempt: int, index: int, item: bytes) -> None:
        os.environ["TAILRACE_ATTEMPT"], os.environ["TAILRACE_TASK"] = str(attempt), str(index)
        os.environ["TAILRACE_PROGRESS"] = "%s/%d.progress" % (self._ring, attempt)
        self._cpu_ns = time.process_time_ns()
        self._begun_us = time.monotonic_ns() // 1000
        try:
            answer = _told(self._made(bag, item))
        except BaseException as error:
            answer = _raised(error)
        _flush()
        self._write(ANSWERED, permit, answer.encode())

    def _made(self, bag: int, item: bytes) -> Any:
        if bag not in self._pickled:  # each item brings its own function
            pickled, arguments = pickle.loads(item)
            called = self._own(pickled)
            args, keywords = pickle.loads(arguments)
            return called(*args, **keywords)
        function = self._functions.get(bag)
        if function is None:
            function = pickle.loads(self._pickled[bag])
            if _holds_nothing(function):
                self._functions[bag] = function
        return function(*pickle.loads(item))

    def _own(self, pickled: bytes) -> Callable[..., Any]:
        """The same bytes are the same function: those used lately stay loaded."""
        function = self._lately.pop(pickled, None)
        if function is None:
            loaded: Callable[..., Any] = pickle.loads(pickled)
            if len(pickled) > MOST_KEPT or not _holds_nothing(loaded):
                return loaded
            function = loaded
        self._lately[pickled] = function
        if len(self._lately) > KEPT:
            del self._lately[next(iter(self._lately))]
        return function

    # ---- answers ------------------------------------------------------------------------------

    def _write(self, kind: bytes, permit: int, body: bytes) -> None:
        cpu_us = (time.process_time_ns() - self._cpu_ns) // 1000
        ends = (os.fstat(1).st_size, os.fstat(2).st_size)
        now = time.monotonic_ns() // 1000
        head = ANSWER.pack(kind, permit, self._begun_us, now, cpu_us, _memory(), *ends, len(body))
        data = memoryview(head + body)
        while data:
            data = data[os.write(self._channel, data) :]


def _holds_nothing(function: Callable[..., Any]) -> bool:
    """A call can leave nothing in it, so it may stay loaded. Whatever else is called (a method and
    its object, a partial, a closure) is unpickled for each call: none sees what another changed."""
    if not isinstance(function, types.FunctionType) or function.__closure__ or function.__dict__:
        return False
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return all(type(default) in UNCHANGING for default in defaults)


def _told(value: Any) -> str:
    """As the end of a JSON object."""
    pickled = _pickle(value)
    if len(pickled) > MOST_PICKLED:
        text = "the call returned %d bytes (pickled), at most %d are taken: "
        remedy = "let it write a file and return its name, or return less"
        raise TooLarge(text % (len(pickled), MOST_PICKLED) + remedy)
    text = base64.b64encode(pickled).decode()
    return '"outcome":"succeeded","exit":0,"pickled":"%s"%s' % (text, _shown(value, len(pickled)))


def _shown(value: Any, size: int) -> str:
    """Also as JSON, where that is short: for those who look at results without unpickling them."""
    if size > SMALL or value is None or not isinstance(value, SHOWN):
        return ""
    try:
        return ',"value":' + _JSON(value)
    except (TypeError, ValueError, RecursionError):
        return ""


def _raised(error: BaseException) -> str:
    """The exception for who called, its traceback for everybody."""
    shown = error.with_traceback(_ours_off(error.__traceback__))
    text = "".join(traceback.format_exception(type(error), shown, shown.__traceback__))
    sys.stderr.write(text)
    line = ("".join(traceback.format_exception_only(type(error), error)).strip() or "?")[:2000]
    if isinstance(error, TooLarge):  # ours: who called could not unpickle it
        line = str(error)
        return _failed(line, pickle.dumps((line, text), 4))
    try:
        pickled = _pickle((error, text))
        if len(pickled) > MOST_PICKLED:
            raise TooLarge("the exception is too large")
    except BaseException as unpicklable:
        why = "%s; it cannot be pickled: %r" % (line, unpicklable)
        pickled = pickle.dumps((why, text), 4)
    return _failed(line, pickled)


def _failed(line: str, pickled: bytes) -> str:
    encoded = base64.b64encode(pickled).decode()
    return '"outcome":"task_failed","exit":1,"error":%s,"pickled":"%s"' % (_JSON(line), encoded)


def _ours_off(trace: Any) -> Any:
    """Without the frames of this file, which tell a user nothing."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file_name__:
        trace = trace.tb_next
    return trace


__file_name__ = _ours_off.__code__.co_filename


def _pickle(value: Any) -> bytes:
    """What is defined in `__main__` was sent by value, and goes back by value."""
    try:
        pickled = pickle.dumps(value, 5)
        if b"__main__" not in pickled:
            return pickled
    except Exception:
        pass
    return bytes(importlib.import_module("cloudpickle").dumps(value, 5))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # a call has closed it, or put something else there


def _memory() -> int:
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024


class Shipped:
    """Imports the caller's cloudpickle: what one version has pickled, another may not read."""

    def __init__(self, zipped: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
            self._sources = {name: archive.read(name) for name in archive.namelist()}

    def is_installed(self) -> bool:
        found = importlib.util.find_spec("cloudpickle")
        folder = os.path.dirname((found and found.origin) or "")
        try:
            return all(_read(folder, name) == data for name, data in self._sources.items())
        except OSError:
            return False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if self._file(name) not in self._sources:
            return None
        package = name == "cloudpickle"
        return importlib.util.spec_from_loader(name, self, is_package=package)  # type: ignore

    def create_module(self, spec: Any) -> None:
        """An ordinary one will do."""

    def exec_module(self, module: Any) -> None:
        file = self._file(module.__name__)
        exec(compile(self._sources[file], "<caller's>/" + file, "exec"), module.__dict__)

    def _file(self, name: str) -> str:
        inner = name.replace(".", "/")
        return "cloudpickle/__init__.py" if name == "cloudpickle" else inner + ".py"


def _read(folder: str, name: str) -> bytes:
    with open(os.path.join(os.path.dirname(folder), name), "rb") as file:
        return file.read()


def _ship(zipped: bytes) -> None:
    shipped = Shipped(zipped)
    if not shipped.is_installed():
        sys.meta_path.insert(0, shipped)


def main(channel: int, permits: int) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    gc.freeze()
    Runner(channel, permits).run()
