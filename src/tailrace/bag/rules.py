"""The keys of a bag file that say under which rules its tasks run; also given as flags.

* `name`: what the bag is called. Default: the file's name.
* `[env]`: variables for the tasks; values may hold placeholders.
* `[needs]`: what one task takes of a machine: `cores` (1), `memory`, `disk`, `gpus`, names of your
  own.
* `[limits]`: `time`, `memory`, `disk`; a task that exceeds one is ended.
* `[retries]`: how often each outcome is forgiven: `task_failed` (1), `over_limit` (0),
  `host_failed` (5), `lost` (5), `expired` (3). `retries = 3` sets `task_failed`.
* `on_over_limit = {memory = "x2 up to 16 GiB"}`: that limit, and the need of that name, grow until
  the ceiling; growing costs no retry.
* `order`: `"listed"`, `"shuffled"` (with `seed`), a parameter's name to ascend by, `"-name"` to
  descend.
* `result`: a regular expression for the value in stdout. Default: JSON.
* `budget`: `"20 USD"`, or a list with one amount per unit. `deadline`: of the bag, from its
  submission.
* `max_failures`: failed tasks that pause the bag.
* `repeatable`: two attempts of one task may run at once. Default: only with files = "staged".
* `timeout`, `max_running`, `pools`, `priority` and the like: see `policykeys`.
* `matching`, `replication`, `round`: see `strategies`.
* `keep_output`: how much of stdout and of stderr is kept (64 KiB). `grace`: between TERM and KILL
  (5s).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from tailrace.bag.needs import BYTES, ONE_CORE, THOUSANDTHS
from tailrace.bag.policykeys import read_policies
from tailrace.bag.spec import GRACE_US, KEEP_OUTPUT
from tailrace.bag.strategies import read_strategies
from tailrace.bag.tables import Table, near, said
from tailrace.bag.terms import Growth, Limits, Retries
from tailrace.errors import BadInput
from tailrace.quantities import duration_us, money, size_bytes

_WORD = re.compile(r"[A-Za-z_][\w-]*")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_GROWTH = re.compile(r"[x×]\s*(\d+(?:\.\d+)?)(?:\s+up\s+to\s+(.+))?")
_MOST_THOUSANDTHS = 10**9


def read_rules(table: Table, default_name: str) -> dict[str, Any]:
    """Everything but the command, its parameters and its files, as fields of a BagSpec."""
    limits, env = _limits(table.table("limits")), _env(table.table("env"))
    return {
        "name": _name(table, default_name),
        "env": env,
        "needs": _needs(table.table("needs")),
        "limits": limits,
        "growth": _growth(table.table("on_over_limit"), limits),
        "retries": _retries(table),
        "order": table.take("order", str) or "listed",
        "seed": table.take("seed", int) or 0,
        "result": _result(table),
        "budget": _budget(table),
        "deadline_us": table.read("deadline", _some_time, None, example='"6h"'),
        "max_failures": _count(table, "max_failures", 1),
        **read_policies(table),
        **read_strategies(table),
        "keep_output": table.read("keep_output", size_bytes, KEEP_OUTPUT),
        "grace_us": table.read("grace", duration_us, GRACE_US),
    }


def _name(table: Table, default: str) -> str:
    name = table.take("name", str)
    if name is None:
        return re.sub(r"[^\w .+-]+", "_", default).strip() or "bag"
    if not name.strip() or not name.isprintable() or "/" in name or len(name) > 100:
        raise table.bad(
            "name", f"{name!r} is not a name", "use up to 100 printable characters without a slash"
        )
    return str(name)


def _env(table: Table) -> dict[str, str]:
    found = {}
    for key, value in table.items():
        if not _VARIABLE.fullmatch(key):
            raise table.bad(
                key, f"{key!r} is not a name of a variable", "use letters, digits and _"
            )
        if isinstance(value, (list, dict)):
            raise table.bad(key, f"env.{key} is {said(value)}", "give a text or a number")
        if "\0" in str(value):
            raise table.bad(key, f"env.{key} holds a NUL byte", "remove it")
        found[key] = said(value) if isinstance(value, bool) else str(value)
    return found


def _needs(table: Table) -> dict[str, int]:
    found = dict(ONE_CORE)
    for name, value in table.items():
        with table.origin.at(*table.path, name):
            found[name] = _amount(name, value)
    return found


def _amount(name: str, value: Any) -> int:
    if not _WORD.fullmatch(name):
        raise ValueError(f"{name!r} is not a name")
    if isinstance(value, (list, dict, bool)):
        raise BadInput(
            f"needs.{name} is {said(value)}", remedy="give an amount such as 2, or 4 GiB for memory"
        )
    amount = size_bytes(value) if name in BYTES else _thousandths(name, value)
    if amount == 0:
        raise BadInput(f"needs.{name} is 0", remedy="leave it out, or ask for more than nothing")
    return amount


def _thousandths(name: str, value: Any) -> int:
    if isinstance(value, str):
        raise BadInput(
            f"needs.{name} is {value!r}, not a number", remedy=f"write {name} = 2{_near_need(name)}"
        )
    amount = Decimal(str(value)) * THOUSANDTHS
    if not amount.is_finite() or not 0 <= amount <= _MOST_THOUSANDTHS:
        raise BadInput(
            f"needs.{name} is {value}, which no machine has", remedy="give a number above 0"
        )
    if amount != int(amount):
        raise BadInput(f"needs.{name} is {value}", remedy="thousandths are the smallest part")
    return int(amount)


def _near_need(name: str) -> str:
    return near(name, ["memory", "disk", "cores", "gpus"]) if name not in ("cores", "gpus") else ""


def _limits(table: Table) -> Limits:
    limits = Limits(
        time_us=table.read("time", _some_time, None, example='"2h"'),
        memory=table.read("memory", _some_size, None, example='"4 GiB"'),
        disk=table.read("disk", _some_size, None, example='"4 GiB"'),
    )
    table.finish()
    return limits


def _retries(table: Table) -> Retries:
    given = table.peek("retries")
    if isinstance(given, int):
        return Retries(task_failed=_count(table, "retries", 0) or 0)
    if given is not None and not isinstance(given, dict):
        remedy = "write retries = 2, or by outcome: retries = { task_failed = 2, lost = 5 }"
        message = f"retries is {said(given)}, but should be a whole number, or a table by outcome"
        raise table.bad("retries", message, remedy)
    inner = table.table("retries")
    fields = {key: _count(inner, key, 0) for key in Retries.__struct_fields__}
    inner.finish()
    return Retries(**{key: value for key, value in fields.items() if value is not None})


def _count(table: Table, key: str, least: int) -> int | None:
    value = table.take(key, int)
    if value is not None and not least <= value < 2**31:
        raise table.bad(key, f"{table.label(key)} is {value}", f"it is a whole number from {least}")
    return value  # type: ignore[no-any-return]


def _growth(table: Table, limits: Limits) -> Growth | None:
    factors: dict[str, float] = {}
    most: dict[str, int] = {}
    for kind in ("memory", "time", "disk"):
        text = table.take(kind, str)
        if text is not None:
            with table.origin.at("on_over_limit", kind):
                factors[kind], ceiling = _grows(kind, text, limits)
                most.update({} if ceiling is None else {kind: ceiling})
    table.finish()
    if len(set(factors.values())) > 1:
        raise table.bad(
            next(iter(factors)), "limits grow by different factors", "give all the same factor"
        )
    return Growth(min(factors.values()), most, tuple(factors)) if factors else None


def _grows(kind: str, text: str, limits: Limits) -> tuple[float, int | None]:
    example = f'on_over_limit = {{{kind} = "x2 up to {"2h" if kind == "time" else "16 GiB"}"}}'
    found = _GROWTH.fullmatch(text.strip())
    if found is None or not 1 < float(found[1]) <= 100:
        raise BadInput(f"{text!r} does not say how {kind} grows", remedy=f"write {example}")
    now = _limit(limits, kind)
    if now is None:
        raise BadInput(
            f"{kind} cannot grow: [limits] sets no {kind}", remedy=f"add {kind} to [limits]"
        )
    ceiling = (
        None if found[2] is None else (duration_us if kind == "time" else size_bytes)(found[2])
    )
    if ceiling is not None and ceiling <= now:
        raise BadInput(
            f"{kind} may grow to {found[2]}, but its limit is that or more already",
            remedy=f"write {example}",
        )
    return float(found[1]), ceiling


def _limit(limits: Limits, kind: str) -> int | None:
    return limits.time_us if kind == "time" else limits.memory if kind == "memory" else limits.disk


def _result(table: Table) -> str | None:
    pattern = table.take("result", str)
    if pattern is None or pattern == "json":
        return None
    try:
        re.compile(pattern)
    except re.error as fault:
        raise table.bad(
            "result",
            f"result is not a regular expression: {fault}",
            "escape ( [ + * with a backslash",
        ) from None
    return str(pattern)


def _budget(table: Table) -> dict[str, int]:
    kinds, example = (str, list, int, Decimal, float), '"20 USD"'
    given = table.take("budget", *kinds, wanted="an amount, or a list of them", example=example)
    found: dict[str, int] = {}
    for position, text in enumerate(
        given if isinstance(given, list) else [] if given is None else [given]
    ):
        with table.origin.at(*table.path, "budget", position):
            unit, micros = money(text)
            if unit in found:
                raise BadInput(f"there are two budgets in {unit}", remedy="keep one")
            found[unit] = micros
    return found


def _some_time(written: Any) -> int | None:
    return _more_than_none(duration_us(written), written)


def _some_size(written: Any) -> int | None:
    return _more_than_none(size_bytes(written), written)


def _more_than_none(amount: int, written: Any) -> int:
    if amount == 0:
        raise ValueError(f"{written} leaves nothing; leave the key out for no limit")
    return amount
