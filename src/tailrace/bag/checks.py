"""What can only be checked when the whole bag is known: placeholders, formats, order, files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tailrace.bag.bag import Bag
from tailrace.bag.batch import FILLED_IN, MOST_WORD, Batch
from tailrace.bag.chunks import Chunks
from tailrace.bag.columns import with_samples
from tailrace.bag.command import PREFIX, variable
from tailrace.bag.extent import check_last
from tailrace.bag.files import MOST_PATH, check_inputs, check_lengths, step_of
from tailrace.bag.formats import check_formats
from tailrace.bag.outputs import check_outputs
from tailrace.bag.overwriting import check_overwriting
from tailrace.bag.places import Path as KeyPath
from tailrace.bag.policysaid import Believe, anything, check_policies
from tailrace.bag.rows import Rows
from tailrace.bag.spec import BagSpec
from tailrace.bag.strategies import Admit, check_strategies
from tailrace.bag.sweep import Sweep
from tailrace.bag.tables import Origin, near
from tailrace.bag.template import BUILT_IN, Template
from tailrace.bag.values import Listed
from tailrace.errors import BadInput

Placed = tuple[KeyPath, Template]


def check_bag(
    spec: BagSpec,
    chunks: list[bytes] | Chunks,
    origin: Origin,
    *,
    unused_ok: bool,
    admit: Admit,
    believe: Believe = anything,
    own: tuple[str, ...] = (),
) -> Bag:
    """The bag, or the first fault with its place; `own` are files it was read from."""
    sweep = Sweep(spec.axes, chunks.__getitem__)
    if spec.syntax == "braces":
        placed = list(_templates(spec, origin))
        _check_known(placed, sweep, origin)
        check_formats(placed, sweep, origin)
        if not unused_ok:
            _check_used(placed, sweep, origin)
    if spec.batch is not None:
        _check_batch(spec.batch)
    _check_variables(sweep, origin)
    _check_order(spec, sweep, origin)
    check_strategies(spec, origin, admit)
    bag = Bag(spec, chunks.__getitem__)
    _check_extent(bag, origin)
    check_policies(with_samples(bag), origin, believe)
    check_lengths(spec, origin)
    check_inputs(bag, origin)
    if spec.outputs:
        check_outputs(bag, origin)
        check_overwriting(bag, origin, own)
    return bag


def _check_extent(bag: Bag, origin: Origin) -> None:
    with origin.at("then"):
        check_last(bag.spec)
    with origin.at("command"):
        bag.extent.check_all(bag.sweep)


def _check_batch(batch: Batch) -> None:
    """Of a bag that comes over the wire; a script that is read here has none of these."""
    texts = (batch.name, batch.script, batch.chdir, batch.stdout, batch.stderr or "")
    if any("\0" in text for text in (*texts, *batch.env, *batch.env.values())):
        raise BadInput("a batch script holds a NUL byte")
    if not batch.name or "/" in batch.name or not batch.chdir.startswith("/"):
        raise BadInput("a batch script has a name, and the whole path of its folder")
    if any("=" in name or not name for name in batch.env):
        raise BadInput("a batch script sets a variable without a name")
    patterns = max(len(batch.stdout), len(batch.stderr or ""))
    words = max(len(batch.env.get(name, "")) for name in FILLED_IN)
    if patterns > MOST_PATH or words > MOST_WORD:
        raise BadInput("a batch script's files of output have names that are too long")


def _templates(spec: BagSpec, origin: Origin) -> Iterator[Placed]:
    """Every template of the bag, and where it stands."""
    words = enumerate(spec.command) if isinstance(spec.command, tuple) else [(0, spec.command)]
    for position, text in words:
        with origin.at("command", position):
            yield ("command", position), _template(text, shell=isinstance(spec.command, str))
    for key, text in spec.env.items():
        with origin.at("env", key):
            yield ("env", key), _template(text)
    for kind, rules in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for position, rule in enumerate(rules):
            step = step_of(rule, position)
            with origin.at(kind, step):
                yield (kind, step), _template(rule.name)
                yield (kind, step), _template(rule.place)


def _template(text: str, *, shell: bool = False) -> Template:
    if "\0" in text:
        raise ValueError("a NUL byte cannot be part of a command")
    return Template(text, shell=shell)


def _check_known(placed: list[Placed], sweep: Sweep, origin: Origin) -> None:
    known = [*sweep.names(), *BUILT_IN]
    for path, template in placed:
        for field in template.fields:
            if field.name not in known:
                raise origin.bad(
                    path,
                    f"{{{field.name}}} is not a parameter",
                    f"{_csv_below(sweep)}"
                    f"parameters are {', '.join(known)}{near(field.name, known)}; "
                    f"for literal braces write {{{{{field.name}}}}}",
                )


def _csv_below(sweep: Sweep) -> str:
    """Written below [parameters], the name of the file is the value of a parameter `csv`."""
    place = sweep.place_of("csv")
    if place is None or not isinstance(place.column, Listed):
        return ""
    alone = place.column.values[0] if len(place.column.values) == 1 else None
    if not (isinstance(alone, str) and alone.endswith((".csv", ".tsv"))):
        return ""
    return f'if {alone} lists parameters, csv = "{alone}" belongs above [parameters]; '


def _check_used(placed: list[Placed], sweep: Sweep, origin: Origin) -> None:
    """A parameter that stands nowhere multiplies the tasks and changes nothing."""
    used = {field.name for _, template in placed for field in template.fields} | {"repeat"}
    read = set(re.findall(rf"{PREFIX}\w+", " ".join(template.text for _, template in placed)))
    for place in sweep.places:
        if isinstance(place.column, Rows):
            continue  # a column more does not make a task more
        name = place.column.name
        if name not in used and variable(name) not in read:
            where = f"put {{{name}}} into command, env, inputs or outputs"
            other = f'or set unused = "ok" and read ${variable(name)}'
            message = f"the parameter {name} is used nowhere"
            raise origin.bad(("parameters", name), message, f"{_key(name, origin)}{where}; {other}")


def _key(name: str, origin: Origin) -> str:
    """In TOML, all that follows [parameters] belongs to it."""
    if name not in origin.keys:
        return ""
    return f"{name} is also a key of the bag: move it above [parameters]; or "


def _check_variables(sweep: Sweep, origin: Origin) -> None:
    seen: dict[str, str] = {}
    for name in sweep.names():
        other = seen.setdefault(variable(name), name)
        if other != name:
            raise origin.bad(
                ("parameters", name),
                f"{other!r} and {name!r} are both {variable(name)} in a task",
                "rename one",
            )


def _check_order(spec: BagSpec, sweep: Sweep, origin: Origin) -> None:
    if spec.seed and spec.order != "shuffled":
        remedy = 'add order = "shuffled"; a parameter named seed belongs into [parameters]'
        raise origin.bad(("seed",), "seed is for a shuffled order, and this is none", remedy)
    name = spec.order.removeprefix("-")
    if spec.order not in ("listed", "shuffled") and name not in sweep.names():
        known = ["listed", "shuffled", *sweep.names()]
        raise origin.bad(
            ("order",),
            f"order is {spec.order!r}",
            f'it may be {", ".join(known)}, or "-name"{near(name, known)}',
        )
