"""A connection to a server, whose certificate is looked at before a word is said."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Optional
from urllib.parse import urlsplit

MOST_RETRY_AFTER_S = 60.0
# By OpenSSL's numbers; ours say what to do.
DATES = {
    9: "is not valid yet: is the clock of this machine right?",
    10: "has expired; nothing was sent. Its admin has to renew it, if the clock of this machine is "
    "right",
}
# By name: their modules are slow to import. OpenSSL's words are for those who know it.
PLACE = re.compile(r"^_ssl\.c:\d+: | ?\(_ssl\.c:\d+\)$")
CUTS = ("SSLEOFError", "SSLZeroReturnError", "IncompleteRead")


class WrongCertificate(ConnectionError):
    """Somebody else answers at this address."""


class OutOfDate(ConnectionError):
    """A certificate signed by somebody whom this machine trusts, and for another time."""


def fingerprint(certificate: bytes) -> str:
    return hashlib.sha256(certificate).hexdigest()


def connect(url: str, pin: str, timeout_s: float) -> Any:
    """An open HTTP connection. With a pin, the very certificate counts, and neither who signed it
    nor for which name; without one, whatever this machine trusts."""
    import http.client  # slow to import, and a worker's thread has the time

    parts = urlsplit(url)
    host = parts.hostname or "127.0.0.1"
    if parts.scheme != "https":
        connection = http.client.HTTPConnection(host, parts.port, timeout=timeout_s)
    else:
        connection = http.client.HTTPSConnection(
            host, parts.port, timeout=timeout_s, context=_context(bool(pin))
        )
    try:
        connection.connect()
    except OSError as error:
        date = DATES.get(getattr(error, "verify_code", 0))
        if date is None:
            raise
        raise OutOfDate(f"the server's certificate {date}") from error
    if pin:
        _check(connection, pin)
    return connection


def words(error: Exception) -> str:
    """For a log."""
    if type(error).__name__ in CUTS:
        return "the connection was cut in the middle"
    return PLACE.sub("", str(error)) or type(error).__name__


def seconds(retry_after: Optional[str]) -> Optional[float]:
    """That the server asks a caller to stay away; never so long that it would be forgotten."""
    try:
        return min(max(float(retry_after or ""), 0.0), MOST_RETRY_AFTER_S)
    except ValueError:
        return None


def _context(pinned: bool) -> Any:
    import ssl

    context = ssl.create_default_context()
    if pinned:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _check(connection: Any, pin: str) -> None:
    shown = connection.sock.getpeercert(binary_form=True) or b""
    if fingerprint(shown) != pin:
        connection.close()
        raise WrongCertificate(
            f"the server's certificate has the fingerprint {fingerprint(shown)}, not {pin}; "
            "nothing was sent. If the server was set up anew, ask its admin for a new join text"
        )
