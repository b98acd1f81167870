"""No two tasks publish to one place, and none outside the bag's folder; known before the start.

Most bags are decided from their templates alone, without a look at ten million targets. A target
tells its task when

* its text can be taken apart again, from both ends until one placeholder at most is left between:
  the text beside a placeholder begins (or ends) with a character that none of its values holds, or
  its value is known, as it stood before; and
* the placeholders tell the task: each axis of more than one value has one whose texts all differ,
  or there is `{index}`.

Where that is not so, every target is made and compared, up to `MOST_COMPARED`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, takewhile

from tailrace.bag.bag import Bag
from tailrace.bag.files import check_length, leads_out, too_long
from tailrace.bag.hull import hull
from tailrace.bag.rows import Rows
from tailrace.bag.sweep import Place, Sweep, names
from tailrace.bag.tables import Origin
from tailrace.bag.template import Field, Template, formatted
from tailrace.bag.values import Range
from tailrace.errors import BadInput

MOST_COMPARED = 2_000_000
_FEW_TEXTS = 200_000
_NUMBER_LONG = 40  # of a range, or the index
_WHOLE = frozenset("0123456789-")
_NUMBER = _WHOLE | frozenset(".+e")


def check_outputs(bag: Bag, origin: Origin) -> None:
    targets = [named(rule.place, bag.spec.name) for rule in bag.spec.outputs]
    with origin.at("outputs"):
        sweep = hull([block.sweep for block in bag.blocks.all])
        if sweep is None or not _decided(sweep, targets):
            _compare(bag, targets)


def named(text: str, name: str) -> Template:
    """The template with the bag's name as fixed text."""
    target = Template(text)
    target.parts = [name if part == Field("bag") else part for part in target.parts]
    target.fields = [field for field in target.fields if field != Field("bag")]
    return target


def _decided(sweep: Sweep, targets: list[Template]) -> bool:
    alone = all(
        _tells(sweep, target) and tame(sweep, target) and _short(sweep, target)
        for target in targets
    )
    return alone and all(apart(a, b) for a, b in combinations(targets, 2))


def _tells(sweep: Sweep, target: Template) -> bool:
    """The target of a task is that of no other."""
    if sweep.count == 1:
        return True
    return _divisible(sweep, target) and _covers(sweep, target)


def _divisible(sweep: Sweep, target: Template) -> bool:
    """The texts of the fields can be read off the target, from both its ends."""
    parts = [part for part in target.parts if part != ""]
    told: set[Field] = set()
    for end in (0, -1, 0):  # what was read from the right may be what stands in the way on the left
        _read_off(sweep, parts, end, told)
    return sum(isinstance(part, Field) for part in parts) <= 1


def _read_off(sweep: Sweep, parts: list[str | Field], end: int, told: set[Field]) -> None:
    """As far as one gets from this end: 0 is the left, -1 the right."""
    while parts:
        part = parts[end]
        if isinstance(part, Field) and part not in told:
            beside = parts[1 if end == 0 else -2] if len(parts) > 1 else None
            known = letters(sweep, part)
            if known is None or not isinstance(beside, str) or beside[end] in known:
                return
            told.add(part)
        parts.pop(end)


def _covers(sweep: Sweep, target: Template) -> bool:
    if any(field == Field("index") for field in target.fields):
        return True
    told = {place.axis for field in target.fields if (place := _told_by(sweep, field))}
    return told >= {place.axis for place in sweep.places if place.count > 1}


def _told_by(sweep: Sweep, field: Field) -> Place | None:
    """The axis whose position the text of a field tells."""
    place = sweep.place_of(field.name)
    if place is None:
        return None
    if (
        isinstance(place.column, Range)
        and not field.spec
        and place.column.step != "0"
        and place.column.whole
    ):
        return place
    texts = _texts(place, field)
    return place if texts is not None and len(set(texts)) == place.count else None


def letters(sweep: Sweep, field: Field) -> frozenset[str] | None:
    """All characters the texts of a field may hold; None: not known."""
    place = sweep.place_of(field.name)
    if field == Field("index"):
        return _WHOLE - {"-"}
    if place and isinstance(place.column, Range) and not field.spec:
        known = _WHOLE if place.column.whole else _NUMBER
        return known if _is_below_0(place.column) or not place.column.whole else known - {"-"}
    texts = None if place is None else _texts(place, field)
    return None if texts is None else frozenset("".join(texts))


