"""A plain static server of a folder, on loopback: busybox httpd."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 30.0


def missing() -> str:
    """Why there can be none here; empty: there can."""
    if shutil.which("busybox") is None:
        return "the Debian package `busybox` is not installed"
    applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True).stdout
    return "" if "httpd" in applets.split() else "this busybox has no httpd"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Its URL."""
    port = _free_port()
    words = ["busybox", "httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", str(folder)]
    process = subprocess.Popen(words)
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(port: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise SystemExit("busybox httpd does not listen") from None
            time.sleep(0.05)
