"""The parent of the tasks: a small process of its own between the client and what it runs.

It starts, watches, limits and reaps tasks and sends their results to the client. Whatever happens,
no task outlives its worker:

- the client dies: the pipe ends, the keeper kills every process below it (orphans become its
  children, because it is a child subreaper, also those that called setsid) and exits;
- the keeper dies: the tasks become children of its guard, which kills them, as does the client;
- both die in the same instant: the guard kills the tasks (see `guard`);
- the guard dies: the keeper does as when the client dies.

When a task's first process has ended, what it left behind is killed. Those in its process group are
found by one call. Others are orphans, found by looking through /proc: at once when the attempt has
a folder of its own (its outputs must not change any more), otherwise within milliseconds, at most a
tenth of the keeper's time; until then the files it wrote to are not used again.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections import deque
from typing import Any, Deque, Dict, List, Mapping, Optional

from . import container, openfiles, ring, script, spawn, tree
from .attempt import Attempt
from .begun import Begun
from .limits import Limits
from .linux import become_subreaper
from .orphans import Orphans
from .pipe import Lines, Outbox
from .printing import redirect
from .progress import Onlooker
from .results import unstarted
from .ring import Ring, remove
from .room import Room
from .runners import Parts, Runners, is_call
from .surroundings import Surroundings

GATHER_S = 0.01
SHORT_US = 100_000
SHORT_IN_A_ROW = 20
MANY_PASSING = 1000  # folders: then those that are gone are forgotten
Json = Dict[str, Any]


class Keeper:
    def __init__(self, fd: int, guarded: int, folder: str, capacity: Mapping[str, int]) -> None:
        self._lines, self._outbox = Lines(fd), Outbox(fd)
        self._room = Room(capacity)
        self._around = Surroundings(capacity)
        self._ring = Ring(os.path.join(folder, "ring"))
        self._scripts = script.Scripts(os.path.join(folder, "scripts"))
        self._passing: List[str] = []  # folders of attempts on their way out
        self._begun = Begun(os.path.join(folder, "begun"))
        self._folder = folder
        self._scratch = os.path.join(folder, "scratch")
        self._terms: Dict[str, Json] = {}
        self._short: Dict[str, int] = {}  # short attempts of a bag in a row
        self._waiting: Deque[Attempt] = deque()
        self._by_pid: Dict[int, Attempt] = {}
        self._by_id: Dict[int, Attempt] = {}
        self._births = tree.Births()
        self._tree = tree.Tree(os.getpid())
        self._orphans = Orphans(self._tree, self._births)
        self._limits = Limits(self._tree)
        self._onlooker = Onlooker(os.path.join(folder, "ring"), self._tree)
        self._asked_to_end = False  # by a SIGTERM to all processes of this machine or job
        self._send_by: Optional[float] = None
        self._usage_every = 0.0
        self._usage_at = 0.0
        self._used_us = 0
        self._signals = self._catch_signals()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._poll.register(self._signals, select.POLLIN)
        self._guarded = guarded
        self._poll.register(guarded, select.POLLIN)
        self._runners = Runners(self._parts())

    def _parts(self) -> Parts:
        return Parts(
            self._room, self._around, self._ring, self._begun, self._limits, self._orphans,
            self._births, self._outbox, self._poll, self._by_pid, self._by_id,
        )  # fmt: skip

    def _catch_signals(self) -> int:
        read, write = os.pipe()
        for fd in (read, write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in spawn.SURVIVED:
            signal.signal(number, self._note_signal)
        _stop_ignoring()
        return read

    def _note_signal(self, number: int, _frame: Any) -> None:
        self._asked_to_end = self._asked_to_end or number == signal.SIGTERM

    # ---- the loop -----------------------------------------------------------------------------

    def run(self) -> None:
        """Until the client or the guard is gone."""
        blocked = False
        while True:
            self._wait(blocked)
            self._reap()
            self._sweep()
            self._watch()
            self._start_waiting()
            self._runners.flush()
            if self._time_to_send():
                blocked = not self._outbox.flush()

    def _time_to_send(self) -> bool:
        """While there is something to start next, results of short tasks travel together."""
        if not self._waiting or not self._outbox.filled:
            self._send_by = None
            return True
        now = time.monotonic()
        if self._send_by is None:
            self._send_by = now + GATHER_S
        elif now >= self._send_by:
            self._send_by = None
            return True
        return False

    def _wait(self, blocked: bool) -> None:
        fd = self._lines.fd
        if blocked:
            self._poll.modify(fd, select.POLLIN | select.POLLOUT)
        for ready, event in self._poll.poll(self._patience_ms()):
            if ready == self._signals:
                _drain(ready)
            elif ready in self._runners.by_fd:
                self._runners.hear(ready)
            elif ready == self._guarded:
                raise EOFError
            elif ready == fd and event & ~select.POLLOUT:
                for line in self._lines.read():
                    self._obey(json.loads(line))
        if blocked:
            self._poll.modify(fd, select.POLLIN)

    def _patience_ms(self) -> Optional[int]:
        due = [self._send_by, self._limits.due, self._orphans.due, self._runners.due()]
        if self._usage_every and self._by_pid:
            due.append(self._usage_at)
        times = [time_ for time_ in due if time_ is not None]
        if not times:
            return None
        return max(0, int((min(times) - time.monotonic()) * 1000) + 1)

    def _obey(self, message: Json) -> None:
        """`terms` of bags come before the first `start` that needs them."""
        if "start" in message:
            self._take(message["start"])
        elif "terms" in message:
            self._terms[message["bag"]] = message["terms"]
            self._around.forget_bags()
        elif "forget" in message:
            self._terms.pop(message["forget"], None)
        elif "kill" in message:
            self._kill(message["kill"], message["grace_s"], message["outcome"])
        elif "usage_s" in message:
            self._usage_every = float(message["usage_s"])

    def _take(self, order: Json) -> None:
        """An order that makes no sense ends one attempt, not the keeper and all it runs."""
        try:
            terms = self._terms.get(str(order["bag"]), {})
            self._waiting.append(Attempt(order, terms, self._scratch))
        except Exception as error:
            text = f"the order cannot be understood: {error!r}"
            self._outbox.put(unstarted(order["attempt"], "host_failed", text))

    # ---- starting -----------------------------------------------------------------------------

    def _start_waiting(self) -> None:
        """In order, as they fit: the client sends a few ahead, so that a slot is filled at once."""
        while self._waiting:
            attempt = self._waiting[0]
            if is_call(attempt):
                if not self._runners.take(attempt):
                    return
                self._waiting.popleft()
                continue
            if not self._room.fits(attempt.needs):
                return
            self._waiting.popleft()
            self._start(attempt)

    def _start(self, attempt: Attempt) -> None:
        try:
            attempt.slot = slot = self._ring.take()
        except OSError as error:
            self._outbox.put(attempt.failed("host_failed", None, f"cannot write: {error}"))
            return
        attempt.gpus = self._around.take_gpus(attempt.needs)
        try:
            env = self._around.environment(
                attempt.order, attempt.terms, attempt.needs, attempt.gpus
            )
            env["TAILRACE_RESULT"] = slot.result_path
            env["TAILRACE_PROGRESS"] = self._onlooker.path_of(attempt.id)
            if attempt.terms.get("script") and not attempt.order.get("last"):
                attempt.script = self._scripts.path_of(attempt.terms["script"])
                attempt.passing = script.surround(env, attempt.script)
            program = self._contained(attempt, attempt.program(env))
            if attempt.order.get("printed"):
                redirect(slot, attempt.order["printed"])
            attempt.pid = self._launch(attempt, program)
        except Exception as error:
            self._around.give_back_gpus(attempt.gpus, attempt.needs)
            slot.give_back_lent()
            self._ring.give_back(slot)
            self._passed(attempt)
            self._outbox.put(attempt.not_started(error))
            return
        self._begun.note(slot.number, attempt.id)
        self._births.own += 1
        self._room.take(attempt.needs)
        self._by_pid[attempt.pid] = attempt
        self._by_id[attempt.id] = attempt
        self._limits.begin(attempt)

    def _contained(self, attempt: Attempt, program: spawn.Program) -> spawn.Program:
        if attempt.inside is None:
            return program
        container.note_engine(self._folder, attempt.inside)
        given = self._around.handed_on(attempt.order, attempt.terms, program.env)
        own = self._around.of_engine(attempt.terms)
        made = attempt.container(program.argv, given, own, container.owner(self._folder))
        return program._replace(container=made)

    def _launch(self, attempt: Attempt, program: spawn.Program) -> int:
        assert attempt.slot is not None
        attempt.started_us = time.monotonic_ns() // 1000
        short = self._seems_short(attempt.bag, attempt.started_us)
        plain = program.stage is None and program.container is None
        if short and plain and spawn.can_spawn() and not openfiles.raised():
            return spawn.spawn(program, attempt.slot)
        return spawn.fork(program, attempt.slot, self._tree.root)

    def _seems_short(self, bag: str, now_us: int) -> bool:
        """Those that run count as well as those that ended: the first long one ends the guess."""
        if self._short.get(bag, 0) < SHORT_IN_A_ROW:
            return False
        for each in self._by_pid.values():
            if each.bag == bag and now_us - each.started_us >= SHORT_US:
                self._short[bag] = 0
                return False
        return True

    # ---- ending -------------------------------------------------------------------------------

    def _kill(self, number: int, grace_s: float, outcome: str) -> None:
        """One that still waits is handed back, whatever the others are ended as."""
        started = self._by_id.get(number)
        if started is not None and is_call(started) and self._runners.recall(started):
            self._outbox.put(started.failed("cancelled", None, "not started"))
            return
        if started is not None:
            self._limits.end(started, outcome, None, grace_s)
            return
        for attempt in self._waiting:
            if attempt.id == number:
                self._waiting.remove(attempt)
                self._outbox.put(attempt.failed("cancelled", None, "not started"))
                return

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._runners.by_pid:
                ended = (pid, status, usage, self._asked_to_end)
                self._used_us += self._runners.died(*ended)
                continue
            attempt = self._by_pid.pop(pid, None)
            if attempt is not None:
                self._first_process_ended(attempt, status, usage)
            else:
                self._orphans.reaped(pid)

    def _first_process_ended(self, attempt: Attempt, status: int, usage: Any) -> None:
        attempt.note_end(status, usage, time.monotonic_ns() // 1000, self._asked_to_end)
        leftovers = tree.send_group(attempt.pid, signal.SIGKILL)
        self._orphans.ended(attempt, leftovers)
        if not leftovers and attempt.folder is None:
            self._finish(attempt)

    def _sweep(self) -> None:
        """Kill what ended attempts left; finish those that waited for it."""
        for attempt in self._orphans.sweep(self._by_pid):
            if attempt.id in self._by_id:
                self._finish(attempt)
        for slot in self._orphans.clean_slots():
            self._ring.give_back(slot)

    def _finish(self, attempt: Attempt) -> None:
        """The result leaves, the room is free."""
        del self._by_id[attempt.id]
        self._room.give_back(attempt.needs)
        self._around.give_back_gpus(attempt.gpus, attempt.needs)
        result = self._result_of(attempt)
        self._used_us += result["cpu_us"]
        self._note_length(attempt.bag, result)
        self._outbox.put(result)
        if attempt.terms.get("secrets"):
            remove(self._onlooker.path_of(attempt.id))  # who knows what it wrote there
        if attempt.folder is not None and not (
            result["outcome"] == "succeeded" and result["outputs"]
        ):
            self._remove(attempt.folder)  # otherwise who takes the outputs does
        self._passed(attempt)

    def _result_of(self, attempt: Attempt) -> Json:
        """Its slot can be used again, unless what the task left could not even be read."""
        try:
            result = attempt.result()
        except Exception as error:
            assert attempt.slot is not None
            attempt.slot.close()
            return attempt.failed("host_failed", None, f"cannot read what the task left: {error!r}")
        self._orphans.keep_slot(attempt)
        return result

    def _note_length(self, bag: str, result: Json) -> None:
        short = result["run_us"] < SHORT_US
        self._short[bag] = min(self._short.get(bag, 0) + 1, SHORT_IN_A_ROW) if short else 0

    def _passed(self, attempt: Attempt) -> None:
        """The folder of a batch script's own goes with it: mostly at once, as it is empty."""
        if attempt.passing is None:
            return
        try:
            os.rmdir(attempt.passing)
        except OSError:
            self._remove(attempt.passing)

    def clear_up(self) -> None:
        """What was being removed when all below was ended."""
        for folder in self._passing:
            ring.remove(folder)
        container.remove_all(self._folder)

    def _remove(self, folder: str) -> None:
        self._passing.append(folder)
        if len(self._passing) > MANY_PASSING:
            self._passing = [*filter(os.path.exists, self._passing)]
        try:
            argv = ["rm", "-rf", "--", folder]
            pid = os.spawnv(os.P_NOWAIT, "/bin/rm", argv)
            self._orphans.spared.add(pid)
            self._births.own += 1
        except OSError:
            pass

    # ---- watching -----------------------------------------------------------------------------

    def _watch(self) -> None:
        self._limits.look(self._by_pid.values(), self._orphans.of)
        told = self._onlooker.look(self._by_id, self._orphans.of)
        if told:
            self._outbox.put({"progress": told})
        self._runners.watch()
        if self._runners.back:
            self._waiting.extendleft(reversed(self._runners.back))
            self._runners.back = []
        if self._usage_every and self._by_pid and time.monotonic() >= self._usage_at:
            self._usage_at = time.monotonic() + self._usage_every
            processes = {**dict.fromkeys(self._by_pid), **dict.fromkeys(self._runners.by_pid)}
            running = tree.below(processes, self._tree.look())
            self._outbox.put({"used_us": self._used_us + sum(map(tree.cpu_us, running))})


