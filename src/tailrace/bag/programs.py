"""Which words of a command name programs of the user's own: the first, if it is a path, and scripts
by their endings. Words with a placeholder name none."""

from __future__ import annotations

from collections.abc import Sequence

SCRIPTS = (".py", ".sh", ".R", ".r", ".jl", ".pl", ".rb", ".m", ".js", ".lua", ".awk", ".bash")


def among(words: Sequence[str]) -> list[str]:
    first = [word for word in words[:1] if "/" in word and "{" not in word]
    return [*first, *(word for word in words if word.endswith(SCRIPTS) and "{" not in word)]
