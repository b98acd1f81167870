"""`tailrace`: one module per command, loaded when it is called, so that `--help` is quick."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from typing import Any

import click

import tailrace
from tailrace.cli.version import version
from tailrace.errors import Exit, TailraceError

# command, a module of tailrace.cli.commands: what it does
COMMANDS: dict[str, str] = {
    "run": "Run a bag here, to its end.",
    "submit": "Hand a bag to a server, and return.",
    "resume": "Go on with a bag that was interrupted or stopped.",
    "status": "Show the bags of this folder and how far they are.",
    "watch": "Follow a bag that runs elsewhere.",
    "results": "Print the results: table, CSV, JSON, Parquet.",
    "fetch": "Bring a bag's outputs here from a server.",
    "logs": "Print what a task wrote, attempt by attempt.",
    "add": "Add tasks to a bag.",
    "retry": "Try failed tasks again.",
    "cancel": "Cancel a bag.",
    "policy": "Show or change who runs the tasks of a bag, and in which order.",
    "reproduce": "Run one task here in the foreground, as it was run.",
    "explain": "Say why a bag, a task or a host is as it is.",
    "hosts": "List the machines that worked here.",
    "pools": "Show where machines come from, and check that they do.",
    "report": "Write the HTML report of a bag.",
    "serve": "Serve a group: others submit bags, machines elsewhere join.",
    "login": "Keep the server that commands ask.",
    "tokens": "Make, list and revoke the tokens of users and machines.",
    "backup": "Copy the runs, also while a server goes on with them.",
    "gc": "Remove files of bags that ended long ago.",
    "plan": "Show what a bag could cost and how long it could take.",
    "simulate": "Run scenarios in the virtual world.",
    "replay": "Replay the journal and check that every decision comes out the same.",
    "init": "Write a commented bag file for a command.",
    "check": "Check a bag file and show what it would run.",
    "config": "Show the settings and where each comes from.",
    "demo": "Run a small real example, with live view and report.",
}


class ReaderGone(Exception):
    """Of what is printed. Click would take it for a failure, and end with 1."""


class Lazy(click.Group):
    """Knows the commands' names and one-line helps without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"tailrace.cli.commands.{name}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS:
            _unknown(args[0])
        return super().resolve_command(ctx, args)


def _unknown(name: str) -> None:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean `tailrace {near[0]}`?" if near else "`tailrace --help` lists them."
    raise click.UsageError(f"there is no command {name!r}; {hint}")


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(tailrace.__version__, message=version())
def tailrace_command() -> None:
    """Run bags of tasks on every machine you can get, inside your budget.

    It shows the time left against your deadline.

    Start with `tailrace demo`, or `tailrace run -- echo {} ::: a b c`.
    """


def main() -> None:
    """Errors are one message on stderr and an exit code; a traceback only with TAILRACE_DEBUG=1."""
    _open_closed_streams()
    try:
        code = tailrace_command.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # pressed again, it would tell of itself
        sys.exit(Exit.INTERRUPTED)
    except TailraceError as error:
        if os.environ.get("TAILRACE_DEBUG"):
            raise
        from tailrace.cli.hints import at_hand

        click.echo(f"tailrace: {at_hand(str(error))}", err=True)
        sys.exit(error.exit_code)
    except (BrokenPipeError, ReaderGone):
        # head, less: nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.OK)
    except Exception as fault:
        if os.environ.get("TAILRACE_DEBUG"):
            raise
        _own_fault(fault)


def _open_closed_streams() -> None:
    """Of who was started with `2>&-`: else the next file to be opened would become his stderr."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, number)
            if nowhere != number:
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _own_fault(fault: Exception) -> None:
    """Not the user's: exit 1 would say that some of his tasks failed."""
    if isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT):
        click.echo(
            f"tailrace: cannot write all of it: {fault.strerror}\n"
            "  Free some space where it goes, and type the command again.",
            err=True,
        )
        sys.exit(Exit.SERVER)
    click.echo(
        f"tailrace: a fault of its own: {type(fault).__name__}: {fault}\n"
        "  What was committed is safe. For a report of the fault, run it again with "
        "TAILRACE_DEBUG=1 and pass on what it prints.",
        err=True,
    )
    sys.exit(Exit.SERVER)


if __name__ == "__main__":
    main()
