"""The `#SBATCH` lines of a batch script, read as `sbatch` reads them: up to the first command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from tailrace.bag import slurmoptions
from tailrace.errors import BadInput

SIGN = "#SBATCH"


class Option(NamedTuple):
    name: str
    value: str  # empty: none was given
    line: int

    def __str__(self) -> str:
        return f"--{self.name}={self.value}" if self.value else f"--{self.name}"


def is_batch_script(text: str) -> bool:
    lines = text.splitlines()
    return text.startswith("#!") and any(line.startswith(SIGN) for line in lines)


def read_options(text: str, shown: str) -> list[Option]:
    """In their order; `shown` is the script's name in messages."""
    _refuse_what_sbatch_refuses(text, shown)
    found: list[Option] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(SIGN):
            found += _options(line.removeprefix(SIGN), shown, number)
        elif line.strip() and not line.startswith("#"):
            break
    return found


def _refuse_what_sbatch_refuses(text: str, shown: str) -> None:
    if not text.startswith("#!"):
        remedy = "let its first line name its interpreter: #!/bin/bash"
        raise BadInput("this is not a batch script", file=shown, line=1, remedy=remedy)
    if "\r\n" in text:
        line = text[: text.index("\r\n")].count("\n") + 1
        remedy = f"turn them into Unix ones: sed -i 's/\\r$//' {shlex.quote(shown)}"
        raise BadInput("the script has DOS line ends", file=shown, line=line, remedy=remedy)


def _options(rest: str, shown: str, line: int) -> Iterator[Option]:
    try:
        words = shlex.split(rest, comments=True)
        while words:
            yield _option(words, line)
    except BadInput as fault:
        raise BadInput(fault.message, file=shown, line=line, remedy=fault.remedy) from None
    except ValueError:
        remedy = f"the line reads: {SIGN}{rest[:100]}"
        raise BadInput("a quote is left open", file=shown, line=line, remedy=remedy) from None


def _option(words: list[str], line: int) -> Option:
    word = words.pop(0)
    if word.startswith("--") and len(word) > 2:
        given, equals, value = word[2:].partition("=")
        name = slurmoptions.full_name(given)
    elif word.startswith("-") and len(word) > 1:
        name, value = slurmoptions.of_letter(word[1]), word[2:]
        equals = value
        if value and not slurmoptions.takes_value(name):
            words.insert(0, f"-{value}")  # several letters behind one dash
            value = ""
    else:
        raise BadInput(f"{word!r} is not an option", remedy="write --name=value, or -n value")
    if slurmoptions.takes_value(name) and not equals:
        value = _next(words, name)
    return Option(name, value, line)


def _next(words: list[str], name: str) -> str:
    if not words:
        raise BadInput(f"--{name} has no value", remedy=f"write --{name}=…")
    return words.pop(0)
