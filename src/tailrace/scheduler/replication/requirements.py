"""GridBot's second algorithm: when few tasks wait to be sent, those that are out get one more
attempt as the bag's ReplicationRequirements say.

They are asked about every so often, in an order drawn by lot in which a task with fewer attempts
out is likelier to come first; JobRequirements say where such an attempt may go. Attempts whose
time-out has passed are sent again by the bag itself.
"""

from __future__ import annotations

from tailrace.policy.ads import Scene
from tailrace.policy.attributes import Plain
from tailrace.scheduler import admission, facts, fleet, looking, policies, tails, wanting
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.deriving import mypyc_attr
from tailrace.scheduler.draws import draw
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.requeue import Group
from tailrace.scheduler.state import Bag, Host, State
from tailrace.scheduler.timers import Alarm

SECOND_US = 1_000_000
LONGEST_US = 60 * SECOND_US  # between two looks
PART = 10  # of a run time, otherwise
MOST_ASKED = 1000  # tasks at a time
MOST_LOOKED = 100  # of the ways they look, for a host


@mypyc_attr(allow_interpreted_subclasses=True)
class ByRequirements(Replication):
    name = "ReplicationRequirements"

    def __init__(self) -> None:
        self._wanted: dict[int, tuple[Plain, ...]] = {}  # and what each looks like
        self._by_looks: dict[tuple[Plain, ...], dict[int, None]] = {}
        self._due_us = 0  # when it looks again; what rings while the bag is paused is not heard
        self._lots = 0
        self._scene = Scene()

    # what it is asked

    def wants(self, bag: Bag, reliable: bool) -> bool:
        return bool(self._wanted) and bag.runs

    def idle(self) -> bool:
        return not self._wanted

    def waits(self, index: int) -> bool:
        return False  # it has an attempt out, or the bag sends it again

    def groups(self, bag: Bag) -> dict[Group, int]:
        found: dict[Group, int] = {}
        for index, job in self._wanted.items():
            hosts = sorted(dict.fromkeys(one.host for one in bag.live.get(index, ())))
            group = Group(avoid=tuple(hosts), job=job)
            found[group] = found.get(group, 0) + 1
        return found

    def take(self, state: State, bag: Bag, host: Host) -> int | None:
        """Those that look alike are asked about once."""
        for group in list(self._by_looks.values())[:MOST_LOOKED]:
            index = self._first_elsewhere(state, bag, host, group)
            if index is not None and policies.may_be_wanted(state, bag, host, index):
                return index
        return None

    def _first_elsewhere(
        self, state: State, bag: Bag, host: Host, group: dict[int, None]
    ) -> int | None:
        for index in list(group):
            if not facts.has_room(bag, index):
                self._forget(index)
            elif _may_go(state, bag, host, index):
                return index
        return None

    # what it is told

    def sent(self, state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
        self._forget(attempt.index)
        self._stir(state, bag)

    def over(self, state: State, bag: Bag, attempt: Attempt, succeeded: bool) -> None:
        self._stir(state, bag)

    def settled(self, state: State, bag: Bag, index: int) -> None:
        self._forget(index)

    def grew(self, state: State, bag: Bag) -> None:
        self._want_nothing()

    def restore(self, state: State, bag: Bag) -> None:
        self._stir(state, bag)

    def resumed(self, state: State, bag: Bag) -> None:
        self._stir(state, bag)

    def rang(self, state: State, bag: Bag) -> None:
        self._due_us = 0
        if tails.in_tail(bag):
            self._look(state, bag)
        else:
            self._want_nothing()
        self._stir(state, bag)

    def _stir(self, state: State, bag: Bag) -> None:
        """As long as something is out in the tail, it is looked at again."""
        if self._due_us > state.now or not bag.live or not bag.runs or not tails.in_tail(bag):
            return
        pause_us = min(max(round(bag.times.recent_us / PART), SECOND_US), LONGEST_US)
        self._due_us = state.now + pause_us
        state.timers.set(self._due_us, Alarm.REPLICATE, bag.id)

    def _look(self, state: State, bag: Bag) -> None:
        """Anew each time: what was wanted before may not be so any more, and who found no host has
        no place before the others."""
        self._want_nothing()
        for index in self._by_lot(state, bag):
            if policies.may_repeat_now(state, bag, index, self._scene) is True:
                job = policies.looks(state, bag, index)
                self._wanted[index] = job
                self._by_looks.setdefault(job, {})[index] = None
        if self._wanted:
            wanting.enter(state, bag)
            looking.look_now(state, bag)
            fleet.lacks(state, bag)

    def _want_nothing(self) -> None:
        self._wanted.clear()
        self._by_looks.clear()

    def _forget(self, index: int) -> None:
        job = self._wanted.pop(index, None)
        if job is not None:
            group = self._by_looks[job]
            del group[index]
            if not group:
                del self._by_looks[job]

    def _by_lot(self, state: State, bag: Bag) -> list[int]:
        """Weighted without replacement (Efraimidis and Spirakis): the weight of a task is one over
        the number of its attempts."""
        tickets = []
        for index in bag.live:
            if facts.has_room(bag, index):
                self._lots += 1
                lot = draw(state.seed, bag.id, "replicas", self._lots)
                tickets.append((-(lot ** len(facts.replicas(bag, index))), index))
        return [index for _, index in sorted(tickets)[:MOST_ASKED]]


def _may_go(state: State, bag: Bag, host: Host, index: int) -> bool:
    """Also where an attempt has expired, none is wanted beside it."""
    elsewhere = all(one.host != host.id for one in facts.replicas(bag, index))
    return elsewhere and admission.may_repeat(state, bag, host, index)
