"""The scenarios that `tailrace simulate` was asked for: each file, with each variation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tailrace.bag.tables import read_toml
from tailrace.bag.textfile import read_text
from tailrace.cli.virtual import whatif
from tailrace.cli.virtual.whatif import Recorded
from tailrace.errors import BadInput
from tailrace.simulation import settings
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.settings import Setting


class Variant(msgspec.Struct, frozen=True):
    name: str  # no two alike
    file: str
    varied: tuple[Setting, ...]
    scenario: Scenario
    recorded: Recorded | None = None  # of the run it was made from
    changed: bool = False  # other than it stands there


def read_variants(
    files: Sequence[Path],
    sets: Sequence[str],
    varies: Sequence[str],
    events: Path | None = None,
    bag: str | None = None,
) -> list[Variant]:
    """All are read before any is run: what is wrong with the last is told at once. A file of events
    is named as seen from here, not from where the scenario is."""
    fixed = [settings.one(text) for text in sets]
    if events is not None:
        fixed.append(Setting(f"--events {events}", ("events",), str(events.absolute()), ""))
    variations = list(settings.variations(varies))
    for varied in variations:
        settings.check_effects(fixed, varied)
    return _told_apart([one for file in files for one in _of(file, bag, fixed, variations)])


def _of(
    file: Path, bag: str | None, fixed: list[Setting], variations: list[tuple[Setting, ...]]
) -> list[Variant]:
    """Of a scenario file; or of a folder, in which something was run."""
    if not whatif.is_run(file):
        if bag is not None:
            remedy = "Leave it out, or name a folder in which something was run."
            raise BadInput(f"--bag {bag}: {file} is a scenario, not a run", remedy=remedy)
        return _of_file(file, str(file), fixed, variations)
    run = whatif.measured(file, bag)
    with whatif.as_file(run) as made:
        found = _of_file(made, str(file), fixed, variations)
    recorded = whatif.recorded(run)
    return [msgspec.structs.replace(variant, recorded=recorded) for variant in found]


def _of_file(
    file: Path, shown: str, fixed: list[Setting], variations: list[tuple[Setting, ...]]
) -> list[Variant]:
    text = read_text(file, shown)
    origin = Source(shown, text, read_toml(text, shown), file.absolute().parent)
    return [_variant(origin, fixed, varied) for varied in variations]


class Source(NamedTuple):
    shown: str
    text: str
    data: dict[str, Any]
    folder: Path


def _variant(of: Source, fixed: list[Setting], varied: tuple[Setting, ...]) -> Variant:
    changes = [*fixed, *varied]
    typed = {change.path: change.flag for change in changes}
    data = settings.changed(of.data, changes)
    scenario = read_scenario(data, of.shown, of.text, of.folder, typed)
    words = ", ".join(f"{one.key}={one.shown}" for one in varied)
    name = f"{scenario.name} ({words})" if words else scenario.name
    return Variant(name, of.shown, varied, scenario, changed=bool(changes))


def _told_apart(variants: list[Variant]) -> list[Variant]:
    """Two files may give themselves the same name."""
    names = Counter(variant.name for variant in variants)
    return [
        msgspec.structs.replace(one, name=f"{one.file}: {one.name}") if names[one.name] > 1 else one
        for one in variants
    ]
