"""What a bag would run, on the screen or as JSON: `check` and `run --dry-run` show the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.report import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tailrace.bag.overview import Overview

WIDEST = 2000  # characters of a command that are shown


def show(overview: Overview, *, as_json: bool = False) -> None:
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(overview)).decode())
        return
    for line in lines(overview):
        click.echo(line)


def lines(overview: Overview) -> Iterator[str]:
    tasks = words.count(overview.count, "task")
    yield f"{overview.name}: {tasks}, from {_source(overview)}"
    yield ""
    for number, command in enumerate(overview.first):
        yield _row(f"task {number}", _short(command))
    if overview.last:
        if overview.count > len(overview.first) + 1:
            yield _row("…", "")
        yield _row(f"task {overview.count - 1}", _short(overview.last))
    yield ""
    for name, text in _facts(overview):
        yield _row(name, text)
    for warning in overview.warnings:
        yield f"note: {warning}"


def _source(overview: Overview) -> str:
    return "the command line" if overview.source == ":::" else overview.source


def _facts(overview: Overview) -> Iterator[tuple[str, str]]:
    for number, axis in enumerate(overview.axes):
        yield ("parameters" if number == 0 else "", axis)
    yield "runs", "in a shell (sh -c)" if overview.shell else "without a shell"
    yield "folder", overview.folder
    yield "files", overview.files
    yield from _listed("inputs", overview.inputs)
    yield from _listed("outputs", overview.outputs)
    if overview.then != "nothing":
        yield "then", overview.then
    if overview.setup != "none":
        yield "setup", overview.setup
    yield from _listed("secrets", overview.secrets)
    yield "needs", overview.needs
    yield "limits", overview.limits
    yield "retries", overview.retries
    yield "order", overview.order
    yield "result", overview.result
    for name in ("budget", "deadline", "timeout", "max_running", "pools", "policy"):
        text = getattr(overview, name)
        if text not in ("none", "any", "all that fit"):
            yield name.replace("_", " "), text
    for name, usual in (("matching", "fcfs"), ("replication", "none"), ("round", "at once")):
        text = getattr(overview, name)
        if text != usual:
            yield name, text


def _listed(name: str, items: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(items):
        yield ("" if number else name, item)


def _row(name: str, text: str) -> str:
    from tailrace.cli.screen import plain

    return f"  {name:<11} {plain(text)}".rstrip()


def _short(command: str) -> str:
    if len(command) <= WIDEST:
        return command
    return f"{command[:WIDEST]}… ({len(command):,} characters)"
