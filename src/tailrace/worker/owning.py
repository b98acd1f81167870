"""Whose machine this is, and what he says of the tasks it takes: the worker's own file.

    # which bags run here, as ClassAd expressions
    Owner = alice
    HostRequirements = BOT.Owner == "alice"
        || HourOfDay >= 18
    HostRank = BOT.Owner == "alice" ? 10 : 0

What the expressions mean, the server knows: it reads them, and refuses a worker whose it cannot.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Dict, List, NamedTuple, Optional, Tuple

BESIDE = "worker.conf"  # beside worker.pyz
MOST_BYTES = 64 * 1024
MOST_EXPRESSION = 4_000
MOST_OWNER = 200
# By the name in the file, in small letters: upper and lower case are alike.
NAMES = {"owner": "Owner", "hostrequirements": "HostRequirements", "hostrank": "HostRank"}
FIELDS = {"hostrequirements": "host_requirements", "hostrank": "host_rank"}


class BadFile(Exception):
    """Says what is wrong, where, and what to do."""


class Owning(NamedTuple):
    owner: str
    says: Dict[str, str]  # by the fields of the work call


def found(file: Optional[str], owner: Optional[str]) -> Owning:
    """From the file that was named, or from the one beside worker.pyz. What stands on the command
    line comes first."""
    path = file or _beside()
    lines = {} if path is None else read(path)
    says = {FIELDS[name]: text for name, text in lines.items() if name in FIELDS}
    named = lines.get("owner") if owner is None else owner
    return Owning(_user() if named is None else _one_name(named), says)


def read(path: str) -> Dict[str, str]:
    """By the names in small letters."""
    try:
        with open(path, "rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise BadFile(f"{path} is too long: it may have {MOST_BYTES} bytes")
        text = data.decode("utf-8")
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise BadFile(f"{path} cannot be read: {why}") from None
    return _parsed(path, text)


def _parsed(path: str, text: str) -> Dict[str, str]:
    """`NAME = VALUE`; a line that begins with a space goes on with the one before."""
    values: Dict[str, List[str]] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{path}:{number}"
        if line[0] in " \t" and name:
            values[name].append(line)
        else:
            name, value = _named(where, line)
            if name in values:
                raise BadFile(f"{where}: {NAMES[name]} stands there twice; keep one")
            values[name] = [value]
        _check(where, name, "\n".join(values[name]))
    return {name: "\n".join(lines).strip() for name, lines in values.items()}


def written(lines: Dict[str, str]) -> str:
    """As a file, by the names in it."""
    return "".join(f"{name} = {_on(text)}\n" for name, text in lines.items())


def _on(text: str) -> str:
    return "\n    ".join(line.strip() for line in text.strip().splitlines())


def _named(where: str, line: str) -> Tuple[str, str]:
    name, equals, value = line.partition("=")
    known = ", ".join(NAMES.values())
    if not equals or not re.fullmatch(r"\s*\w+\s*", name):
        raise BadFile(f"{where}: this is no NAME = VALUE; the names are {known}")
    key = name.strip().lower()
    if key not in NAMES:
        raise BadFile(f"{where}: there is no {name.strip()} here; the names are {known}")
    if not value.strip():
        raise BadFile(f"{where}: {NAMES[key]} says nothing; write a value, or take the line out")
    return key, value


def _check(where: str, name: str, value: str) -> None:
    if name in FIELDS and len(value.strip()) > MOST_EXPRESSION:
        text = f"{NAMES[name]} is too long; it may have {MOST_EXPRESSION} characters"
        raise BadFile(f"{where}: {text}")


def _one_name(text: str) -> str:
    if not 0 < len(text) <= MOST_OWNER or not text.isprintable():
        raise BadFile(f"an owner is a name in one line, of 1 to {MOST_OWNER} characters")
    return text


def _beside() -> Optional[str]:
    program = os.path.abspath(sys.argv[0])
    path = os.path.join(os.path.dirname(program), BESIDE)
    return path if program.endswith(".pyz") and os.path.exists(path) else None


def _user() -> str:
    """Under whose account it runs; in a container it may have a number alone."""
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = ""
    fits = 0 < len(name) <= MOST_OWNER and name.isprintable()
    return name if fits else str(os.getuid())
