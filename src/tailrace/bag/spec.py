"""A bag as it is stored: everything its file says, read, checked, and in plain units."""

from __future__ import annotations

from typing import Literal

import msgspec

from tailrace.bag.batch import Batch
from tailrace.bag.items import Function
from tailrace.bag.needs import ONE_CORE
from tailrace.bag.policy import BagPolicy
from tailrace.bag.setup import Setup
from tailrace.bag.sweep import Axis
from tailrace.bag.terms import FIRST_COME, Growth, Limits, Retries, Strategy

Files = Literal["here", "staged"]
Syntax = Literal["braces", "parallel", "listed", "batch"]

MOST_TASKS = 1_000_000_000
KEEP_OUTPUT = 64 * 1024
GRACE_US = 5_000_000


class FileRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """An input or an output; both sides may hold placeholders."""

    name: str  # in the attempt's folder
    place: str  # an input's path, or an output's target; relative to the bag's folder
    required: bool = True


class FileName(msgspec.Struct, frozen=True):
    """A file by what is in it: the hash at the top of its tree of chunks, and its size."""

    hash: str
    size: int


class BagSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    folder: str  # absolute: where it was submitted
    source: str = ""  # the file it was read from, or how it was typed
    command: str | tuple[str, ...] = ""  # a shell line or words, with placeholders
    syntax: Syntax = "braces"  # "listed": the row is the command
    axes: tuple[Axis, ...] = ()
    blocks: tuple[tuple[Axis, ...], ...] = ()  # further tasks, of the same parameters, added later
    function: Function | None = None  # a bag of calls has no command
    batch: Batch | None = None  # with the syntax "batch": the script, and `command` its words
    then: str | tuple[str, ...] | None = None  # a command, once all tasks have their result
    setup: Setup | None = None
    env: dict[str, str] = {}
    secrets: tuple[str, ...] = ()  # variables whose values are kept elsewhere
    needs: dict[str, int] = msgspec.field(default_factory=ONE_CORE.copy)
    limits: Limits = Limits()
    retries: Retries = Retries()
    growth: Growth | None = None
    order: str = "listed"  # or "shuffled", "column", "-column"
    seed: int = 0  # of a shuffled order
    files: Files = "here"
    inputs: tuple[FileRule, ...] = ()
    outputs: tuple[FileRule, ...] = ()
    catalogue: FileName | None = None  # of the files it brings along, where they travel
    result: str | None = None  # a regex; None: JSON
    budget: dict[str, int] = {}  # micro-units by unit
    deadline_us: int | None = None
    timeout_us: int | None = None
    max_failures: int | None = None
    most_running: int | None = None
    repeatable: bool = False
    pools: tuple[str, ...] = ()  # by name; empty: any, or as its policy says
    policy: BagPolicy | None = None
    weight: float = 1.0
    tail_below: int | None = None
    tail_stays: bool = False
    losers_run_on: bool = False
    matching: Strategy = FIRST_COME
    replication: Strategy | None = None
    round_us: int = 0
    keep_output: int = KEEP_OUTPUT
    grace_us: int = GRACE_US