def _stop_ignoring() -> None:
    """What was ignored where this worker was started is not so for its tasks.

    A shell's script ignores INT and QUIT for what it starts with `&`, and `execve` hands that on.
    """
    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _drain(fd: int) -> None:
    try:
        while len(os.read(fd, 4096)) == 4096:
            pass
    except BlockingIOError:
        pass


def main(fd: int, lock_fd: int, guarded: int, folder: str, capacity: Mapping[str, int]) -> None:
    """The whole life of a keeper; `fd` is the pipe to its client, `guarded` ends with its guard. It
    holds the lock of the folder as long as it lives; its tasks inherit none of these."""
    import gc

    gc.disable()  # nothing here makes circles, and a collection would copy pages shared with tasks
    become_subreaper()
    os.set_blocking(fd, False)
    os.set_inheritable(fd, False)
    os.set_inheritable(lock_fd, False)
    openfiles.allow(2 * capacity.get("cores", 0) // 1000 + 300)
    code = 0
    keeper: Optional[Keeper] = None
    try:
        keeper = Keeper(fd, guarded, folder, capacity)
        keeper.run()
    except EOFError:
        pass
    except BaseException as error:  # the tasks must not outlive it, whatever happened
        code = 1
        print(f"tailrace worker: the keeper failed: {error!r}", file=sys.stderr, flush=True)
    finally:
        tree.kill_all_below(patience_s=10.0)
        if keeper is not None:
            keeper.clear_up()
        os._exit(code)
