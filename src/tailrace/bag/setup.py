"""`[setup]`: what a machine does once before it runs tasks of the bag.

* `modules = ["gcc/12", "openmpi"]`: loaded with `module load`.
* `requirements`: a file for pip, or a list of its lines; installed into an environment of its own,
  made with the worker's Python.
* `script`: lines of shell; variables that it exports are there in every task.
* `image`: of a container, in which the tasks run; `engine` that runs it, where several could; and
  `mounts`, folders that it is to see beside the task's own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from tailrace.bag.tables import Table
from tailrace.bag.textfile import read_text

_MODULE = re.compile(r"[\w.+/:@=-]+")
_IMAGE = re.compile(r"[\w./][\w.+/:@-]*", re.ASCII)
ENGINES = ("podman", "docker", "apptainer", "singularity")
FILES = (".sif", ".tar", ".tar.gz", ".tgz")


class Setup(msgspec.Struct, frozen=True, omit_defaults=True):
    modules: tuple[str, ...] = ()
    requirements: str = ""  # the text of the file
    script: str = ""
    image: str = ""  # a name, or the path of a file
    engine: str = ""
    mounts: tuple[str, ...] = ()


def read_setup(table: Table, folder: Path) -> dict[str, Any]:
    """As a field of a BagSpec."""
    given, inner = "setup" in table, table.table("setup")
    if not given:
        return {}
    modules = inner.take("modules", list) or []
    for name in modules:
        if not isinstance(name, str) or not _MODULE.fullmatch(name) or name.startswith("-"):
            remedy = 'write modules = ["gcc/12"]'
            raise inner.bad("modules", f"{name!r} is not the name of a module", remedy)
    script = inner.take("script", str) or ""
    found = Setup(tuple(modules), _requirements(inner, folder), script, *_image(inner, folder))
    inner.finish()
    _check_image(inner, found)
    if "\0" in found.requirements + found.script:
        raise table.bad("setup", "setup holds a NUL byte", "remove it")
    if found == Setup():
        raise table.bad(
            "setup", "setup says nothing", "give script, modules, requirements or image"
        )
    return {"setup": found}


def _image(table: Table, folder: Path) -> tuple[str, str, tuple[str, ...]]:
    image, engine = table.take("image", str) or "", table.take("engine", str) or ""
    mounts = table.take("mounts", list) or []
    if image and not _IMAGE.fullmatch(image):
        remedy = 'write image = "python:3.12", or the path of a .sif or .tar file'
        raise table.bad("image", f"{image!r} is not the name of an image", remedy)
    if engine and engine not in ENGINES:
        raise table.bad("engine", f"{engine!r} is not known", f"choose from {', '.join(ENGINES)}")
    for path in mounts:
        if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
            remedy = 'write mounts = ["/data"]; it is found at the same path inside'
            raise table.bad("mounts", f"{path!r} is not the whole path of a folder", remedy)
    return str(folder / image) if image.endswith(FILES) else image, engine, tuple(mounts)


def _check_image(table: Table, found: Setup) -> None:
    """What belongs to the machine is of no use in an image, and the other way round."""
    if not found.image:
        for name in ("engine", "mounts"):
            if getattr(found, name):
                raise table.bad(name, f"{name} without an image", f"give image, or remove {name}")
        return
    for name in ("modules", "requirements"):
        if getattr(found, name):
            remedy = f"make an image that has them, or leave out image or {name}"
            raise table.bad(name, f"{name} of the machine are not there in an image", remedy)
    if found.image.endswith(".sif") and found.engine in ("podman", "docker"):
        raise table.bad("engine", f"{found.engine} runs no .sif file", 'write engine = "apptainer"')


def _requirements(table: Table, folder: Path) -> str:
    given = table.take("requirements", str, list)
    if given is None:
        return ""
    if isinstance(given, str):
        with table.origin.at("setup", "requirements"):
            return read_text(folder / given, str(folder / given))
    if not all(isinstance(line, str) for line in given):
        remedy = 'write requirements = ["numpy"], or name a file'
        raise table.bad("requirements", "requirements holds what is no text", remedy)
    return "\n".join(given) + "\n"


def describe(setup: Setup | None) -> str:
    if setup is None:
        return "none"
    lines = [line for line in setup.requirements.splitlines() if line.strip()]
    parts = [
        f"modules {', '.join(setup.modules)}" if setup.modules else "",
        f"{len(lines)} line{'s' * (len(lines) != 1)} of requirements" if lines else "",
        "a script" if setup.script else "",
        f"the image {setup.image}" if setup.image else "",
    ]
    return ", ".join(part for part in parts if part)
