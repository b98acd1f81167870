"""What the user hands in: bag files, sweeps, lists of commands; as numbered tasks, checked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailrace.bag.bag import Bag as Bag
    from tailrace.bag.bagfile import bag_from_commands as bag_from_commands
    from tailrace.bag.bagfile import bag_from_parallel as bag_from_parallel
    from tailrace.bag.bagfile import load_bag_file as load_bag_file
    from tailrace.bag.bagfile import load_commands_file as load_commands_file
    from tailrace.bag.overview import Overview as Overview
    from tailrace.bag.overview import describe as describe
    from tailrace.bag.spec import BagSpec as BagSpec
    from tailrace.bag.starter import write_bag_file as write_bag_file

# Loaded when they are asked for: the scheduler imports `tailrace.bag.terms` and needs none of this.
_HOMES = {
    "Bag": "bag",
    "BagSpec": "spec",
    "Overview": "overview",
    "bag_from_commands": "bagfile",
    "bag_from_parallel": "bagfile",
    "describe": "overview",
    "load_bag_file": "bagfile",
    "load_commands_file": "bagfile",
    "write_bag_file": "starter",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
