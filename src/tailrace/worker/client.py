"""The worker's I/O: carries out what the agent decides, tells it what happened."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import Any, Dict, List, Optional

from . import batch, container, machine, owning, processor, tree, update
from .agent import EXIT_OUTDATED, EXIT_REFUSED, PROTOCOL, Agent
from .benchmark import Benchmark
from .cache import Cache
from .caller import Answer, Caller
from .courier import Courier, Delivered, Ready
from .effects import Abandon, Call, Effects, Forget, Kill, Spool, Start
from .folder import Folder
from .idle import CpuWatch
from .joining import BadJoin, Join, found
from .life import first
from .link import KeeperLink
from .linux import become_subreaper
from .outfitter import Fitted, Outfitter
from .owning import BadFile, Owning
from .refusal import BAD_WORDS
from .results import unstarted
from .spool import Spool as SpoolFile
from .surroundings import SPEED

# Short attempts handed to the keeper ahead of what fits, so that a slot that becomes free is filled
# without asking the client first, and results of short tasks travel together.
STANDBY = 64
KEEPER_DEATHS = 5
TROUBLES = 10  # that are told of one outage
Json = Dict[str, Any]
_encode = json.JSONEncoder(separators=(",", ":")).encode


def log(text: str) -> None:
    print(f"tailrace worker: {text}", file=sys.stderr, flush=True)


def microseconds() -> int:
    return time.monotonic_ns() // 1000


class Client:
    def __init__(self, options: Any, folder: Folder, join: Join, owns: Owning) -> None:
        self._options = options
        self._join = join
        become_subreaper()
        if folder.used_before():
            self._end_strays(folder)
        self._wakes, self._wake_fd = os.pipe()
        for fd in (self._wakes, self._wake_fd):
            os.set_blocking(fd, False)
        amounts = machine.capacity(folder.path, options.cores, options.memory, options.gpus)
        amounts.update(options.has)
        os.environ[SPEED] = f"{options.speed:g}"  # the keeper passes it on
        self._keeper = KeeperLink(folder.path, folder.lock_fd, amounts)
        self._caller = Caller(join, self._wake)
        self._spool = SpoolFile(folder.spool_path, log)
        cache = Cache(folder.cache_path, options.cache)
        self._courier = Courier(join, cache, folder.scratch_path, self._wake, folder.key())
        marked = os.path.join(folder.path, "ring", "setup")
        self._outfitter = Outfitter(folder.setups_path, marked, self._wake)
        cpu, now = processor.model(), microseconds()
        self._benchmark = Benchmark(folder.path, cpu, options.benchmark, self._wake, now)
        self._agent = self._make_agent(folder, amounts, owns, cpu)
        self._from_keeper: Dict[int, bytes] = {}  # lines of the results in hand, by identity
        self._deaths: List[float] = []
        self._in_outage = False
        self._said: List[str] = []  # of this outage
        self._blocked = False
        self._signals: List[int] = []
        self._cpu = CpuWatch(options.idle_cpu) if options.idle_cpu else None
        self._untied = False
        self.offered = ""  # the hash of a newer worker

    @property
    def join(self) -> Join:
        return self._join

    @property
    def is_rid_of_all(self) -> bool:
        """Every result is acknowledged."""
        return not self._agent.kept

    def _end_strays(self, folder: Folder) -> None:
        """Children of tasks that survived a worker, its guard and its keeper killed at once."""
        for pid, _ in tree.running_with("TAILRACE_RESULT", os.path.join(folder.path, "ring") + "/"):
            tree.send(pid, signal.SIGKILL)
        container.remove_all(folder.path)

    def _make_agent(self, folder: Folder, amounts: Dict[str, int], owns: Owning, cpu: str) -> Agent:
        options = self._options
        identity: Json = {
            "host": folder.host(),
            "key": folder.key(),
            "pool": options.pool or "",
            "lease": options.lease,
            "kind": machine.kind(),
            "about": machine.about(),
            "speed": options.speed,
            "owner": owns.owner,
            "cpu": cpu,
            "benchmark": self._benchmark.speed,
        }
        if owns.says:
            identity["says"] = owns.says
        now = microseconds()
        return Agent(
            identity,
            amounts,
            folder.next_session(),
            self._spool.results,
            now,
            idle_after_s=options.idle_exit,
            ends_at=_later(now, _lifetime_s(options.lifetime)),
            lease_ends_at=_later(now, _until_s(options.ends)),
            standby=STANDBY,
        )

    # ---- the loop -----------------------------------------------------------------------------

    def run(self) -> int:
        """Until the agent says so, or the one it is tied to is gone; the exit code."""
        self._catch_signals()
        self._register()
        if self._cpu is not None:
            self._keeper.ask_usage(self._cpu.every_s)
        agent = self._agent
        self._do(agent.wake(microseconds()))
        while agent.gone is None and not self._untied:
            self._turn()
            self._benchmark.note(agent.busy, microseconds())
        self._benchmark.end()
        self._keeper.close()
        if agent.gone is None:
            log("ended: the run it belongs to is gone")
            return 0
        log(f"ended: {agent.gone.why}")
        return agent.gone.code

    def _turn(self) -> None:
        try:
            self._blocked = not self._keeper.flush()
            ready = dict(self._wait())
            if self._wakes in ready:
                self._heed_wakes()
            if ready.get(self._keeper.fd, 0) & ~select.POLLOUT:
                self._hear_keeper()
        except EOFError:
            self._replace_keeper()
            return
        if self._options.tied in ready:
            self._untied = self._untied or _at_end(self._options.tied)
        self._do(self._agent.wake(microseconds()))

    def _register(self) -> None:
        self._poll = select.poll()
        self._poll.register(self._wakes, select.POLLIN)
        self._poll.register(self._keeper.fd, select.POLLIN)
        if self._options.tied is not None:
            self._poll.register(self._options.tied, select.POLLIN)

    def _wait(self) -> List[Any]:
        wanted = select.POLLIN | select.POLLOUT if self._blocked else select.POLLIN
        self._poll.modify(self._keeper.fd, wanted)
        due = first(self._agent.next_wakeup(), self._benchmark.due())
        if due is None:
            return self._poll.poll()
        return self._poll.poll(max(0, (due - microseconds() + 999) // 1000))

    def _wake(self) -> None:
        try:
            os.write(self._wake_fd, b"\0")
        except BlockingIOError:
            pass

    def _catch_signals(self) -> None:
        signal.set_wakeup_fd(self._wake_fd, warn_on_full_buffer=False)
        numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
        for number in numbers:
            signal.signal(number, lambda number, _frame: self._signals.append(number))

    # ---- what happened ------------------------------------------------------------------------

    def _heed_wakes(self) -> None:
        try:
            os.read(self._wakes, 4096)
        except BlockingIOError:
            pass
        for answer in self._caller.take():
            self._hear_answer(answer)
        self._receive(self._courier.take())
        self._receive(self._outfitter.take())
        speed = self._benchmark.take()
        if speed is not None:
            self._agent.measured(speed)
        signals, self._signals = self._signals, []
        for number in signals:
            tied = self._options.tied is not None
            if number == signal.SIGTERM or (number == signal.SIGINT and not tied):
                self._do(self._agent.stopping(signal.Signals(number).name, microseconds()))

    def _hear_answer(self, answer: Answer) -> None:
        now = microseconds()
        if answer.reply is not None:
            if self._in_outage:
                self._in_outage = False
                self._said.clear()
                log("the server answers again")
            self._courier.take_along(answer.reply.get("blobs") or {})
            self._obey(answer.seq, answer.reply, now)
            if self._options.tied is not None and self._options.join is not None:
                self._look_for_the_server()  # it may show another certificate to the next caller
            return
        newer, after, why = self._is_newer(answer), answer.retry_after_s, answer.error
        effects = self._agent.call_failed(answer.seq, answer.status, after, now, why, newer)
        if self._agent.gone is None:
            self._tell_of(answer, newer)
        self._look_for_the_server()
        self._do(effects)

    def _tell_of(self, answer: Answer, newer: Optional[bool]) -> None:
        """Of a call that failed, and will be made again."""
        if newer is False and not self._in_outage:
            self._in_outage = True
            ours = f"the server speaks protocol {answer.speaks}, this worker {PROTOCOL}"
            log(f"{ours}: the server is older; trying again now and then")
        elif newer is not False and answer.status != BAD_WORDS:
            self._in_outage = True
            self._complain(answer)

    def _obey(self, seq: int, reply: Json, now: int) -> None:
        """Whom it serves it says when it was taken: many wait for that line."""
        agent, served = self._agent, self._agent.was_taken
        effects = agent.replied(seq, reply, now)
        if agent.was_taken and not served:
            log(f"{agent.identity['host']} session {agent.session} serves {self._join.url}")
        self._do(effects)

    def _complain(self, answer: Answer) -> None:
        """Each trouble once: one that was away may come back as somebody else."""
        what = f"status {answer.status} " if answer.status else ""
        if answer.error not in self._said and len(self._said) < TROUBLES:
            self._said.append(answer.error)
            log(f"no answer from the server, trying again: {what}{answer.error}")

    def _is_newer(self, answer: Answer) -> Optional[bool]:
        """Whether the server is. Of no use where its worker cannot take over from this one."""
        if answer.speaks is None or answer.speaks < PROTOCOL:
            return None if answer.speaks is None else False
        self.offered = answer.offered
        return True if update.is_possible(answer.offered) else None

    def _look_for_the_server(self) -> None:
        """It may be back at another address: on a home that is shared, its file says where."""
        try:
            join = found(self._options.server, self._options.join)
        except BadJoin:
            return
        if join != self._join:
            same = join.url == self._join.url
            log("the join text has changed" if same else f"the server is now {join.url}")
            self._join = join
            self._caller.turn_to(join)
            self._courier.turn_to(join)

    def _hear_keeper(self) -> None:
        ended = []
        for line in self._keeper.read():
            message = json.loads(line)
            if "attempt" in message:
                self._from_keeper[id(message)] = line
                ended += self._courier.ended(message)
            elif "progress" in message:
                self._do(self._agent.progressed(message["progress"], microseconds()))
            elif self._cpu is not None and self._cpu.used(message["used_us"], microseconds()):
                why = f"tasks used next to no CPU for {self._options.idle_cpu:g} s"
                self._do(self._agent.stopping(why, microseconds()))
        self._receive(ended)
        self._from_keeper.clear()

    def _receive(self, arrivals: List[Any]) -> None:
        """Files have come, or a setup is made: attempts can begin, or have ended."""
        for one in [each for each in arrivals if isinstance(each, Fitted)]:
            arrivals = arrivals + self._begin(one.order, one.terms)
        results = [one.result for one in arrivals if isinstance(one, Delivered)]
        for one in arrivals:
            if isinstance(one, Ready):
                self._keeper.start(one.order, one.terms)
        if results:
            ended = [(result["attempt"], result) for result in results]
            self._do(self._agent.ended_many(ended, microseconds()))

    def _hear_last_words(self) -> None:
        """Results that it had sent count."""
        try:
            while True:
                self._hear_keeper()
        except EOFError:
            pass

    def _replace_keeper(self) -> None:
        """Tasks it had begun may have killed it; the others are handed back."""
        log("the keeper of the tasks died; those it had begun are reported as host_failed")
        self._hear_last_words()
        begun = self._keeper.begun()
        self._poll.unregister(self._keeper.fd)
        self._keeper.replace()
        self._poll.register(self._keeper.fd, select.POLLIN)
        if self._cpu is not None:
            self._keeper.ask_usage(self._cpu.every_s)
        now = time.monotonic()
        self._deaths = [*(at for at in self._deaths if now - at < 10), now]
        waits = (self._courier.carries, self._outfitter.holds)
        running = [each for each in self._agent.running if not any(w(each) for w in waits)]
        lost = [self._courier.ended(_without_keeper(each, each in begun)) for each in running]
        self._receive([one for some in lost for one in some])
        if len(self._deaths) >= KEEPER_DEATHS:
            self._do(self._agent.stopping("the keeper dies again and again", microseconds()))

    # ---- what to do ---------------------------------------------------------------------------

    def _do(self, effects: Effects) -> None:
        """Results go to disk first, all in one write."""
        kept = [effect.result for effect in effects if isinstance(effect, Spool)]
        if kept:
            lines = self._from_keeper
            self._spool.keep(
                {
                    result["attempt"]: lines.get(id(result)) or _encode(result).encode()
                    for result in kept
                }
            )
        arrivals: List[Any] = []
        for effect in effects:
            if isinstance(effect, Start):
                arrivals += self._start(effect)
            elif isinstance(effect, Call):
                self._call(effect)
            elif isinstance(effect, Abandon):
                self._caller.abandon(effect.seq)
            elif isinstance(effect, Forget):
                self._spool.forget(effect.attempts)
            elif isinstance(effect, Kill):
                arrivals += self._kill(effect)
        self._receive(arrivals)  # what follows from these comes after these

    def _start(self, effect: Start) -> List[Any]:
        if effect.terms.get("setup"):
            return self._outfitter.fit(effect.order, effect.terms)
        return self._begin(effect.order, effect.terms)

    def _begin(self, order: Json, terms: Json) -> List[Any]:
        if terms.get("travels"):
            return self._courier.fetch(order, terms)
        self._keeper.start(order, terms)
        return []

    def _kill(self, effect: Kill) -> List[Any]:
        if self._outfitter.holds(effect.attempt):
            return self._outfitter.stop(effect.attempt)
        if self._courier.carries(effect.attempt):
            return self._courier.stop(effect.attempt, effect.outcome)
        self._keeper.kill(effect.attempt, effect.grace_s, effect.outcome)
        return []

    def _call(self, effect: Call) -> None:
        """Results are in the spool as text already."""
        results = [self._spool.lines[result["attempt"]] for result in effect.body["results"]]
        head = _encode({**effect.body, "results": []})
        before, after = head.encode().split(b'"results":[]', 1)
        body = b"".join([before, b'"results":[', b",".join(results), b"]", after])
        self._caller.call(effect.seq, body, effect.body["wait_s"])


def _without_keeper(attempt: int, begun: bool) -> Json:
    if begun:
        return unstarted(attempt, "host_failed", "the worker's keeper died")
    return unstarted(attempt, "cancelled", "not started: the worker's keeper died")


def _lifetime_s(given: Optional[float]) -> Optional[float]:
    """As it was said, or as the batch system has it: whichever comes first."""
    known = [length for length in (given, batch.left_s()) if length is not None]
    return min(known) if known else None


def _until_s(moment: Optional[float]) -> Optional[float]:
    return None if moment is None else max(moment - time.time(), 0.0)


def _later(now: int, seconds: Optional[float]) -> Optional[int]:
    return None if seconds is None else now + int(seconds * 1_000_000)


def _at_end(fd: int) -> bool:
    try:
        return not os.read(fd, 4096)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _outdated(client: Client, args: List[str], life_s: Optional[float], lived_s: float) -> int:
    """The last `--lifetime` is the one that counts."""
    left = [] if life_s is None else ["--lifetime", f"{max(life_s - lived_s, 0.0):g}"]
    update.take_over(lambda: client.join, client.offered, [*args, *left], log)
    return EXIT_REFUSED


def main(args: Optional[List[str]] = None) -> int:
    from . import options as command
    from .folder import FolderBusy, default

    args, began = sys.argv[1:] if args is None else args, time.monotonic()
    chosen = command.parse(args)
    try:
        join = found(chosen.server, chosen.join)
        owns = owning.found(chosen.conf, chosen.owner)
        folder = Folder(chosen.folder or default(join, chosen.name))
        client = Client(chosen, folder, join, owns)
        code = client.run()
        if code == EXIT_OUTDATED:
            return _outdated(client, args, chosen.lifetime, time.monotonic() - began)
        if chosen.name and not chosen.folder and client.is_rid_of_all:
            folder.remove()  # no other machine will have this name
        return code
    except BadFile as error:
        log(str(error))
        return EXIT_REFUSED
    except (BadJoin, FolderBusy, OSError) as error:
        log(str(error))
        return 1
