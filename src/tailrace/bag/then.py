"""`then`: a command that runs once, when all tasks of the bag have their result.

It is the last task of its bag, and a task like any other: with needs, limits, retries and a result.
But it runs in the bag's folder, where the outputs of the others lie, and finds in `TAILRACE_FAILED`
how many of them failed. A text runs in a shell, a list of words without one; `{bag}` is the only
placeholder.

Where the files of the bag travel, it has a folder of its own that is laid out like the bag's: what
the bag brought along from there, the programs that it names itself, and the outputs of the others
at their targets. What else it leaves there are its outputs.
"""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tailrace.bag.catalogue import Catalogue, check_name
from tailrace.bag.programs import among
from tailrace.bag.spec import BagSpec
from tailrace.bag.tables import Table, near, said
from tailrace.bag.task import Input, Output, Task
from tailrace.bag.template import Scope, Template
from tailrace.errors import BadInput

NAME = "then"  # by which it is found, beside its number
FAILED = "TAILRACE_FAILED"
MOST_OUTPUTS = 10_000  # of the others, brought to the one machine it runs on
_KNOWN = ("bag",)
_EXAMPLE = 'write then = "python collect.py"'


def read_then(table: Table) -> dict[str, Any]:
    """As a field of a BagSpec."""
    given = table.take(NAME, str, list)
    if given is None:
        return {}
    words = [given] if isinstance(given, str) else given
    for position, word in enumerate(words):
        with table.origin.at(NAME, position):
            _check(table, word, shell=isinstance(given, str))
    if not any(str(word).strip() for word in words[:1]):
        raise table.bad(NAME, "there is no command", _EXAMPLE)
    return {NAME: given if isinstance(given, str) else tuple(words)}


def _check(table: Table, word: Any, *, shell: bool) -> None:
    if not isinstance(word, str):
        raise table.bad(NAME, f"then holds {said(word)}", "list its words as texts in quotes")
    if "\0" in word:
        raise ValueError("a NUL byte cannot be part of a command")
    for name in Template(word, shell=shell).names():
        if name not in _KNOWN:
            message = f"{{{name}}} has no value when all tasks are done"
            remedy = f"only {{bag}} stands for something{near(name, list(_KNOWN))}"
            raise table.bad(NAME, message, f"{remedy}; for literal braces write {{{{{name}}}}}")


def task(spec: BagSpec, index: int) -> Task:
    env = {"TAILRACE_TASK": str(index)}
    scope: Scope = {"bag": spec.name}
    if isinstance(spec.then, str):
        line = Template(spec.then, shell=True).render(scope)
        return Task(index, {}, shell=line, env=env, last=True)
    words = tuple(Template(word).render(scope) for word in spec.then or ())
    return Task(index, {}, words, env=env, last=True)


def with_failed(one: Task, failed: int) -> Task:
    """Told how many of the others failed, as can be known only when it is sent."""
    return replace(one, env={**one.env, FAILED: str(failed)})


def programs(spec: BagSpec) -> list[Path]:
    """Those of the bag's folder that its words name: `collect.py`. They travel with the bag; a file
    of another kind that is named may be one that it is to write."""
    if spec.then is None:
        return []
    words = _split(spec.then) if isinstance(spec.then, str) else spec.then
    paths = (Path(spec.folder, word) for word in dict.fromkeys(among(words)))
    return [path for path in paths if _is_below(path, spec.folder) and path.is_file()]


def _split(line: str) -> list[str]:
    """`cd sub; python3 collect.py`: what a shell would make of it is not asked."""
    try:
        return list(shlex.shlex(line, posix=True, punctuation_chars=True))
    except ValueError:
        return line.split()


def _is_below(path: Path, folder: str) -> bool:
    return Path(os.path.normpath(path)).is_relative_to(folder)


def brought(known: Catalogue, folder: str) -> Iterator[Input]:
    """What the bag brought along from its folder, as it lies there."""
    for path, entries in known.items():
        plain = os.path.normpath(path)
        if Path(plain).is_relative_to(folder) and plain != folder:
            name = os.path.relpath(plain, folder)
            for entry in entries:
                more = f"/{entry.name}" if entry.name else ""
                yield Input(name + more, path + more, entry.hash, entry.size, entry.executable)


def outputs(names: Iterable[str]) -> tuple[Output, ...]:
    """What it left, where it left it; BadInput for a name that leads astray."""
    found = []
    for name in names:
        if not name:
            raise BadInput("what `then` left has a file without a name")
        check_name(name, "what `then` left")
        found.append(Output(name, name))
    return tuple(found)
