"""`tailrace run --detach`: the folder's server in the background; it ends when all is done."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tailrace.bag.bag import Bag
from tailrace.bag.identity import programs, variables
from tailrace.cli import place, settings
from tailrace.cli.bags import secrets
from tailrace.cli.bags.taking import taken_over
from tailrace.cli.servers import submitting
from tailrace.cli.servers.calling import Busy, call
from tailrace.cli.servers.handing import hand_in, new_key
from tailrace.cli.servers.waiting import Waiting, to_the_terminal
from tailrace.errors import ServerError, TailraceError
from tailrace.server.files.environments import Environments
from tailrace.server.pools.command_pool import CommandPool
from tailrace.server.submission import Submission, Taking
from tailrace.server.tables import lock
from tailrace.server.tables.lock import Owner

PATIENCE_S = 30.0
LOOK_S = 0.05
FLAGS = ("cores", "memory", "price")


def detach(bag: Bag, options: dict[str, Any]) -> int:
    runs = place.for_run(Path(bag.spec.folder))
    asked = _asked(runs, bag, options)
    until, waiting = time.monotonic() + PATIENCE_S, Waiting(to_the_terminal)
    once = partial(hand_in, key=new_key())  # the next server of the folder knows the key, too
    while True:
        owner = lock.alive(runs) or _started(runs, options, bag.spec.secrets)
        try:
            submitted = once(owner, asked)
        except Busy as error:
            time.sleep(waiting.after(error))
        except ServerError:
            if time.monotonic() > until:
                raise
            time.sleep(LOOK_S)  # it is just ending: the next is ours
        else:
            break
    submitting.tell(submitted, owner, None, quiet=options["quiet"], as_json=options["as_json"])
    return 0


def _asked(runs: Path, bag: Bag, options: dict[str, Any]) -> Submission:
    """All that can go wrong does so before anything is started. Its files stay where they are."""
    hidden = secrets.found(bag.spec)
    made_of, taking = programs(bag) | variables(bag, _shell(runs)), None
    if not options["again"]:
        taken = taken_over(runs, bag, made_of, options, to_the_terminal)
        taking = Taking(list(taken.bags), taken.stale) if taken else None
    return submitting.submission(bag, hidden, made_of, taking)


def _shell(runs: Path) -> Mapping[str, str]:
    """Whose variables the tasks find: that of a server that is there already, or this one."""
    there = Environments(runs).newest() if lock.alive(runs) is not None else None
    return os.environ if there is None else there


def _started(runs: Path, options: dict[str, Any], hidden: tuple[str, ...]) -> Owner:
    """It has its own session, so that it outlives terminal and shell. Secrets it is told, and does
    not inherit: what it inherits is kept."""
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    words = [sys.executable, "-m", "tailrace", "serve", "--folder", str(runs)]
    words += ["--until-idle", "--port", str(options["port"] or 0), *_here(runs, options)]
    runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(runs / "serve.log", "ab") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=env
        )
    return _announced(runs, process)


def _here(runs: Path, options: dict[str, Any]) -> list[str]:
    """This machine works as it would for `run`: not where all pools are of machines elsewhere."""
    pools = settings.pools(settings.load({}, runs.parent))
    if all(isinstance(pool, CommandPool) for pool in pools):
        return []
    given = [name for name in FLAGS if options[name] is not None]
    return [
        "--local",
        "--inherit",
        *(word for name in given for word in (f"--{name}", options[name])),
    ]


def _announced(runs: Path, process: subprocess.Popen[bytes]) -> Owner:
    """Ours, or another that was faster; what a dead one has left behind is not believed."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and (process.poll() is None or lock.held(runs)):
        owner = lock.alive(runs)
        if owner is not None and (owner.pid == process.pid or _answers(owner)):
            return owner
        time.sleep(LOOK_S)
    raise ServerError(
        f"the server in the background does not start; it says: {_last_words(runs / 'serve.log')}",
        remedy=f"All it said is in {runs / 'serve.log'}.",
    )


def _answers(owner: Owner) -> bool:
    try:
        call(owner, "GET", "/api/v1/me")
    except TailraceError:
        return False
    return True


def _last_words(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "nothing"
