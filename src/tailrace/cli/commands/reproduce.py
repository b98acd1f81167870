"""`tailrace reproduce`: one task, here and now, as a worker would run it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import click

from tailrace.bag.bag import Bag
from tailrace.bag.changed import Changes
from tailrace.bag.identity import programs
from tailrace.cli import screen
from tailrace.cli.bags import naming, secrets
from tailrace.cli.bags.shells import differing, listed
from tailrace.cli.commands.logs import ending
from tailrace.cli.stored import Stored, stored
from tailrace.errors import BadInput
from tailrace.quantities import show_duration, show_size
from tailrace.server.files.environments import Environments
from tailrace.server.records import attempts, reading
from tailrace.server.records.attempts import AttemptFacts
from tailrace.server.records.taking import programs_of


@click.command(
    epilog="Examples: `tailrace reproduce 17` · `tailrace reproduce alpha=0.1,seed=3 --bag sweep`"
)
@click.argument("task")
@click.option("--bag", help="Number or name; default: the newest.")
@click.option("--current-env", is_flag=True, help="With the environment of this shell instead.")
def command(task: str, bag: str | None, current_env: bool) -> int:
    """Run TASK here in the foreground: same command, files and environment as in the run.

    TASK is a number, values such as alpha=0.1,seed=3, or BAG/TASK. The environment is that of the
    command which ran it; what differs from this shell is named. Files are those of today: which
    have changed since is told. A task with staged files gets a fresh folder, which is kept, and
    named at the end. Nothing is recorded; the exit code is the task's. Its output is its own; what
    tailrace says goes to stderr.
    """
    from tailrace.cli.here.foreground import Foreground

    with stored() as here:
        facts, index = naming.task(here, task, bag)
        content = reading.content(here.link, facts.bag)
        _refuse_calls(content, f"{facts.bag}/{index}")
        last = _decisive(here, facts.bag, index)
        # Commands and rows of a CSV are read from the store only now.
        say(f"task {facts.bag}/{index}: {screen.short(content.task(index).text(), 1000)}")
        _tell_changes(here, content, facts.bag, index, last)
        env = _environment(here, last) if not current_env else os.environ
        hidden = secrets.for_one(content.spec, here.folder, facts.bag)
        run = Foreground(content, facts.bag, index, last.attempt if last else 0, env, hidden)
        run.fit_out(here.folder / "workers" / "setups")
        if index == content.last:
            failed = [task for task, _, _ in reading.failed(here.link, facts.bag)]
            run.tell_failed(sum(task < index for task in failed))
    say(f"in {run.folder}")
    _tell_limits(content)
    code = run.run()
    _tell_end(run.ended, run.notes, last)
    return code


def _refuse_calls(content: Bag, task: str) -> None:
    if content.spec.function is not None:
        raise BadInput(
            f"task {task} is a call of {content.spec.function.name}, not a command",
            remedy="Make the call in the Python program that handed it in; "
            f"`tailrace logs {task}` shows what it printed and raised.",
        )


def say(text: str) -> None:
    click.echo(f"tailrace: {text}", err=True)
    sys.stderr.flush()


def _decisive(here: Stored, bag: int, index: int) -> AttemptFacts | None:
    """The attempt whose result counts, or else the last."""
    found = list(attempts.of_task(here.link, bag, index))
    best = [attempt for attempt in found if attempt.accepted] or found
    return best[-1] if best else None


def _tell_changes(
    here: Stored, content: Bag, bag: int, index: int, last: AttemptFacts | None
) -> None:
    """The files are those of today; whoever compares the two ends must know of it."""
    before, now = programs_of(here.link, bag), programs(content)
    names = [name for name in before if name[0] != "$" and now.get(name) != before[name]]
    if last is not None and last.ended_us is not None:
        names += Changes(content, before).inputs_since(index, last.ended_us)
    if names:
        have = "has" if len(names) == 1 else "have"
        say(f"{screen.plain(', '.join(names))} {have} changed since the run")


def _environment(here: Stored, last: AttemptFacts | None) -> Mapping[str, str]:
    """As the attempt had it. Only names are told: values may be secrets."""
    if last is None:
        return os.environ
    kept = None if last.lease is None else Environments(here.folder).of(last.lease)
    if kept is None:
        say("with the environment of this shell: that of the run was not kept")
        return os.environ
    names = differing(kept, os.environ)
    if names:
        say(f"environment as in the run; this shell differs in {listed(names)}")
    return kept


def _tell_limits(content: Bag) -> None:
    limits, found = content.spec.limits, []
    if limits.time_us is not None:
        found.append(f"time {show_duration(limits.time_us)}")
    sizes = (("memory", limits.memory), ("disk", limits.disk))
    found += [f"{name} {show_size(size)}" for name, size in sizes if size is not None]
    if found:
        say(f"its limits are not enforced here: {', '.join(found)}")


def _tell_end(ended: str, notes: list[str], last: AttemptFacts | None) -> None:
    had = "nothing: it was not sent yet" if last is None else ending(last, served=False)
    for note in notes:
        say(note)
    say(f"here: {ended}; the run had: {had}")
