"""Master and workers in SimGrid, by calling its program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PROGRAM = Path(__file__).with_name("simgrid_model.py")
PYTHON = "/usr/bin/python3"  # Debian's own, the one that python3-simgrid is for
PACKAGE = "python3-simgrid"


class Ran(NamedTuple):
    ends_s: list[float]  # of each task
    lasted_s: float  # of its engine, without the start of the program


def there() -> bool:
    try:
        asked = subprocess.run([PYTHON, "-c", "import simgrid"], capture_output=True, timeout=60)
    except FileNotFoundError:
        return False
    return asked.returncode == 0


def run(speeds: Sequence[float], lengths_us: Sequence[int]) -> Ran:
    asked = json.dumps({"speeds": speeds, "lengths": [us / 1e6 for us in lengths_us]})
    told = subprocess.run(
        [PYTHON, PROGRAM], input=asked, capture_output=True, text=True, timeout=300, check=True
    )
    found = json.loads(told.stdout)
    return Ran(found["ends"], found["lasted"])