def _is_below_0(column: Range) -> bool:
    read = column.reader()
    return min(read(0), read(column.count - 1)) < 0  # type: ignore[operator]


def _texts(place: Place, field: Field) -> list[str] | None:
    if isinstance(place.column, Rows) or place.count > _FEW_TEXTS:
        return None
    reader = place.column.reader()
    return [formatted(reader(i), field.spec) for i in range(place.count)]


def tame(sweep: Sweep, target: Template) -> bool:
    """No value leads out of the folder, or makes two paths one, as `a//b` and `a/./b` would."""
    fixed = "".join(part if isinstance(part, str) else "x" for part in target.parts)
    if leads_out(fixed) or _normal(fixed) != fixed or _dots(sweep, target):
        return False
    found = [letters(sweep, field) for field in target.fields]
    return all(known is not None and "/" not in known for known in found)


def _short(sweep: Sweep, target: Template) -> bool:
    """No value makes a name longer than file systems have it; asked where values hold no slash."""
    longest = (part if isinstance(part, str) else _longest(sweep, part) for part in target.parts)
    return not too_long("".join(longest))


def _longest(sweep: Sweep, field: Field) -> str:
    """A text of as many bytes as any of the field's has."""
    place = sweep.place_of(field.name)
    number = place is None or (isinstance(place.column, Range) and not field.spec)
    texts = None if place is None or number else _texts(place, field)
    most = max((len(text.encode("utf-8", "surrogatepass")) for text in texts or ()), default=0)
    return "x" * (_NUMBER_LONG if texts is None else most)


def _dots(sweep: Sweep, target: Template) -> bool:
    for field in target.fields:
        place = sweep.place_of(field.name)
        if place is None or isinstance(place.column, Range):
            continue
        texts = _texts(place, field)
        if texts is None or any(text.strip(".") == "" for text in texts):
            return True
    return False


def apart(one: Template, other: Template) -> bool:
    """Two templates never make one text: they differ before the first field or behind the last."""
    (a, y), (b, z) = ends(one), ends(other)
    return not (a.startswith(b) or b.startswith(a)) or not (y.endswith(z) or z.endswith(y))


def ends(template: Template) -> tuple[str, str]:
    """The fixed texts before the first field and behind the last."""
    head = takewhile(lambda part: isinstance(part, str), template.parts)
    tail = takewhile(lambda part: isinstance(part, str), reversed(template.parts))
    return "".join(map(str, head)), "".join(map(str, reversed(list(tail))))


def _compare(bag: Bag, targets: list[Template]) -> None:
    if bag.blocks.count * len(targets) > MOST_COMPARED:
        raise BadInput(
            f"{targets[0].text!r} does not tell {bag.blocks.count:,} tasks apart, "
            "as far as can be seen",
            remedy=f"put / between its placeholders, or use {{index}}{_hint(bag, targets[0])}",
        )
    seen: dict[str, int] = {}
    for index, target, template in _targets(bag, targets):
        if leads_out(target):
            remedy = "the value of a placeholder leads there; use {index}, or rename the value"
            raise BadInput(
                f"task {index} would publish {target!r}, outside the bag's folder", remedy=remedy
            )
        check_length(target, f"an output of task {index}")
        path = _normal(target)
        if path in seen:
            raise _clash(bag, seen[path], index, target, template)
        seen[path] = index


def _targets(bag: Bag, targets: list[Template]) -> Iterator[tuple[int, str, Template]]:
    for index in range(bag.blocks.count):
        scope = bag.scope(index)
        for template in targets:
            yield index, template.render(scope), template


def _normal(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _clash(bag: Bag, one: int, other: int, target: str, template: Template) -> BadInput:
    if one == other:
        return BadInput(
            f"two outputs would be published as {target}", remedy="give each its own target"
        )
    return BadInput(
        f"tasks {one} and {other} would both publish {target}",
        remedy=f"make the target tell them apart{_hint(bag, template)}",
    )


def _hint(bag: Bag, template: Template) -> str:
    """Which axes the target does not speak of."""
    places = [place for place in bag.sweep.places if place.count > 1]
    named = {place.axis for place in places if template.names() & set(names(place.column))}
    missing = {place.axis: names(place.column)[0] for place in places if place.axis not in named}
    words = ", ".join(f"{{{name}}}" for name in missing.values())
    return f": it lacks {words}" if missing else ": add {index}"
