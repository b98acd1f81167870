"""The setup of a bag on this machine: made once, and kept by what it says.

It is made under a lock, so that several workers of one machine make it once. What it leaves is a
folder, the variables that differ from those before it, and an image if it names one; a task gets
these and nothing else of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, Mapping, NamedTuple, Optional

from . import image
from .engines import Inside
from .linux import die_with

Json = Dict[str, Any]
_FLEETING = ("_", "OLDPWD", "PWD", "SHLVL")
_SHELL = "/bin/sh"
_MODULES = """\
if ! command -v module > /dev/null 2>&1; then
  for file in "${MODULESHOME:-/usr/share/modules}/init/sh" /etc/profile.d/modules.sh \\
      /etc/profile.d/lmod.sh /usr/share/lmod/lmod/init/sh; do
    if [ -r "$file" ]; then . "$file"; break; fi
  done
fi
module load %s
"""
_REQUIREMENTS = """\
"$TAILRACE_PYTHON" -m venv "$TAILRACE_SETUP/venv"
"$TAILRACE_SETUP/venv/bin/python" -m pip install --quiet --disable-pip-version-check \\
  -r "$TAILRACE_SETUP/requirements.txt"
export VIRTUAL_ENV="$TAILRACE_SETUP/venv" PATH="$TAILRACE_SETUP/venv/bin:$PATH"
"""
_TELL = """
"$TAILRACE_PYTHON" -I -c 'import json, os
file = open(os.environ["TAILRACE_SETUP"] + "/environ.new", "w", errors="surrogateescape")
json.dump(dict(os.environ), file)'
"""


class SetupFailed(Exception):
    """Says in one line what the setup said last."""


class Made(NamedTuple):
    variables: Dict[str, str]  # that it adds or changes
    inside: Optional[Inside] = None  # what the tasks run in

    def terms(self) -> Json:
        """In the words of a bag's terms."""
        found: Json = {"made": self.variables}
        return found if self.inside is None else {**found, "inside": self.inside._asdict()}


def key_of(setup: Json, folder: str) -> str:
    """`folder` is where it runs: words in it may be relative."""
    told = json.dumps([setup, folder, sys.executable, sys.version], sort_keys=True)
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def outfit(setup: Json, folder: str, place: str, marked: str = "") -> Made:
    """Made if it is not there. `marked` stands in the environment of its processes, by which a
    later worker finds strays."""
    key = key_of(setup, folder)
    kept = os.path.join(place, key)
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        with open(os.path.join(place, f"{key}.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = _kept(setup, kept)
            if made is None:
                _make(setup, folder, kept, marked)
                made = _read(kept)
            return made
    except OSError as error:
        raise SetupFailed(f"the setup of the bag cannot be made here: {error}") from None


def _kept(setup: Json, kept: str) -> Optional[Made]:
    """None if it is to be made, also when the image has gone or is another since."""
    if not os.path.exists(os.path.join(kept, "environ")):
        return None
    made = _read(kept)
    if made.inside is not None:
        with open(os.path.join(kept, "stamp"), encoding="utf-8") as file:
            if json.load(file) != image.stamp(setup) or not image.still_there(made.inside):
                return None
    return made


def _read(kept: str) -> Made:
    with open(os.path.join(kept, "environ"), encoding="utf-8") as file:
        variables: Dict[str, str] = json.load(file)
    try:
        with open(os.path.join(kept, "inside"), encoding="utf-8") as file:
            return Made(variables, Inside(**json.load(file)))
    except FileNotFoundError:
        return Made(variables)


def _make(setup: Json, folder: str, kept: str, marked: str) -> None:
    shutil.rmtree(kept, ignore_errors=True)
    os.mkdir(kept, 0o700)
    with open(os.path.join(kept, "requirements.txt"), "w", encoding="utf-8") as file:
        file.write(setup.get("requirements") or "")
    before = {name: value for name, value in os.environ.items() if not name.startswith("TAILRACE_")}
    ours = {"TAILRACE_SETUP": kept, "TAILRACE_PYTHON": sys.executable, "TAILRACE_RESULT": marked}
    log = os.path.join(kept, "log")
    code = _run(_lines(setup), folder if os.path.isdir(folder) else kept, {**before, **ours}, log)
    told = os.path.join(kept, "environ.new")
    if code or not os.path.exists(told):
        raise SetupFailed(f"the setup of the bag failed (exit {code}): {_last_line(log)}")
    with open(told, encoding="utf-8", errors="surrogateescape") as file:
        after = json.load(file)
    if setup.get("image"):
        _fetch(setup, kept, {**after, "TAILRACE_RESULT": marked})
    added = _added(after, before)
    with open(told, "w", encoding="utf-8") as file:
        json.dump(added, file)
    os.replace(told, os.path.join(kept, "environ"))


def _fetch(setup: Json, kept: str, env: Mapping[str, str]) -> None:
    stamp = image.stamp(setup)
    try:
        inside = image.Fetching(setup, kept, env).inside()
    except image.NotHad as error:
        raise SetupFailed(f"the setup of the bag failed: {error}") from None
    for name, told in (("inside", inside._asdict()), ("stamp", stamp)):
        with open(os.path.join(kept, name), "w", encoding="utf-8") as file:
            json.dump(told, file)


def _run(lines: str, folder: str, env: Mapping[str, str], log: str) -> int:
    parent = os.getpid()
    with open(log, "wb") as out:
        return subprocess.Popen(
            [_SHELL, "-e", "-c", lines], cwd=folder, env=dict(env), stdin=subprocess.DEVNULL,
            stdout=out, stderr=out, start_new_session=True, preexec_fn=lambda: die_with(parent),
        ).wait()  # fmt: skip


def _lines(setup: Json) -> str:
    parts = [_MODULES % " ".join(setup["modules"]) if setup.get("modules") else ""]
    parts += [_REQUIREMENTS if setup.get("requirements") else "", setup.get("script") or "", _TELL]
    return "\n".join(parts)


def _added(after: Mapping[str, str], before: Mapping[str, str]) -> Dict[str, str]:
    return {
        name: value
        for name, value in after.items()
        if name not in _FLEETING and not name.startswith("TAILRACE_") and before.get(name) != value
    }


def _last_line(log: str) -> str:
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"
