"""Values of a bag's secrets, out of the environment of whoever hands it in."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.bag.secrets import check_values
from tailrace.bag.spec import BagSpec
from tailrace.cli.bags.bagplace import bad
from tailrace.errors import BadInput
from tailrace.server.people.sealed import Sealed


def found(spec: BagSpec) -> dict[str, str]:
    """BadInput, with its place, when one is not set."""
    for position, name in enumerate(spec.secrets):
        try:
            check_values([name], os.environ)
        except BadInput as error:
            raise bad(spec, ("secrets", position), error.message, error.remedy) from None
    return {name: os.environ[name] for name in spec.secrets}


def taken(spec: BagSpec) -> dict[str, str]:
    """Out of this process, too: what it starts inherits its environment, and that is kept."""
    values = found(spec)
    hide(spec)
    return values


def taken_again(spec: BagSpec, folder: Path, number: int) -> dict[str, str]:
    """For a bag that goes on: only when those it had are not here any more."""
    if not spec.secrets or Sealed(folder).of(number) is not None:
        hide(spec)
        return {}
    return taken(spec)


def hide(spec: BagSpec) -> None:
    for name in spec.secrets:
        os.environ.pop(name, None)


def for_one(spec: BagSpec, folder: Path, number: int) -> dict[str, str]:
    """As a task of the bag had them; or those of this shell."""
    if not spec.secrets:
        return {}
    return Sealed(folder).of(number) or found(spec)
