"""Builds `worker.pyz`: the worker as one file that any Python from 3.9 on can run.

The same sources give the same bytes: names sorted, times fixed, nothing of this machine inside.
This module is not part of the file.
"""

from __future__ import annotations

import io
import os
import sys
import zipfile
from typing import List, Tuple

PACKAGE = "tailrace_worker"
_MAIN = f"""import os
import sys

if sys.version_info < (3, 9):
    sys.exit("tailrace worker: Python 3.9 or newer is needed, this is " + sys.version.split()[0])

from {PACKAGE}.client import main

if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
"""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_NOT_INSIDE = ("zipped.py", "__main__.py")


def build() -> bytes:
    """The file's bytes, to be written wherever a worker is to start."""
    target = io.BytesIO()
    target.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in [("__main__.py", _MAIN.encode()), *_sources()]:
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)
    return target.getvalue()


def _sources() -> List[Tuple[str, bytes]]:
    folder = os.path.dirname(os.path.abspath(__file__))
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") and name not in _NOT_INSIDE:
            with open(os.path.join(folder, name), "rb") as file:
                found.append((f"{PACKAGE}/{name}", file.read()))
    return found


def write(path: str) -> None:
    fresh = f"{path}.new"
    with open(fresh, "wb") as file:
        file.write(build())
    os.chmod(fresh, 0o755)
    os.replace(fresh, path)


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else "worker.pyz")
