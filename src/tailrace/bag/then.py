"""`then`: a command that runs once, when all tasks of the bag have their result.

It is the last task of its bag, and a task like any other: with needs, limits, retries and a result.
But it runs in the bag's folder, where the outputs of the others lie, and finds in `TAILRACE_FAILED`
how many of them failed. A text runs in a shell, a list of words without one; `{bag}` is the only
placeholder.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tailrace.bag.spec import BagSpec
from tailrace.bag.tables import Table, near, said
from tailrace.bag.task import Task
from tailrace.bag.template import Scope, Template

NAME = "then"  # by which it is found, beside its number
FAILED = "TAILRACE_FAILED"
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
