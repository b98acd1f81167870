"""A host: its disk, its worker (the real agent), and the tasks it runs.

A crash of the worker loses all but the disk, and its tasks die with it. The agent's effects are
carried out one by one, and the worker may die before each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tailrace.worker import effects as fx
from tailrace.worker.agent import Agent

from .engine import SECOND
from .tasks import Doing, execute

if TYPE_CHECKING:
    from .world import World

Json = dict[str, Any]


class Machine:
    def __init__(
        self,
        world: World,
        host: str,
        pool: str,
        lease: int | None = None,
        ends_at: int | None = None,
    ) -> None:
        random = world.engine.random
        self.world = world
        self.host = host
        self.pool = world.oracle.pool_of[host] = pool
        self.lease = lease
        self.ends_at = ends_at
        self.paid_by = 0  # the bag of its lease
        self.capacity = {"cores": random.choice((1000, 2000, 4000)), "memory": 8_000_000}
        self.kind = random.choice(("x86", "x86", "arm"))
        self.unlucky = random.choice((0, 0, 0, 0.02, 0.3))
        self.cut_until = 0
        self.frozen_until = 0
        self.session = 0  # on disk
        self.spool: dict[int, Json] = {}  # on disk
        self.life = 0  # grows with each start and death of the worker: ties events to a process
        self.agent: Agent | None = None
        self.doing: dict[int, Doing] = {}
        self._alarm: int | None = None
        self._doors: dict[type, Callable[[Any], None]] = {
            fx.Call: self._call,
            fx.Abandon: self._abandon,
            fx.Start: self._start,
            fx.Kill: self._kill,
            fx.Spool: self._spool,
            fx.Forget: self._forget,
            fx.Exit: self._exit,
        }

    # life and death of the worker

    def boot(self) -> None:
        if self.agent is not None or self.host not in self.world.machines:
            return
        engine = self.world.engine
        self.life += 1
        self.session += 1
        engine.note(self.host, "boots, session", self.session, "spooled", list(self.spool))
        identity = {"host": self.host, "pool": self.pool, "lease": self.lease, "kind": self.kind}
        self.agent = self.world.parts.agent(
            {**identity, "key": f"the key of {self.host}".ljust(32), "about": {}},
            self.capacity,
            self.session,
            list(self.spool.values()),
            engine.now,
            ends_at=self.ends_at,
        )
        self._alarm = None
        self._input(self.life, self.agent.wake)

    def die(self, why: str) -> None:
        """The worker is gone, and with it all it ran; a machine that stays will start it again."""
        if self.agent is None:
            return
        self.world.engine.note(self.host, "dies:", why)
        self._end_of_process()
        self.world.engine.after(self.world.engine.one_in(3), self.boot)

    def remove(self, why: str) -> None:
        """The whole machine is gone, for ever."""
        self.world.engine.note(self.host, "is removed:", why)
        self._end_of_process()
        self.world.machines.pop(self.host, None)

    def _end_of_process(self) -> None:
        for attempt in list(self.doing):
            del self.doing[attempt]
            self.world.oracle.killed(attempt)
        self.agent = None
        self.world.network.send(self, self.world.server.caller_gone, self.host, self.life)
        self.life += 1

    def at_rest(self) -> bool:
        return self.agent is not None and not self.agent.held

    # inputs of the agent

    def _input(self, life: int, give: Callable[..., fx.Effects], *args: Any) -> None:
        """Events of an earlier process come to nothing; those of a frozen one wait for the thaw."""
        if life != self.life or self.agent is None:
            return
        engine = self.world.engine
        if engine.now < self.frozen_until:
            engine.at(self.frozen_until, self._input, life, give, *args)
            return
        for effect in give(*args, engine.now):
            if engine.chance(self.world.weather.worker_crash):
                self.die(f"before {type(effect).__name__}")
                return
            self._doors[type(effect)](effect)
            if self.life != life:
                return
        self._set_alarm()

    def _set_alarm(self) -> None:
        when = self.agent.next_wakeup() if self.agent else None
        if when is not None and when != self._alarm:
            self._alarm = when
            self.world.engine.at(when, self._ring, self.life, when)

    def _ring(self, life: int, when: int) -> None:
        if life == self.life and when == self._alarm and self.agent is not None:
            self._alarm = None
            self._input(life, self.agent.wake)

    def hear(self, life: int, body: bytes) -> None:
        """A reply, as bytes from the wire."""
        if life == self.life and self.agent is not None:
            reply = msgspec.json.decode(body)
            self._input(life, self.agent.replied, reply["seq"], reply)

    def hear_failure(self, life: int, seq: int, status: int | None) -> None:
        if life == self.life and self.agent is not None:
            retry = 1.0 if status == 503 else None
            self._input(life, self.agent.call_failed, seq, status, retry)

    # effects

    def _call(self, call: fx.Call) -> None:
        world = self.world
        body = msgspec.json.encode(call.body)
        held, results = call.body["held"], [one["attempt"] for one in call.body["results"]]
        world.engine.note(self.host, "calls", call.seq, "held", held, "results", results)
        sent = world.network.call(self, world.server.receive, self, self.life, call.seq, body)
        if not sent and world.engine.chance(0.5):  # else it hears nothing at all
            world.engine.after(SECOND, self.hear_failure, self.life, call.seq, None)

    def _abandon(self, one: fx.Abandon) -> None:
        server = self.world.server
        self.world.network.send(self, server.caller_gone, self.host, self.life, one.seq)

    def _start(self, start: fx.Start) -> None:
        world, order = self.world, start.order
        plan = world.owner.plan(order["bag"])
        doing = execute(world.engine.random, plan, order, self.unlucky)
        world.engine.note(self.host, "starts", start.attempt, "of", order["bag"], order["index"])
        world.oracle.started(start.attempt, order["bag"], order["index"], self.host)
        self.doing[start.attempt] = doing
        if order.get("outputs"):
            doing = self._staged(start, doing)
        world.engine.after(doing.lasts_us, self._end, self.life, start.attempt, doing)
        if world.engine.chance(0.5):
            self._tell_later(self.life, start.attempt, doing, world.engine.now)

    def _tell_later(self, life: int, attempt: int, doing: Doing, began: int) -> None:
        engine = self.world.engine
        wait = engine.between(1, max(doing.lasts_us, 2))
        engine.after(wait, self._tell, life, attempt, doing, began)

    def _tell(self, life: int, attempt: int, doing: Doing, began: int) -> None:
        """It says how far it is, or something that nobody understands."""
        if life != self.life or attempt not in self.doing or self.agent is None:
            return
        engine = self.world.engine
        ran = engine.now - began
        done = None if engine.chance(0.1) else min(ran / doing.lasts_us, 1.0)
        report = {"attempt": attempt, "done": done, "ran_us": ran, "text": "so far"}
        self.world.oracle.told(attempt, done)
        self._input(life, self.agent.progressed, [report])
        self._tell_later(life, attempt, doing, began)

    def _staged(self, start: fx.Start, doing: Doing) -> Doing:
        """It writes its outputs at once, but whole they are only at its end."""
        folder = Path(start.terms["scratch"], f"a{start.attempt}")
        folder.mkdir(parents=True)
        files = [folder / one["name"] for one in start.order["outputs"]]
        for file in files:
            file.write_text("half of ")
        return msgspec.structs.replace(doing, outputs=tuple(files))

    def _kill(self, kill: fx.Kill) -> None:
        doing = self.doing.get(kill.attempt)
        if doing is not None:
            ended = Doing(doing.lasts_us, "task_failed", -15)
            delay = self.world.engine.between(0, int(kill.grace_s * SECOND))
            self.world.engine.after(delay, self._end, self.life, kill.attempt, ended)

    def _end(self, life: int, attempt: int, doing: Doing) -> None:
        if life != self.life or attempt not in self.doing:
            return
        engine = self.world.engine
        if engine.now < self.frozen_until:
            engine.at(self.frozen_until, self._end, life, attempt, doing)
            return
        del self.doing[attempt]
        for file in doing.outputs if doing.outcome == "succeeded" else ():
            file.parent.mkdir(exist_ok=True)  # a server may have cleared it away as of no use
            file.write_text(str(attempt))
        engine.note(self.host, "ends", attempt, doing.outcome)
        self.world.oracle.ended(attempt, doing.outcome)
        if engine.chance(self.world.weather.worker_crash):
            self.die("before it saw the end of a task")
            return
        assert self.agent is not None
        self._input(life, self.agent.ended, attempt, result_of(attempt, doing))

    def _spool(self, one: fx.Spool) -> None:
        self.spool[one.result["attempt"]] = one.result

    def _forget(self, one: fx.Forget) -> None:
        self.world.engine.note(self.host, "forgets", list(one.attempts))
        for attempt in one.attempts:
            self.world.oracle.forgotten(attempt, self.spool[attempt]["outcome"], self.host)
            del self.spool[attempt]

    def _exit(self, one: fx.Exit) -> None:
        self.world.engine.note(self.host, "exits:", one.why)
        if self.lease is not None:
            self.world.provider.ended(self.lease, self)
        else:
            self.die("started again by hand")


def result_of(attempt: int, doing: Doing) -> Json:
    return {
        "attempt": attempt,
        "outcome": doing.outcome,
        "exit": doing.exit,
        "signal": None,
        "limit": doing.limit,
        "run_us": doing.lasts_us,
        "cpu_us": doing.lasts_us,
        "memory": 1000,
        "value": {"by": attempt},
        "stdout": "",
        "stderr": doing.stderr,
        "stdout_bytes": 0,
        "stderr_bytes": len(doing.stderr),
        "outputs": [{"name": file.name, "path": str(file), "size": 1} for file in doing.outputs],
        "error": "",
    }
