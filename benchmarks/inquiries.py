"""What a bag in its tail asks a server, of any size."""

from __future__ import annotations

import numpy as np

from tailrace.knowledge.inquiry import Inquiry, Left, Out, Seen
from tailrace.knowledge.sendings import Fate
from tailrace.pools.terms import Billing, Pays
from tailrace.quantities import price


def inquiry(hosts: int) -> Inquiry:
    """Of 2,000 attempts of 10 to 20 s that were seen, four in five came back; those under way were
    sent 5 s ago."""
    drawn, second = np.random.default_rng(1), 1_000_000
    ends = [
        (took, Fate.RETURNED) if chance < 0.8 else (60.0, Fate.EXPIRED)
        for took, chance in zip(drawn.uniform(10, 20, 2000), drawn.random(2000), strict=True)
    ]
    return Inquiry(
        1, 170 * second, 170 * second, "product", 3,
        (Left(0, False),) * (hosts - 1),
        tuple(Out(task, False, 5 * second, 55 * second) for task in range(hosts - 1)),
        hosts, hosts // 10,
        tuple(Seen(n * second // 20, round(s * second), fate) for n, (s, fate) in enumerate(ends)),
        turnaround_us=15 * second, patience_us=60 * second, cancel=False,
        cheap=Billing.at(price("0.01 USD/h"), second, pays=Pays.RETURNED),
        dear=Billing.at(price("0.34 USD/h"), second, pays=Pays.RETURNED),
    )  # fmt: skip
