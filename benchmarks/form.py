"""The two forms of tailrace, measured by children: pure Python, and compiled."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from hatch_build import missing

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


class Form:
    def __init__(self, mark: str, house: Path) -> None:
        self.mark = mark  # behind the names of its figures
        self._environ = {**os.environ, "PYTHONPATH": f"{house}{os.pathsep}{ROOT}"}

    def measured(self, what: str, file: str, *settings: str) -> float:
        return float(self._printed("benchmarks.children.simulating", what, file, *settings))

    def trace(self, file: str, *settings: str) -> str:
        """A digest of all events and decisions of a run."""
        words = [word for setting in settings for word in ("--set", setting)]
        words += ["--seeds", "1", "--quiet", "--trace", "-"]
        return hashlib.sha256(self._printed("tailrace", "simulate", file, *words)).hexdigest()[:16]

    def _printed(self, module: str, *words: str) -> bytes:
        command = [sys.executable, "-m", module, *words]
        return subprocess.run(
            command, cwd=ROOT, env=self._environ, stdout=subprocess.PIPE, check=True
        ).stdout


def pure() -> Form:
    return Form("", ROOT / "src")


def compiled(folder: Path) -> Form | str:
    """Or why there is none."""
    if lacking := missing():
        return lacking
    command = [*PIP, "--no-deps", "--no-build-isolation", "--target", str(folder), str(ROOT)]
    environ = {**os.environ, "TAILRACE_COMPILE": "1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    return "building it failed:\n" + done.stderr if done.returncode else Form(", compiled", folder)
