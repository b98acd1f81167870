"""How fast this machine is: about two seconds of CPU, once in its life between two boots.

**The loop.** A round compresses 24 KiB of the same text (zlib, level 6), raises a number to a power
modulo another (1,024 bits), and adds up 50,000 sines. All three are done by C inside the standard
library, so that it matters little which Python runs the worker; only PyPy seems half as fast again.
Speed 1, the reference, is 100 rounds in a second of CPU, about what a core of a server of the 2020s
does.

**When.** A child measures, at the lowest priority, and only once the worker has had nothing to do
for some time; when a task comes, it is killed, and begins anew after the next idle time. So no task
waits for it, and a short run never sees it. CPU time counts, not that of the clock: on a busy
machine it takes longer, and gives about the same.

**Kept** in the worker's folder, with the processor and the boot it holds for.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import threading
import time
import zlib
from typing import Callable, List, Optional, Tuple

from . import fresh

REFERENCE = 100.0  # rounds in a second of CPU
TAKES_S = 2.0  # of CPU
TRIES = 3  # then it stays unknown: whatever ends the child will end it again
NAME = "benchmark"
BOOT = "/proc/sys/kernel/random/boot_id"
SECOND = 1_000_000
MOST = 1e6
_CODE = f"from {fresh.PACKAGE}.benchmark import main; main()"


def measure(takes_s: float = TAKES_S, cpu_s: Callable[[], float] = time.process_time) -> float:
    text = _text(24 * 1024)
    angles = [i * 0.001 for i in range(50_000)]
    base, power, modulus = 3**600 + 7, 2**1024 - 9, 2**1024 - 105
    rounds, began = 0, cpu_s()
    while cpu_s() - began < takes_s:
        zlib.compress(text, 6)
        pow(base, power, modulus)
        sum(map(math.sin, angles))
        rounds += 1
    return rounds / (cpu_s() - began) / REFERENCE


def _text(size: int) -> bytes:
    """Neither all alike nor all different, and the same on each machine."""
    words, state = bytearray(), 1
    while len(words) < size:
        state = (state * 1103515245 + 12345) % 2**31
        words += b"%d " % (state >> 20)
    return bytes(words[:size])


def main() -> None:
    """The child: its speed is what it prints."""
    os.nice(19)
    print(measure())


def boot() -> str:
    try:
        with open(BOOT, encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeError):
        return ""


class Benchmark:
    """`speed` is known from an earlier worker in this folder, or once it is measured."""

    def __init__(
        self, folder: str, cpu: str, after_s: Optional[float], wake: Callable[[], None], now: int
    ) -> None:
        """Measured after so many idle seconds; None: not at all. `wake` is called by a thread of
        its own, when something can be taken."""
        self._path = os.path.join(folder, NAME)
        self._holds_for = [cpu, boot()]
        self._after = None if after_s is None else int(after_s * SECOND)
        self._wake = wake
        self._idle_since: Optional[int] = now
        self._child: "Optional[subprocess.Popen[bytes]]" = None
        self._told: "List[Tuple[subprocess.Popen[bytes], bytes]]" = []
        self._tries = 0
        self.speed = self._kept()

    def note(self, busy: bool, now: int) -> None:
        """Whether the worker has anything."""
        if busy:
            self._idle_since = None
            self.end()
        elif self._idle_since is None:
            self._idle_since = now
        due = self.due()
        if due is not None and now >= due:
            self._begin()

    def due(self) -> Optional[int]:
        """When it will begin, if nothing comes in between."""
        wanted = self.speed is None and self._child is None and self._tries < TRIES
        if self._after is None or self._idle_since is None or not wanted:
            return None
        return self._idle_since + self._after

    def take(self) -> Optional[float]:
        """The speed, when it has just become known."""
        while self._told:
            child, printed = self._told.pop()
            if child is self._child:
                self._child = None
                self._tries += 1
                return self._understood(printed)
        return None

    def end(self) -> None:
        """Its thread sees to the rest."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def _begin(self) -> None:
        self._child = child = subprocess.Popen(
            fresh.command(_CODE), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=fresh.environment(),
        )  # fmt: skip
        threading.Thread(target=self._await, args=(child,), daemon=True).start()

    def _await(self, child: "subprocess.Popen[bytes]") -> None:
        printed, _ = child.communicate()
        self._told.append((child, printed))
        self._wake()

    def _understood(self, printed: bytes) -> Optional[float]:
        try:
            speed = float(printed)
        except ValueError:
            return None
        if not 0 < speed < MOST:
            return None
        self.speed = round(speed, 3)
        self._keep()
        return self.speed

    def _kept(self) -> Optional[float]:
        """A file that cannot be read is none: it is measured again."""
        try:
            with open(self._path, encoding="utf-8") as file:
                kept = json.load(file)
            speed = float(kept["speed"]) if kept["of"] == self._holds_for else 0.0
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return speed if 0 < speed < MOST else None

    def _keep(self) -> None:
        try:
            with open(f"{self._path}.new", "w", encoding="utf-8") as file:
                json.dump({"of": self._holds_for, "speed": self.speed}, file)
            os.replace(f"{self._path}.new", self._path)
        except OSError:
            pass  # the next worker measures again
