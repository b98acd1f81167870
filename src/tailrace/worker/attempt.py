"""One attempt in the keeper: what is run, how it ended, and the result made of it."""

from __future__ import annotations

import os
import signal
from typing import Any, Dict, List, Optional, Tuple

from . import spawn
from .container import Container
from .engines import Box, CannotGive, Inside
from .masking import Mask
from .results import shortened
from .ring import Slot, read_between, read_tail, remove
from .room import ONE_CORE
from .script import words_of
from .staging import Refused, attempt_folder, collect, found_new
from .value import Unusable, value_of
from .written import Written

KEEP_OUTPUT = 65536
KEEP_AT_MOST = 8 << 20  # what is left of a file that was punched
# Of stdout and of stderr, as JSON: with the value, a result is then no more than 4 MiB in a call.
ENCODED_AT_MOST = 3 << 19
NO_SECRETS = (
    "the values of the bag's secrets are not with the server any more: "
    "`tailrace resume` with them in the environment gives them again"
)
_SIGNALLED = (128 + signal.SIGTERM, 128 + signal.SIGKILL)
Json = Dict[str, Any]
Ends = Tuple[int, int]  # of stdout and stderr


class Attempt:
    def __init__(self, order: Json, terms: Json, scratch: str) -> None:
        """`scratch` is where it has its folder if its files travel; else the terms name a place."""
        self.order, self.terms = order, terms
        self.id: int = order["attempt"]
        self.bag = str(order["bag"])
        self.needs: Dict[str, int] = order.get("needs") or terms.get("needs") or ONE_CORE
        self.limits: Dict[str, int] = order.get("limits") or terms.get("limits") or {}
        self.grace_s = float(terms.get("grace_s") or 0)
        self.folder: Optional[str] = None  # of its own, when it is staged
        travels = bool(terms.get("travels"))
        if terms.get("files") == "staged" and (travels or not order.get("last")):
            place = scratch if travels else terms["scratch"]
            self.folder = attempt_folder(place, self.id)
        self.inside = Inside(**terms["inside"]) if terms.get("inside") else None
        self._mask = Mask(terms["secrets"]) if terms.get("secrets") else None
        self.script = ""  # where its batch script lies
        self.passing: Optional[str] = None  # a folder of a batch script's own, gone with it
        self.slot: Optional[Slot] = None
        self.gpus: List[str] = []
        self.pid = 0
        self.started_us = 0
        self.run_us = 0
        self.cpu_us = 0
        self.memory = 0
        self.status: Optional[int] = None
        self.outcome: Optional[str] = None  # when the worker ended it
        self.limit: Optional[str] = None
        self.why = ""  # with the numbers, when it was over a limit
        self.kill_at: Optional[float] = None
        self.told = 0  # how often it was told to end its container
        self.progress_mark = (0, 0)  # time and size of its file when it was read last
        self.looks = 0
        self.written: Optional[Written] = None  # if its disk is limited
        self.look_at = 0.0

    # ---- before -------------------------------------------------------------------------------

    def program(self, env: Dict[str, str]) -> spawn.Program:
        """Also enters the folder it runs in: the keeper's folder is that of the newest task."""
        if "secrets" in self.terms and self.terms["secrets"] is None:
            raise spawn.CannotStart("host_failed", None, NO_SECRETS, of_bag=True)
        if self.order.get("shell") is not None:
            path, argv = spawn.SHELL, ["sh", "-c", self.order["shell"]]
        else:
            argv = self.order.get("argv") or []
            if self.script:
                argv = [*words_of(self.script, self.terms["script"]["text"]), *argv[1:]]
            if not argv:
                raise spawn.CannotStart("task_failed", 127, "an empty command")
            path = ""
        if self.folder is None:
            self.enter(self.terms.get("folder") or "/")
        if self.inside is None:
            path = path or spawn.find(argv[0], env.get("PATH", os.defpath))
        stage = None if self.folder is None else self.order.get("inputs") or []
        return spawn.Program(path, argv, env, self.folder or "", stage)

    def container(self, argv: List[str], given: Json, own: Json, worker: str) -> Container:
        """It sees of this machine its folder and what it is to write or read beside that. `worker`
        is by what its containers are known."""
        assert self.inside is not None
        beside = [os.path.dirname(given["TAILRACE_RESULT"]), self.passing or ""]
        beside += [os.path.dirname(self.script)] if self.script else []
        folder = self.folder or self.terms.get("folder") or "/"
        name = f"tailrace-{worker}-{self.id}"
        mounts = [path for path in beside if path]
        box = Box(name, worker, folder, mounts, given, argv, bool(self.gpus))
        try:
            return Container(self.inside, box, own)
        except CannotGive as error:
            raise spawn.CannotStart("task_failed", None, str(error)) from None

    def enter(self, folder: str) -> None:
        try:
            os.chdir(folder)
        except OSError as error:
            text = f"cannot enter the folder {folder}: {error.strerror}"
            raise spawn.CannotStart("host_failed", None, text, of_bag=True) from None

    # ---- after --------------------------------------------------------------------------------

    def note_end(self, status: int, usage: Any, now_us: int, asked_to_end: bool) -> None:
        self.status = status
        self.run_us = now_us - self.started_us
        self.cpu_us += int((usage.ru_utime + usage.ru_stime) * 1_000_000)
        if self.inside is None:  # else it is that of the engine
            self.memory = max(self.memory, usage.ru_maxrss * 1024)
        if asked_to_end and self.outcome is None and self._died_of_it(status):
            self.outcome = "preempted"  # the machine's TERM reached the task before ours

    def _died_of_it(self, status: int) -> bool:
        """An engine tells the signal that ended a container as its exit code."""
        by_engine = self.inside is not None and os.WIFEXITED(status)
        return os.WIFSIGNALED(status) or (by_engine and os.WEXITSTATUS(status) in _SIGNALLED)

    def failed(self, outcome: str, exit_code: Optional[int], error: str) -> Json:
        result = self._blank()
        result.update(outcome=outcome, exit=exit_code, error=shortened(error))
        return self.masked(result)

    def masked(self, told: Json) -> Json:
        """Without the values of its bag's secrets."""
        return told if self._mask is None else self._mask.apply(told)

    def not_started(self, error: Exception) -> Json:
        if isinstance(error, spawn.CannotStart):
            result = self.failed(error.outcome, error.exit_code, error.text)
            return dict(result, of_bag=True) if error.of_bag else result
        return self.failed("host_failed", None, f"cannot start it: {error!r}")

    def _blank(self) -> Json:
        return {
            "attempt": self.id, "outcome": "succeeded", "exit": None, "signal": None,
            "limit": self.limit, "run_us": self.run_us, "cpu_us": self.cpu_us,
            "memory": self.memory, "value": None, "stdout": "", "stderr": "",
            "stdout_bytes": 0, "stderr_bytes": 0, "outputs": [], "error": "",
        }  # fmt: skip

    def result(self) -> Json:
        """Reads what it printed and left, and makes its slot ready for the next."""
        assert self.slot is not None and self.status is not None
        slot = self.slot
        keep = min(int(self.terms.get("keep_output") or KEEP_OUTPUT), KEEP_AT_MOST)
        result = self._blank()
        out = slot.printed(slot.out, keep, ENCODED_AT_MOST)
        err = slot.printed(slot.err, keep, ENCODED_AT_MOST)
        result["stdout"], result["stdout_bytes"] = out.text, out.size
        result["stderr"], result["stderr_bytes"] = err.text, err.size
        together, begin = slot.together, slot.begins.get(slot.out, 0)
        try:
            self._note_beginning(slot)
            self._judge(result)
        except spawn.CannotStart as error:
            result.update(outcome=self.outcome or error.outcome, error=error.text)
            result.update(exit=error.exit_code, signal=None)
            if error.of_bag:
                result["of_bag"] = True
        self._add_value(result, begin + out.size if out.size else 0)
        if together and result["outcome"] == "succeeded":  # the same text twice
            result["stderr"], result["stderr_bytes"] = "", 0
        result["error"] = shortened(result["error"])
        slot.clear(out.size, err.size)
        return self.masked(result)

    # ---- of a call ----------------------------------------------------------------------------

    def printed(self, before: Ends, after: Ends) -> Json:
        """What stands between these places of its runner's stdout and stderr."""
        assert self.slot is not None
        keep = min(int(self.terms.get("keep_output") or KEEP_OUTPUT), KEEP_AT_MOST)
        found: Json = {}
        files = (("stdout", self.slot.out), ("stderr", self.slot.err))
        for (name, fd), begin, end in zip(files, before, after):
            part = read_between(fd, begin, end, keep, ENCODED_AT_MOST)
            found[name], found[f"{name}_bytes"] = part.text, part.size
        return found

    def cut_short(self, before: Ends) -> Json:
        """Its runner ended before the call returned, however well it ended."""
        assert self.slot is not None
        ends = (os.fstat(self.slot.out).st_size, os.fstat(self.slot.err).st_size)
        result = {**self._blank(), **self.printed(before, ends)}
        self._judge(result)
        if result["exit"] is not None and self.outcome is None:
            text = f"its process ended with exit {result['exit']} before the call returned"
            result.update(outcome="task_failed", error=text)
        return result

    def last_words(self) -> str:
        assert self.slot is not None
        text = read_tail(self.slot.err, os.fstat(self.slot.err).st_size, KEEP_OUTPUT)
        return text.rstrip().rpartition("\n")[2].strip()

    def _note_beginning(self, slot: Slot) -> None:
        name = self.order["argv"][0] if self.order.get("argv") else spawn.SHELL
        name = self.script or name
        began = spawn.read_note(slot, name)
        if began is not None:
            self.run_us -= began - self.started_us

    def _judge(self, result: Json) -> None:
        status = self.status or 0
        result["run_us"] = self.run_us
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            result.update(outcome="task_failed", signal=number, error=_ended_by(number))
        else:
            code = os.WEXITSTATUS(status)
            result.update(outcome="task_failed" if code else "succeeded", exit=code)
        if self.outcome is not None:
            result.update(outcome=self.outcome, limit=self.limit, error=self.why)
        elif result["outcome"] == "succeeded" and self.folder is not None:
            self._collect(result)

    def _collect(self, result: Json) -> None:
        folder, inputs = self.folder or "", self.order.get("inputs") or ()
        try:
            asked = found_new(folder, inputs) if self.order.get("last") else ()
            result["outputs"] = collect(folder, self.order.get("outputs") or asked)
        except Refused as error:
            result.update(outcome="task_failed", error=str(error))

    def _add_value(self, result: Json, out_size: int) -> None:
        assert self.slot is not None
        if result["outcome"] != "succeeded":
            remove(self.slot.result_path)
            return
        try:
            asked = self.terms.get("result") or {}
            found = value_of(asked, self.slot.result_path, self.slot.out, out_size)
            result["value"], result["error"] = found
        except Unusable as error:
            result["error"] = str(error)
            if error.promised:
                result.update(outcome="task_failed", outputs=[])


def _ended_by(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    guess = " (not by the worker: perhaps the host ran out of memory)" if number == 9 else ""
    return f"ended by {name}{guess}"
