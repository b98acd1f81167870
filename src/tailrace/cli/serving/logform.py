"""How a server's log is written: as sentences, or as one JSON object a line."""

from __future__ import annotations

import logging
import sys

import msgspec

FORMS = ("plain", "json")
MOST = 8_000  # characters of a message, and of an error: what a caller sent may stand in them


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    at: str
    level: str
    message: str
    error: str = ""


def cut(text: str) -> str:
    """The end tells most: an error is named behind the way to it."""
    left = len(text) - MOST
    return text if left <= 0 else f"{text[: MOST // 2]} … {left:,} left out … {text[-MOST // 2 :]}"


class PlainForm(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s tailrace: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return cut(super().format(record))


class JsonForm(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z")
        error = self.formatException(record.exc_info) if record.exc_info else ""
        line = Line(at, record.levelname.lower(), cut(record.getMessage()), cut(error))
        return msgspec.json.encode(line).decode()


def begin(form: str) -> None:
    """On stderr, where systemd and shells expect it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonForm() if form == "json" else PlainForm())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("tailrace").setLevel(logging.INFO)
