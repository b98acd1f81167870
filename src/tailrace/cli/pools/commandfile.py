"""The commands of a pool, as its table says them."""

from __future__ import annotations

import re
from pathlib import Path

from tailrace.bag.tables import Table, near
from tailrace.pools.commands import BRACES, WORDS, Commands
from tailrace.quantities import duration_us
from tailrace.server.people.tokens import checked_name
from tailrace.worker.joining import BadJoin, parse

SECOND_US = 1_000_000
EXAMPLES = {
    "start": "sbatch --parsable -J {name} -t {minutes} -o {log} --wrap {run}",
    "stop": "scancel -n {name}",
    "list": "squeue --me -h -o '%i %j'",
}

AMOUNTS = {"cores": "4", "memory": '"8GB"'}  # words that the pool itself fills


def read_commands(table: Table, folder: Path) -> Commands:
    with table.origin.at(*table.path):
        checked_name(str(table.path[-1]))
    start, stop, list_ = (_command(table, key) for key in EXAMPLES)
    return Commands(
        start, stop, list_,
        renew=_checked(table, "renew", table.take("renew", str) or ""),
        folder=str(folder),
        id=_pattern(table),
        timeout_us=_time(table, "timeout", 60),
        look_us=_time(table, "look", 60),
        appear_us=_time(table, "appear", 10),
        python=table.take("python", str) or "python3",
        url=_url(table),
    )  # fmt: skip


def _command(table: Table, key: str) -> str:
    written = table.take(key, str, example=f'"{EXAMPLES[key]}"')
    if not written or not written.strip():
        remedy = f'{table.instead_of(key)}write {key} = "{EXAMPLES[key]}", for example'
        raise table.bad(key, f"{table.label(key)} is missing", remedy)
    return _checked(table, key, written)


def _checked(table: Table, key: str, command: str) -> str:
    """A slip in a word would reach the shell as it is."""
    for found in BRACES.finditer(command):
        meant = near(found[1], WORDS)
        if found[1] not in WORDS and meant:
            remedy = f"there are {{{'}, {'.join(WORDS)}}}{meant}"
            raise table.bad(key, f"{table.label(key)}: there is no word {found[0]}", remedy)
        if found[1] in AMOUNTS and found[1] not in table:
            remedy = f"write {found[1]} = {AMOUNTS[found[1]]} below it, or leave {found[0]} out"
            said = f"{table.label(key)} asks for {found[0]}, and the pool names no {found[1]}"
            raise table.bad(key, said, remedy)
        if found[1] == "run" and command[found.start() - 1 : found.start()] in ("'", '"'):
            remedy = "it is one word already: write {run} without quotes around it"
            raise table.bad(key, f"{table.label(key)}: {{run}} stands in quotes", remedy)
    return command


def _pattern(table: Table) -> str:
    written: str = table.take("id", str) or ""
    try:
        re.compile(written)
    except re.error as error:
        remedy = "write id = 'job ([0-9]+)', for example"
        raise table.bad("id", f"{table.label('id')}: {error}", remedy) from None
    return written


def _time(table: Table, key: str, default_s: int) -> int:
    found = table.read(key, duration_us, default_s * SECOND_US)
    if found < SECOND_US and key != "appear":
        raise table.bad(key, f"{table.label(key)} is less than a second", f'write {key} = "10s"')
    return found


def _url(table: Table) -> str:
    written: str = table.take("url", str) or ""
    try:
        join = parse(written) if written else None
    except BadJoin as error:
        raise table.bad("url", f"{table.label('url')}: {error}", "https://HOST:PORT") from None
    if join is not None and (join.token or join.fingerprint):
        raise table.bad("url", f"{table.label('url')} holds more than an address",
                        "leave out token and fingerprint: the server adds its own")  # fmt: skip
    return written
