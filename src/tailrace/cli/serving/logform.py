"""How a server's log is written: as sentences, or as one JSON object a line."""

from __future__ import annotations

import logging
import sys

import msgspec

FORMS = ("plain", "json")


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    at: str
    level: str
    message: str
    error: str = ""


class JsonForm(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z")
        error = self.formatException(record.exc_info) if record.exc_info else ""
        line = Line(at, record.levelname.lower(), record.getMessage(), error)
        return msgspec.json.encode(line).decode()


def begin(form: str) -> None:
    """On stderr, where systemd and shells expect it."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s tailrace: %(message)s")
    handler.setFormatter(JsonForm() if form == "json" else plain)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("tailrace").setLevel(logging.INFO)
