"""How hostile the world of a seed is.

Each fault is absent from about half of all seeds and of random strength in the others: bugs that
need two faults hide where all of them always happen at once ("swarm testing").
"""

from __future__ import annotations

from random import Random

import msgspec

# The least and the most of each, if present. Probabilities are per message or step, `every` is the
# mean time in seconds between two.
RANGES: dict[str, tuple[float, float]] = {
    "loss": (0.005, 0.25),
    "duplication": (0.01, 0.3),
    "lateness": (0.01, 0.2),
    "server_crash": (0.001, 0.04),
    "worker_crash": (0.002, 0.05),
    "commit_failure": (0.001, 0.05),
    "driver_loss": (0.02, 0.4),
    "driver_lie": (0.02, 0.4),
    "cut_every": (10, 200),
    "freeze_every": (10, 200),
    "vanish_every": (20, 300),
    "reset_every": (20, 300),
    "clock_every": (20, 300),
    "meddle_every": (5, 100),
    "bad_disk_every": (20, 300),
    "outage_every": (15, 150),
    "repeating": (0.05, 0.8),
}


class Weather(msgspec.Struct):
    loss: float = 0
    duplication: float = 0
    lateness: float = 0  # a message takes seconds, so that many overtake it
    server_crash: float = 0  # before and after each commit, before all that leaves
    worker_crash: float = 0  # before each effect
    commit_failure: float = 0
    driver_loss: float = 0
    driver_lie: float = 0  # done, but reported as failed
    cut_every: float = 0  # a machine is cut off from the network
    freeze_every: float = 0  # a machine stands still
    vanish_every: float = 0  # a machine is gone, or its worker dies
    reset_every: float = 0  # the server is killed at rest
    clock_every: float = 0  # the wall clock jumps
    meddle_every: float = 0  # the owner cancels, pauses, resumes, retries, adds
    bad_disk_every: float = 0  # hardly a commit succeeds for a while
    outage_every: float = 0  # nobody is reached for a while, and the server starts anew
    repeating: float = 0  # a call comes again after the server's next start
    late_us: int = 5_000_000  # the longest a late message takes


def draw(random: Random) -> Weather:
    weather = Weather()
    for name, (least, most) in RANGES.items():
        present, strength = random.random() < 0.5, random.random()
        if present:
            setattr(weather, name, least * (most / least) ** strength)
    weather.late_us = int(10 ** random.uniform(5.5, 7.8))
    return weather
