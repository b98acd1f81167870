"""The pictures of a run, each an SVG element for the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tailrace.report import style, words
from tailrace.report.gantt import gantt
from tailrace.report.poolwork import PoolWork, works
from tailrace.report.record import LeaseRecord, Record
from tailrace.report.style import BLUE, GREEN, INK, ORANGE, RED
from tailrace.report.summary import run_times, turnaround_times, waiting_times
from tailrace.report.timeline import Timeline, busy_between

#: Curves are drawn with at most about this many points, which a screen can show.
POINTS = 800
BINS = 240


class Figure(msgspec.Struct, frozen=True):
    name: str
    title: str
    #: What one sees and how to read it.
    caption: str
    svg: str


class NothingToSee(Exception):
    """A figure has no data; the page leaves it out."""


def figures(timeline: Timeline) -> list[Figure]:
    """All figures that have something to show."""
    return [figure for draw in _ALL if (figure := _try(draw, timeline)) is not None]


def _try(draw: Callable[[Timeline], Figure], timeline: Timeline) -> Figure | None:
    try:
        with style.drawing():
            return draw(timeline)
    except NothingToSee:
        return None


def _since(timeline: Timeline, moments: Any, unit: style.TimeUnit) -> Any:
    return (moments - timeline.begin_us) / unit.us


def _time_axis(ax: Any, timeline: Timeline) -> style.TimeUnit:
    unit = style.time_unit(timeline.span_us)
    ax.set_xlim(0, max(timeline.span_us, 1) / unit.us)
    ax.set_xlabel(f"time since the start ({unit.name})")
    return unit


def remaining(timeline: Timeline) -> Figure:
    """Tasks not done, falling to zero; beside it the last tenth, where the tail is."""
    import numpy as np

    record = timeline.record
    if not record.count or not timeline.span_us:
        raise NothingToSee
    ends = np.clip(timeline.ends_of_tasks, timeline.begin_us, timeline.end_us)
    left = record.count - np.arange(len(ends) + 1)
    moments = np.concatenate([[timeline.begin_us], ends])
    has_tail = left[-1] == 0 and record.count >= 20
    figure, axes = style.new_figure(3.1, 2 if has_tail else 1)
    for ax in np.atleast_1d(axes):
        _draw_remaining(ax, timeline, moments, left)
    if has_tail:
        axes[0].set_title("All tasks")
        _zoom_on_tail(axes[1], timeline, moments, left)
    says = f"{left[-1]:,} of {record.count:,} tasks not done at the end"
    caption = (
        "A straight fall means all slots were kept busy. A long flat end is the tail: few slow "
        "tasks while most slots stand idle."
    )
    return Figure(
        "remaining",
        "Remaining tasks over time",
        caption + (" The right half shows the last tenth of the tasks." if has_tail else ""),
        style.to_svg(figure, "remaining", says),
    )


def _draw_remaining(ax: Any, timeline: Timeline, moments: Any, left: Any) -> None:
    import numpy as np

    unit = _time_axis(ax, timeline)
    keep = _thin(len(moments))
    x = np.append(_since(timeline, moments[keep], unit), timeline.span_us / unit.us)
    y = np.append(left[keep], left[-1])
    ax.step(x, y, where="post", color=BLUE, linewidth=1.8)
    ax.fill_between(x, y, step="post", color=BLUE, alpha=0.12, linewidth=0)
    ax.set_ylim(0, left[0] * 1.04)
    ax.set_ylabel("tasks not done")
    _whole_numbers(ax.yaxis)


def _zoom_on_tail(ax: Any, timeline: Timeline, moments: Any, left: Any) -> None:
    """The last tenth of the tasks, at least ten."""
    few = max(10, left[0] // 10)
    unit = style.time_unit(timeline.span_us)
    begin = _since(timeline, moments[int((left <= few).argmax())], unit)
    end = timeline.span_us / unit.us
    ax.set_xlim(min(begin, end * 0.99), end)
    ax.set_ylim(0, few * 1.04)
    ax.set_ylabel("")
    ax.set_title(f"The last {few:,}")


def _thin(n: int) -> Any:
    """Indices of a curve's points, all of the last hundred and evenly many before."""
    import numpy as np

    early = np.linspace(0, max(0, n - 100), POINTS).astype(int)
    return np.unique(np.concatenate([early, np.arange(max(0, n - 100), n)]))


def utilisation(timeline: Timeline) -> Figure:
    import numpy as np

    if not timeline.span_us or not timeline.attempts:
        raise NothingToSee
    figure, ax = style.new_figure(2.7)
    unit = _time_axis(ax, timeline)
    bins = int(min(BINS, max(20, len(timeline.attempts))))
    edges = np.linspace(timeline.begin_us, timeline.end_us, bins + 1)
    width = np.diff(edges)
    busy = busy_between(timeline.busy_from, timeline.busy_until, edges) / width
    there = _slots_there(timeline, edges) / width
    x = _since(timeline, edges, unit)
    ax.stairs(busy, x, fill=True, color=BLUE, label="busy slots")
    ax.stairs(there, x, color=ORANGE, linewidth=1.8, label="slots there")
    ax.set_ylim(0, max(1.0, float(max(there.max(), busy.max()))) * 1.05)
    ax.set_ylabel("slots")
    _whole_numbers(ax.yaxis)
    _legend_above(ax)
    says = f"busy slots over time, at most {busy.max():.1f} of {there.max():.0f}"
    return Figure(
        "utilisation",
        "Busy slots and slots there",
        "A slot is room for one task on a host. What lies between the line and the area was there "
        "and idle.",
        style.to_svg(figure, "utilisation", says),
    )


