"""The scenarios that `tailrace simulate` was asked for: each file, with each variation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tailrace.bag.tables import read_toml
from tailrace.bag.textfile import read_text
from tailrace.simulation import settings
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.settings import Setting


class Variant(msgspec.Struct, frozen=True):
    name: str  # no two alike
    file: str
    varied: tuple[Setting, ...]
    scenario: Scenario


def read_variants(
    files: Sequence[Path], sets: Sequence[str], varies: Sequence[str], events: Path | None = None
) -> list[Variant]:
    """All are read before any is run: what is wrong with the last is told at once. A file of events
    is named as seen from here, not from where the scenario is."""
    fixed = [settings.one(text) for text in sets]
    if events is not None:
        fixed.append(Setting(f"--events {events}", ("events",), str(events.absolute()), ""))
    variations = list(settings.variations(varies))
    return _told_apart([one for file in files for one in _of_file(file, fixed, variations)])


def _of_file(
    file: Path, fixed: list[Setting], variations: list[tuple[Setting, ...]]
) -> list[Variant]:
    shown = str(file)
    text = read_text(file, shown)
    data = read_toml(text, shown)
    return [_variant(file, text, data, fixed, varied) for varied in variations]


def _variant(
    file: Path, text: str, data: dict[str, Any], fixed: list[Setting], varied: tuple[Setting, ...]
) -> Variant:
    changes = [*fixed, *varied]
    typed = {change.path: change.flag for change in changes}
    changed = settings.changed(data, changes)
    scenario = read_scenario(changed, str(file), text, file.absolute().parent, typed)
    words = ", ".join(f"{one.key}={one.shown}" for one in varied)
    name = f"{scenario.name} ({words})" if words else scenario.name
    return Variant(name, str(file), varied, scenario)


def _told_apart(variants: list[Variant]) -> list[Variant]:
    """Two files may give themselves the same name."""
    names = Counter(variant.name for variant in variants)
    return [
        msgspec.structs.replace(one, name=f"{one.file}: {one.name}") if names[one.name] > 1 else one
        for one in variants
    ]
