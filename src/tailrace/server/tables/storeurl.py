"""The address of a store in PostgreSQL: `postgresql://user@host/database?schema=NAME`.

All but the schema is libpq's: what it knows may stand in the query, and it finds passwords where
psql finds them.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

SCHEMES = ("postgresql://", "postgres://")
SCHEMA = "tailrace"
SECRETS = ("password", "sslpassword")
Place = Path | str  # a file, or a URL


class StoreUrl(msgspec.Struct, frozen=True):
    conninfo: str  # as libpq takes it
    schema: str = SCHEMA

    def __str__(self) -> str:
        """Without what is secret."""
        base, _, query = self.conninfo.partition("?")
        base = re.sub(r"^(\w+://[^:@/]*):.*@", r"\1@", base)
        shown = [(key, value) for key, value in parse_qsl(query) if key not in SECRETS]
        if self.schema != SCHEMA:
            shown.append(("schema", self.schema))
        return _joined(base, shown)

    @property
    def has_password(self) -> bool:
        base, _, query = self.conninfo.partition("?")
        within = re.match(r"^\w+://[^:@/]*:.*@", base) is not None
        return within or any(key in SECRETS for key, _ in parse_qsl(query))


def is_url(place: Place) -> bool:
    return isinstance(place, str) and place.startswith(SCHEMES)


def read(text: str) -> StoreUrl:
    """Raises ValueError with a sentence."""
    if not is_url(text):
        raise ValueError(f"{text!r} is no URL that begins with postgresql://")
    base, _, query = text.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    schema = given.pop("schema", SCHEMA)
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) or schema.startswith("pg_"):
        raise ValueError(f"{schema!r} is no name of a schema: use small letters, digits and _")
    return StoreUrl(_joined(base, list(given.items())), schema)


def shown(place: Place) -> str:
    """As a message may show it."""
    return str(read(place)) if isinstance(place, str) and is_url(place) else str(place)


def _joined(base: str, query: list[tuple[str, str]]) -> str:
    return f"{base}?{urlencode(query, quote_via=quote)}" if query else base
