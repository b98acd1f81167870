"""The processes below this one, read from /proc.

Kernels are often built without the list of a process's children, so they are found by reading the
parent of every process. That costs 10 µs each, which would be too much after every short task:
processes known to be of other people are therefore not looked at again for a while (a process never
becomes our descendant later), and `Births` tells whether anybody has forked at all.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Dict, Iterable, List, Optional, Set, Tuple

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")
# Below any real time in which process ids wrap around, so that a remembered id is the same process.
_REMEMBER_S = 1.0


class Births:
    """Says for sure that nobody else has forked since the last look, by the kernel's last pid."""

    def __init__(self) -> None:
        try:
            self._fd = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = -1
        self._last = self._last_pid()
        self.own = 0  # processes this one has started since

    def others(self) -> bool:
        last, own = self._last_pid(), self.own
        grown = last - self._last
        self._last, self.own = last, 0
        return self._fd < 0 or grown != own

    def _last_pid(self) -> int:
        if self._fd < 0:
            return 0
        return int(os.pread(self._fd, 100, 0).rsplit(None, 1)[1])


class Tree:
    def __init__(self, root: int) -> None:
        self.root = root
        self.scan_s = 0.0  # how long the last look took
        self._foreign: Set[int] = set()
        self._foreign_until = 0.0

    def look(self, everything: bool = False) -> Dict[int, int]:
        """All descendants, each with its parent."""
        began = time.monotonic()
        if everything or began >= self._foreign_until:
            self._foreign = set()
        full = not self._foreign
        parents = self._parents()
        ours, foreign = self._sort(parents)
        self._foreign.update(foreign)
        self.scan_s = time.monotonic() - began
        if full:
            self._foreign_until = began + max(_REMEMBER_S, 20 * self.scan_s)
        return ours

    def _parents(self) -> Dict[int, int]:
        parents = {}
        foreign = self._foreign
        for name in _listing():
            if name.isdigit():
                pid = int(name)
                if pid not in foreign:
                    parent = parent_of(pid)
                    if parent is not None:
                        parents[pid] = parent
        return parents

    def _sort(self, parents: Dict[int, int]) -> Tuple[Dict[int, int], List[int]]:
        """Follows parents up: to the root (ours), to somebody known (foreign), or to one that ended
        while we looked; the last is neither, and looked at again next time."""
        whose: Dict[int, Optional[bool]] = dict.fromkeys(self._foreign, False)
        whose.update({self.root: True, 0: False})
        for pid in parents:
            path = []
            at: Optional[int] = pid
            while at is not None and at not in whose:
                path.append(at)
                whose[at] = None  # also ends a circle
                at = parents.get(at)
            if at is not None:
                whose.update(dict.fromkeys(path, whose[at]))
        ours = {pid: up for pid, up in parents.items() if whose[pid] and pid != self.root}
        return ours, [pid for pid in parents if whose[pid] is False]


def below(roots: Iterable[int], parents: Dict[int, int]) -> List[int]:
    """These processes and all their descendants, parents first, each once: among `roots` may be
    some that are below others."""
    children: Dict[int, List[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    given = set(roots)
    ahead = [pid for pid in given if not _is_below(pid, given, parents)]
    found: List[int] = []
    while ahead:
        pid = ahead.pop()
        found.append(pid)
        ahead.extend(children.get(pid, ()))
    return found


def _is_below(pid: int, others: Set[int], parents: Dict[int, int]) -> bool:
    at = parents.get(pid)
    while at is not None and at not in others:
        at = parents.get(at)
    return at is not None


def _listing() -> List[str]:
    try:
        return os.listdir("/proc")
    except OSError:
        return []


def parent_of(pid: int) -> Optional[int]:
    fields = _stat(pid)
    return None if fields is None else int(fields[1])


def born(pid: int) -> int:
    """In ticks since the machine's start; 0 when it is gone. With its number it is one process."""
    fields = _stat(pid)
    return 0 if fields is None else int(fields[19])


def cpu_us(pid: int) -> int:
    """Used so far, with children already waited for."""
    fields = _stat(pid)
    return 0 if fields is None else sum(map(int, fields[11:15])) * 1_000_000 // TICK


def _stat(pid: int) -> Optional[List[bytes]]:
    """The fields from the state on; the name before it may hold anything, also parentheses."""
    text = read(f"/proc/{pid}/stat", 1024)
    return None if text is None else text[text.rindex(b")") + 2 :].split()


def resident(pid: int) -> int:
    text = read(f"/proc/{pid}/statm", 256)
    return 0 if not text else int(text.split()[1]) * PAGE


def proportional(pid: int) -> int:
    """Resident memory, each shared page divided among its users; slow, only asked in doubt."""
    text = read(f"/proc/{pid}/smaps_rollup", 4096)
    for line in (text or b"").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident(pid)


def written(pid: int) -> int:
    text = read(f"/proc/{pid}/io", 512)
    for line in (text or b"").splitlines():
        if line.startswith(b"write_bytes:"):
            return int(line.split()[1])
    return 0


def environment_entry(pid: int, name: str) -> Optional[str]:
    text = read(f"/proc/{pid}/environ", 4 << 20)
    start = f"{name}=".encode()
    for entry in (text or b"").split(b"\0"):
        if entry.startswith(start):
            return os.fsdecode(entry[len(start) :])
    return None


def read(path: str, limit: int) -> Optional[bytes]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, limit)
    except OSError:
        return None
    finally:
        os.close(fd)


def kill_all_below(patience_s: float) -> bool:
    """Kill and reap every descendant until none is left; false when some would not die."""
    tree = Tree(os.getpid())
    until = time.monotonic() + patience_s
    while True:
        for pid in tree.look(everything=True):
            send(pid, signal.SIGKILL)
        if not _reap_some():
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.005)


def _reap_some() -> bool:
    """False when no child is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def send_group(group: int, number: int) -> bool:
    """True when somebody was there to get it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except OSError:
        return False
    return True


def running_with(name: str, prefix: str) -> List[Tuple[int, str]]:
    """All processes whose environment has an entry that begins so (those we may read)."""
    found = []
    for entry in _listing():
        if entry.isdigit():
            value = environment_entry(int(entry), name)
            if value is not None and value.startswith(prefix):
                found.append((int(entry), value))
    return found
