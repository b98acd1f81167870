"""Master and workers in SimGrid: `{"speeds": […], "lengths": […]}` in, the ends of the tasks out.

A program of its own, for the interpreter that has SimGrid (Debian's, with python3-simgrid); its
engine can be made once in a process. It imports nothing but SimGrid and the standard library.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque

from simgrid import Actor, Engine, NetZone, this_actor

GIGA = 1e9  # operations a second; of less than 1e-5 of one, SimGrid takes no notice


def main() -> None:
    asked = json.load(sys.stdin)
    engine = Engine(["model", "--log=root.thres:error"])
    zone = NetZone.create_full_zone("zone")
    speeds = [speed * GIGA for speed in asked["speeds"]]
    hosts = [zone.create_host(f"worker{k}", speed) for k, speed in enumerate(speeds)]
    zone.seal()
    tasks = deque(enumerate(length * GIGA for length in asked["lengths"]))
    ends = [0.0] * len(tasks)
    for host in hosts:
        Actor.create(host.name, host, work, tasks, ends)
    began = time.perf_counter()
    engine.run()
    lasted = time.perf_counter() - began
    print(json.dumps({"ends": ends, "lasted": lasted}))


def work(tasks: deque[tuple[int, float]], ends: list[float]) -> None:
    while tasks:
        index, length = tasks.popleft()
        this_actor.execute(length)
        ends[index] = Engine.clock


if __name__ == "__main__":
    main()
