"""Writes command-line.md from the commands themselves; a test checks that it is up to date.

python docs/reference/make_command_line.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click

from tailrace.cli.main import COMMANDS, tailrace_command

PAGE = Path(__file__).with_name("command-line.md")

HEAD = """\
# The command line

<!-- Written by make_command_line.py from the commands themselves. Do not edit. -->

`tailrace --help` lists the commands, `tailrace COMMAND --help` explains one. Commands look for the
nearest `.tailrace` upwards, so they work from any folder below the bag. A bag is named by its
number or its name, a task by its number (`17`), by its values (`alpha=0.1,seed=3`) or with its bag
(`2/17`). What the exit codes mean is [here](exit-codes.md); each command may also end with 2 (bad
input), 6 (server or store) or 130 (interrupted).
"""

# Besides 2, 6 and 130.
EXIT_CODES = {
    "run": "0 all succeeded · 1 some failed, or cancelled · 4 stopped by the budget · 5 braked",
    "submit": "0 handed in",
    "resume": "as `run`; 0 when a server that stays goes on with it",
    "demo": "as `run`",
    "watch": "as `run`: the bag's, when it has ended",
    "reproduce": "the task's own",
    "plan": "0 · 3 nothing is within the budget or the deadline",
    "replay": "0 every decision came out the same · 1 one did not",
}


def page() -> str:
    context = click.Context(tailrace_command, info_name="tailrace")
    parts = [HEAD, _contents()]
    for name in COMMANDS:
        command = tailrace_command.get_command(context, name)
        assert command is not None
        parts.append(_command(name, command, click.Context(command, context, info_name=name)))
    return "\n".join(parts)


def _contents() -> str:
    rows = [f"| [`{name}`](#{name}) | {about} |" for name, about in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows]) + "\n"


def _command(name: str, command: click.Command, context: click.Context) -> str:
    usage = " ".join([f"tailrace {name}", *command.collect_usage_pieces(context)])
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    parts = [f"## {name}\n", f"```\n{usage}\n```\n", text + "\n"]
    parts += _options(command, context)
    if isinstance(command, click.Group):
        parts += [part for one in command.commands.values() for part in _below(name, one, context)]
    parts.append(f"Exit codes: {EXIT_CODES.get(name, '0')}.\n")
    if command.epilog:
        parts.append(command.epilog + "\n")
    return "\n".join(parts)


def _options(command: click.Command, context: click.Context) -> list[str]:
    options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
    rows = [_option(option, context) for option in options if "--help" not in option.opts]
    return ["\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"] if rows else []


def _below(name: str, command: click.Command, above: click.Context) -> list[str]:
    context = click.Context(command, above, info_name=command.name)
    usage = " ".join([f"tailrace {name} {command.name}", *command.collect_usage_pieces(context)])
    return [f"`{usage}`: {inspect.cleandoc(command.help or '')}\n", *_options(command, context)]


def _option(option: click.Option, context: click.Context) -> str:
    given = [*sorted(option.opts, key=len, reverse=True), *option.secondary_opts]
    names = ", ".join(f"`{name}`" for name in given)
    if not option.is_flag:
        names += f" {_metavar(option, context)}"
    shown = f" Default: `{option.default}`." if option.show_default is True else ""
    about = re.sub(r"\s+", " ", option.help or "").replace("|", r"\|")
    return f"| {names} | {about}{shown} |"


def _metavar(option: click.Option, context: click.Context) -> str:
    return str(option.make_metavar(context)).replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page())
