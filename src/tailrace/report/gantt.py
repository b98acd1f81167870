"""Attempts on hosts and slots over time: bars when they are few, bands of busyness when many."""

from __future__ import annotations

from typing import Any

from tailrace.bag.outcome import Outcome
from tailrace.report import style
from tailrace.report.timeline import LIVE, OUTCOMES, Timeline, busy_between

#: More attempts than this are shown as bands: bars would be thinner than a pixel.
MOST_BARS = 2_000
MOST_ROWS = 160
MOST_BANDS = 48
BINS = 320


def gantt(timeline: Timeline) -> tuple[Any, str]:
    """The figure and its caption."""
    if len(timeline.attempts) <= MOST_BARS and _rows(timeline) <= MOST_ROWS:
        return _bars(timeline)
    return _bands(timeline)


def _rows(timeline: Timeline) -> int:
    return sum(_used_slots(timeline))


def _used_slots(timeline: Timeline) -> list[int]:
    """Slots that attempts were laid on, for each host."""
    import numpy as np

    used = np.zeros(len(timeline.hosts), dtype=np.int64)
    np.maximum.at(used, timeline.host, timeline.slot + 1)
    return [int(n) for n in used]


def _bars(timeline: Timeline) -> tuple[Any, str]:
    import numpy as np

    used = _used_slots(timeline)
    first_row = np.concatenate([[0], np.cumsum(used)])
    rows = int(first_row[-1])
    figure, ax = style.new_figure(1.15 + min(8.0, max(0.5, rows * 0.2)))
    unit = style.time_unit(timeline.span_us)
    row = first_row[timeline.host] + timeline.slot
    start = (timeline.busy_from - timeline.begin_us) / unit.us
    # A bar is never thinner than half a pixel, or short attempts would vanish.
    width = np.maximum(timeline.busy_us, timeline.span_us / 1600) / unit.us
    for code in np.unique(timeline.outcome):
        these = timeline.outcome == code
        label = f"{style.outcome_name(code)} ({int(these.sum()):,})"
        colour = style.outcome_colour(code)
        _draw_bars(ax, row[these], start[these], width[these], colour, label)
    _axes(ax, timeline, unit, rows)
    _label_hosts(ax, timeline, used, first_row)
    return figure, (
        "Each row is a slot, each bar an attempt while it ran. Beginnings are reconstructed from "
        "run times and the order of sending."
    )


def _draw_bars(ax: Any, row: Any, start: Any, width: Any, colour: str, label: str) -> None:
    from matplotlib.collections import PolyCollection

    corners = [
        ((x, y + 0.1), (x + w, y + 0.1), (x + w, y + 0.9), (x, y + 0.9))
        for x, y, w in zip(start, row, width, strict=True)
    ]
    bars = PolyCollection(
        corners, facecolors=colour, edgecolors=style.PAPER, linewidths=0.3, label=label
    )
    ax.add_collection(bars, autolim=False)


def _axes(ax: Any, timeline: Timeline, unit: style.TimeUnit, rows: int) -> None:
    ax.set_xlim(0, timeline.span_us / unit.us)
    ax.set_ylim(max(rows, 1), 0)
    ax.set_xlabel(f"time since the start ({unit.name})")
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=5, borderaxespad=0.2)


def _label_hosts(ax: Any, timeline: Timeline, used: list[int], first_row: Any) -> None:
    names = host_names(timeline)
    shown = [i for i, slots in enumerate(used) if slots]
    middles = [float(first_row[i]) + used[i] / 2 for i in shown]
    _ticks(ax, middles, [names[i] for i in shown])
    for i in shown[1:]:
        ax.axhline(first_row[i], color=style.INK, linewidth=0.5, alpha=0.5)


def _ticks(ax: Any, places: list[float], labels: list[str], most: int = 40) -> None:
    """Host names at their rows; of many only every second, third… so that none overlap."""
    step = -(-len(places) // most)
    ax.set_yticks(places[::step])
    ax.set_yticklabels(labels[::step])


def host_names(timeline: Timeline) -> list[str]:
    names = {host.host: host.name for host in timeline.record.hosts}
    return [_short(names.get(host) or host) for host in timeline.hosts]


def _short(text: str, most: int = 22) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _bands(timeline: Timeline) -> tuple[Any, str]:
    import numpy as np

    groups = _groups(timeline)
    edges = np.linspace(timeline.begin_us, timeline.end_us, BINS + 1)
    image = np.array([_band(timeline, group, edges) for group in groups])
    figure, ax = style.new_figure(1.15 + min(7.0, max(0.8, len(groups) * 0.26)))
    unit = style.time_unit(timeline.span_us)
    _paint(ax, image, timeline.span_us / unit.us)
    _axes(ax, timeline, unit, len(groups))
    ax.grid(visible=False)
    names = host_names(timeline)
    labels = [names[g[0]] if len(g) == 1 else f"{names[g[0]]} +{len(g) - 1}" for g in groups]
    _ticks(ax, [i + 0.5 for i in range(len(groups))], labels)
    whose = "a host" if len(groups) == len(timeline.hosts) else "a few hosts"
    return figure, (
        f"Each row is {whose}: the deeper the blue, the more slots were busy with work that was "
        "used; the thin line beneath shows work that was not."
    )


def _groups(timeline: Timeline) -> list[list[int]]:
    """Hosts by row: each its own, or neighbours together when there are too many."""
    size = -(-len(timeline.hosts) // MOST_BANDS)
    hosts = list(range(len(timeline.hosts)))
    return [hosts[i : i + size] for i in range(0, len(hosts), size)]


def _band(timeline: Timeline, group: list[int], edges: Any) -> Any:
    """Shares of the group's slots busy in each bin: with work used, and with other work."""
    import numpy as np

    slots = max(1, sum(timeline.slots[i] for i in group))
    here = (timeline.host >= group[0]) & (timeline.host <= group[-1])
    good = timeline.outcome == OUTCOMES.index(Outcome.SUCCEEDED)
    used = here & (good & timeline.accepted | (timeline.outcome == LIVE))
    parts = [
        busy_between(timeline.busy_from[which], timeline.busy_until[which], edges)
        for which in (used, here & ~used)
    ]
    return np.clip(np.array(parts) / (np.diff(edges) * slots), 0, 1)


def _paint(ax: Any, image: Any, width: float) -> None:
    """Four fifths of a row for work used, one for other work; opacity fits dark and light."""
    import numpy as np
    from matplotlib.colors import to_rgb

    used, other = image[:, 0, :], image[:, 1, :]
    layers = np.empty((len(image), 5, image.shape[2], 4))
    layers[:, :4] = [*to_rgb(style.BLUE), 0]
    layers[:, 4] = [*to_rgb(style.RED), 0]
    layers[:, :4, :, 3] = used[:, None, :]
    layers[:, 4, :, 3] = np.sqrt(other)  # the root lets a few failures show
    ax.imshow(
        layers.reshape(-1, image.shape[2], 4),
        extent=(0, width, len(image), 0),
        aspect="auto",
        interpolation="nearest",
    )
    for name, shade in (("work that was used", style.BLUE), ("work that was not", style.RED)):
        ax.fill_between([], [], color=shade, label=name)