def _slots_there(timeline: Timeline, edges: Any) -> Any:
    import numpy as np

    spans = [
        span
        for spans_of_host, slots in zip(timeline.presence, timeline.slots, strict=True)
        for span in spans_of_host
        for _ in range(min(slots, 10_000))
    ]
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return busy_between(table[:, 0], table[:, 1], edges)


def machines(timeline: Timeline) -> Figure:
    """Where there is one machine and no other, there is nothing to compare."""
    pools = [work for work in works(timeline) if work.machines]
    if not timeline.span_us or sum(work.most for work in pools) < 2:
        raise NothingToSee
    figure, ax = style.new_figure(2.7)
    unit = _time_axis(ax, timeline)
    largest = sorted(pools, key=lambda work: -work.most)[: len(style.LINES)]
    for work, colour in zip(largest, style.LINES, strict=False):
        _draw_machines(ax, timeline, work, unit, colour)
    ax.set_ylim(0, max(work.most for work in largest) * 1.08)
    ax.set_ylabel("machines")
    _whole_numbers(ax.yaxis)
    _legend_above(ax)
    left_out = len(pools) - len(largest)
    return Figure(
        "machines",
        "Machines of each pool",
        "Machines that were there for the bag: leased ones from their first call until they were "
        "gone, others between the first and the last that was heard of them."
        + (f" {words.count(left_out, 'smaller pool')} left out." if left_out else ""),
        style.to_svg(figure, "machines", f"machines over time, in {len(pools)} pools"),
    )


def _draw_machines(
    ax: Any, timeline: Timeline, work: PoolWork, unit: style.TimeUnit, colour: str
) -> None:
    import numpy as np

    moments, counts = np.array(work.machines, dtype=np.int64).T
    keep = _thin(len(moments))
    end = timeline.span_us / unit.us
    x = np.concatenate([[0.0], _since(timeline, moments[keep], unit), [end]])
    y = np.concatenate([[0], counts[keep], counts[-1:]])
    label = f"pool {work.pool} (most {work.most:,})"
    ax.step(x, y, where="post", color=colour, linewidth=1.8, label=label)


def run_time(timeline: Timeline) -> Figure:
    import numpy as np

    measured = timeline.run >= 0
    if not measured.any():
        raise NothingToSee
    good = run_times(timeline)
    other = timeline.run[measured & ~timeline.accepted]
    both = np.concatenate([good, other])
    figure, ax = style.new_figure(2.9)
    unit, edges = _duration_axis(ax, both)
    parts = [(good, BLUE, "result used"), (other, RED, "result not used")]
    parts = [part for part in parts if len(part[0])]
    ax.hist(
        [values / unit.us for values, _, _ in parts],
        bins=edges,
        stacked=True,
        color=[colour for _, colour, _ in parts],
        label=[f"{label} ({len(values):,})" for values, _, label in parts],
    )
    told = good if len(good) else both  # the same that the table of times tells
    for value, dash, label in ((np.median(told), "-", "median"), (told.mean(), "--", "mean")):
        text = f"{label} {words.duration(float(value))}"
        ax.axvline(value / unit.us, color=INK, linestyle=dash, linewidth=1.2, label=text)
    ax.set_xlabel(f"run time of an attempt ({unit.name})")
    ax.set_ylabel("attempts")
    _whole_numbers(ax.yaxis)
    _legend_above(ax)
    return Figure(
        "run-time",
        "Run times",
        "How long attempts ran, measured by their worker; median and mean are of those used."
        + (" The time axis is logarithmic." if ax.get_xscale() == "log" else ""),
        style.to_svg(figure, "run-time", f"run times, median {np.median(told) / 1e6:.3g} s"),
    )


def _duration_axis(ax: Any, values: Any) -> tuple[style.TimeUnit, Any]:
    """Unit and bin edges; a logarithmic axis when the longest are far from the usual."""
    import numpy as np

    values = np.maximum(values, 1)
    middle = float(np.median(values))
    unit = style.time_unit(middle * 2)
    bins = int(np.clip(np.sqrt(len(values)) * 2, 12, 60))
    least, most = float(values.min()) / unit.us, float(values.max()) / unit.us
    if least == most:
        return unit, np.linspace(least * 0.5, most * 1.5, 12)
    if most * unit.us > 12 * middle:
        _plain_log(ax)
        return unit, np.geomspace(least, most, bins + 1)
    return unit, np.linspace(0 if least < most / 3 else least, most, bins + 1)


