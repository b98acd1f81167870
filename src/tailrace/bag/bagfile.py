"""A TOML bag file becomes a bag.

* `command`: a text runs in a shell (`sh -c`), a list of words without one. Placeholders: see
  `template`.
* `unused = "ok"`: parameters may stand nowhere; each task finds them in `TAILRACE_PARAM_name`
  anyway.
* Parameters: see `parameters`. Files: see `files`. All else: see `rules`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tailrace.bag import policysaid
from tailrace.bag.bag import Bag
from tailrace.bag.checks import check_bag
from tailrace.bag.commands import read_commands, text_lines
from tailrace.bag.files import read_files
from tailrace.bag.parallel import read_words
from tailrace.bag.parameters import read_axes
from tailrace.bag.policysaid import Believe
from tailrace.bag.rules import read_rules
from tailrace.bag.secrets import read_secrets
from tailrace.bag.setup import read_setup
from tailrace.bag.spec import BagSpec
from tailrace.bag.starter import name_for
from tailrace.bag.strategies import Admit, anything
from tailrace.bag.tables import Origin, Table, read_toml, said
from tailrace.bag.textfile import read_text
from tailrace.bag.then import read_then
from tailrace.errors import BadInput


def load_bag_file(
    path: Path,
    settings: Mapping[str, Any] | None = None,
    admit: Admit = anything,
    believe: Believe = policysaid.anything,
) -> Bag:
    """`settings` are keys of the file given as flags; they stand above it. `admit` knows which
    strategies there are, and `believe` what policies mean: whoever will run the bag gives them."""
    shown, flags = str(path), _given(settings)
    text = read_text(path, shown)
    data = read_toml(text, shown)
    if not data:
        remedy = "write one with: tailrace init 'python model.py --alpha {alpha}'"
        raise BadInput("the bag file is empty", file=shown, line=1, remedy=remedy)
    table = Table({**data, **flags}, Origin(shown, text, flags))
    return _from_table(table, path.absolute().parent, shown, path.stem, admit, believe)


def _from_table(
    table: Table, folder: Path, shown: str, name: str, admit: Admit, believe: Believe
) -> Bag:
    command = table.take("command", str, list)
    table.take("settings", dict)  # of the machine, not of the bag: read by the command
    unused = table.choice("unused", ("error", "ok"), "error")
    own = [name for name in (Path(shown).name, table.peek("csv")) if isinstance(name, str)]
    axes_of = read_axes(table, folder)
    rules, files = read_rules(table, name), read_files(table) | read_then(table)
    files |= around(table, rules, folder)
    table.finish()
    words = _command(table, command)
    axes, chunks = axes_of()
    spec = BagSpec(folder=str(folder), source=shown, command=words, axes=axes, **rules, **files)
    unused_ok = unused == "ok"
    return check_bag(
        spec, chunks, table.origin, unused_ok=unused_ok, admit=admit, believe=believe,
        own=tuple(own),
    )  # fmt: skip


def around(table: Table, rules: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What its tasks find on a machine beside their files."""
    return read_secrets(table, rules["env"]) | read_setup(table, folder.absolute())


def _command(table: Table, command: Any) -> str | tuple[str, ...]:
    if not command or (isinstance(command, str) and not command.strip()):
        raise table.bad(
            "command", "there is no command", 'write command = "python model.py --alpha {alpha}"'
        )
    if isinstance(command, str):
        return command
    for position, word in enumerate(command):
        if isinstance(word, (list, dict, bool)):
            raise table.origin.bad(
                ("command", position),
                f"the command holds {said(word)}",
                "list its words as texts in quotes",
            )
    return tuple(str(word) for word in command)


def bag_from_commands(
    lines: Iterable[str],
    folder: Path,
    *,
    source: str,
    admit: Admit = anything,
    believe: Believe = policysaid.anything,
    **settings: Any,
) -> Bag:
    """One shell command a line. `settings` as in `load_bag_file`."""
    rows, chunks = read_commands(lines, source)
    table = _flags(settings)
    rules = read_rules(table, Path(source).stem or "commands")
    files = read_files(table) | read_then(table) | around(table, rules, folder)
    table.finish()
    spec = BagSpec(
        folder=_absolute(folder), source=source, syntax="listed", axes=((rows,),), **rules, **files
    )
    return check_bag(spec, chunks, table.origin, unused_ok=True, admit=admit, believe=believe)


def load_commands_file(path: str, folder: Path, **settings: Any) -> Bag:
    """A file of commands, or `-` for standard input."""
    if path == "-":
        settings.setdefault("name", "commands")
        lines = text_lines(sys.stdin.buffer, "standard input")
        return bag_from_commands(lines, folder, source="standard input", **settings)
    try:
        with open(path, "rb") as stream:
            return bag_from_commands(text_lines(stream, path), folder, source=path, **settings)
    except OSError:
        read_text(Path(path), path)  # says why it cannot be read
        raise


def bag_from_parallel(
    words: Sequence[str],
    folder: Path,
    *,
    admit: Admit = anything,
    believe: Believe = policysaid.anything,
    **settings: Any,
) -> Bag:
    """`cmd {} ::: a b c`."""
    command, axes = read_words(words)
    table = _flags(settings)
    name = name_for(command if isinstance(command, str) else " ".join(command))
    rules, files = read_rules(table, name), read_files(table) | read_then(table)
    files |= around(table, rules, folder)
    table.finish()
    spec = BagSpec(
        folder=_absolute(folder),
        source=":::",
        command=command,
        syntax="parallel",
        axes=axes,
        **rules,
        **files,
    )
    return check_bag(spec, [], table.origin, unused_ok=True, admit=admit, believe=believe)


def _flags(settings: Mapping[str, Any]) -> Table:
    given = _given(settings)
    return Table(given, Origin(flags=given))


def _given(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    given = {key: value for key, value in (settings or {}).items() if value not in (None, ())}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in given.items()}


def _absolute(folder: Path) -> str:
    return str(folder.absolute())
