"""A real Slurm of this machine alone: four nodes on loopback, everything in one folder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 60.0
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
NODES = ("spot1", "spot2", "od1", "od2")
CONFIGURATION = """
ClusterName=lab
SlurmctldHost=HOST(127.0.0.1)
SlurmctldPort=PORT0
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=LAB/munge/socket
StateSaveLocation=LAB/state
SlurmdSpoolDir=LAB/spool.%n
SlurmctldPidFile=LAB/run/slurmctld.pid
SlurmdPidFile=LAB/run/%n.pid
SlurmctldLogFile=LAB/log/slurmctld
SlurmdLogFile=LAB/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobCompType=jobcomp/filetxt
JobCompLoc=LAB/log/jobcomp
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=100000
MinJobAge=30
KillWait=10
SlurmdTimeout=5
NodeName=spot[1-2] NodeHostname=HOST NodeAddr=127.0.0.1 Port=[PORT1-PORT2] CPUs=2
NodeName=od[1-2] NodeHostname=HOST NodeAddr=127.0.0.1 Port=[PORT3-PORT4] CPUs=2
PartitionName=all Nodes=spot[1-2],od[1-2] Default=YES PriorityTier=1
PartitionName=evictor Nodes=spot[1-2] PriorityTier=10 PreemptMode=OFF
"""


def missing() -> str:
    """Why there can be none here; empty: there can."""
    lacking = [name for name in PROGRAMS if _program(name) is None]
    if lacking:
        return f"{', '.join(lacking)} missing: install Debian's slurm-wlm and munge"
    return "" if os.getuid() == 0 else "Slurm's daemons are started by root alone"


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


class Slurm:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        folder.chmod(0o755)
        for name in ("run", "state", "log", "munge", *(f"spool.{node}" for node in NODES)):
            (folder / name).mkdir()
        text = CONFIGURATION.replace("HOST", socket.gethostname().partition(".")[0])
        for place, port in enumerate(_free_ports()):
            text = text.replace(f"PORT{place}", str(port))
        (folder / "slurm.conf").write_text(text.replace("LAB", str(folder)))

    def start(self) -> None:
        """One that is installed and does not come up is no reason to look away."""
        self._start_munge()
        self._daemon("slurmctld", "slurmctld", "-D", "-i")
        for node in NODES:
            self.start_node(node)
        assert self._comes(self._idle_nodes, len(NODES)), self._last_words()

    def _idle_nodes(self) -> int:
        return self.ask("sinfo", "-h", "-N", "-p", "all", "-o", "%t").split().count("idle")

    def _start_munge(self) -> None:
        place = self.folder / "munge"
        place.chmod(0o755)
        key = place / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self._daemon(
            "munged", "munged", "--foreground", "--force", f"--key-file={key}",
            f"--socket={place / 'socket'}", f"--pid-file={place / 'pid'}",
            f"--log-file={place / 'log'}", f"--seed-file={place / 'seed'}",
        )  # fmt: skip
        self._comes(lambda: int((place / "socket").exists()), 1)

    def start_node(self, node: str) -> None:
        self._daemon(node, "slurmd", "-D", "-N", node)

    def _daemon(self, name: str, program: str, *words: str) -> None:
        with open(self.folder / "log" / f"{name}.said", "ab") as said:
            self._daemons[name] = subprocess.Popen(
                [_program(program) or program, *words], env=self.environment, stdout=said,
                stderr=said, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    @staticmethod
    def _comes(count: Callable[[], int], wanted: int) -> bool:
        until = time.monotonic() + PATIENCE_S
        while count() != wanted:
            if time.monotonic() > until:
                return False
            time.sleep(0.1)
        return True

    def ask(self, *words: str) -> str:
        """A controller that is not there has nothing to say."""
        try:
            done = subprocess.run(
                words, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S
            )
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout

    def jobs(self, state: str = "R") -> dict[str, str]:
        """Name of each job in this state, by its node."""
        lines = self.ask("squeue", "-h", "-t", state, "-o", "%i %N").splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def ends(self) -> set[str]:
        """How jobs have ended, as Slurm's own record says."""
        return set(re.findall(r"JobState=(\w+)", self._record()))

    def names(self) -> set[str]:
        return set(re.findall(r" Name=(\S+)", self._record()))

    def _record(self) -> str:
        record = self.folder / "log" / "jobcomp"
        return record.read_text() if record.exists() else ""

    def _last_words(self) -> str:
        log = self.folder / "log" / "slurmctld"
        return log.read_text().splitlines()[-1] if log.exists() else "not even its log is there"

    def fail_node(self, node: str) -> None:
        """Switched off: its daemon, and all that runs on it."""
        self._daemons[node].kill()
        self._daemons[node].wait()
        for pid in self._processes_of(node):
            _kill(pid)

    def _processes_of(self, node: str) -> list[int]:
        """Jobs by their environment, and those who keep them by their words."""
        jobs = [job for job, where in self.jobs("R,CG").items() if where == node]
        marks = [f"SLURMD_NODENAME={node}\0".encode()]
        words = [f"slurmstepd: [{job}." for job in jobs]
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            told, said = _read(entry / "environ"), _read(entry / "cmdline").decode(errors="replace")
            ours = str(self.folder).encode() in told and any(mark in told for mark in marks)
            if ours or any(said.startswith(word) for word in words):
                found.append(int(entry.name))
        return found

    def end(self) -> None:
        if self._daemons["slurmctld"].poll() is None:
            self.ask("scancel", "--full", "--user=root")
            self._comes(lambda: len(self.jobs("R,CG")), 0)
        for name in reversed(self._daemons):
            daemon = self._daemons[name]
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _free_ports() -> list[int]:
    """One, and four in a row."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        first = one.getsockname()[1]
    for start in range(first % 20000 + 21000, 60000, 4):
        if start <= first < start + 4:
            continue
        if all(_is_free(start + more) for more in range(4)):
            return [first, *range(start, start + 4)]
    raise AssertionError("no ports are free")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
