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
from typing import Any

from tailrace.bag.spec import FileRule
from tailrace.bag.tables import Origin, Table, said
from tailrace.bag.template import Template
from tailrace.errors import BadInput


def read_files(table: Table) -> dict[str, Any]:
    """`files`, `inputs`, `outputs`, `repeatable` as fields of a BagSpec."""
    inputs = _rules(table, "inputs", "path")
    outputs = _rules(table, "outputs", "target")
    files = table.choice("files", ("here", "staged"), "staged" if inputs or outputs else "here")
    if files == "here" and outputs:
        raise table.bad(
            "files", 'outputs are published only with files = "staged"', "remove outputs, or files"
        )
    for rule in outputs:
        with table.origin.at("outputs", rule.name):
            check_inside(Template(rule.place), "the target")
    for rule in (*inputs, *outputs):
        with table.origin.at("inputs" if rule in inputs else "outputs", rule.name):
            check_inside(Template(rule.name), "the name")
    repeatable = table.take("repeatable", bool)
    return {
        "files": files,
        "inputs": inputs,
        "outputs": outputs,
        "repeatable": files == "staged" if repeatable is None else repeatable,
    }


def check_inside(template: Template, what: str) -> None:
    """The fixed part of a path must not lead out of its folder; values are checked with the outputs."""
    text = "".join(part if isinstance(part, str) else "x" for part in template.parts)
    if leads_out(text):
        raise BadInput(
            f"{what} {template.text!r} is not inside the folder",
            remedy="write a relative path without .. and not ending in a slash",
        )


def leads_out(path: str) -> bool:
    parts = path.split("/")
    return path.startswith("/") or ".." in parts or parts[-1] in ("", ".") or "\0" in path


def check_inputs(
    origin: Origin, rules: tuple[FileRule, ...], folder: Path, scopes: list[dict[str, Any]]
) -> None:
    """Each input must exist; those with placeholders are looked for with the scopes given."""
    for position, rule in enumerate(rules):
        template = Template(rule.place)
        for path in dict.fromkeys(
            template.render(scope) for scope in (scopes if template.fields else [{}])
        ):
            if not (folder / path).exists():
                step: str | int = rule.name if rule.name != rule.place else position
                raise origin.bad(
                    ("inputs", step), f"the input {path} does not exist", f"looked in {folder}"
                )


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
        Template(value)
        if side == "target":
            check_inside(Template(value), "the target")
        outside = side == "path" and leads_out(value)
        return FileRule(PurePosixPath(value).name if outside else value, value)


def _named(table: Table, name: str, value: Any, side: str) -> FileRule:
    if isinstance(value, str):
        rule = FileRule(name, value)
    elif isinstance(value, dict) and side == "target":
        inner = Table(value, table.origin, (*table.path, name))
        required = inner.take("required", bool)
        rule = FileRule(name, inner.take("target", str) or name, required is not False)
        inner.finish()
    else:
        raise table.bad(name, f"{table.label(name)} is {said(value)}", f"give its {side} as a text")
    with table.origin.at(*table.path, name):
        Template(rule.name), Template(rule.place)
    return rule
