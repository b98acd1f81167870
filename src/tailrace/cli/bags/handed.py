"""A bag as it is handed in on a command line: a file, words, or a list of commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tailrace.bag.bag import Bag
from tailrace.cli.screen import plain
from tailrace.errors import BadInput

PROGRAMS = {".py": "python3", ".sh": "sh", ".R": "Rscript", ".jl": "julia", ".pl": "perl"}


class HandingIn(click.Command):
    """Everything behind `--`, or up to the end once `:::` is there, is the user's, not ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.obj = None
        if "--" in args:
            cut = args.index("--")
            ctx.obj, args = args[cut + 1 :], args[:cut]
        theirs = any(word.startswith(":::") for word in args) or self._has_script(ctx, args)
        ctx.allow_interspersed_args = not theirs
        return super().parse_args(ctx, args)

    def _has_script(self, ctx: click.Context, args: list[str]) -> bool:
        """Words behind a batch script are the script's own, as under sbatch."""
        if any(word.partition("=")[0] == "--array" for word in args):
            return True
        ctx.allow_interspersed_args = False  # up to the first word that is no option, nor its value
        words = self.make_parser(ctx).parse_args(list(args))[0]["words"]
        return isinstance(words, tuple) and _is_script(words)


def _is_script(words: tuple[str, ...]) -> bool:
    if not words:
        return False
    from tailrace.bag.batchfile import is_script

    return is_script(Path(words[0]))


OPTIONS = (
    click.option(
        "--array", metavar="1-100%8", help="An sbatch script, once for each of these numbers."
    ),
    click.option("--commands", metavar="FILE|-", help="One shell command a line."),
    click.option("--name", help="The bag's name."),
    click.option("--needs", help="What each task needs: cores=2,memory=4GiB."),
    click.option("--time-limit", help="Each task may run so long: 90s, 10m, 2h."),
    click.option("--memory-limit", help="Each task may use so much memory: 2GiB."),
    click.option("--disk-limit", help="Each task may write so much: 10GiB."),
    click.option(
        "--retries", type=int, help="How often a task that fails is tried again; default 1."
    ),
    click.option("--timeout", help="An attempt silent so long is sent to another host."),
    click.option("--max-failures", type=int, help="Pause the bag when so many tasks have failed."),
    click.option("--max-running", type=int, help="So many tasks at a time, and no more."),
    click.option("--priority", help="Bags with a higher one are served first."),
    click.option("--tasks-per-host", type=int, help="So many tasks on one host, and no more."),
    click.option("--max-attempts", type=int, help="So many attempts of a task at once."),
    click.option("--pools", metavar="NAME,…", help="Pools it may use: lab, 'clu*', '!spot'."),
    click.option("--hosts", metavar="NAME,…", help="Hosts it may use, in the same way."),
    click.option("--order", help="listed, shuffled, or a parameter (-parameter: descending)."),
    click.option("--matching", help="Who gets the next task: fcfs, random, fjbcr, maxmax, minmax."),
    click.option("--replication", help="Attempts beside slow ones: wqr, or 'ntdmr,n=2,t_s=60'."),
    click.option(
        "--prefer",
        type=click.Choice(("product", "makespan", "cost", "budget", "deadline")),
        help="Plan the tail by what was seen, so that this is best: time × cost, time, cost, "
        "the fastest within the budget, or the cheapest within the deadline.",
    ),
    click.option("--then", metavar="CMD", help="Once, when all tasks have their result."),
    click.option(
        "--setup",
        metavar="FILE|KEY=VALUE",
        multiple=True,
        help="What a machine does before its first task: a script, image=python:3.12, …",
    ),
    click.option("--secrets", metavar="NAME,…", help="Variables of yours that only tasks find."),
    click.option("--repeatable", is_flag=True, default=None, help="Two attempts may run at once."),
    click.option("--budget", help="All that may be spent: '20 USD'."),
    click.option("--deadline", help="When it should be done, from now: 2h. Shown, not enforced."),
)


