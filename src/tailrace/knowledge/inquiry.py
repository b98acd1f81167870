"""What a bag asks when its tail has begun, and what it is answered.

It asks how its tasks are to be sent again; who computes that needs nothing but what stands here.
Times are microseconds; moments are counted from the submission of the bag.
"""

from __future__ import annotations

import msgspec

from tailrace.pools.terms import Billing
from tailrace.quantities import show_duration


class Seen(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attempt on an unreliable host."""

    sent_us: int
    took_us: int  # until its end, or until now
    fate: int  # as `sendings.Fate`


class Left(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A task without a result."""

    copies: int  # attempts on unreliable hosts since the tail began
    dear: bool  # it had one on a reliable host since then


class Machine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A host of a pool that leases some, there or on its way."""

    dear: bool
    age_us: int | None  # since it was wanted; None: nobody pays for it
    comes_us: int = 0  # until its first call; 0: it is there


class Out(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attempt under way, of one of those tasks."""

    task: int  # its place among them
    dear: bool
    age_us: int
    left_us: int  # until its time-out
    on: int = -1  # which of the machines; below 0: none that is told of


class Inquiry(msgspec.Struct, frozen=True, omit_defaults=True):
    number: int  # of this bag
    now_us: int
    tail_us: int  # when its tail began
    prefer: str
    seed: int
    left: tuple[Left, ...]
    out: tuple[Out, ...]
    cheap_hosts: int
    dear_hosts: int  # that there may be
    seen: tuple[Seen, ...]
    dear_us: tuple[int, ...] = ()  # turnarounds on reliable hosts
    turnaround_us: int = 0  # that was assumed before any was seen
    patience_us: int = 0  # time-out of an attempt before the tail
    late: bool = False  # results past their time-out count
    cancel: bool = True  # what runs beside a result is ended
    cheap: Billing = Billing()
    dear: Billing = Billing()
    machines: tuple[Machine, ...] = ()
    cheap_startup_us: int = 0  # from wanting a machine to its first call
    dear_startup_us: int = 0
    budget: int | None = None  # micro-units that are left
    deadline_us: int | None = None  # from now
    spent: int = 0  # micro-units, of the currency of its pools


def paid_in(cheap: Billing, dear: Billing) -> str:
    """The currency of both, or of the one that costs something."""
    return dear.currency if dear.price else cheap.currency


class Forecast(msgspec.Struct, frozen=True, array_like=True):
    """Of 100 such bags, 90 lie between `low` and `high`."""

    mean: int
    low: int
    high: int


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A strategy of NTDMr, and what it should come to from the moment of the inquiry on."""

    number: int  # of the inquiry
    n: int  # below 0: without end
    t_us: int
    d_us: int
    mr: float
    dear: int  # reliable hosts at once
    at_us: int
    left: int  # tasks there were then
    lasts: Forecast  # microseconds
    costs: Forecast  # micro-units
    currency: str
    looked_at: int  # strategies
    efficient: int  # of those


def said(plan: Plan) -> str:
    """Its strategy in words."""
    t, d = (show_duration(round(us, -6) or us) for us in (plan.t_us, plan.d_us))
    given_up = f"each given up after {d}"
    if plan.n < 0:
        return f"another attempt every {t}, {given_up}"
    reliable = f"on a reliable host, at most {plan.mr:g} times as many of those"
    if not plan.n:
        return f"after {t} once {reliable}"
    times = "1 attempt" if plan.n == 1 else f"{plan.n} attempts"
    return f"up to {times}, one every {t}, {given_up}, then once {reliable}"
