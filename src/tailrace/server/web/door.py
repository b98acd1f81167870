"""Where a server listens, and how others reach it. What is open to a network is encrypted."""

from __future__ import annotations

import ipaddress
import socket

import msgspec

from tailrace.errors import BadInput
from tailrace.server.web.http import listen
from tailrace.server.web.tls import Certificate
from tailrace.worker.joining import Join

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"
EVERYWHERE_6 = "::"


def is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def refuse_open(address: str, *, guarded: bool) -> None:
    """Tokens and commands would cross the network for everybody to read."""
    if guarded or is_loopback(address):
        return
    raise BadInput(
        f"--address {address} is open to the network, and nothing would be encrypted",
        remedy="Add --tls own (a certificate of its own, made now), --tls CERT.pem:KEY.pem, or "
        "--behind-proxy if a proxy before it speaks TLS.",
    )


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


class Door(msgspec.Struct, frozen=True):
    address: str = LOOPBACK
    port: int = 0
    certificate: Certificate | None = None
    url: str = ""  # as others reach it, where that is another

    def listen(self) -> socket.socket:
        return listen(self.port, self.address)

    def here(self, port: int) -> Join:
        """For commands and workers of this machine; the certificate may be for another name."""
        address = {EVERYWHERE: LOOPBACK, EVERYWHERE_6: "::1"}.get(self.address, self.address)
        pin = "" if self.certificate is None else self.certificate.fingerprint
        return Join(f"{self._scheme}://{_bracketed(address)}:{port}", "", pin)

    def elsewhere(self, port: int) -> Join:
        """For others. A certificate that everybody trusts changes now and then: not pinned."""
        own = self.certificate is not None and self.certificate.own
        pin = self.certificate.fingerprint if own and self.certificate else ""
        address = socket.getfqdn() if self.is_everywhere else self.address
        listening = f"{self._scheme}://{_bracketed(address)}:{port}"
        return Join(self.url.rstrip("/") or listening, "", pin)

    @property
    def is_everywhere(self) -> bool:
        return self.address in (EVERYWHERE, EVERYWHERE_6)

    def doubt(self) -> str:
        """What is likely to be wrong with how others reach it."""
        name = socket.getfqdn() if self.is_everywhere and not self.url else ""
        if name.partition(".")[0] != "localhost":
            return ""
        return f"this machine calls itself {name}, by which no other reaches it: give --url"

    @property
    def _scheme(self) -> str:
        return "http" if self.certificate is None else "https"
