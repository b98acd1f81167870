"""Results as a table for people: parameters, values and outcome side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.report import words
from tailrace.report.columns import find_columns
from tailrace.report.ends import FIRST_ROWS, LAST_ROWS, Ends, ends_of
from tailrace.report.record import Result

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

WIDEST = 40
WIDEST_WHY = 120
WHY, RUN = "why", "run"
#: When the terminal is too narrow, columns of text give way first, but for this one.
_KEPT_WHOLE = ("outcome",)
_STYLES = {Outcome.SUCCEEDED: "green", Outcome.CANCELLED: "dim", None: "dim"}


Why = Callable[[Result], str]


def last_of_stderr(result: Result) -> str:
    """Why a task failed, as far as its result alone can tell."""
    if result.outcome in (None, Outcome.SUCCEEDED):
        return ""
    return result.stderr.rstrip().rpartition("\n")[2].strip()


def results_table(
    results: Iterable[Result],
    *,
    why: Why = last_of_stderr,
    every: bool = False,
    first: int = FIRST_ROWS,
    last: int = LAST_ROWS,
) -> Table:
    """The first and last rows, or every one; columns only where a shown row has something.

    ``why`` is asked for the rows shown only, and says what went wrong in each, or nothing.
    """
    return ends_table(Ends(list(results)) if every else ends_of(results, first, last), why=why)


def ends_table(ends: Ends, *, why: Why = last_of_stderr) -> Table:
    """The same of ends that were found without going through all results."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    columns = _columns(ends.shown)
    names = [name for name, _ in columns]
    columns += [(_free(WHY, names), texts) for texts in _whys(ends.shown, why)]
    for name, cells in columns:
        number = name.strip("()") == RUN or all(
            isinstance(x, (int, float, type(None))) for x in cells
        )
        table.add_column(
            _plain(name),
            justify="right" if number else "left",
            no_wrap=number or name in _KEPT_WHOLE,
            overflow="ellipsis",
            max_width=WIDEST_WHY if name.strip("()") == WHY else WIDEST,
        )
    rows = list(zip(*([_show(item) for item in cells] for _, cells in columns), strict=True))
    for row in rows[: len(ends.top)]:
        table.add_row(*row)
    if ends.hidden:
        table.add_row(*(Text("…", style="dim") for _ in columns))
        table.caption = f"… {ends.hidden:,} more, use --all"
    for row in rows[len(ends.top) :]:
        table.add_row(*row)
    return table


def _columns(shown: list[Result]) -> list[tuple[str, list[Any]]]:
    """Names and cells; what no shown row has is left out, except task and outcome."""
    found = find_columns(shown)
    skip = {"outcome", "stdout", "stderr", "outputs", "run_s", "turnaround_s", "pool"}
    rows = [found.row(result) for result in shown]
    plain = [(name, [row[i] for row in rows]) for i, name in enumerate(found.names)]
    columns = [c for c in plain if c[0] == "task" or (c[0] not in skip and _says(*c))]
    ahead = set(found.names[: found.names.index("outcome")])
    front = sum(name in ahead for name, _ in columns)
    columns[front:front] = [
        *_last_lines(shown),
        ("outcome", [_outcome(result) for result in shown]),
        (_free(RUN, found.names), [_run(result) for result in shown]),
    ]
    return columns


def _whys(shown: list[Result], why: Why) -> list[list[str | None]]:
    """One column, when any row has something to say."""
    texts = [why(result) or None for result in shown]
    return [texts] if any(texts) else []


def _free(name: str, names: list[str]) -> str:
    """What only the table has gives way to a parameter or value that is called so."""
    return f"({name})" if name in names else name


def _says(name: str, cells: list[Any]) -> bool:
    """Exit codes are worth a column when one is not 0, attempts when a task had several."""
    dull = {"exit": (None, 0), "attempts": (0, 1)}.get(name, (None,))
    return any(item not in dull for item in cells)


def _last_lines(shown: list[Result]) -> list[tuple[str, list[Any]]]:
    """Where no task has a value, the last line it printed is the next best thing."""
    lines = [next(reversed(result.stdout.strip().splitlines()), None) for result in shown]
    if any(result.value is not None for result in shown) or not any(lines):
        return []
    return [("last line", lines)]


def _outcome(result: Result) -> Text:
    from rich.text import Text

    name = "not done" if result.outcome is None else str(result.outcome).replace("_", " ")
    return Text(name, style=_STYLES.get(result.outcome, "red"))


def _run(result: Result) -> Text:
    from rich.text import Text

    return Text("" if result.run_s is None else words.duration(result.run_s * 1e6))


def _show(item: Any) -> Text:
    from rich.text import Text

    if isinstance(item, Text):
        return item
    if item is None:
        return Text("")
    if isinstance(item, float):
        return Text(f"{item:.6g}")
    return _plain(item if isinstance(item, str) else msgspec.json.encode(item).decode())


def _plain(text: str) -> Text:
    """User text is neither markup nor terminal control."""
    from rich.text import Text

    plain = "".join(c if c.isprintable() else "·" for c in text[: WIDEST * 4])
    return Text(plain, no_wrap=True, overflow="ellipsis")
