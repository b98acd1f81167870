"""What a bag would do, in words, for `check` and `run --dry-run`; nothing is started."""

from __future__ import annotations

import msgspec

from tailrace.bag import needs, policysaid, setup, strategies
from tailrace.bag.bag import Bag
from tailrace.bag.rows import Rows
from tailrace.bag.spec import BagSpec, FileRule
from tailrace.bag.sweep import Axis, Column
from tailrace.bag.template import Template
from tailrace.bag.values import Listed, show
from tailrace.quantities import show_duration, show_money, show_size

_FIRST = 3
_SHOWN = 5


class Overview(msgspec.Struct, frozen=True):
    name: str
    count: int
    source: str
    folder: str
    shell: bool  # the command runs in a shell
    axes: tuple[str, ...]  # one line each: "alpha: 3 values: 0.1, 0.2, 0.5"
    first: tuple[str, ...]  # up to three commands
    last: str  # empty when the first ones are all
    then: str
    setup: str
    secrets: tuple[str, ...]  # names alone
    needs: str
    limits: str
    retries: str
    order: str
    files: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    result: str
    budget: str
    deadline: str
    timeout: str
    max_running: str
    pools: str
    policy: str
    matching: str
    replication: str
    round: str
    warnings: tuple[str, ...]


def describe(bag: Bag) -> Overview:
    spec = bag.spec
    first = tuple(bag.task(index).text() for index in range(min(bag.count, _FIRST)))
    return Overview(
        name=spec.name,
        count=bag.count,
        source=spec.source,
        folder=spec.folder,
        shell=bag.task(0).shell is not None,
        axes=tuple(_axis(axis) for axis in spec.axes),
        first=first,
        last=bag.task(bag.count - 1).text() if bag.count > _FIRST else "",
        then="nothing" if bag.last is None else f"task {bag.last}, when all others are done",
        setup=setup.describe(spec.setup),
        secrets=spec.secrets,
        needs=needs.describe(spec.needs),
        limits=_limits(spec),
        retries=", ".join(
            f"{k} {getattr(spec.retries, k)}" for k in spec.retries.__struct_fields__
        ),
        order=_order(spec),
        files=_FILES[spec.files],
        inputs=tuple(_file(rule) for rule in spec.inputs),
        outputs=tuple(_file(rule) for rule in spec.outputs),
        result=f"the regular expression {spec.result}" if spec.result else "JSON",
        budget=", ".join(show_money(unit, micros) for unit, micros in spec.budget.items())
        or "none",
        deadline="none"
        if spec.deadline_us is None
        else f"{show_duration(spec.deadline_us)} from submission",
        timeout="none" if spec.timeout_us is None else show_duration(spec.timeout_us),
        max_running=f"{spec.most_running:,} at a time" if spec.most_running else "all that fit",
        pools=", ".join(spec.pools) or "any",
        policy=policysaid.describe(spec) or "none",
        matching=strategies.describe(spec.matching),
        replication=strategies.describe(spec.replication),
        round=f"every {show_duration(spec.round_us)}" if spec.round_us else "at once",
        warnings=tuple(_warnings(bag)),
    )


_FILES = {
    "here": "here: tasks run in the bag's folder",
    "staged": "staged: each attempt runs in an empty folder of its own",
}


def _axis(axis: Axis) -> str:
    return ", zipped with ".join(_column(column) for column in axis)


def _column(column: Column) -> str:
    if isinstance(column, Rows):
        return f"{', '.join(column.columns)}: {column.count:,} rows"
    reader = column.reader()
    few = isinstance(column, Listed) and column.count <= _SHOWN
    if few or column.count <= 2:
        values = ", ".join(show(reader(i)) for i in range(column.count))
    else:
        values = f"{show(reader(0))}, {show(reader(1))}, … {show(reader(column.count - 1))}"
    return f"{column.name}: {column.count:,} value{'s' * (column.count != 1)}: {values}"


def _limits(spec: BagSpec) -> str:
    limits, found = spec.limits, []
    if limits.time_us is not None:
        found.append(f"time {show_duration(limits.time_us)}")
    found += [
        f"{k} {show_size(v)}"
        for k, v in (("memory", limits.memory), ("disk", limits.disk))
        if v is not None
    ]
    if spec.growth is not None:
        found.append(f"{' and '.join(spec.growth.grow)} ×{spec.growth.factor:g} when over it")
    return ", ".join(found) or "none"


def _order(spec: BagSpec) -> str:
    if spec.order == "shuffled":
        return f"shuffled with seed {spec.seed}"
    if spec.order == "listed":
        return "as listed"
    down = spec.order.startswith("-")
    return f"by {spec.order.removeprefix('-')}, {'descending' if down else 'ascending'}"


def _file(rule: FileRule) -> str:
    text = rule.name if rule.name == rule.place else f"{rule.name} → {rule.place}"
    return text if rule.required else f"{text} (optional)"


def _warnings(bag: Bag) -> list[str]:
    spec = bag.spec
    found: list[str] = []
    need, limit = spec.needs.get("memory"), spec.limits.memory
    if need is not None and limit is not None and limit > need:
        found.append(
            f"a task may use {show_size(limit)} of memory, but is placed by its need of "
            f"{show_size(need)}"
        )
    if spec.syntax == "braces":
        found += _unused_columns(bag)
    if spec.batch is not None and spec.batch.unheeded:
        found.append(f"not heeded: {', '.join(spec.batch.unheeded)}")
    return found


def _unused_columns(bag: Bag) -> list[str]:
    spec = bag.spec
    words = (spec.command,) if isinstance(spec.command, str) else spec.command
    files = [text for rule in (*spec.inputs, *spec.outputs) for text in (rule.name, rule.place)]
    shell = isinstance(spec.command, str)
    templates = [Template(word, shell=shell) for word in words]
    templates += [Template(text) for text in (*spec.env.values(), *files)]
    used = {name for template in templates for name in template.names()}
    columns = [n for axis in spec.axes for c in axis if isinstance(c, Rows) for n in c.columns]
    idle = [name for name in columns if name not in used]
    return [f"columns of the CSV that stand in no command: {', '.join(idle)}"] if idle else []
