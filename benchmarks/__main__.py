"""Measure, print a table, keep the figures, and write the page of the reference."""

from __future__ import annotations

import argparse
import importlib
import tempfile
from pathlib import Path

import msgspec

from benchmarks import machine
from benchmarks.bench import Bench
from benchmarks.page import Results, page, table

SCRIPTS = (
    "work_call", "clients", "overload", "true_20000", "python_map", "ten_million", "small_things",
    "fresh_demo", "virtual_world", "files", "cluster", "policies", "planning",
)  # fmt: skip
DISK = Path("/var/tmp")  # on a disk where /tmp may be memory, which knows no fsync


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-", dir=options.folder) as name:
        results = _measured(options.names or SCRIPTS, Bench(Path(name), quick=options.quick))
    print(f"\n{table(results.figures)}")
    if options.json:
        results = _kept(options.json, results)
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    if options.page:
        options.page.write_text(page(results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCRIPTS)}; default: all")
    add("--quick", action="store_true", help="fewer repetitions")
    add("--json", type=Path, metavar="FILE", help="keep the figures; of scripts not run, the old")
    add("--page", type=Path, metavar="FILE", help="write the page of the reference")
    add("--folder", type=Path, default=DISK, metavar="DIR", help="on the disk to be measured")
    options = parser.parse_args()
    for name in options.names:
        if name not in SCRIPTS:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(SCRIPTS)}")
    return options


def _measured(names: tuple[str, ...] | list[str], bench: Bench) -> Results:
    facts = machine.facts(bench.folder())
    print(_headline(facts), flush=True)
    for name in names:
        bench.script = name
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n{name}: {module.__doc__.splitlines()[0]}", flush=True)
        module.measure(bench)
        print(f"  (load average now {machine.load():.1f})", flush=True)
    facts = msgspec.structs.replace(facts, load_after=machine.load())
    return Results(facts, bench.figures, quick=list(names) if bench.quick else [])


def _headline(facts: machine.Machine) -> str:
    return (
        f"{facts.cores} cores, {facts.memory_gib:g} GiB, {facts.kernel}, Python {facts.python}, "
        f"SQLite {facts.sqlite}, {facts.fsyncs_per_s:,.0f} fsyncs/s, "
        f"{facts.pace:.0f} million additions/s, load average {facts.load_before:.1f}"
    )


def _kept(path: Path, results: Results) -> Results:
    """Figures of the scripts that were not run this time stay."""
    if not path.exists():
        return results
    before = msgspec.json.decode(path.read_bytes(), type=Results)
    ran = {figure.script for figure in results.figures}
    kept = [one for one in before.figures if one.script not in ran]
    machines = {one.script: before.machine_of(one.script) for one in kept}
    figures = sorted([*kept, *results.figures], key=lambda one: SCRIPTS.index(one.script))
    quick = [*(name for name in before.quick if name not in ran), *results.quick]
    return Results(results.machine, figures, machines, quick)


if __name__ == "__main__":
    main()
