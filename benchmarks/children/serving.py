"""A server without machines of its own: World and App over HTTP, told what to do on stdin.

Prints a line of JSON when it listens, and one in answer to each line of stdin:
`sweep COUNT`, `commands FILE` (a bag is submitted), `policies COUNT BAGS` (so many bags of so many
tasks, each with GridBot's five policies), `plan HOSTS` (a plan is computed as for a bag in its tail
on so many hosts; answered when it is there), `facts`. It ends with its stdin.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.inquiries import inquiry
from tailrace.bag.bag import Bag
from tailrace.bag.bagfile import load_bag_file, load_commands_file
from tailrace.pools.terms import Pool
from tailrace.scheduler.decisions import Replan
from tailrace.scheduler.events import AnyEvent, BagSubmitted, PlanReady
from tailrace.server.batch import Batch, NewBag
from tailrace.server.planner import Planner
from tailrace.server.web.app import App
from tailrace.server.web.http import http_server, listen
from tailrace.server.world import World

TOKEN = "benchmark"
SWEEP = """
command = ["true", "{{i}}"]
[parameters]
i = {{ from = 1, to = {count} }}
"""
POLICIES = """
command = ["true", "{{i}}"]
repeatable = true
[parameters]
i = {{ from = 1, to = {count} }}
[policy]
JobRequirements = '!Tail ? true : regexp("^host", Host.Name) && Host.ErrorRate < 0.1'
Rank = '!Tail ? 1 : Host.JobsToday'
ReplicationRequirements = 'NumberOfReplicas < 3 && Job.Replica1.Host.ErrorRate > 0.1'
Concurrency = '2 * Host.NumCpus'
Deadline = 'Concurrency * 2000'
"""


class Serving:
    def __init__(self, folder: Path, store: str = "") -> None:
        self._folder = folder
        self._world = World(folder, (Pool("bench", max=0),), store=store)
        self._submitted: list[Bag] = []  # kept to the end, as `tailrace run` keeps its bag
        self._commits = 0
        self._commit = self._world.store.commit
        self._world.store.commit = self._counted  # type: ignore[method-assign]

    def _counted(self, batch: Batch) -> None:
        self._commits += 1
        self._commit(batch)

    async def run(self) -> None:
        sock = listen()
        http = http_server(App(self._world, TOKEN))
        serving = asyncio.create_task(http.serve(sockets=[sock]))
        self._world.begin()
        say({"pid": os.getpid(), "port": sock.getsockname()[1]})
        loop = asyncio.get_running_loop()
        while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            word, _, rest = line.partition(" ")
            say(await self._obey(word, rest))
        http.should_exit = http.force_exit = True
        await serving
        self._world.close()

    async def _obey(self, word: str, rest: str) -> dict[str, Any]:
        if word == "sweep":
            await self._submit(self._read(SWEEP, rest))
        elif word == "policies":
            count, _, bags = rest.partition(" ")
            await self._submit(self._read(POLICIES, count), int(bags or 1))
        elif word == "commands":
            await self._submit(load_commands_file(rest, self._folder))
        elif word == "plan":
            await self._plan(int(rest))
        unsent = sum(bag.unsent for bag in self._world.state.bags.values())
        done = sum(bag.done.count for bag in self._world.state.bags.values())
        return {"commits": self._commits, "unsent": unsent, "done": done}

    async def _plan(self, hosts: int) -> None:
        """Another process computes, and the answer comes back as that of any bag does."""
        answered: asyncio.Future[AnyEvent] = asyncio.get_running_loop().create_future()
        planner = Planner(self._folder, answered.set_result)
        planner.ask(Replan(1, inquiry(hosts)))
        ready = await answered
        if not isinstance(ready, PlanReady) or ready.plan is None:
            raise SystemExit(f"no plan was made: {ready}")
        await self._world.tell(ready)

    def _read(self, text: str, count: str) -> Bag:
        file = self._folder / "bag.toml"
        file.write_text(text.format(count=count))
        return load_bag_file(file)

    async def _submit(self, bag: Bag, times: int = 1) -> None:
        """As an embedded server does it."""
        self._submitted.append(bag)
        await asyncio.gather(*(self._told(bag) for _ in range(times)))

    def _told(self, bag: Bag) -> asyncio.Future[None]:
        number = self._world.new_bag()
        spec, chunks = bag.encode()
        new = NewBag(number, bag.spec.name, spec, chunks)
        return self._world.tell(BagSubmitted(number, bag.terms()), new)


def say(facts: dict[str, Any]) -> None:
    print(msgspec.json.encode(facts).decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(Serving(Path(sys.argv[1]), *sys.argv[2:]).run())