def bag_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The words and options that say what the bag is."""
    for option in reversed(OPTIONS):
        command = option(command)
    metavar = "[BAG.toml] | -- CMD {} ::: …"
    return click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar=metavar)(command)


def bag_of(words: tuple[str, ...], behind: list[str] | None, options: dict[str, Any]) -> Bag:
    try:
        return _bag_of(words, behind, options)
    except BadInput as fault:
        if fault.flag == "--replication" and options["prefer"] is not None:
            fault.flag = f"--prefer {options['prefer']}"  # which is what was typed
        raise


def _bag_of(words: tuple[str, ...], behind: list[str] | None, options: dict[str, Any]) -> Bag:
    from tailrace.bag import bagfile
    from tailrace.cli.bags.believing import believe
    from tailrace.scheduler.strategies import admit

    settings = _settings(options)
    judges: dict[str, Any] = {"admit": admit, "believe": believe}
    here = Path.cwd()
    if options["commands"] is not None:
        _refuse(words or behind, "--commands and another bag")
        return bagfile.load_commands_file(options["commands"], here, **judges, **settings)
    script = _script(words, behind, options["array"])
    if script is not None:
        from tailrace.bag.batchfile import load_batch_script

        path, array = Path(script[0]), options["array"]
        return load_batch_script(path, script[1:], array, here, **judges, **settings)
    if behind is not None:
        _refuse(words, "a bag file and a command behind --")
        return bagfile.bag_from_parallel(behind, here, **judges, **settings)
    if any(word.startswith(":::") for word in words):
        return bagfile.bag_from_parallel(words, here, **judges, **settings)
    return bagfile.load_bag_file(_bag_file(words), settings, admit, believe)


def note_unheeded(bag: Bag, quiet: bool) -> None:
    """Options of a batch script that have no meaning here; nobody is to wait for a mail."""
    batch = bag.spec.batch
    if batch is not None and batch.unheeded and not quiet:
        told = f"{bag.spec.source}: not heeded: {', '.join(batch.unheeded)}"
        click.echo(f"tailrace: {plain(told)}", err=True)


def _script(
    words: tuple[str, ...], behind: list[str] | None, array: str | None
) -> tuple[str, ...] | None:
    """A batch script and its arguments, if that is what is handed in."""
    given = (*words, *(behind or ()))
    if array is None:
        return words if behind is None and _is_script(words) else None
    if not given:
        raise BadInput(
            "no script is named", flag="--array", remedy="tailrace run --array 1-100 job.sh"
        )
    return given


def _refuse(found: object, what: str) -> None:
    if found:
        raise BadInput(f"{what} are given at once", remedy="Give one of them.")


def _bag_file(words: tuple[str, ...]) -> Path:
    if len(words) == 1 and (Path(words[0]).exists() or not _is_command(words[0])):
        _refuse_other_files(words[0])
        return Path(words[0])
    if not words and Path("bag.toml").exists():
        return Path("bag.toml")
    if not words:
        raise BadInput(
            "there is nothing to run: no bag file is named, and there is no bag.toml here",
            remedy="Write one with `tailrace init 'python model.py --alpha {alpha}'`, or run "
            "`tailrace run -- echo {} ::: a b c`.",
        )
    if words[0].endswith(".toml"):
        raise BadInput(f"{len(words)} bag files are given at once", remedy="Run one at a time.")
    raise BadInput(f"{' '.join(words)!r} is not a bag file", remedy=_with_values(words))


def _refuse_other_files(word: str) -> None:
    """Taken for TOML, they would be told of quotes and brackets."""
    ending = Path(word).suffix
    if ending in PROGRAMS:
        line = f"{PROGRAMS[ending]} {word} {{}}"
        remedy = f"To run it with several values: `tailrace run -- {line} ::: a b c`."
        raise BadInput(f"{word} is a program, not a bag file", remedy=remedy)
    if ending in (".txt", ".list"):
        remedy = f"If it lists commands: `tailrace run --commands {word}`."
        raise BadInput(f"{word} is a text, not a bag file", remedy=remedy)


def _is_command(word: str) -> bool:
    return " " in word or "{" in word


def _with_values(words: tuple[str, ...]) -> str:
    """As it was probably meant: without a placeholder, all words but the first are values."""
    import shlex

    command = shlex.join(words) if any("{" in word for word in words) else ""
    if not command and len(words) > 1:
        line = f"{shlex.join(words[:1])} ::: {shlex.join(words[1:])}"
    else:
        line = f"{command or shlex.quote(words[0])} ::: a b c"
    return f"For a command, put its values behind `:::`: `tailrace run -- {line}`."


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """Flags as keys of a bag file."""
    limits = {
        name: options[f"{name}_limit"]
        for name in ("time", "memory", "disk")
        if options[f"{name}_limit"]
    }
    names = ("name", "timeout", "max_failures", "max_running", "order", "budget", "deadline",
             "tasks_per_host", "max_attempts")  # fmt: skip
    settings = {name: options[name] for name in (*names, "repeatable", "then")}
    settings |= {name: _strategy(name, options[name]) for name in ("matching", "replication")}
    if options["prefer"] is not None:
        settings["replication"] = _planned(options["prefer"], options["replication"])
    if limits:
        settings["limits"] = limits
    if options["priority"] is not None:
        settings["priority"] = value_of(options["priority"])
    if options["needs"]:
        settings["needs"] = _pairs("--needs", options["needs"], "cores=2,memory=4GiB")
    if options["retries"] is not None:
        settings["retries"] = {"task_failed": options["retries"]}
    if options["setup"]:
        settings["setup"] = _setup(options["setup"])
    for name in ("secrets", "pools", "hosts"):
        if options[name] is not None:
            settings[name] = [one.strip() for one in options[name].split(",")]
    return settings


def _setup(given: tuple[str, ...]) -> dict[str, Any]:
    """Keys of `[setup]`, each by itself, as a value may hold commas; a file is its script."""
    from tailrace.bag.textfile import read_text

    found: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            key, value = "script", read_text(Path(text), text)
        if key in found:
            remedy = "Give each key once; a file is the script."
            raise BadInput(f"{key} is given twice", flag="--setup", remedy=remedy)
        lists = key in ("modules", "mounts")
        found[key] = [word.strip() for word in value.split(",")] if lists else value
    return found


def _planned(prefer: str, replication: str | None) -> dict[str, Any]:
    if replication is not None:
        remedy = f"Give --replication planned,prefer={prefer} alone."
        raise BadInput("--prefer and --replication both say how tasks are sent again",
                       remedy=remedy)  # fmt: skip
    return {"strategy": "planned", "prefer": prefer}


def _strategy(flag: str, text: str | None) -> dict[str, Any] | str | None:
    """`wqr`, or with options: `wqr,most=3`."""
    if text is None or "," not in text:
        return text
    name, _, options = text.partition(",")
    return {"strategy": name.strip(), **_pairs(f"--{flag}", options, "wqr,most=3")}


def _pairs(flag: str, text: str, example: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"{flag} {text!r}", remedy=f"Write it as {example}.")
        pairs[name.strip()] = value_of(value.strip())
    return pairs


def value_of(text: str) -> Any:
    """A number or a truth where it is one."""
    if text in ("true", "false"):
        return text == "true"
    if not text.removeprefix("-").replace(".", "", 1).isdigit():
        return text
    return float(text) if "." in text else int(text)
