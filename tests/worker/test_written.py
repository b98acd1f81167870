"""What a family of processes has written, whoever of it is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.worker import tree
from tailrace.worker.written import Written

from .conftest import alive, children_of, wait_for

MIB = 1 << 20
# Each line it reads makes it start a child that writes, or end that child.
PARENT = """
import os, signal, sys, time
how, path = sys.argv[1:]
if how == "ignores":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    hold, end = os.pipe()
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        if how == "loses" and os.fork():
            os._exit(0)  # the one that writes has no parent any more
        with open(path, "wb") as file:
            file.write(bytes(1 << 20))
        os.write(told, b"%d\\n" % os.getpid())
        os.read(hold, 1)
        os._exit(0)
    print(os.read(ready, 100).decode().strip(), flush=True)
    sys.stdin.readline()
    os.close(end)
    if how != "ignores":
        os.waitpid(child, 0)
    print("ended", flush=True)
"""


class Family:
    def __init__(self, how: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", PARENT, how, str(folder / "file")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        self.written = Written(self.process.pid)

    def say(self) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("go on\n")
        return self.process.stdout.readline().strip()

    def bytes(self, *more: int) -> int:
        children = [*children_of(self.process.pid), *more]
        parents = dict.fromkeys(children, self.process.pid)
        return self.written.look([self.process.pid, *children], parents)

    def end(self) -> None:
        self.process.communicate(timeout=60)


@pytest.mark.parametrize("how", ["waits", "ignores", "loses"])
def test_each_byte_counts_once_whoever_is_gone(tmp_path: Path, how: str) -> None:
    family = Family(how, tmp_path)
    try:
        for n in (1, 2, 3):
            child = int(family.say())
            if n == 1 and tree.written(child) == 0:
                pytest.skip(f"{tmp_path} is in memory: what is written there is not counted")
            before = family.bytes(child) if how == "loses" else family.bytes()
            assert n * MIB <= before < n * MIB + MIB // 2
            assert family.bytes() == before, "a child whose parent is gone is still its child"
            assert family.say() == "ended"
            wait_for(lambda pid=child: not alive(pid), within=60)
            assert family.bytes() == before
    finally:
        family.end()
