"""A systemd unit for a server."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from tailrace.server.web.porch import FILES

UNIT = """\
[Unit]
Description=tailrace server of {folder}
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory={above}
Restart=on-failure
RestartSec=5
KillMode=mixed
LimitNOFILE={usual}:{files}
TimeoutStopSec=60

[Install]
WantedBy=default.target
"""
USUAL = 1024  # files, for what it starts; the server takes more for itself
VALUES = ("address", "port", "tls", "url", "cores", "memory", "price", "store")
FLAGS = ("behind_proxy", "local", "inherit")


def unit(folder: Path, options: dict[str, Any]) -> str:
    """Of the very program that prints it, with the options it was given."""
    words = [sys.executable, "-m", "tailrace", "serve", "--folder", str(folder), "--log", "json"]
    for name in VALUES:
        if options[name] not in (None, ""):
            words += [f"--{name}", _value(name, str(options[name]))]
    words += [f"--{name.replace('_', '-')}" for name in FLAGS if options[name]]
    command = " ".join(shlex.quote(word) for word in words)
    return UNIT.format(
        usual=USUAL,
        files=FILES,
        folder=_plain(str(folder)),
        command=_plain(command),
        above=_plain(str(folder.parent)),
    )


def _value(name: str, value: str) -> str:
    """Files are named whole: the unit starts elsewhere."""
    if name != "tls" or value == "own":
        return value
    return ":".join(str(Path(part).absolute()) for part in value.split(":"))


def _plain(text: str) -> str:
    """Neither a specifier nor a variable of systemd's."""
    return text.replace("%", "%%").replace("$", "$$")
