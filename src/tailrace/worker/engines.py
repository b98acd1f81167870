"""Container engines, in their own words: to have an image, to run in it, to remove what ran.

A task in an image is to be what it is without one: the same user, folder and network, the variables
that it is given, its own exit code. Values go through the engine's environment, or a file if
they would change the engine itself, and never into its command line, which everybody may read.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

KINDS = ("podman", "docker", "apptainer", "singularity")  # as they are looked for
LABEL = "tailrace"
ARCHIVES = (".tar", ".tar.gz", ".tgz")
_OF_FILES = ("apptainer", "singularity")
# What would change the engine itself if it stood in its environment: names that begin so, and those
# that every program written in Go heeds.
_ENGINES_OWN = (
    "PATH", "HOME", "TMPDIR", "LD_", "XDG_", "DOCKER_", "CONTAINER", "PODMAN", "STORAGE_",
    "REGISTRY_", "APPTAINER", "SINGULARITY",
)  # fmt: skip
_GOS_OWN = {
    "GODEBUG", "GOTRACEBACK", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GORACE", "GOCOVERDIR", "GOROOT",
}  # fmt: skip
_LINE_BYTES = 60_000  # an engine reads lines of a file up to 64 KiB
# How what an engine says begins, where it is not the last line that it writes.
_SAYS = {"podman": "Error: ", "docker": "docker: "}
_SAID_CHARACTERS = 800
Json = Dict[str, Any]


class Inside(NamedTuple):
    """An image that is ready on this machine, and the engine that has it."""

    kind: str
    engine: str  # where the program is
    image: str  # as the engine knows it: names may come to mean another
    mounts: Sequence[str] = ()


class Box(NamedTuple):
    """One container: what runs in it and what it sees of the machine."""

    name: str
    owner: str  # by which a later worker finds it
    folder: str
    mounts: Sequence[str]
    given: Mapping[str, str]
    argv: Sequence[str]
    gpus: bool = False


class CannotGive(Exception):
    """A value that no engine can be handed unseen; says which and why, and not the value."""


def is_file(image: str) -> bool:
    return image.endswith((".sif", *ARCHIVES))


def found(wanted: str, image: str, search: Optional[str] = None) -> List[Inside]:
    """The engines on this machine that could have it, in the order in which they are tried."""
    kinds = (wanted,) if wanted else _OF_FILES if image.endswith(".sif") else KINDS
    paths = [(kind, shutil.which(kind, path=search)) for kind in kinds]
    return [Inside(kind, path, image) for kind, path in paths if path]


# ---- to have it ----------------------------------------------------------------------------------


def there(inside: Inside) -> List[str]:
    """Ends well, and says what it is, if the engine has the image."""
    if inside.kind in _OF_FILES:
        return ["test", "-e", inside.image]
    return [inside.engine, "image", "inspect", "--format", "{{.Id}}", inside.image]


def fetch(inside: Inside, kept: str) -> List[str]:
    """`kept` is a folder for what the engine does not keep itself."""
    if inside.kind in _OF_FILES:
        source = inside.image if is_file(inside.image) else f"docker://{inside.image}"
        if source.endswith(".tar"):
            source = f"docker-archive://{source}"
        return [inside.engine, "pull", os.path.join(kept, "image.sif"), source]
    if is_file(inside.image):
        return [inside.engine, "load", "--input", inside.image]
    return [inside.engine, "pull", inside.image]


def loaded(said: str) -> str:
    """The image's name, as `load` tells it."""
    names = [line.split(": ", 1)[1] for line in said.splitlines() if line.startswith("Loaded im")]
    return names[-1].split(",")[0].strip() if names else ""


# ---- to run in it --------------------------------------------------------------------------------


def run(inside: Inside, box: Box, told: Sequence[int] = ()) -> List[str]:
    """`told`: the open file with what is `withheld`, if anything is."""
    if inside.kind in _OF_FILES:
        return _exec(inside, box)
    words = [
        inside.engine, "run", "--name", box.name, "--label", f"{LABEL}={box.owner}",
        "--network", "host", "--ipc", "host", "--user", f"{os.getuid()}:{os.getgid()}",
        "--security-opt", "label=disable", "--log-driver", "none", "--workdir", box.folder,
    ]  # fmt: skip
    if inside.kind == "podman" and os.getuid() != 0:
        words += ["--userns", "keep-id"]
    if box.gpus:  # which of them says CUDA_VISIBLE_DEVICES
        podmans = inside.kind == "podman"
        words += ["--device", "nvidia.com/gpu=all"] if podmans else ["--gpus", "all"]
    for path in _mounted(inside, box):
        words += ["--mount", _row("type=bind", f"source={path}", f"target={path}")]
    for name in box.given:
        words += [] if is_engines(name) else ["--env", name]
    for fd in told:
        words += ["--env-file", f"/proc/self/fd/{fd}"]
    return [*words, "--entrypoint", box.argv[0], inside.image, *box.argv[1:]]


