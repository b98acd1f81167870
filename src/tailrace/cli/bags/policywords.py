"""A change to the policy of a bag, as it is typed or stands in a bag file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tailrace.bag.policy import EXPRESSIONS, Plain, Policy
from tailrace.bag.policykeys import END, RUN_ON, expressions, read_policies, take_plain
from tailrace.bag.tables import Origin, Table, meant, read_toml
from tailrace.bag.terms import Terms
from tailrace.bag.textfile import read_text
from tailrace.cli.bags.believing import believe
from tailrace.cli.bags.handed import value_of
from tailrace.errors import BadInput
from tailrace.quantities import show_duration
from tailrace.server.policysetting import WORDS, PolicyChange, PolicyTold

OF_POLICY = ("tail_below", "tail_stays", "losers")  # its table, not the bag's
FIXED = ("timeout", "max_running", "weight", *OF_POLICY)
NAMES = (*EXPRESSIONS, *WORDS)
_KEYS = (*WORDS, "timeout", "max_running", "weight", "policy")


def typed(words: tuple[str, ...], unset: tuple[str, ...]) -> PolicyChange:
    """`Rank='Host.Speed'`, `priority=5`, `pools='!spot,clu*'`."""
    top: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not text.strip():
            remedy = "write NAME=VALUE, such as priority=5 or Rank='Host.Speed'"
            raise BadInput(f"{word!r} says nothing", remedy=remedy)
        _check_name(name, (*top, *own))
        if name in EXPRESSIONS:
            own[name] = text
        else:
            top[name] = _value(name, text)
    for name in unset:
        _check_name(name, (*top, *own))
    found = Policy(**expressions(Table(own, Origin(), ("policy",)), EXPRESSIONS))
    return PolicyChange(found, take_plain(Table(top, Origin())), list(unset))


def _check_name(name: str, given: tuple[str, ...]) -> None:
    if name in given:
        raise BadInput(f"{name} is given twice", remedy="Keep one.")
    if name in FIXED:
        raise _fixed(name)
    if name not in NAMES:
        remedy = f"{meant(name, list(NAMES))}there are {', '.join(NAMES)}"
        raise BadInput(f"there is no {name} in a policy", remedy=remedy)


def _fixed(name: str) -> BadInput:
    instead = "; a bag without one can have Deadline=7200" if name == "timeout" else ""
    remedy = f"it is said when the bag is handed in, and stays{instead}"
    return BadInput(f"{name} cannot be changed", remedy=remedy)


def _value(name: str, text: str) -> Any:
    if name in ("pools", "hosts"):
        return [one.strip() for one in text.split(",")]
    return value_of(text)


def of_file(path: Path, now: PolicyTold) -> PolicyChange:
    """The policy of a bag file instead of the one the bag has now."""
    shown = str(path)
    text = read_text(path, shown)
    data = read_toml(text, shown)
    table = Table({key: data[key] for key in _KEYS if key in data}, Origin(shown, text))
    said = read_policies(table)
    _refuse_fixed(table.origin, said, now)
    believe(Terms(1, **said), table.origin, ())
    policy = said["policy"]
    plain = policy.plain if policy else Plain()
    if said["pools"]:
        plain = replace(plain, pools=said["pools"])
    return PolicyChange(policy.own if policy else Policy(), plain, whole=True)


def _refuse_fixed(origin: Origin, said: dict[str, Any], now: PolicyTold) -> None:
    """What the file says of these must be what the bag has."""
    plain = now.policy.plain
    has = {
        "timeout": (said["timeout_us"], plain.timeout_us),
        "max_running": (said["most_running"], plain.max_running),
        "weight": (None if said["weight"] == 1 else said["weight"], now.weight),
        "tail_below": (said.get("tail_below"), now.tail_below),
        "tail_stays": (said.get("tail_stays"), now.tail_stays),
        "losers": (RUN_ON if said["losers_run_on"] else None, RUN_ON if now.losers_run_on else END),
    }
    for key, (given, before) in has.items():
        if given is not None and given != before:
            told = show_duration(int(before)) if key == "timeout" and before else before or "none"
            fault = _fixed(key)
            path = ("policy", key) if key in OF_POLICY else (key,)
            raise origin.bad(path, f"{fault.message}: the bag has {told}", fault.remedy)
