"""Which runs a command speaks of: those of a server that is named, of the nearest folder, or of the
server the user has logged in to; in this order."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from tailrace.cli import hints, place
from tailrace.cli.stored import stored
from tailrace.errors import BadInput
from tailrace.server.records.reader import Reader
from tailrace.server.tables.lock import Owner
from tailrace.worker.joining import BadJoin, parse, read, refuse_clear

VARIABLE = "TAILRACE_SERVER"


def server_option(command: Callable[..., Any]) -> Callable[..., Any]:
    text = "Ask this server: its URL, or a file with a join text."
    return click.option("--server", metavar="URL|FILE", help=text)(command)


def kept() -> Path:
    """Where `tailrace login` keeps the join text."""
    from tailrace.cli.settings import user_file

    return user_file().with_name("server.join")


def named(flag: str | None) -> Owner | None:
    """By the flag or the environment."""
    hints.more = "" if flag is None else f" --server {shlex.quote(flag)}"
    if flag is not None:
        return _owner(flag, "--server", secret=False)
    given = os.environ.get(VARIABLE)
    return _owner(given, VARIABLE, secret=True) if given else None


def of(text: str, origin: str) -> Owner:
    """Named by a program, whose text nobody else reads."""
    return _owner(text, origin, secret=True)


def logged_in() -> Owner | None:
    return _from_file(kept()) if kept().exists() else None


def unless_near() -> Owner | None:
    """The server of the login, where no folder is nearer."""
    return None if _is_near() else logged_in()


def although_near() -> Owner | None:
    """The server of the login. Commands typed next would ask a folder that is nearer, and may have
    a bag of the same number: so they are told with the file of the login."""
    owner = logged_in()
    if owner is not None and _is_near():
        hints.more = _login()
    return owner


def passed_by() -> bool:
    """Whether commands are told with the file of the login since a folder is nearer."""
    return hints.more == _login()


def _login() -> str:
    return f" --server {shlex.quote(str(kept()))}"


def _owner(text: str, origin: str, *, secret: bool) -> Owner:
    if not text.strip():
        raise BadInput(f"{origin} is empty", remedy="Name a URL, or a file with a join text.")
    if "://" not in text:
        return _from_file(Path(text))
    owner, has_token = _parsed(text, origin)
    if has_token and not secret:
        raise BadInput(
            f"{origin}: a token on the command line can be read by anybody",
            remedy="Keep the join text with `tailrace login`, or name a file that holds it.",
        )
    return owner


def _from_file(path: Path) -> Owner:
    try:
        return _parsed(read(str(path)), str(path))[0]
    except BadJoin as error:
        remedy = "It holds the join text that `tailrace tokens add` printed, for you alone."
        raise BadInput(str(error), remedy=remedy) from None


def _parsed(text: str, origin: str) -> tuple[Owner, bool]:
    """And whether a token stands in the text itself."""
    try:
        join = parse(text)
        refuse_clear(join.url)
    except BadJoin as error:
        remedy = "Write https://HOST:PORT, or the name of a file with a join text."
        raise BadInput(f"{origin}: {error}", remedy=remedy) from None
    token = join.token or os.environ.get("TAILRACE_TOKEN", "")
    return Owner(address=join.url, token=token, fingerprint=join.fingerprint), bool(join.token)


@contextmanager
def reached(flag: str | None) -> Iterator[Reader]:
    owner = named(flag) or unless_near()
    if owner is not None:
        from tailrace.cli.servers.remote import Remote

        yield Remote(owner)
        return
    with stored() as here:
        yield here


def _is_near() -> bool:
    try:
        place.nearest()
    except BadInput:
        return False
    return True