def _exec(inside: Inside, box: Box) -> List[str]:
    words = [inside.engine, "exec", "--cleanenv", "--pid", "--pwd", box.folder]
    words += ["--nv"] if box.gpus else []
    for path in _mounted(inside, box):
        words += ["--bind", path]
    return [*words, inside.image, *box.argv]


def _mounted(inside: Inside, box: Box) -> List[str]:
    return list(dict.fromkeys([box.folder, *box.mounts, *inside.mounts]))


def _row(*fields: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(fields)
    return text.getvalue()


def environment(inside: Inside, box: Box, own: Mapping[str, str]) -> Dict[str, str]:
    """Of the engine, which hands on what the task is given."""
    if inside.kind in _OF_FILES:
        prefix = f"{inside.kind.upper()}ENV_"
        return {**own, **{f"{prefix}{name}": value for name, value in box.given.items()}}
    return {**own, **{name: v for name, v in box.given.items() if not is_engines(name)}}


def withheld(inside: Inside, box: Box) -> bytes:
    """What a task is given past the engine's environment: the lines of a file for the engine."""
    if inside.kind in _OF_FILES:
        return b""
    return b"".join(_line(name, value) for name, value in box.given.items() if is_engines(name))


def _line(name: str, value: str) -> bytes:
    line = f"{name}={value}\n".encode("utf-8", "surrogateescape")
    why = _unfit(value, line)
    if why:
        raise CannotGive(
            f"the variable {name} cannot be given to a task in an image: its value {why}, and by "
            "this name the container engine itself would heed it; choose another name"
        )
    return line


def _unfit(value: str, line: bytes) -> str:
    """Engines take each line as it is: nothing in it can be quoted."""
    if "\n" in value or "\r" in value:
        return "has more than one line"
    if len(line) > _LINE_BYTES:
        return f"has more than {_LINE_BYTES:,} bytes"
    return "" if line.decode("utf-8", "replace").encode() == line else "is not UTF-8"


def is_engines(name: str) -> bool:
    """Its own, as much as the task's."""
    return name.startswith(_ENGINES_OWN) or name in _GOS_OWN


# ---- how it ended --------------------------------------------------------------------------------


def asked_about(inside: Inside, name: str, code: int) -> List[str]:
    """What says whether it ever began; empty if its exit code says so by itself."""
    if inside.kind in _OF_FILES or code not in (125, 126, 127):
        return []
    return [inside.engine, "container", "inspect", "--format", "{{.State.StartedAt}}", name]


def said(inside: Inside, written: str) -> str:
    """Its own last words, in one line: some say more than one, and end with advice."""
    lines = [line.strip() for line in written.splitlines() if line.strip()]
    lines = [line for line in lines if "docker run --help" not in line]
    at = [n for n, line in enumerate(lines) if line.startswith(_SAYS.get(inside.kind, "\0"))]
    return " ".join(lines[at[-1] :] if at else lines[-1:])[:_SAID_CHARACTERS]


def never_began(inside: Inside, code: int, answer: str, words: str, program: str) -> int:
    """125: by the engine's fault; 126, 127: there is no such program in the image; else 0.

    Podman and Docker guess such a number from what the runtime says: whatever is "not found" is a
    program to them, be it a library of the runtime itself. So its words must name the program.
    """
    if inside.kind in _OF_FILES:
        if code != 255 or not words.startswith("FATAL:"):
            return 0
        return 127 if "executable file not found" in words else 125
    if code not in (125, 126, 127) or not (answer.startswith("0001-") or not answer):
        return 0
    return code if _is_of_program(words, program) else 125


def _is_of_program(words: str, program: str) -> bool:
    """As runc, crun (two ways) and gVisor say that they cannot execute it."""
    named = (f'exec: "{program}"', f"executable file `{program}`", f'executable "{program}"')
    return any(text in words for text in (*named, "open executable:", "but it is not executable"))


# ---- to remove what ran --------------------------------------------------------------------------


def remove(inside: Inside, names: Sequence[str]) -> List[str]:
    """Ends it at once; empty if the engine keeps nothing."""
    if inside.kind in _OF_FILES:
        return []
    at_once = ["--time", "0", "--ignore"] if inside.kind == "podman" else []
    return [inside.engine, "rm", "--force", "--volumes", *at_once, *names]


def listed(inside: Inside, which: str) -> List[str]:
    """The containers that its filter finds; empty if the engine keeps nothing."""
    if inside.kind in _OF_FILES:
        return []
    return [inside.engine, "ps", "--all", "--quiet", "--no-trunc", "--filter", which]