def _plain_log(ax: Any) -> None:
    """A logarithmic time axis that says 0.5, 1, 2, 5, 10 and not powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def distributions(timeline: Timeline) -> Figure:
    """Waiting and turnaround as shares of tasks: any quantile can be read off."""
    import numpy as np

    curves: tuple[tuple[str, Any, str], ...] = (
        ("waiting", waiting_times(timeline), ORANGE),
        ("turnaround", turnaround_times(timeline), BLUE),
    )
    curves = tuple(curve for curve in curves if len(curve[1]))
    if not curves:
        raise NothingToSee
    figure, axes = style.new_figure(2.8, len(curves))
    axes = np.atleast_1d(axes)
    for ax, (label, values, colour) in zip(axes, curves, strict=True):
        _draw_shares(ax, label, values, colour)
    axes[0].set_ylabel("% of tasks within")
    return Figure(
        "distributions",
        "Waiting and turnaround",
        "Waiting: from the bag's submission until a task is first sent. Turnaround: from sent "
        "until its result is here. Read across from 50 % for the median.",
        style.to_svg(figure, "distributions", "distributions of waiting and turnaround"),
    )


def _draw_shares(ax: Any, label: str, values: Any, colour: str) -> None:
    import numpy as np

    unit, _ = _duration_axis(ax, values)
    shares = np.linspace(0, 1, 300)
    x = np.quantile(np.maximum(values, 1), shares, method="inverted_cdf") / unit.us
    ax.plot(x, shares * 100, color=colour, linewidth=2, drawstyle="steps-post")
    ax.set_title(label.capitalize())
    ax.set_ylim(0, 103)
    ax.set_xlabel(f"{label} ({unit.name})")
    if ax.get_xscale() == "linear":
        ax.set_xlim(0, float(x[-1]) * 1.03)


def cost(timeline: Timeline) -> Figure:
    import numpy as np

    record = timeline.record
    currencies = sorted({lease.currency for lease in record.leases if lease.billed_micro})
    if not currencies or not timeline.span_us:
        raise NothingToSee
    figure, axes = style.new_figure(2.7, len(currencies))
    for ax, currency in zip(np.atleast_1d(axes), currencies, strict=True):
        unit = _time_axis(ax, timeline)
        moments, amounts = _bill_entries(record, currency)
        order = np.argsort(moments, kind="stable")
        x = np.clip(_since(timeline, moments[order], unit), 0, timeline.span_us / unit.us)
        total = np.cumsum(amounts[order]) / 1e6
        keep = _thin(len(x))
        x = np.concatenate([[0.0], x[keep], [timeline.span_us / unit.us]])
        y = np.concatenate([[0.0], total[keep], total[-1:]])
        ax.step(x, y, where="post", color=GREEN, linewidth=2, label="billed")
        _budget_line(ax, record, currency, float(total[-1]))
        ax.set_ylabel(f"billed ({currency})")
        _legend_above(ax)
    return Figure(
        "cost",
        "Cost over time",
        "What the leases were billed. Units are entered when they begin, so the curve has steps.",
        style.to_svg(figure, "cost", "cost over time"),
    )


def _budget_line(ax: Any, record: Record, currency: str, spent: float) -> None:
    top = spent
    budget = record.budget.get(currency, 0) / 1e6
    if budget:
        top = max(top, budget) if budget < 5 * spent else spent
        label = f"budget {budget:,.6g} {currency}"
        ax.axhline(budget, color=RED, linestyle="--", linewidth=1.3, label=label)
    ax.set_ylim(0, top * 1.08)


def _bill_entries(record: Record, currency: str) -> tuple[Any, Any]:
    """Moments at which units were entered, and their amounts in micro-units."""
    import numpy as np

    entries = [_entries(x, record.now_us) for x in record.leases if x.currency == currency]
    return (
        np.concatenate([moments for moments, _ in entries]).astype(np.float64),
        np.concatenate([amounts for _, amounts in entries]),
    )


def _entries(lease: LeaseRecord, now_us: int) -> tuple[Any, Any]:
    import numpy as np

    begin = lease.wanted_us if lease.up_us is None else lease.up_us
    end = max(begin, now_us if lease.gone_us is None else lease.gone_us)
    units = max(1, min(lease.units, 10_000))
    moments = np.linspace(begin, end, units, endpoint=False)
    return moments, np.full(units, lease.billed_micro / units)


def _legend_above(ax: Any) -> None:
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=5, borderaxespad=0.2)


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))


def gantt_figure(timeline: Timeline) -> Figure:
    if not timeline.attempts or not timeline.span_us:
        raise NothingToSee
    figure, caption = gantt(timeline)
    says = f"{len(timeline.attempts):,} attempts on {len(timeline.hosts):,} hosts over time"
    return Figure("gantt", "Attempts by host", caption, style.to_svg(figure, "gantt", says))


_ALL = (remaining, gantt_figure, utilisation, machines, run_time, distributions, cost)
