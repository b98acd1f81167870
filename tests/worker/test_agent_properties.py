"""Whatever happens in whatever order, the agent keeps its promises."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tailrace.worker.agent import Agent
from tailrace.worker.effects import Abandon, Call, Effects, Exit, Forget, Kill, Spool, Start
from tailrace.worker.results import unstarted

CORES = 3
BAGS = {"1": {"needs": {"cores": 1000}, "grace_s": 1}, "2": {"needs": {"cores": 2000}}}
numbers = st.integers(1, 30)


class AgentMachine(RuleBasedStateMachine):
    """A client and a server that do anything at all, also what a sane server would not."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.session = 0
        self.disk: dict[int, dict[str, Any]] = {}

    @initialize(standby=st.sampled_from([0, 5]))
    def begin(self, standby: int) -> None:
        self.standby = standby
        self.restart()

    def restart(self) -> None:
        self.session += 1
        self.ever_started: set[int] = set()
        self.ended: set[int] = set()
        self.in_hand: int | None = None
        self.seqs: list[int] = []
        self.acked: set[int] = set()
        self.gone = False
        identity = {"host": "h", "pool": "p", "lease": None, "kind": "k", "about": {}}
        self.agent = Agent(identity, {"cores": CORES * 1000}, self.session,
                           list(self.disk.values()), self.now, idle_after_s=600,
                           standby=self.standby)  # fmt: skip
        self.carry_out(self.agent.wake(self.now))

    # ---- what happens -------------------------------------------------------------------------

    @rule(micro=st.sampled_from([0, 1, 1000, 30_000, 250_000, 2_000_000, 60_000_000]))
    def time_passes(self, micro: int) -> None:
        self.now += micro
        self.carry_out(self.agent.wake(self.now))

    @rule()
    def time_comes(self) -> None:
        due = self.agent.next_wakeup()
        if due is not None:
            self.now = max(self.now, due)
            self.carry_out(self.agent.wake(self.now))

    @rule(start=st.lists(numbers, max_size=12), drop=st.lists(numbers, max_size=3),
          ack=st.lists(numbers, max_size=3), ack_sent=st.booleans(), old=st.booleans(),
          stop=st.sampled_from([None] * 20 + ["enough"]))  # fmt: skip
    def reply(self, start: list[int], drop: list[int], ack: list[int], ack_sent: bool, old: bool,
              stop: str | None) -> None:  # fmt: skip
        if not self.seqs:
            return
        seq = self.seqs[0] if old else self.seqs[-1]
        obeyed = seq == self.in_hand
        # A server never sends again what it acknowledged; all else it may.
        orders = [{"attempt": n, "bag": 1 + n % 2, "index": n, "argv": ["x"]}
                  for n in start if n not in self.acked or not obeyed]  # fmt: skip
        acks = [*ack, *(self.sent[seq] if ack_sent else ())]
        if obeyed:
            self.in_hand = None
            self.acked.update(n for n in acks if n in self.disk)
            orders = [order for order in orders if order["attempt"] not in self.acked]
        body = {"seq": seq, "start": orders, "bags": BAGS, "drop": drop, "ack": acks, "stop": stop}
        effects = self.agent.replied(seq, body, self.now)
        assert obeyed or effects == []
        self.carry_out(effects)

    @rule(status=st.sampled_from([None, 400, 413, 500, 503]), retry=st.sampled_from([None, 1.0]))
    def call_fails(self, status: int | None, retry: float | None) -> None:
        if self.in_hand is not None:
            seq, self.in_hand = self.in_hand, None
            self.carry_out(self.agent.call_failed(seq, status, retry, self.now))

    @precondition(lambda self: self.agent.running)
    @rule(data=st.data(), outcome=st.sampled_from(["succeeded", "task_failed", "over_limit"]))
    def process_ends(self, data: st.DataObject, outcome: str) -> None:
        attempt = data.draw(st.sampled_from(sorted(self.agent.running)))
        self.ended.add(attempt)
        result = unstarted(attempt, outcome, "") | {
            "stdout": "x" * (700_000 if attempt > 20 else 1)
        }
        self.carry_out(self.agent.ended(attempt, result, self.now))

    @rule(attempts=st.lists(numbers, max_size=5), done=st.floats(0, 1))
    def tasks_tell(self, attempts: list[int], done: float) -> None:
        reports = [{"attempt": n, "done": done, "ran_us": self.now} for n in attempts]
        self.carry_out(self.agent.progressed(reports, self.now))

    @rule()
    def crash(self) -> None:
        """What is on disk stays; a sane server sends nothing of the old session again."""
        self.restart()

    @precondition(lambda self: self.now > 100_000_000)
    @rule()
    def told_to_stop(self) -> None:
        self.carry_out(self.agent.stopping("SIGTERM", self.now))

    # ---- what must hold -----------------------------------------------------------------------

    def carry_out(self, effects: Effects) -> None:
        for effect in effects:
            assert not self.gone, "nothing comes after the end"
            getattr(self, f"on_{type(effect).__name__.lower()}")(effect)

    def on_call(self, call: Call) -> None:
        assert self.in_hand is None, "one call in hand"
        assert not self.seqs or call.seq == self.seqs[-1] + 1
        results = [result["attempt"] for result in call.body["results"]]
        assert set(results) <= set(self.disk), "only what is on disk is sent"
        held = call.body["held"]
        assert len({*results, *held}) == len(results) + len(held)
        assert {*results, *held} == set(self.agent.held)
        assert len(results) <= 1 or sum(len(r["stdout"]) for r in call.body["results"]) <= 4 << 20
        told = [report["attempt"] for report in call.body["progress"]]
        assert set(told) <= set(self.agent.running), "of what runs alone"
        self.in_hand = call.seq
        self.seqs.append(call.seq)
        self.sent = {**getattr(self, "sent", {}), call.seq: results}

    def on_abandon(self, effect: Abandon) -> None:
        assert effect.seq == self.in_hand
        self.in_hand = None

    def on_start(self, effect: Start) -> None:
        assert effect.attempt not in self.ever_started, "never executed twice"
        self.ever_started.add(effect.attempt)

    def on_kill(self, effect: Kill) -> None:
        assert effect.attempt in self.ever_started - self.ended

    def on_spool(self, effect: Spool) -> None:
        refused = "the server refused" in effect.result["error"]
        assert (effect.result["attempt"] in self.disk) == refused
        self.disk[effect.result["attempt"]] = effect.result

    def on_forget(self, effect: Forget) -> None:
        for attempt in effect.attempts:
            assert attempt in self.acked, "only the acknowledged is forgotten"
            del self.disk[attempt]

    def on_exit(self, _effect: Exit) -> None:
        self.gone = True
        self.in_hand = None

    @invariant()
    def running_fits(self) -> None:
        agent = getattr(self, "agent", None)
        if agent is None:
            return
        used = sum(
            run.needs["cores"] for n, run in agent.running.items() if n not in agent._waiting
        )
        assert used <= CORES * 1000
        assert len(agent._waiting) <= self.standby
        assert agent.room.free["cores"] == CORES * 1000 - used

    @invariant()
    def every_result_is_on_disk(self) -> None:
        if getattr(self, "agent", None) is not None:
            assert set(self.agent.kept) == set(self.disk)

    @invariant()
    def it_never_falls_asleep(self) -> None:
        agent = getattr(self, "agent", None)
        if agent is not None and not self.gone:
            assert agent.next_wakeup() is not None, "a call has a time limit, a pause has an end"


AgentMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
test_whatever_happens = AgentMachine.TestCase
