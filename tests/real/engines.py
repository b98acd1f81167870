"""Container engines that run here, each with a store of its own, and an image made of busybox."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUSYBOX = Path("/bin/busybox")
PROGRAMS = (
    "sh",
    "touch",
    "cat",
    "echo",
    "env",
    "head",
    "id",
    "pwd",
    "sleep",
    "tail",
    "test",
    "true",
)
IMAGE = "localhost/tiny:latest"
# A runtime that makes no container while a file holds a text, but says that where engines look.
RUNTIME = """#!/bin/sh
for word; do
  case "$before$word" in --log/*) log=$word ;; --log=*) log=${{word#--log=}} ;; esac
  case "$word" in create) creates=yes ;; esac
  before=$word
done
if test "$creates" -a -s {broken}; then
  cat {broken} >&2
  echo '{{"level": "error", "msg": "'"$(cat {broken})"'"}}' > "${{log:-/dev/null}}"
  exit 1
fi
exec runc "$@"
"""
PATIENCE_S = 60


def missing(kind: str) -> str:
    """What to install; empty if all is there."""
    needed = {
        "podman": (("podman", "podman"), ("runc", "runc")),
        "docker": (("docker", "docker.io"), ("dockerd", "docker.io")),
    }[kind]
    packages = [package for program, package in needed if not shutil.which(program)]
    packages += [] if BUSYBOX.exists() and _is_static() else ["busybox-static"]
    if packages:
        return f"apt-get install {' '.join(dict.fromkeys(packages))}"
    return "" if os.getuid() == 0 else "this test of container engines needs root"


def _is_static() -> bool:
    told = subprocess.run(["ldd", BUSYBOX], capture_output=True, text=True, check=False)
    return "not a dynamic executable" in told.stdout + told.stderr


class Engine:
    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self._folder = kind, folder
        self._broken, self._runtime = folder / "broken", folder / "runtime"
        self._broken.touch()
        self._runtime.write_text(RUNTIME.format(broken=self._broken))
        self._runtime.chmod(0o755)
        self.env = {"podman": self._podman, "docker": self._docker}[kind]()
        self._daemon: subprocess.Popen[bytes] | None = None

    def _podman(self) -> dict[str, str]:
        """The limits and the runtime are such that it runs also with few rights and control groups
        of the first version."""
        hard = os.sysconf("SC_OPEN_MAX")
        (self._folder / "containers.conf").write_text(
            f'[containers]\ndefault_ulimits = ["nofile={hard}:{hard}", "nproc=32768:32768"]\n'
            '[engine]\nruntime = "ours"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
            f'tmp_dir = "{self._folder}/tmp"\n'
            f'[engine.runtimes]\nours = ["{self._runtime}"]\n'
        )
        (self._folder / "storage.conf").write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{self._folder}/images"\n'
            f'runroot = "{self._folder}/run"\n'
        )
        return {
            "CONTAINERS_CONF": str(self._folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self._folder / "storage.conf"),
        }

    def _docker(self) -> dict[str, str]:
        return {"DOCKER_HOST": f"unix://{self._folder}/socket"}

    def start(self) -> None:
        if self.kind == "docker":
            place = self._folder
            words = f"dockerd --host unix://{place}/socket --data-root {place}/data"
            words += f" --exec-root {place}/run --pidfile {place}/pid --storage-driver vfs"
            words += " --iptables=false --ip6tables=false --bridge=none"
            words += f" --add-runtime ours={self._runtime} --default-runtime ours"
            with (place / "log").open("wb") as log:
                self._daemon = subprocess.Popen(words.split(), stdout=log, stderr=log)
            self._wait()
        self.say("import", str(self._archive()), IMAGE)

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while self._ask("version").returncode:
            assert time.monotonic() < until, (self._folder / "log").read_text()[-2000:]
            time.sleep(0.1)

    def _archive(self) -> Path:
        path = self._folder / "tiny.tar"
        with tarfile.open(path, "w") as archive:
            archive.add(BUSYBOX, "bin/busybox")
            for name in PROGRAMS:
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                archive.addfile(link)
        return path

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.kind, *words], env={**os.environ, **self.env}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    def say(self, *words: str) -> str:
        done = self._ask(*words)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    @contextmanager
    def broken(self, says: str) -> Iterator[None]:
        """It cannot start any container meanwhile."""
        self._broken.write_text(says)
        try:
            yield
        finally:
            self._broken.write_text("")

    def containers(self) -> list[str]:
        return self.say("ps", "--all", "--quiet").split()

    def end(self) -> None:
        for name in self.containers():
            self._ask("rm", "--force", name)
        if self._daemon is not None:
            self._daemon.terminate()
            self._daemon.wait(PATIENCE_S)
        for path in self._mounts():
            subprocess.run(["umount", "--lazy", path], check=False)

    def _mounts(self) -> list[str]:
        """What an engine has left mounted; the innermost first."""
        lines = Path("/proc/mounts").read_text().splitlines()
        paths = [line.split()[1] for line in lines]
        return [path for path in reversed(paths) if path.startswith(f"{self._folder}/")]
