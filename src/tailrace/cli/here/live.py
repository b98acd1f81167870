"""The live view of a bag: a panel on a terminal, a plain line every ten seconds elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, TextIO

from tailrace.cli.here import halfway, pools
from tailrace.cli.here.curves import curve
from tailrace.cli.here.progress import Progress
from tailrace.quantities import SECOND, show_duration, show_money

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

PLAIN_EVERY_S = 10.0
CURVE_WIDE = 60
MOST_GROUPS = 4


class View:
    """What a run shows while it goes; this one shows nothing (`--quiet`)."""

    shows = False

    def begin(self) -> None: ...

    def update(self, progress: Progress, now_us: int) -> None: ...

    def end(self) -> None: ...


class PlainView(View):
    """One line every ten seconds, and what is to be noted when it comes: for logs, pipes and batch
    systems."""

    shows = True

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._next = time.monotonic() + PLAIN_EVERY_S
        self._told = 0  # notes

    def update(self, progress: Progress, now_us: int) -> None:
        new = progress.noted_times - self._told
        self._told = progress.noted_times
        for note in progress.notes[-new:] if new else ():
            print(f"tailrace: {progress.name}: {note}", file=self._out, flush=True)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_EVERY_S
            print(f"tailrace: {line(progress, now_us)}", file=self._out, flush=True)


class TerminalView(View):
    shows = True

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def begin(self) -> None:
        from rich.live import Live

        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def update(self, progress: Progress, now_us: int) -> None:
        if self._live is not None:
            self._live.update(panel(progress, now_us), refresh=True)

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def view_for(*, quiet: bool, out: TextIO | None = None) -> View:
    if quiet:
        return View()
    out = out or sys.stderr
    if not out.isatty():
        return PlainView(out)
    from tailrace.cli.screen import console

    return TerminalView(console(out))


def line(progress: Progress, now_us: int) -> str:
    parts = [f"{progress.done:,} of {progress.count:,} done"]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    parts.append(f"{progress.running:,} running")
    further = (
        pools.brief(progress.pools),
        halfway.brief(progress.halfway),
        time_left(progress, now_us),
        deadline(progress, now_us),
    )
    parts += [text for text in further if text]
    parts += [money(*row) for row in progress.money]
    if progress.phase != "running":
        parts.append(progress.phase + (f": {progress.why}" if progress.why else ""))
    if progress.trouble:
        parts.append(progress.trouble)
    return f"{progress.name}: " + ", ".join(parts)


def time_left(progress: Progress, now_us: int) -> str:
    """With its interval, counted down since it was told. While the server is in trouble nobody
    knows."""
    if progress.left is None or progress.done >= progress.count or progress.trouble:
        return ""
    gone = max(now_us - progress.left_at_us, 0)
    if gone > progress.left[2]:
        return f"longer than foreseen ({_foreseen(*progress.left)} {_short(gone)} ago)"
    low, mean, high = (max(value - gone, 0) for value in progress.left)
    return f"about {_short(mean)} left ({_short(low)} to {_short(high)})"


def _foreseen(low: int, mean: int, high: int) -> str:
    if high < SECOND:
        return "less than 1s left"
    return f"about {_short(mean)} left, {_short(low)} to {_short(high)},"


def deadline(progress: Progress, now_us: int) -> str:
    """And whether the time left is likely to keep it."""
    if progress.deadline_at_us is None or progress.done >= progress.count:
        return ""
    ahead = progress.deadline_at_us - now_us
    if ahead < 0:
        return f"{_short(-ahead)} past its deadline"
    left = max(progress.left[1] - (now_us - progress.left_at_us), 0) if progress.left else 0
    return f"deadline in {_short(ahead)}" + (", likely missed" if left > ahead else "")


def _short(us: int) -> str:
    return show_duration(us // SECOND * SECOND)


def money(currency: str, spent: int, committed: int, budget: int | None) -> str:
    text = f"{show_money(currency, spent)} spent, {show_money(currency, committed)} committed"
    return text if budget is None else f"{text} of {show_money(currency, budget)}"


def panel(progress: Progress, now_us: int) -> Group:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 2))
    share = 100 * progress.done / progress.count if progress.count else 100
    head.add_row(
        Text(progress.name, style="bold"),
        ProgressBar(
            total=progress.count or 1,
            completed=progress.done,
            width=40,
            complete_style="cyan",
            finished_style="red" if progress.failed else "green",
        ),
        Text(f"{share:.0f} %"),
    )
    return Group(head, Text(_counts(progress, now_us)), *_more(progress, now_us))


def _counts(progress: Progress, now_us: int) -> str:
    left = progress.count - progress.done
    parts = [
        f"{progress.done:,} done",
        f"{left:,} left",
        f"{progress.running:,} running",
        f"{progress.failed:,} failed",
        f"{_short(now_us - progress.began_us)} gone",
    ]
    parts += [text for text in (time_left(progress, now_us), deadline(progress, now_us)) if text]
    return " · ".join(parts + [money(*row) for row in progress.money])


def failures(progress: Progress) -> list[str]:
    """The largest groups of failures alike."""
    largest = sorted(progress.groups.values(), key=lambda group: -group.count)[:MOST_GROUPS]
    return [f"{group.count:,} failed: {group.text}  {group.where()}" for group in largest]


def noted(progress: Progress) -> list[str]:
    """What the worker had to change in a value is no failure, but must not go unseen."""
    if (group := progress.noted) is None:
        return []
    such_as = ", such as" if group.count > 1 else ""
    return [f"{group.count:,} succeeded with a note{such_as}: {group.text}  {group.where()}"]


def _more(progress: Progress, now_us: int) -> list[Text]:
    from rich.text import Text

    lines: list[Text] = []
    if len(progress.curve) > 2:
        wide = min(max(shutil.get_terminal_size().columns - 12, 10), CURVE_WIDE)
        remaining = curve(progress.curve, progress.count, wide)
        lines.append(Text(f"remaining {remaining}", style="cyan"))
    lines += [Text(text, style="blue") for text in pools.lines(progress.pools, now_us)]
    lines += [Text(f"  {halfway.line(one)}", style="dim") for one in progress.halfway]
    lines += [Text(text, style="red") for text in failures(progress)]
    lines += [Text(note, style="yellow") for note in (*noted(progress), *progress.notes)]
    if progress.why:
        lines.append(Text(f"{progress.phase}: {progress.why}", style="bold yellow"))
    if progress.trouble:
        lines.append(Text(progress.trouble, style="bold red"))
    return lines
