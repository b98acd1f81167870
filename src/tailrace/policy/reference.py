"""The table of attributes and the list of functions, as the page of the reference shows them."""

from __future__ import annotations

from collections.abc import Iterator

from tailrace.policy.attributes import (
    ATTRIBUTES,
    MOST_REPLICAS,
    REPLICA,
    TABLES,
    Attribute,
    Pace,
    Scope,
)
from tailrace.policy.functions import FUNCTIONS
from tailrace.policy.names import may_stand_alone

TITLES = {
    Scope.HOST: "Host: the machine that asks for work",
    Scope.JOB: "Job: the task",
    Scope.BOT: "BOT: the bag",
    Scope.QUEUE: "Queue: all bags",
    Scope.POOL: "Pool: the pool of the host, or the one asked for machines",
    Scope.OURS: "Without a scope",
}
PACES = {
    Pace.NEVER: "stays",
    Pace.EVENT: "with events",
    Pace.TIME: "by itself",
    Pace.DECISION: "each time",
}
HEAD = "| attribute | type | unit | changes | meaning |\n|---|---|---|---|---|"


def attributes_as_markdown() -> str:
    return "\n\n".join(_table(scope) for scope in TABLES)


def functions_as_markdown() -> str:
    rows = [f"| `{name}` | {about} |" for name, about in FUNCTIONS.items()]
    return "\n".join(["| function | gives |", "|---|---|", *rows])


def _table(scope: Scope) -> str:
    keys = [f"{scope}.{row[0]}" if scope else row[0] for row in TABLES[scope]]
    rows = [_row(_written(ATTRIBUTES[key]), ATTRIBUTES[key]) for key in keys]
    extra = list(_of_jobs()) if scope is Scope.JOB else []
    return "\n".join([f"### {TITLES[scope]}\n", HEAD, *rows, *extra])


def _of_jobs() -> Iterator[str]:
    """The eight replicas look alike: one row for each attribute is enough."""
    many = f"`Job.Replica1` … `Job.Replica{MOST_REPLICAS}`"
    for row in REPLICA:
        one = ATTRIBUTES[f"Job.Replica1.{row[0]}"]
        yield _row(f"{many}`.{row[0]}`".replace("``", ""), one)
    yield f"| {many}`.Host.…` | | | | all of `Host`, of the host that has it |".replace("``", "")


def _written(one: Attribute) -> str:
    """`BOT.Tail` or `Tail`."""
    alone = f" or `{one.name}`" if one.scope and may_stand_alone(one) else ""
    return f"`{one.key}`{alone}"


def _row(written: str, one: Attribute) -> str:
    lacks = ", or UNDEFINED" if one.may_lack else ""
    return f"| {written} | {one.type}{lacks} | {one.unit} | {PACES[one.pace]} | {one.about} |"
