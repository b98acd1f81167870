"""The figures as a table of text, and as the page of the reference."""

from __future__ import annotations

import msgspec

from benchmarks.figure import Figure
from benchmarks.machine import Machine

HEAD = ("what", "bar", "median (lowest … highest)", "")


class Results(msgspec.Struct, frozen=True):
    machine: Machine
    figures: list[Figure]
    machines: dict[str, Machine] = {}  # of scripts that were run at another time
    quick: list[str] = []  # scripts that were run with --quick

    def machine_of(self, script: str) -> Machine:
        return self.machines.get(script, self.machine)


def table(figures: list[Figure]) -> str:
    rows = [HEAD, *map(_cells, figures)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def _cells(figure: Figure) -> tuple[str, str, str, str]:
    return figure.what, figure.bar_shown(), figure.measured(), figure.verdict()


def page(results: Results) -> str:
    parts = [INTRODUCTION, _machine(results.machine)]
    for script in dict.fromkeys(figure.script for figure in results.figures):
        figures = [figure for figure in results.figures if figure.script == script]
        parts.append(f"## {script}\n\n`python -m benchmarks {script}`")
        parts += [NOTES[script]] if script in NOTES else []
        parts.append(_markdown(figures))
        parts += [_quick(figures)] if script in results.quick else []
        parts.append(_state(results.machine_of(script)))
    return "\n\n".join(parts) + "\n"


def _machine(facts: Machine) -> str:
    return (
        f"Measured on {facts.cores} cores ({facts.processor}), {facts.memory_gib:g} GiB of memory, "
        f"{facts.kernel}, Python {facts.python}, SQLite {facts.sqlite}. Scripts may have been run "
        f"at different times: how the machine was then stands below each."
    )


def _state(facts: Machine) -> str:
    return (
        f"A page appended and forced to this disk {facts.fsyncs_per_s:,.0f} times a second; "
        f"{facts.pace:.0f} million additions a second in this Python; load average "
        f"{facts.load_before:.1f} before and {facts.load_after:.1f} after."
    )


def _quick(figures: list[Figure]) -> str:
    fewest, most = (of(len(one.values) for one in figures) for of in (min, max))
    several = "two" if most == 2 else f"{most}"
    each = "one repetition" if most == 1 else f"{several} repetitions"
    each = each if fewest == most else f"at most {each}"
    return f"Measured with `--quick`: {each} each."


def _markdown(figures: list[Figure]) -> str:
    lines = ["| what | bar | median (lowest … highest) | | |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(_cells(one))} | {one.note} |" for one in figures]
    return "\n".join(lines)


NOTES = {
    "virtual_world": """\
Rows that end with `, compiled` are of the form that `TAILRACE_COMPILE=1` builds; all others are of
pure Python, which is what `pip install` gives. A bar is the same for both forms, and each is judged
by its own row: `missed` without `, compiled` says nothing of the compiled form, and where no such
rows are, that was not measured (no compiler was there). SimPy and SimGrid are compared with pure
Python. `policies` is GridBot's example: five expressions, none of them constant."""
}
INTRODUCTION = """\
# Benchmarks

Each claim has a script in `benchmarks/`, and this page is written by them:

```
python -m benchmarks --json results.json --page docs/reference/benchmarks.md
```

A figure is the median of its repetitions (five, unless a run takes minutes) with the lowest and
the highest. Where something is compared, the two take turns within one run, and the ratio is taken
repetition by repetition. `--quick` repeats less, and what was measured with it says so below;
`--folder DIR` says which disk is measured (default `/var/tmp`). Nothing here is asserted by the
tests: a busy machine is no fault.

What is not installed is named and left out: `python_map` takes Ray, Dask and HyperQueue from the
Python in `TAILRACE_ENGINES` (`pip install ray distributed hyperqueue`) and runs them as root in a
network namespace of their own; `files` needs curl and busybox, `cluster` Debian's slurm-wlm and
munge and root."""
