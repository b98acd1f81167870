"""Tasks to be added, as they stand on a command line."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from tailrace.bag.additions import Addition
from tailrace.bag.arrayids import read_array
from tailrace.bag.bag import Bag
from tailrace.bag.bagfile import load_bag_file, load_commands_file
from tailrace.bag.identity import basis
from tailrace.bag.parallel import read_words
from tailrace.bag.parameters import read_axes
from tailrace.bag.rows import kind_of, typed
from tailrace.bag.tables import Origin, Table
from tailrace.errors import BadInput
from tailrace.scheduler.strategies import admit

NUMBER = r"-?\d+(?:\.\d+)?"
RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})(?:\.\.({NUMBER}))?")


def addition(
    file: str | None,
    words: list[str],
    sets: tuple[str, ...],
    commands: str | None,
    array: str | None,
) -> Addition:
    _one_of(file, words, sets, commands, array)
    if array is not None:
        return _of_array(array)
    if file is not None:
        bag = load_bag_file(Path(file), admit=admit)
        return _of_bag(bag, basis(bag.spec))
    if commands is not None:
        return _of_bag(load_commands_file(commands, Path.cwd(), admit=admit))
    if words:
        _, axes = read_words(["echo", *words])
        return Addition(axes, syntax="parallel")
    return Addition(tuple(axis for text in sets for axis in _set(text)), some=True)


def _one_of(*forms: object) -> None:
    given = sum(bool(form) for form in forms)
    if given != 1:
        what = "several things are" if given else "nothing is"
        raise BadInput(
            f"{what} given to add",
            remedy="Give --set seed=11..20, a bag file, --commands FILE, --array 5-8 or `::: d e`.",
        )


def _of_array(text: str) -> Addition:
    try:
        numbers = read_array(text)
    except BadInput as fault:
        fault.flag = "--array"
        raise
    if numbers.most_running is not None:
        raise BadInput(
            f"{text} says how many run at a time, which stays as the bag has it",
            flag="--array",
            remedy=f"Leave out what is behind the numbers: --array {text.partition('%')[0]}.",
        )
    return Addition(((numbers.column,),), syntax="batch")


def _of_bag(bag: Bag, sign: str = "") -> Addition:
    _, chunks = bag.encode()
    return Addition(bag.spec.axes, list(chunks), bag.spec.syntax, basis=sign)


def _set(text: str) -> Any:
    """`seed=11..20`, `beta=0..1..0.25`, `alpha=0.1,0.5`: as in [parameters]."""
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        remedy = "Write it as seed=11..20 or alpha=0.1,0.5."
        raise BadInput(f"{text!r} gives no values", flag="--set", remedy=remedy)
    given = {"parameters": {name.strip(): _values(values.strip())}}
    try:
        axes, _ = read_axes(Table(given, Origin()), Path())()
    except BadInput as error:
        error.flag = "--set"
        raise
    return axes


def _values(text: str) -> Any:
    found = RANGE.fullmatch(text)
    if found is None:
        return [typed(one.strip(), kind_of([one.strip()])) for one in text.split(",")]
    keys = ("from", "to", "step")
    given = zip(keys, found.groups(), strict=True)
    return {key: Decimal(number) for key, number in given if number is not None}
