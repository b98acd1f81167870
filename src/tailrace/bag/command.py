"""The command of a bag, ready to be filled in for a task."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from tailrace.bag.parallel import ParallelCommand
from tailrace.bag.spec import BagSpec
from tailrace.bag.sweep import Sweep
from tailrace.bag.template import Field, Scope, Template

Built = tuple[tuple[str, ...] | None, str | None]  # argv or a shell line

LISTED = "command"  # the parameter that holds a listed command
PREFIX = "TAILRACE_PARAM_"


class Command(Protocol):
    def build(self, scope: Scope) -> Built: ...

    def parts(self) -> Iterable[str | Field]:
        """What its texts are made of, to know how long they become."""


class Argv:
    def __init__(self, words: tuple[str, ...]) -> None:
        self.templates = [Template(word) for word in words]
        self._renders = [template.render for template in self.templates]

    def build(self, scope: Scope) -> Built:
        return tuple([render(scope) for render in self._renders]), None

    def parts(self) -> list[str | Field]:
        return [part for template in self.templates for part in template.parts]


class Shell:
    def __init__(self, line: str) -> None:
        self.templates = [Template(line, shell=True)]
        self._render = self.templates[0].render

    def build(self, scope: Scope) -> Built:
        return None, self._render(scope)

    def parts(self) -> list[str | Field]:
        return self.templates[0].parts


class Row:
    """Each row is a shell command of its own."""

    def build(self, scope: Scope) -> Built:
        return None, scope[LISTED]  # type: ignore[return-value]

    def parts(self) -> list[str | Field]:
        return [Field(LISTED)]


class Fixed:
    """The same words for every task."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    def build(self, scope: Scope) -> Built:
        return self._words, None

    def parts(self) -> tuple[str, ...]:
        return self._words


def command_of(spec: BagSpec, sweep: Sweep) -> Command:
    if spec.syntax == "listed":
        return Row()
    if spec.syntax == "parallel":
        return ParallelCommand(spec.command, len(sweep.names()))
    if spec.syntax == "batch":
        return Fixed(tuple(spec.command))
    return Shell(spec.command) if isinstance(spec.command, str) else Argv(spec.command)


def variable(name: str) -> str:
    """The variable of the environment in which a task finds a parameter."""
    return PREFIX + re.sub(r"\W", "_", name, flags=re.ASCII)
