"""Certificates signed by an authority of our own, which a caller trusts by SSL_CERT_FILE."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from tailrace.worker.pinned import fingerprint

EC = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
RSA = ("rsa:2048",)
NAMES = "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth\n"


class Authority:
    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("needs the Debian package openssl")
        folder.mkdir()
        self.folder = folder
        self.file = folder / "ca.pem"
        _run(
            "req", "-x509", "-newkey", *EC, "-nodes", "-days", "30", "-subj", "/CN=tests",
            "-keyout", folder / "ca.key", "-out", self.file,
        )  # fmt: skip
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"

    @property
    def option(self) -> str:
        """As `serve --tls` takes it."""
        return f"{self.cert}:{self.key}"

    @property
    def trusting(self) -> dict[str, str]:
        """The environment of a machine that knows this authority."""
        return {"SSL_CERT_FILE": str(self.file)}

    def issue(self, days: int = 60, kind: tuple[str, ...] = EC) -> str:
        """Another certificate in place of the last, as a program that renews would put it there:
        each file whole. The fingerprint; -1 days: it expired yesterday."""
        fresh = {path: path.with_suffix(".new") for path in (self.cert, self.key)}
        request, names = self.folder / "request", self.folder / "names"
        names.write_text(NAMES)
        _run(
            "req", "-newkey", *kind, "-nodes", "-subj", "/CN=server", "-keyout", fresh[self.key],
            "-out", request,
        )  # fmt: skip
        _run(
            "x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.folder / "ca.key",
            "-CAcreateserial", "-days", days, "-extfile", names, "-out", fresh[self.cert],
        )  # fmt: skip
        for path, made in fresh.items():
            made.replace(path)
        return fingerprint(ssl.PEM_cert_to_DER_cert(self.cert.read_text()))


def _run(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60)


def shown(url: str) -> str:
    """The fingerprint of what a server shows to whoever greets it now."""
    host, _, port = url.removeprefix("https://").rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    line = socket.create_connection((host, int(port)), timeout=60)
    with context.wrap_socket(line) as secure:
        return fingerprint(secure.getpeercert(binary_form=True) or b"")
