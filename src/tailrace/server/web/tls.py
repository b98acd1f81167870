"""The certificate a server shows: one of its own making, or one that its admin has.

Its own is signed by nobody: callers know it by its fingerprint, which stands in the join text. It
is made by the `openssl` command, which is where servers are; no library is needed for it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import ssl
import subprocess
from pathlib import Path

import msgspec

from tailrace.errors import BadInput, ServerError
from tailrace.worker.pinned import fingerprint

OWN = "own"
YEARS = 10
REASONS = {
    "KEY_VALUES_MISMATCH": "the key is that of another certificate",
    "KEY_TYPE_MISMATCH": "the key is that of another certificate",
    "NO_START_LINE": "there is no PEM text in it",
}


class Certificate(msgspec.Struct, frozen=True):
    cert: Path
    key: Path
    own: bool

    @property
    def fingerprint(self) -> str:
        """Of the first certificate in the file, which is the one that is shown."""
        text = self.cert.read_text()
        end = "-----END CERTIFICATE-----"
        first = text[text.index("-----BEGIN CERTIFICATE-----") : text.index(end) + len(end)]
        return fingerprint(ssl.PEM_cert_to_DER_cert(first))

    def key_pin(self) -> str:
        """As `curl --pinnedpubkey` wants it."""
        public = _openssl("pkey", "-in", str(self.key), "-pubout", "-outform", "DER")
        return "sha256//" + base64.b64encode(hashlib.sha256(public).digest()).decode()


def certificate(text: str, folder: Path) -> Certificate:
    """`own`, kept in the folder and made when there is none yet; or `CERT:KEY`, two files."""
    found = _own(folder / "tls") if text == OWN else _given(text)
    try:
        context(found)
    except OSError as error:
        raise BadInput(
            f"--tls {text}: certificate and key cannot be used: {why_not(error)}",
            remedy="Both are PEM files, the key without a passphrase and that of the certificate.",
        ) from None
    return found


def context(shown: Certificate) -> ssl.SSLContext:
    """OSError where the two are no certificate and its key."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(shown.cert, shown.key, password=_no_passphrase)
    return made


def _no_passphrase() -> str:
    """Asked for one, OpenSSL would wait at the terminal."""
    return ""


def why_not(error: Exception) -> str:
    """OpenSSL's own words are names of constants."""
    if isinstance(error, ssl.SSLError):
        return REASONS.get(error.reason or "", error.reason or str(error))
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def expires(shown: Certificate) -> float | None:
    """As seconds since the epoch; None where nobody can tell."""
    try:
        told = _openssl("x509", "-in", str(shown.cert), "-noout", "-enddate").decode()
        return float(ssl.cert_time_to_seconds(told.strip().rpartition("=")[2]))
    except (ServerError, ValueError):
        return None


def _given(text: str) -> Certificate:
    cert, colon, key = text.partition(":")
    if not colon or not cert or not key:
        remedy = "Write --tls own, or --tls CERT.pem:KEY.pem."
        raise BadInput(f"--tls {text!r} names no certificate and key", remedy=remedy)
    for path in (cert, key):
        if not Path(path).is_file():
            raise BadInput(f"--tls: there is no file {path}", remedy="Name two PEM files.")
    return Certificate(Path(cert).absolute(), Path(key).absolute(), own=False)


def _own(folder: Path) -> Certificate:
    found = Certificate(folder / "cert.pem", folder / "key.pem", own=True)
    if not (found.cert.exists() and found.key.exists()):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(found)
    return found


def _make(wanted: Certificate) -> None:
    """The key is written for its owner alone from the first byte on."""
    before = os.umask(0o077)
    try:
        _openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", str(365 * YEARS), "-subj", "/CN=tailrace", "-keyout", str(wanted.key),
            "-out", str(wanted.cert),
        )  # fmt: skip
    finally:
        os.umask(before)


def _openssl(*words: str) -> bytes:
    remedy = "Install the package openssl, or give a certificate: --tls CERT.pem:KEY.pem."
    try:
        done = subprocess.run(["openssl", *words], capture_output=True, timeout=60)
    except FileNotFoundError:
        raise ServerError("there is no openssl to make a certificate with", remedy=remedy) from None
    if done.returncode:
        text = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ServerError(f"openssl cannot make a certificate: {text}", remedy=remedy)
    return done.stdout
