"""Commands to type next, such that they work where the user stands: when `tailrace` is not on the
PATH, by the path it was called by; when the runs lie elsewhere, behind a `cd`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from tailrace.cli import place
from tailrace.errors import BadInput

NAME = "tailrace"
more = ""  # behind each command: the server this one was told to ask


def program(start: Path | None = None) -> str:
    """What to type for `tailrace`, in this folder or in `start`."""
    called = sys.argv[0]
    if os.sep not in called or Path(called).name != NAME or _is_on_path(called):
        return NAME
    whole = os.path.normpath(Path(called).absolute())  # not resolved: a link may be its name
    near = os.path.relpath(whole, start or Path.cwd())
    return shlex.quote(min(near if os.sep in near else f"./{near}", whole, key=len))


def _is_on_path(called: str) -> bool:
    found = shutil.which(NAME)
    return found is not None and Path(found).samefile(called)


def hint(words: str, runs: Path | None = None) -> str:
    """`resume 2` → `tailrace resume 2`; for runs that a command here would not find, behind a `cd`
    to them."""
    if runs is None or _is_found(runs):
        return f"{program()} {words}{more}"
    home = runs.parent
    shown = min(os.path.relpath(home), str(home), key=len)
    return f"cd {shlex.quote(shown)} && {program(home)} {words}"


def _is_found(runs: Path) -> bool:
    try:
        return place.nearest().resolve() == runs.resolve()
    except BadInput:
        return False


def at_hand(text: str) -> str:
    """A text with commands in it, written as `tailrace …` in backticks or at its beginning."""
    name = program()
    text = text if name == NAME else text.replace(f"`{NAME} ", f"`{name} ")
    return f"{name} {text.removeprefix(f'{NAME} ')}" if text.startswith(f"{NAME} ") else text
