"""A small batch system of shell commands, as a folder: what a pool of driver `command` calls."""

from __future__ import annotations

import os
import signal
from pathlib import Path

SCRIPT = r"""#!/bin/sh
# start NAME LOG RUN · stop NAME · list
cd "$(dirname "$0")" && mkdir -p jobs && echo "$@" >> calls
case $1 in
start)
    setsid sh -c "$4" > "$3" 2>&1 < /dev/null &
    echo $! > "jobs/$2"
    echo "Submitted batch job $!" ;;
stop)
    kill "$(cat "jobs/$2")" ;;
list)
    for job in jobs/*; do
        if [ -e "$job" ] && kill -0 "$(cat "$job")" 2> /dev/null; then
            echo "$(cat "$job") ${job#jobs/} running"
        fi
    done ;;
esac
"""
POOL = """
[pools.lab]
driver = "command"
start = "./cluster start {name} {log} {run}"
stop = "./cluster stop {name}"
list = "./cluster list"
id = "job ([0-9]+)"
python = "PYTHON"
look = "1s"
appear = "0s"
cores = 1
"""


KEPT = Path(f"/var/tmp/tailrace-worker-{os.getuid()}")  # by machines that were switched off


class Cluster:
    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self._python = python
        script = folder / "cluster"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        self.describe()

    def describe(self, more: str = "", **changed: str) -> None:
        """`pools.toml`; keys that are changed have their lines replaced."""
        lines = POOL.replace("PYTHON", self._python).splitlines()
        kept = [line for line in lines if line.partition(" ")[0] not in changed]
        told = [f'{key} = "{value}"' for key, value in changed.items()]
        (self.folder / "pools.toml").write_text("\n".join([*kept, *told, more]) + "\n")

    @property
    def calls(self) -> list[str]:
        try:
            return (self.folder / "calls").read_text().splitlines()
        except FileNotFoundError:
            return []

    def pids(self) -> dict[str, int]:
        """Those that stand, by name."""
        found = {job.name: job.read_text().strip() for job in self.folder.glob("jobs/*")}
        return {name: int(pid) for name, pid in found.items() if pid and _runs(int(pid))}

    def folders(self) -> list[Path]:
        """What is left of its machines."""
        found = [KEPT / job.name for job in self.folder.glob("jobs/*")]
        return [path for path in found if path.exists()]

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        os.kill(self.pids()[name], number)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
