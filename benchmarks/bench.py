"""What a script is given: how often to repeat, where to work, and whom to tell."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from benchmarks.figure import Figure

_numbers = count(1)


class Bench:
    def __init__(self, folder: Path, *, quick: bool) -> None:
        self._folder = folder
        self.quick = quick
        self.repetitions = 2 if quick else 5
        self.script = ""
        self.figures: list[Figure] = []

    def fresh(self) -> Path:
        """A path nobody has used."""
        return self._folder / f"{self.script}-{next(_numbers)}"

    def folder(self) -> Path:
        path = self.fresh()
        path.mkdir()
        return path

    @property
    def disk(self) -> Path:
        """For who may not enter our own folder on it."""
        return self._folder.parent

    def tell(self, figure: Figure) -> None:
        self.figures.append(figure)
        bar = f"  bar {figure.bar_shown()}: {figure.verdict()}" if figure.bar else ""
        note = f"  [{figure.note}]" if figure.note else ""
        print(f"  {figure.what}: {figure.measured()}{bar}{note}", flush=True)

    def say(self, text: str) -> None:
        print(f"  {text}", flush=True)

    def skip(self, what: str, why: str) -> None:
        print(f"  {what}: skipped, {why}", file=sys.stderr, flush=True)


def tailrace() -> str:
    """The installed command beside this Python."""
    path = Path(sys.executable).with_name("tailrace")
    if not path.exists():
        raise SystemExit(f"{path} is not there; `make install` puts it there")
    return str(path)
