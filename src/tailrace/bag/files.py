"""Inputs and outputs of a bag file, and `files`: where the tasks run.

* `files = "here"`: in the folder of the bag, as under xargs. The default when no file is declared.
* `files = "staged"`: in an empty folder per attempt; inputs are laid there read-only, outputs are
  published with the accepted result.
* `inputs = ["model.py", "data/{case}.json"]`: each lies under the same name in the attempt's
  folder (one from elsewhere under its last part). As a table, name there → path here.
* `outputs = ["results/{alpha}/{seed}.csv"]`: left by the task and published under this name. As a
  table, name there → target here, or → `{target = "…", required = false}`.

Paths are relative to the bag's folder; targets stay inside it.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from tailrace.bag.spec import BagSpec, FileRule
from tailrace.bag.tables import Origin, Table, said
from tailrace.bag.template import Template
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.bag.bag import Bag

MOST_STEP = 255  # bytes of a step of a path, as file systems have it
MOST_PATH = 4000
_FEW = 10_000  # tasks whose inputs are looked for


def read_files(table: Table) -> dict[str, Any]:
    """`files`, `inputs`, `outputs`, `repeatable` as fields of a BagSpec."""
    inputs = _rules(table, "inputs", "path")
    outputs = _rules(table, "outputs", "target")
    files = table.choice("files", ("here", "staged"), "staged" if inputs or outputs else "here")
    if files == "here" and outputs:
        message = 'outputs are published only with files = "staged"'
        raise table.bad("files", message, "remove outputs, or files")
    repeatable = table.take("repeatable", bool)
    return {
        "files": files,
        "inputs": inputs,
        "outputs": outputs,
        "repeatable": files == "staged" if repeatable is None else repeatable,
    }


def check_inside(template: Template, what: str) -> None:
    """The fixed part of a path stays in its folder; values are checked with the outputs."""
    if leads_out(_fixed(template)):
        raise BadInput(
            f"{what} {template.text!r} is not inside the folder",
            remedy="write a relative path without .. and not ending in a slash",
        )


def _fixed(template: Template) -> str:
    """The text with a plain letter for each value."""
    return "".join(part if isinstance(part, str) else "x" for part in template.parts)


def leads_out(path: str) -> bool:
    parts = path.split("/")
    return path.startswith("/") or ".." in parts or parts[-1] in ("", ".") or "\0" in path


def check_lengths(spec: BagSpec, origin: Origin) -> None:
    """Of what stands in every name; values are checked with the outputs."""
    for kind, rules in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for position, rule in enumerate(rules):
            names = (rule.name, rule.place) if kind == "outputs" else (rule.name,)
            with origin.at(kind, step_of(rule, position)):
                for name in names:
                    check_length(_fixed(Template(name)), "a file")


def check_length(path: str, what: str) -> None:
    if too_long(path):
        step = max(path.split("/"), key=len)
        raise BadInput(
            f"{what} would have a name of {len(path):,} characters: {step[:40]}…",
            remedy=f"no step of a path may have more than {MOST_STEP} bytes, "
            f"nor all of it more than {MOST_PATH:,}",
        )


def too_long(path: str) -> bool:
    """For file systems."""
    data = path.encode("utf-8", "surrogatepass")
    return len(data) > MOST_PATH or any(len(step) > MOST_STEP for step in data.split(b"/"))


def step_of(rule: FileRule, position: int) -> str | int:
    """Where a rule stands in its list or table."""
    return position if rule.name == rule.place else rule.name


def check_inputs(bag: Bag, origin: Origin) -> None:
    """Each input must exist, where its files are here; those with placeholders are looked for with
    the first tasks."""
    for position, rule in enumerate(bag.spec.inputs):
        place = ("inputs", step_of(rule, position))
        for path in _paths(bag, Template(rule.place)):
            with origin.at(*place):
                check_length(path, "an input")
            if bag.spec.catalogue is None and not Path(bag.spec.folder, path).exists():
                message = f"the input {path} does not exist"
                raise origin.bad(place, message, f"looked in {bag.spec.folder}")


def _paths(bag: Bag, template: Template) -> dict[str, None]:
    count = min(bag.blocks.count, _FEW) if template.fields else 1
    return dict.fromkeys(template.render(bag.scope(index)) for index in range(count))


def _rules(table: Table, key: str, side: str) -> tuple[FileRule, ...]:
    given = table.take(key, list, dict)
    if isinstance(given, dict):
        inner = Table(given, table.origin, (key,))
        return tuple(_named(inner, name, value, side) for name, value in inner.items())
    return tuple(_plain(table, key, i, value, side) for i, value in enumerate(given or []))


def _plain(table: Table, key: str, position: int, value: Any, side: str) -> FileRule:
    with table.origin.at(key, position):
        if not isinstance(value, str) or not value:
            raise BadInput(f"{key} holds {said(value)}", remedy="list paths as texts in quotes")
        elsewhere = side == "path" and leads_out(_fixed(Template(value)))
        return _checked(FileRule(PurePosixPath(value).name if elsewhere else value, value), side)


def _named(table: Table, name: str, value: Any, side: str) -> FileRule:
    required, place = None, value
    if isinstance(value, dict) and side == "target":
        inner = Table(value, table.origin, (*table.path, name))
        required, place = inner.take("required", bool), inner.take("target", str) or name
        inner.finish()
    if not isinstance(place, str) or not place:
        message = f"{table.label(name)} is {said(value)}"
        raise table.bad(name, message, f"give its {side} as a text in quotes")
    with table.origin.at(*table.path, name):
        return _checked(FileRule(name, place, required is not False), side)


def _checked(rule: FileRule, side: str) -> FileRule:
    check_inside(Template(rule.name), "the name")
    if side == "target":
        check_inside(Template(rule.place), "the target")
    return rule
