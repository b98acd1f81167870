"""`[setup]`: what a machine does once before it runs tasks of the bag.

* `modules = ["gcc/12", "openmpi"]`: loaded with `module load`.
* `requirements`: a file for pip, or a list of its lines; installed into an environment of its own,
  made with the worker's Python.
* `script`: lines of shell; variables that it exports are there in every task.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from tailrace.bag.tables import Table
from tailrace.bag.textfile import read_text

_MODULE = re.compile(r"[\w.+/:@=-]+")


class Setup(msgspec.Struct, frozen=True, omit_defaults=True):
    modules: tuple[str, ...] = ()
    requirements: str = ""  # the text of the file
    script: str = ""


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
    found = Setup(tuple(modules), _requirements(inner, folder), inner.take("script", str) or "")
    inner.finish()
    if "\0" in found.requirements + found.script:
        raise table.bad("setup", "setup holds a NUL byte", "remove it")
    if found == Setup():
        raise table.bad("setup", "setup says nothing", "give script, modules or requirements")
    return {"setup": found}


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
    ]
    return ", ".join(part for part in parts if part)
