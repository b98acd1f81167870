"""Which tasks of which bag are meant: `17`, `alpha=0.1,seed=3`, `3/17`."""

from __future__ import annotations

from tailrace.cli.choosing import choose
from tailrace.server import reading
from tailrace.server.link import Link
from tailrace.server.reading import BagFacts


def task(link: Link, text: str, bag: str | None) -> tuple[BagFacts, int]:
    """One task, of the bag named before a slash or by `--bag`, else of the newest."""
    before, slash, behind = text.partition("/")
    if bag is None and slash and is_bag(link, before):
        bag, text = before, behind
    facts = choose(link, bag)
    return facts, reading.content(link, facts.bag).find(text)


def also_task(link: Link, text: str) -> str | None:
    """A bag's number that `logs` and `reproduce` would take for a task of the newest bag: its whole
    name, `3/1`."""
    newest = choose(link, None)
    if not (text.isascii() and text.isdigit() and int(text) < newest.count):
        return None
    return f"{newest.bag}/{int(text)}"


def is_bag(link: Link, text: str) -> bool:
    return any(text in (str(bag), name) for bag, name in _names(link))


def _names(link: Link) -> list[tuple[int, str]]:
    return link.execute("SELECT bag, name FROM bags").fetchall()
