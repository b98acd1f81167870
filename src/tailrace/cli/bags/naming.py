"""Which tasks of which bag are meant: `17`, `alpha=0.1,seed=3`, `3/17`."""

from __future__ import annotations

from tailrace.cli.bags.choosing import choose
from tailrace.server.records.reader import Reader
from tailrace.server.records.reading import BagFacts


def task(reader: Reader, text: str, bag: str | None) -> tuple[BagFacts, int]:
    """One task, of the bag named before a slash or by `--bag`, else of the newest."""
    before, slash, behind = text.partition("/")
    if bag is None and slash and is_bag(reader, before):
        bag, text = before, behind
    facts = choose(reader, bag)
    return facts, reader.find(facts.bag, text)


def also_task(reader: Reader, text: str) -> str | None:
    """A bag's number that `logs` and `reproduce` would take for a task of the newest bag: its whole
    name, `3/1`."""
    newest = choose(reader, None)
    if not (text.isascii() and text.isdigit() and int(text) < newest.count):
        return None
    return f"{newest.bag}/{int(text)}"


def is_bag(reader: Reader, text: str) -> bool:
    return any(text in (str(bag), name) for bag, name in reader.names())
