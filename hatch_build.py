"""With TAILRACE_COMPILE=1 a wheel has its hottest modules compiled by mypyc, beside their source.

Without it nothing is done here: the wheel is pure Python, and needs neither mypy nor a compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What an event passes through, in the scheduler and in the virtual world. A base that a user's
# package may derive its own from is here only if it is marked (scheduler/deriving.py): interpreted
# classes cannot inherit from other compiled ones. Not here: records, for mypyc drops what stands
# behind their base class (`eq=False`). tests/test_compiling.py looks after both.
HOT = {
    "scheduler": "admission bits blame brain brakes bundling dispatch endings fleet fresh offers "
    "openings patience records replication/budget replication/ntdmr replication/replication "
    "replication/requirements replication/wqr requeue shares state tails timers wanting",
    "knowledge": "runtimes",
    "simulation": "attempts availability engine flow life machine network population record single "
    "staged stream telling workclock world",
}
# With msgspec, since the compiler reads the types of what the modules import.
NEEDED = ["mypy[mypyc]>=2.4", "msgspec>=0.18"]
SETUP = """\
from mypyc.build import mypycify
from setuptools import setup

extensions = mypycify({arguments!r}, target_dir={into!r}, group_name="tailrace")
setup(name="tailrace", packages=[], py_modules=[], ext_modules=extensions)
"""


class Compiling(BuildHookInterface[Any]):
    made: tempfile.TemporaryDirectory[str] | None = None  # goes with its process, if need be

    def dependencies(self) -> list[str]:
        return NEEDED if wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not wanted() or version == "editable":
            return
        if lacking := missing():
            self.app.abort(f"TAILRACE_COMPILE: {lacking}. Or install without TAILRACE_COMPILE.")
        self.made = tempfile.TemporaryDirectory(prefix="tailrace-compiling-")
        build_data.update(pure_python=False, infer_tag=True)
        try:
            libraries = compiled(Path(self.root) / "src", Path(self.made.name))
        except subprocess.CalledProcessError:
            self.app.abort("TAILRACE_COMPILE: it failed, see above. Install without it for now.")
        build_data["force_include"].update(libraries)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.made is not None:
            self.made.cleanup()


def wanted() -> bool:
    return os.environ.get("TAILRACE_COMPILE", "0") not in ("", "0")


def missing() -> str:
    """What must be installed before anything can be compiled; empty when all is there."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if shutil.which(compiler.split()[0]) is None:
        return f"there is no C compiler {compiler!r}; install one (Debian: build-essential)"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the C headers of Python are not here; install them (Debian: python3-dev)"
    return ""


def modules() -> list[str]:
    return [f"tailrace/{room}/{name}.py" for room, names in HOT.items() for name in names.split()]


def compiled(source: Path, folder: Path) -> dict[str, str]:
    """The libraries, made in the folder, and where in the wheel each belongs."""
    options = ["--config-file=", f"--cache-dir={folder / 'types'}", "--ignore-missing-imports"]
    options += ["--follow-imports=silent"]  # what is not compiled may import what is not here
    setup = SETUP.format(arguments=[*options, *modules()], into=str(folder / "c"))
    command = [sys.executable, "-c", setup, "build_ext", f"--build-lib={folder / 'lib'}"]
    subprocess.run([*command, f"--build-temp={folder / 'objects'}"], cwd=source, check=True)
    libraries = sorted((folder / "lib").rglob("*.so"))
    return {str(path): path.relative_to(folder / "lib").as_posix() for path in libraries}
