"""Messages between the client and its keeper: one JSON value per line, many lines per write."""

from __future__ import annotations

import json
import os
from typing import Any, List

_READ = 1 << 16  # larger ones would be mapped and unmapped each time
encode = json.JSONEncoder(separators=(",", ":")).encode


class Lines:
    """Cuts what arrives into lines."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._parts: List[bytes] = []  # of the line that is not whole yet

    def read(self) -> List[bytes]:
        """Whole lines that have arrived; EOFError when the other side is gone."""
        try:
            data = os.read(self.fd, _READ)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            data = b""
        if not data:
            raise EOFError
        first, *lines = data.split(b"\n")
        self._parts.append(first)
        if not lines:
            return []
        lines.insert(0, b"".join(self._parts))
        self._parts = [lines.pop()]
        return lines


class Outbox:
    """Writes without blocking; what does not fit waits here."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._parts: List[bytes] = []
        self._left = memoryview(b"")

    @property
    def filled(self) -> bool:
        return bool(self._parts)

    def put(self, message: Any) -> None:
        self._parts.append(encode(message).encode())

    def put_line(self, line: bytes) -> None:
        """A message that is JSON already."""
        self._parts.append(line)

    def flush(self) -> bool:
        """False when something is left for later; EOFError when the other side is gone."""
        while True:
            if not self._left:
                if not self._parts:
                    return True
                self._left = memoryview(b"\n".join(self._parts) + b"\n")
                self._parts = []
            try:
                self._left = self._left[os.write(self.fd, self._left) :]
            except (BlockingIOError, InterruptedError):
                return False
            except OSError:
                raise EOFError from None
