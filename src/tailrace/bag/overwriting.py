"""No task publishes over a file that the bag reads: the tasks after it would read another.

As with targets of two tasks, most is decided from the templates alone: two of them never make one
path when their fixed ends differ, or when what one has beyond the other's end cannot come from the
value there. Where that is not so, all paths are made and compared, up to `MOST_COMPARED`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tailrace.bag.bag import Bag
from tailrace.bag.files import step_of
from tailrace.bag.hull import hull
from tailrace.bag.outputs import MOST_COMPARED, apart, ends, letters, named, tame
from tailrace.bag.sweep import Sweep
from tailrace.bag.tables import Origin
from tailrace.bag.template import Field, Template
from tailrace.bag.values import Listed
from tailrace.errors import BadInput

_REMEDY = "publish it under another name, such as in a folder of its own: out/"


def check_overwriting(bag: Bag, origin: Origin, own: tuple[str, ...] = ()) -> None:
    """`own` are files the bag is made of, as its table of parameters."""
    read = [_inside(bag, rule.place) for rule in bag.spec.inputs]
    read += [_inside(bag, name.replace("{", "{{").replace("}", "}}")) for name in own]
    sweep = hull([block.sweep for block in bag.blocks.all])
    for position, rule in enumerate(bag.spec.outputs):
        target = named(os.path.normpath(rule.place), bag.spec.name)
        near = [one for one in read if one is not None and not _never_meet(sweep, target, one)]
        if near:
            with origin.at("outputs", step_of(rule, position)):
                _compare(bag, target, near)


def _inside(bag: Bag, place: str) -> Template | None:
    """The path from the bag's folder; None: it lies elsewhere, where nothing is published."""
    folder = bag.spec.folder or "/"
    path = os.path.relpath(Path(folder, place), folder)
    return None if path.startswith("../") else named(path, bag.spec.name)


def _compare(bag: Bag, target: Template, near: list[Template]) -> None:
    if bag.blocks.count * (len(near) + 1) > MOST_COMPARED:
        message = f"{target.text!r} may be {near[0].text!r}, which the bag reads"
        raise BadInput(f"{message}, as far as can be seen", remedy=_REMEDY)
    inputs = {path for other in near for _, path in _made(bag, other)}
    for index, path in _made(bag, target):
        if path in inputs:
            message = f"task {index} would publish over {path}, which the bag reads"
            raise BadInput(message, remedy=_REMEDY)


def _made(bag: Bag, template: Template) -> Iterator[tuple[int, str]]:
    for index in range(bag.blocks.count if template.fields else min(bag.blocks.count, 1)):
        yield index, os.path.normpath(template.render(bag.scope(index)))


def _never_meet(sweep: Sweep | None, one: Template, other: Template) -> bool:
    if apart(one, other):
        return True
    if sweep is None or not (tame(sweep, one) and tame(sweep, other)):
        return False
    return _beyond(sweep, one, other) or _beyond(sweep, other, one)


def _beyond(sweep: Sweep, short: Template, long: Template) -> bool:
    """What the long one has beyond an end of the short one, no value of the short one ends with."""
    if not short.fields:
        return False
    (head, tail), (longer_head, longer_tail) = ends(short), ends(long)
    before = longer_head[len(head) : len(head) + 1]
    behind = longer_tail[: max(len(longer_tail) - len(tail), 0)][-1:]
    return _lacks(sweep, short.fields[0], before) or _lacks(sweep, short.fields[-1], behind)


def _lacks(sweep: Sweep, field: Field, letter: str) -> bool:
    """No text of the field begins or ends with this letter; an empty one leaves that open."""
    place, known = sweep.place_of(field.name), letters(sweep, field)
    if not letter or known is None or letter in known:
        return False
    return place is None or not isinstance(place.column, Listed) or "" not in place.column.values
