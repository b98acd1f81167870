"""Parameters of simulated tasks, as a bag file has them: only policies look at them."""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.bag.bag import Bag
from tailrace.bag.columns import Columns, with_samples
from tailrace.bag.parameters import read_axes
from tailrace.bag.policy import BagPolicy
from tailrace.bag.spec import BagSpec
from tailrace.bag.sweep import size
from tailrace.bag.tables import Table
from tailrace.errors import BadInput
from tailrace.policy.parameters import looked_at, reads_parameters
from tailrace.simulation.laws.reading import Place

KEYS = ("parameters", "csv", "zip", "repeat")


def read_parameters(table: Table, place: Place) -> Bag | None:
    """None: its tasks have none."""
    if not any(key in table for key in KEYS):
        return None
    axes, chunks = read_axes(table, place.folder)()
    spec = BagSpec(name=str(table.path[-1]), folder="/", command="true", axes=axes)
    return Bag(spec, chunks.__getitem__)


def seen_by(
    policy: BagPolicy | None, swept: Bag | None, count: int, table: Table
) -> tuple[BagPolicy | None, Columns | None]:
    """What the policy sees of them, as the scheduler gets it."""
    if swept is not None and size(swept.spec.axes) != count:
        message = f"its parameters make {size(swept.spec.axes):,} tasks, but it has {count:,}"
        raise table.bad("parameters", message, "as many as the product of their values")
    if policy is None or not reads_parameters(policy):
        return policy, None
    if swept is None:
        message = "the policy looks at parameters, but the tasks of this bag have none"
        raise table.bad("policy", message, "give it [bags.NAME.parameters], as in a bag file")
    try:
        found, columns = looked_at(policy, swept)
    except BadInput as fault:
        raise table.bad("policy", fault.message, fault.remedy) from None
    if columns is None:  # whoever reads it names what lacks
        said = with_samples(Bag(replace(swept.spec, policy=policy), swept.read_chunk)).policy
        return said, None
    return found, columns
