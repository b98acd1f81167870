"""What goes to the terminal: tables where there is one, plain text elsewhere, nothing that a task
wrote as control of the terminal."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Escape sequences: CSI, OSC and its kin up to their end, and the short ones.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|$)|[ -/]*[0-~])", re.DOTALL
)
PLAIN_WIDTH = 100_000  # without a terminal nothing is cut or wrapped


def plain(text: str) -> str:
    """One line of a listing: no escapes, and a mark for what else cannot be printed."""
    text = _ESCAPES.sub("", text)
    return "".join(c if c.isprintable() else _mark(c) for c in text)


def plain_lines(text: str) -> str:
    """As `plain`, but lines and tabs stay."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    return "".join(c if c.isprintable() or c in "\n\t" else _mark(c) for c in text)


def _mark(c: str) -> str:
    return {"\n": "⏎", "\t": " ", "\r": "␍"}.get(c, "·")


def short(text: str, most: int) -> str:
    text = plain(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def utf8_out() -> TextIO:
    """Standard output for data: always UTF-8, whatever the locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout


def console(out: TextIO | None = None) -> Console:
    """Colours as the setting `color` says; without a terminal the width is unlimited."""
    from rich.console import Console

    out = out or sys.stdout
    colour = _wants_colour(out)
    return Console(
        file=out,
        force_terminal=True if colour else None,
        no_color=not colour,
        color_system="auto" if colour else None,
        width=None if out.isatty() else PLAIN_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def _wants_colour(out: TextIO) -> bool:
    from tailrace.cli import settings
    from tailrace.errors import BadInput

    try:
        color = settings.load({}, Path.cwd()).color
    except (BadInput, OSError):
        color = "auto"  # `tailrace config` and `run` tell what is wrong
    if color == "auto":
        return out.isatty() and os.environ.get("TERM") != "dumb"
    return color == "always"


def print_table(table: Table, out: TextIO | None = None) -> None:
    """Spaces at line ends only fill; without a terminal they would be data."""
    out = out or sys.stdout
    screen = console(out)
    if out.isatty():
        screen.print(table)
        return
    with screen.capture() as capture:
        screen.print(table)
    out.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[str] = ()) -> Table:
    """A table of plain cells; `right` names the columns of numbers."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in head:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(plain(str(cell))) for cell in row))
    return made
