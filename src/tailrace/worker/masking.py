"""Values of secrets do not stand in what is kept of a task: whatever it prints, they are masked."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Mapping

MASK = "***"
LEAST = 4  # of a part of a value: less may stand there by chance
_LEFT_OUT = re.compile(r"(\n\[\.\.\. \d+ bytes left out \.\.\.\]\n)")
_MASKED = ("stdout", "stderr", "error", "value", "text")
Json = Dict[str, Any]


class Mask:
    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Of a value of many lines, each line is one, too: programs print them one by one."""
        lines = [line for value in secrets.values() for line in (value, *value.splitlines())]
        found = {line.strip() for line in lines if len(line.strip()) >= LEAST} | set(lines)
        self._values: List[str] = sorted((v for v in found if len(v) >= LEAST), key=_longest)

    def apply(self, told: Json) -> Json:
        """What a task said, or is said of it."""
        return {key: self._of(one) if key in _MASKED else one for key, one in told.items()}

    def _of(self, one: Any) -> Any:
        if isinstance(one, str):
            return self.text(one)
        if isinstance(one, list):
            return [self._of(each) for each in one]
        if isinstance(one, dict):
            return {self.text(key): self._of(each) for key, each in one.items()}
        written = json.dumps(one)
        return one if self.text(written) == written else self.text(written)

    def text(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, MASK)
        parts = _LEFT_OUT.split(text)
        return text if len(parts) == 1 else "".join(self._cut(parts))

    def _cut(self, parts: List[str]) -> List[str]:
        """Where something was left out, a part of a value may stand at either edge."""
        for place in range(1, len(parts), 2):
            parts[place - 1] = self._end(parts[place - 1])
            parts[place + 1] = self._end(parts[place + 1][::-1], backwards=True)[::-1]
        return parts

    def _end(self, text: str, *, backwards: bool = False) -> str:
        for value in self._values:
            whole = value[::-1] if backwards else value
            for size in range(len(whole) - 1, LEAST - 1, -1):
                if text.endswith(whole[:size]):
                    return text[:-size] + MASK
        return text


def _longest(value: str) -> Any:
    return -len(value), value
