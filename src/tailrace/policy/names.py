"""From a name as it is written to the attribute it means. Upper and lower case are alike."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from tailrace.policy.attributes import (
    ATTRIBUTES,
    MOST_REPLICAS,
    Attribute,
    Pace,
    Plain,
    Scope,
    Type,
)

# Each stands for its own policy where it is written alone: the paper has
# `Deadline = Concurrency * 2000`.
POLICIES = (
    "JobRequirements", "Rank", "ReplicationRequirements", "Concurrency", "Deadline", "GridPolicy",
    "HostRequirements", "HostRank",
)  # fmt: skip
POLICIES_LOWER = {name.lower(): name for name in POLICIES}
PARAMS = "Job.Params."
# Those that are asked about a task; the others are asked about a bag, and its tasks differ.
OF_TASKS = ("JobRequirements", "Deadline", "ReplicationRequirements")

Params = Mapping[str, tuple[Plain, ...]]  # some values of each parameter


def may_stand_alone(one: Attribute) -> bool:
    """Without its scope. Not `Name`: it could be that of the host as well as that of the bag."""
    if one.scope not in (Scope.JOB, Scope.BOT) or "." in one.name or one.name in POLICIES:
        return False
    return all(f"{scope}.{one.name}" not in ATTRIBUTES for scope in Scope if scope != one.scope)


def _spellings() -> dict[str, str]:
    """By what is written, in lower case."""
    found = {key.lower(): key for key in ATTRIBUTES}
    for one in ATTRIBUTES.values():
        if may_stand_alone(one):
            found[one.name.lower()] = one.key
        if one.scope is Scope.JOB and one.name.startswith("Replica") and "." in one.name:
            found[one.name.lower()] = one.key
    return found


SPELLINGS = _spellings()


def find(path: tuple[str, ...], params: Params) -> Attribute | None:
    if is_parameter(path):
        return _parameter(path, params)
    key = SPELLINGS.get(".".join(path).lower())
    return None if key is None else ATTRIBUTES[key]


def is_parameter(path: tuple[str, ...]) -> bool:
    """`Job.Params.alpha`, or `Params.alpha`."""
    words = tuple(word.lower() for word in path)
    return len(words) > 1 and (words[0] == "params" or words[:2] == ("job", "params"))


def _parameter(path: tuple[str, ...], params: Params) -> Attribute | None:
    written = below_params(path)
    named = [name for name in params if name.lower() == written.lower()]
    if len(named) != 1 and written not in params:
        return None
    name = written if written in params else named[0]
    about = "a parameter of the task"
    samples = params[name]
    return Attribute(Scope.JOB, f"Params.{name}", _type(samples), "", about, Pace.NEVER, False,
                     samples)  # fmt: skip


def below_params(path: tuple[str, ...]) -> str:
    return ".".join(path[1:] if path[0].lower() == "params" else path[2:])


def _type(samples: tuple[Plain, ...]) -> Type:
    first = samples[0] if samples else ""
    if isinstance(first, bool):
        return Type.BOOLEAN
    return Type.INTEGER if isinstance(first, int) else (
        Type.REAL if isinstance(first, float) else Type.STRING
    )  # fmt: skip


def nearest(path: tuple[str, ...], params: Params) -> str:
    """What to do about a name that there is not."""
    written = ".".join(path)
    if is_parameter(path):
        return _which_parameter(path, params)
    if written.lower() in (scope.lower() for scope in Scope if scope):
        return f"name what of it is meant, such as {_first_of(written)}"
    same = [one.key for one in ATTRIBUTES.values() if one.name.lower() == written.lower()]
    if same:
        return f"write {' or '.join(same)}"
    return f"{_meant(written)}the reference lists all of them; to take a value for one that is " \
        f"not known, write ({written} ?: 0)"  # fmt: skip


def _first_of(scope: str) -> str:
    return next(key for key in ATTRIBUTES if key.lower().startswith(f"{scope.lower()}."))


def _which_parameter(path: tuple[str, ...], params: Params) -> str:
    if not params:
        return f"leave {'.'.join(path)} out: the bag has no parameters"
    near = get_close_matches(below_params(path), list(params), n=1, cutoff=0.6)
    said = f"did you mean Params.{near[0]}? " if near else ""
    return f"{said}the bag has {', '.join(params)}"


def _meant(written: str) -> str:
    low = written.lower()
    if low.startswith(("replica", "job.replica")) and "." in low.removeprefix("job."):
        head = low.removeprefix("job.").partition(".")[0]
        if head not in [f"replica{number}" for number in range(1, MOST_REPLICAS + 1)]:
            return f"there are Job.Replica1 to Job.Replica{MOST_REPLICAS}; "
    near = get_close_matches(low, list(SPELLINGS), n=1, cutoff=0.6)
    return f"did you mean {_spelt(near[0])}? " if near else ""


def _spelt(low: str) -> str:
    key = SPELLINGS[low]
    return key if key.lower() == low else key[len(key) - len(low) :]
