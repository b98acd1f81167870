"""Where in its file a bag says something that is found wrong later."""

from __future__ import annotations

from pathlib import Path

from tailrace.bag.places import Path as KeyPath
from tailrace.bag.spec import BagSpec
from tailrace.errors import BadInput


def bad(spec: BagSpec, path: KeyPath, message: str, remedy: str) -> BadInput:
    file, line = _place_of(spec, path)
    return BadInput(message, file=file, line=line, remedy=remedy)


def _place_of(spec: BagSpec, path: KeyPath) -> tuple[str | None, int | None]:
    from tailrace.bag.places import Places

    if spec.syntax != "braces":
        return None, None
    try:
        text = Path(spec.source).read_text()
    except (OSError, UnicodeError):
        return spec.source, None
    return spec.source, Places(text).line(path)
