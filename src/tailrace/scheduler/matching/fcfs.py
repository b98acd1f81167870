"""First come, first served: offers in the order they were made, or in a random one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

from tailrace.scheduler import admission
from tailrace.scheduler.draws import draw
from tailrace.scheduler.matching.matching import Pick
from tailrace.scheduler.state import Bag, Host, State


class FirstCome:
    by_host: ClassVar[bool] = True
    order: ClassVar[str] = "listed"

    def pick(self, state: State, bag: Bag, offers: Collection[Host]) -> Iterator[Pick]:
        for host in offers:
            count = admission.room(state, bag, host)
            if count > 0:
                yield host, count
                if not bag.hungry:
                    return


class RandomMachine:
    """As in DSiDE: the task that waits longest goes to any host that has room for it. Whether one
    has is asked only when it is drawn."""

    by_host: ClassVar[bool] = False
    order: ClassVar[str] = "listed"

    def __init__(self) -> None:
        self._draws = 0

    def pick(self, state: State, bag: Bag, offers: Collection[Host]) -> Iterator[Pick]:
        hosts = list(offers)
        while hosts and bag.hungry:
            self._draws += 1
            place = int(draw(state.seed, bag.id, "matching", self._draws) * len(hosts))
            host = hosts[place]
            before = len(host.live)
            if admission.room(state, bag, host) > 0:
                yield host, 1
            if len(host.live) == before:  # it is full, or nothing that waits may go there
                hosts[place] = hosts[-1]
                hosts.pop()
