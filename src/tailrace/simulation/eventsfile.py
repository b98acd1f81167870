"""A file of what is known instead of drawn (`events = "events.csv"`), as `--expand` writes it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from pathlib import Path

from tailrace.bag.tables import Table, meant
from tailrace.simulation.drawn import HEAD, Events
from tailrace.simulation.laws.extent import LONGEST_S
from tailrace.simulation.samples import Cell, read_columns

# Family of names: what stands second in them.
FAMILIES = {
    "bag": "bag", "arrivals": "bag", "machines": "pool", "speed": "pool", "spread": "pool",
    "startup": "pool", "ending": "pool", "never_up": "pool", "luck": "pool", "returns": "pool",
    "failure": "pool", "owner": "pool", "changes": "pool", "news": "", "site": "",
    "scheduler": "",
}  # fmt: skip
ARRIVING = ("arrivals", "machines")  # times, of which none is earlier than the one before it
_SEED = re.compile(r"scheduler/seed|bag/\d+/order")


def read_events_of(table: Table, folder: Path, pools: Sequence[str], bags: int) -> Events | None:
    """`events = "events.csv"` of a scenario."""
    file = table.take("events", str)
    if file is None:
        return None
    with table.origin.at("events"):
        return read_events(folder / file, file, pools, bags)


def read_events(path: Path, shown: str, pools: Sequence[str], bags: int) -> Events:
    subjects = {"pool": list(pools), "bag": [str(n) for n in range(1, bags + 1)]}
    in_order = {f"{family}/{one}" for family in ARRIVING for one in subjects[FAMILIES[family]]}
    found: dict[str, array[float]] = {}
    for name, number, value in read_columns(path, shown, list(HEAD)):
        values = found.get(name.text)
        if values is None:
            _check(name, subjects)
            values = found[name.text] = array("d")
        if number.text != str(len(values)):
            raise number.bad(f"is {number.text!r}, but {len(values)} comes next in {name.text}",
                             "number the values of each name from 0, without a gap")  # fmt: skip
        amount = _amount(value, name.text)
        if values and amount < values[-1] and name.text in in_order:
            raise value.bad(f"is {value.text}, earlier than {values[-1]:.15g} before it",
                            f"give the times of {name.text} in their order")  # fmt: skip
        values.append(amount)
    return found


def _amount(cell: Cell, name: str) -> float:
    value = cell.number()
    if value < 0:
        raise cell.bad(f"is {cell.text}", "nothing here may be negative")
    if value > LONGEST_S and not name.endswith(("/input", "/output")):
        raise cell.bad(f"is {cell.text}", "nothing here may be beyond 146,000 years, in seconds")
    if _SEED.fullmatch(name) and not value.is_integer():
        raise cell.bad(f"is {cell.text}", "a seed is a whole number")
    if value == 0 and name.startswith(("speed/", "spread/")):
        raise cell.bad(f"is {cell.text}", "such a machine would never do anything")
    return value


def _check(cell: Cell, subjects: dict[str, list[str]]) -> None:
    """A name with a typo in it would change nothing, silently."""
    family, _, rest = cell.text.partition("/")
    known = list(FAMILIES)
    if family not in FAMILIES:
        remedy = f"{meant(family, known)}the names begin with {', '.join(known)}"
        raise cell.bad(f"is {cell.text!r}, but nothing is drawn under {family!r}",
                       remedy)  # fmt: skip
    kind = FAMILIES[family]
    there = subjects.get(kind, [])
    if kind and not any(f"{rest}/".startswith(f"{one}/") for one in there):
        raise cell.bad(f"is {cell.text!r}, but there is no such {kind}",
                       f"the {kind}s are {', '.join(there)}")  # fmt: skip
