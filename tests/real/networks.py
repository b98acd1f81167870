"""Machines in network namespaces of this one, with walls between them, and ssh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.real.served import environment

PATIENCE_S = 60.0
PROGRAMS = {"ip": "iproute2", "nft": "nftables", "sshd": "openssh-server", "ssh": "openssh-client",
            "ssh-keygen": "openssh-client"}  # fmt: skip
ANSWERS_ONLY = """
table inet wall {
    chain input {
        type filter hook input priority 0; policy drop;
        iif lo accept
        ct state established,related accept
        OPEN
    }
}
"""
SSHD = """
Port 2222
ListenAddress ADDRESS
HostKey LAB/host
AuthorizedKeysFile LAB/authorized
PidFile LAB/sshd.pid
StrictModes no
UsePAM no
PermitRootLogin yes
"""
SSH = """
Host far
    HostName ADDRESS
    Port 2222
    IdentityFile LAB/mine
    UserKnownHostsFile LAB/known
    StrictHostKeyChecking accept-new
    BatchMode yes
    ExitOnForwardFailure yes
"""


def missing() -> str:
    """Why there can be none here; empty: there can."""
    lacking = {package for name, package in PROGRAMS.items() if program(name) is None}
    if lacking:
        return f"install Debian's {', '.join(sorted(lacking))}"
    if os.getuid() != 0:
        return "network namespaces are made by root alone"
    made = subprocess.run(["unshare", "-n", "true"], capture_output=True, text=True)
    return f"no network namespaces here: {made.stderr.strip()}" if made.returncode else ""


def program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


class Networks:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._machines: list[str] = []
        self._processes: list[subprocess.Popen[bytes]] = []

    def machine(self, name: str) -> str:
        """Its namespace: nobody else's, also of tests beside."""
        space = f"tailrace{os.getpid()}{name}"
        _do("ip", "netns", "add", space)
        self._machines.append(space)
        self.run(space, "ip", "link", "set", "lo", "up")
        return space

    def cable(self, one: str, other: str, net: str) -> None:
        """`net`.1 is the first, `net`.2 the second."""
        _do("ip", "link", "add", "eth" + net[-1], "netns", one, "type", "veth",
            "peer", "name", "eth" + net[-1], "netns", other)  # fmt: skip
        for place, space in enumerate((one, other), 1):
            self.run(space, "ip", "addr", "add", f"{net}.{place}/24", "dev", "eth" + net[-1])
            self.run(space, "ip", "link", "set", "eth" + net[-1], "up")

    def wall(self, space: str, *open_ports: int) -> None:
        """Nothing new comes in but to these ports; what is called from inside may answer."""
        rules = "".join(f"tcp dport {port} accept\n" for port in open_ports)
        text = ANSWERS_ONLY.replace("OPEN", rules)
        self.run(space, program("nft") or "nft", "-f", "-", input=text)

    def run(self, space: str, *words: str, input: str = "") -> str:
        """It must succeed."""
        return _do("ip", "netns", "exec", space, *words, input=input)

    def reaches(self, space: str, address: str, port: int) -> bool:
        code = f"import socket; socket.create_connection(({address!r}, {port}), 2)"
        words = ["ip", "netns", "exec", space, sys.executable, "-c", code]
        return subprocess.run(words, capture_output=True, timeout=PATIENCE_S).returncode == 0

    def holds_back(self, caller: str, called: str, address: str) -> bool:
        """The wall: somebody listens there, and is not reached."""
        self.start(called, self.folder, sys.executable, "-m", "http.server", "9000", "-b", address)
        wait_for(lambda: self.reaches(called, address, 9000))
        return not self.reaches(caller, address, 9000)

    def tailrace(self, space: str, folder: Path, *words: str, **env: str) -> str:
        done = subprocess.run(
            ["ip", "netns", "exec", space, sys.executable, "-m", "tailrace", *words], cwd=folder,
            env=environment(env), capture_output=True, text=True, timeout=2 * PATIENCE_S,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def start(self, space: str, folder: Path, *words: str) -> subprocess.Popen[bytes]:
        with open(folder / "started.log", "ab") as log:
            process = subprocess.Popen(
                ["ip", "netns", "exec", space, *words], cwd=folder, env=environment({}),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._processes.append(process)
        return process

    def sshd(self, space: str, address: str) -> Path:
        """A machine that can be logged in to, as `far`; the file with which."""
        for name in ("host", "mine"):
            _do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))
        shutil.copy(self.folder / "mine.pub", self.folder / "authorized")
        for name, text in (("sshd.conf", SSHD), ("ssh.conf", SSH)):
            filled = text.replace("LAB", str(self.folder)).replace("ADDRESS", address)
            (self.folder / name).write_text(filled)
        Path("/run/sshd").mkdir(exist_ok=True)  # Debian's has no option for it
        sshd = program("sshd") or "sshd"
        self.start(space, self.folder, sshd, "-D", "-e", "-f", str(self.folder / "sshd.conf"))
        wait_for(lambda: self.reaches(space, address, 2222))
        return self.folder / "ssh.conf"

    def end(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for space in self._machines:
            for pid in _do("ip", "netns", "pids", space).split():
                os.kill(int(pid), 9)
            _do("ip", "netns", "del", space)


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.1)


def _do(*words: str, input: str = "") -> str:
    done = subprocess.run(
        [program(words[0]) or words[0], *words[1:]], input=input, capture_output=True, text=True,
        timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout
