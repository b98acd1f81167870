"""`tailrace init`: a commented bag file to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from tailrace.bag.starter import write_bag_file
from tailrace.cli.hints import hint
from tailrace.cli.screen import plain
from tailrace.errors import BadInput


@click.command(
    context_settings={"ignore_unknown_options": True},  # of the command, when it is not quoted
    epilog="Example: `tailrace init 'python model.py --alpha {alpha} --seed {seed}'`",
)
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("bag.toml"),
              show_default=True, help="The file to write.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.argument("words", nargs=-1, metavar="COMMAND", required=True)
def command(words: tuple[str, ...], output: Path, force: bool) -> int:
    """Write a commented bag file for COMMAND.

    Its placeholders, such as {alpha}, become parameters. Quote the command.
    """
    if len(words) > 1:
        remedy = f"Quote the command: tailrace init {shlex.quote(' '.join(words))}"
        raise BadInput(f"the command is {len(words)} words", remedy=remedy)
    text = write_bag_file(words[0])
    _write(output, text, force)
    file = shlex.quote(str(output))
    click.echo(f"{plain(str(output))} is written. Put your values under [parameters], then:")
    click.echo(f"  {hint('check')} {file:<12}  shows what it would run")
    click.echo(f"  {hint('run')} {file:<14}  runs it")
    return 0


def _write(path: Path, text: str, force: bool) -> None:
    try:
        with open(path, "w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        remedy = "Name another file with -o, or replace it with --force."
        raise BadInput(f"{path} is there already", remedy=remedy) from None
    except OSError as error:
        remedy = "Name a file in a folder that exists and that you may write to, with -o."
        raise BadInput(f"{path}: {error.strerror}", remedy=remedy) from None
