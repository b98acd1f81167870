"""Batch scripts: their texts, kept by the worker, and what a batch system puts around them.

A script is written once, beside an `srun` that runs what it is given: a task is one program on one
machine, so that a job step is the program itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import tempfile
from typing import Any, Dict, List

Json = Dict[str, Any]
TMPDIR = "SLURM_TMPDIR"
_SRUN = """#!/bin/sh
# A step of a job on one machine is the program itself.
while [ $# -gt 0 ]; do
  case "$1" in
    -n|--ntasks) many=$2; shift 2 ;;
    --ntasks=*) many=${1#*=}; shift ;;
    -n*) many=${1#-n}; shift ;;
    --) shift; break ;;
    --*=*) shift ;;
    --chdir|--cpu-bind|--cpu_bind|--cpus-per-task|--distribution|--error|--export|--gpus|--gres|\\
    --gpus-per-task|--hint|--input|--job-name|--jobid|--label|--mem|--mem-bind|--mem-per-cpu|\\
    --mpi|--nodelist|--nodes|--ntasks-per-node|--output|--partition|--time) shift 2 ;;
    --*) shift ;;
    -[ABCDGJLMNSTabcdeimoprtwx]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
if [ "${many:-1}" != 1 ]; then
  echo "srun: $many processes were asked for, and a task of tailrace is one" >&2
  exit 1
fi
exec "$@"
"""
# A login shell (`#!/bin/bash -l`) reads its profile first, which may set PATH anew. Bash reads this
# after that, unless the profile names another file; and a function that came with the environment
# it keeps whatever the profile does.
_AGAIN = """case "$PATH:" in {own}:*) ;; *) PATH={own}:$PATH ;; esac
if [ -n "${{TAILRACE_BASH_ENV-}}" ]; then . "$TAILRACE_BASH_ENV"; fi
"""
_FUNCTION = "BASH_FUNC_srun%%"
# Other shells read nothing after their profile, and know no function that came: such a script is
# read by its own shell, which has put the folder back before. `$0` and `$@` are what they would be.
_LOGIN = re.compile(r"#![ \t]*(\S+)[ \t]+(-[a-zA-Z]*l[a-zA-Z]*|--login)[ \t]*\r?$")
_OTHERS = ("sh", "dash", "ash", "ksh", "mksh", "zsh")
_READ = 'case "$PATH:" in {own}:*) ;; *) PATH={own}:$PATH ;; esac; . "$0"'


class Scripts:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._paths: Dict[str, str] = {}

    def path_of(self, script: Json) -> str:
        name, text = os.path.basename(script["name"]), script["text"]
        digest = hashlib.blake2b(f"{name}\0{text}".encode("utf-8", "surrogateescape"))
        key = digest.hexdigest()[:32]
        path = self._paths.get(key)
        if path is None or not os.path.exists(path):
            folder = os.path.join(self._folder, key)
            os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
            path = self._paths[key] = os.path.join(folder, name)
            own = os.path.join(folder, "bin")
            _write(os.path.join(own, "srun"), _SRUN)
            _write(os.path.join(folder, "again.bash"), _AGAIN.format(own=shlex.quote(own)))
            _write(path, text)
        return path


def _write(path: str, text: str) -> None:
    beside = f"{path}.new"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o700)
    with os.fdopen(fd, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    os.replace(beside, path)


def words_of(path: str, text: str) -> List[str]:
    """By which it is started."""
    found = _LOGIN.match(text.partition("\n")[0])
    if found is None or os.path.basename(found[1]) not in _OTHERS:
        return [path]
    own = shlex.quote(os.path.join(os.path.dirname(path), "bin"))
    return [found[1], found[2], "-c", _READ.format(own=own), path]


def surround(env: Dict[str, str], path: str) -> str:
    """Adds what is known only on the machine; returns a folder of the task's own, to be removed."""
    own = os.path.join(os.path.dirname(path), "bin")
    env["PATH"] = f"{own}:{env.get('PATH', os.defpath)}"
    if env.get("BASH_ENV"):
        env["TAILRACE_BASH_ENV"] = env["BASH_ENV"]
    env["BASH_ENV"] = os.path.join(os.path.dirname(path), "again.bash")
    env.setdefault(_FUNCTION, f'() {{  {shlex.quote(os.path.join(own, "srun"))} "$@"\n}}')
    env.setdefault("TMPDIR", "/tmp")
    env[TMPDIR] = tempfile.mkdtemp(prefix="tailrace-", dir=_existing(env["TMPDIR"]))
    node = os.uname().nodename.partition(".")[0]
    env.update(dict.fromkeys(("SLURMD_NODENAME", "SLURM_JOB_NODELIST", "SLURM_NODELIST"), node))
    return env[TMPDIR]


def _existing(folder: str) -> str:
    return folder if os.path.isdir(folder) else tempfile.gettempdir()
