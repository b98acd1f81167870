"""`secrets = ["API_KEY"]`: names of variables whose values tasks find, and nobody else.

The bag holds only the names. The values come from the environment of whoever hands it in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tailrace.bag.tables import Table, said
from tailrace.errors import BadInput

OURS = "TAILRACE_"
LEAST = 4  # characters: what is shorter could not be masked without harm to all else
MOST = 64 * 1024
MOST_NAMES = 100
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def read_secrets(table: Table, env: Mapping[str, str]) -> dict[str, Any]:
    """As a field of a BagSpec."""
    names = table.take("secrets", list) or []
    for position, name in enumerate(names):
        with table.origin.at("secrets", position):
            if not isinstance(name, str):
                raise BadInput(f"secrets holds {said(name)}", remedy='write secrets = ["API_KEY"]')
            check_name(name, env)
    return {"secrets": tuple(dict.fromkeys(names))} if names else {}


def check_name(name: str, env: Mapping[str, str]) -> None:
    if not _VARIABLE.fullmatch(name):
        remedy = "name the variable; its value stays in your environment"
        raise BadInput(f"{name[:40]!r} is not a name of a variable", remedy=remedy)
    if name.startswith(OURS):
        raise BadInput(f"{name} is one of our own variables", remedy="use another name")
    if name in env:
        raise BadInput(f"{name} stands in [env], too", remedy="remove it there")


def check_values(names: Sequence[str], values: Mapping[str, str]) -> None:
    """Every name has a value that can be kept and masked; the values are never told."""
    for name in names:
        value = values.get(name)
        if value is None:
            raise BadInput(
                f"the variable {name} is not set, and the bag lists it in secrets",
                remedy=f"set it where you run this: export {name}=...",
            )
        if not LEAST <= len(value) <= MOST or not _is_text(value):
            raise BadInput(
                f"the value of {name} cannot be kept a secret",
                remedy=f"it must be a text of {LEAST} to {MOST:,} characters without a NUL",
            )


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value
