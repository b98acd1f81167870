"""The files that a bag brings along: what each input's path held when the bag was handed in.

The catalogue travels as a file of its own, and the bag's spec names it; so a bag with a hundred
thousand input files is no larger than one with two.
"""

from __future__ import annotations

import msgspec

from tailrace.bag.files import leads_out, too_long
from tailrace.errors import BadInput

MOST_BYTES = 64 * 1024 * 1024


class Entry(msgspec.Struct, frozen=True, array_like=True):
    name: str  # below the input, when that is a folder; else ''
    hash: str
    size: int
    executable: bool = False


Catalogue = dict[str, list[Entry]]  # by the whole path where the submitter has it

encode = msgspec.json.Encoder().encode


def decode(data: bytes) -> Catalogue:
    """BadInput when a name in it leads astray."""
    try:
        found = msgspec.json.decode(data, type=Catalogue)
    except msgspec.MsgspecError as error:
        raise BadInput(f"the catalogue of its files cannot be read: {error}") from None
    for path, entries in found.items():
        for entry in entries:
            check_name(entry.name, f"the input {path}")
    return found


def check_name(name: str, what: str) -> None:
    """Of a file in `what`."""
    if not name:
        return
    steps = name.split("/")
    if leads_out(name) or "." in steps or "" in steps:
        raise BadInput(f"{what} holds {name!r}, a name that leads outside")
    if too_long(name):
        raise BadInput(f"{what} holds a name of {len(name):,} characters")
